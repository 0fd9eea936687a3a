// What the estimators share, and what they say in words.
#include "medgrad/tail_index.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "medgrad/error.h"
#include "noise/tail_parts.h"

namespace medgrad {
namespace noise {

double student95(std::size_t degrees) {
  // Fisher and Cornish: t = z + (z^3+z)/(4v) + (5z^5+16z^3+3z)/(96v^2) +
  // (3z^7+19z^5+17z^3-15z)/(384v^3)
  const double v = static_cast<double>(std::max<std::size_t>(degrees, 1));
  const double z = kZ95, z2 = z * z;
  const double first = z * (z2 + 1) / 4;
  const double second = z * ((5 * z2 + 16) * z2 + 3) / 96;
  const double third = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
  return z + (first + (second + third / v) / v) / v;
}

Cleaned clean(std::span<const double> sample) {
  Cleaned result;
  result.values.reserve(sample.size());
  for (const double v : sample) {
    if (std::isnan(v)) {
      ++result.missing;
      continue;
    }
    if (std::isinf(v)) ++result.infinite;
    result.values.push_back(v);
  }
  return result;
}

double median(std::vector<double> x) {
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::nth_element(x.begin(), middle, x.end());
  const double high = *middle;
  if (x.size() % 2 == 1) return high;
  const double low = *std::max_element(x.begin(), middle);
  return low == high ? high : low / 2 + high / 2;
}

double finite_mean(std::span<const double> x) {
  double mean = 0, count = 0;
  for (const double v : x) {
    if (!std::isfinite(v)) continue;
    count += 1;
    mean += v / count - mean / count;  // divided first: no overflow
  }
  return mean;
}

void centre(std::vector<double>& x, Centre how) {
  if (x.empty() || how == Centre::none) return;
  if (how == Centre::pairs) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i + 1 < x.size(); i += 2) {
      const double difference = x[i] - x[i + 1];
      if (!std::isnan(difference)) x[kept++] = difference;
    }
    x.resize(kept);
    return;
  }
  const double middle = how == Centre::mean ? finite_mean(x) : median(x);
  if (!std::isfinite(middle)) {
    throw Error("half of the sample or more is infinite; it cannot be centred.");
  }
  for (double& v : x) v -= middle;
}

}  // namespace noise

std::string_view name(TailMethod method) {
  constexpr std::array<std::string_view, 3> kNames = {"quantiles", "hill", "log-moment"};
  return kNames[static_cast<std::size_t>(method)];
}

namespace {

// Two decimals, without trailing zeros.
std::string brief(double x) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.2f", x);
  std::string s = text.data();
  if (s.find('.') != std::string::npos) {
    s.erase(s.find_last_not_of('0') + 1);
    if (s.back() == '.') s.pop_back();
  }
  return s;
}

// Hill contradicts only where it finds the far tail clearly heavier than the body says: on stable
// laws it is biased upwards above alpha = 1, and by a few per cent downwards below.
bool contradicts(const Interval& i, const TailIndex& other) {
  const double margin = other.method == TailMethod::hill ? 0.9 : 1;
  const bool heavier = other.interval.high < margin * i.low;
  const bool lighter = other.interval.low > i.high;
  return heavier || (lighter && other.method != TailMethod::hill);
}

// What an interval means for the choice of estimator. 1.8 is a judgement: with a lower end above it
// and an upper end at 2 the mean may lose accuracy, but by little.
constexpr double kHarmless = 1.8;

std::string advice(const Interval& i) {
  if (i.high < 1) return "so heavy that no mean exists; use a median-type estimator.";
  if (i.high < 2 && i.low < kHarmless) {
    return "heavier than Gaussian; a median-type estimator is advisable.";
  }
  if (i.low >= 2) return "the variance is finite; the mean is fine.";
  if (i.high >= 2 && i.low >= kHarmless) return "no sign of heavy tails; the mean is fine.";
  if (i.high < 2 && i.low >= kHarmless) {
    return "slightly heavier than Gaussian; a mean loses some accuracy, a median-type estimator or "
           "Huber is the safe choice.";
  }
  return "heavy tails can be neither shown nor ruled out; take more samples, or a Huber or "
         "median-type estimator to be safe.";
}

}  // namespace

std::string TailIndex::verdict() const {
  std::string text = fmt::format("tail index {} ({}-{}): ", brief(alpha), brief(interval.low),
                                 brief(interval.high));
  // At alpha = 1.8 and n = 1000 Hill says 2.6 on average, and its interval knows nothing of it.
  if (method == TailMethod::hill && interval.low >= kHarmless) {
    return text +
           "the far tail looks light, but hill reads too high on stable laws above 1.4; "
           "see another method before trusting the mean.";
  }
  return text + advice(interval);
}

std::string TailSummary::verdict() const {
  std::array<std::optional<TailIndex>, 3> all = {std::nullopt, log_moment, hill};
  if (quantiles) all[0] = quantiles->tail_index();
  const auto first =
      std::find_if(all.begin(), all.end(), [](const auto& t) { return t.has_value(); });
  if (first == all.end()) return "no tail index could be estimated.";
  std::string text = (*first)->verdict();
  for (const auto& other : all) {
    if (!other || !contradicts((*first)->interval, *other)) continue;
    text += fmt::format(" But {} says {} ({}-{}): the sample does not look like one stable law.",
                        name(other->method), brief(other->alpha), brief(other->interval.low),
                        brief(other->interval.high));
  }
  return text;
}

}  // namespace medgrad
