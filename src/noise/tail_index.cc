// What the estimators share, and what they say in words.
#include "medgrad/tail_index.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

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

void spread_ties(std::vector<double>& x) {
  // The first of them show whether there are heaps at all.
  constexpr std::size_t kLookedAt = 1000;
  std::vector<double> some(x.begin(),
                           x.begin() + static_cast<std::ptrdiff_t>(std::min(x.size(), kLookedAt)));
  std::sort(some.begin(), some.end());
  if (std::adjacent_find(some.begin(), some.end()) == some.end()) return;
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return x[a] < x[b]; });
  double step = std::numeric_limits<double>::infinity();
  std::size_t largest = 0, alone = 0;  // of the heaps; numbers of which there is one
  for (std::size_t first = 0, last = 0; first < x.size(); first = last) {
    while (last < x.size() && x[order[last]] == x[order[first]]) ++last;
    largest = std::max(largest, last - first);
    alone += last - first == 1 ? 1 : 0;
    if (last == x.size()) break;
    step = std::min(step, x[order[last]] - x[order[first]]);
  }
  // Beside a number that is there very often, is all the rest different?
  if (!std::isfinite(step) || 2 * alone > x.size() - largest) return;
  for (std::size_t first = 0, last = 0; first < x.size(); first = last) {
    const double value = x[order[first]];
    while (last < x.size() && x[order[last]] == value) ++last;
    const auto count = static_cast<double>(last - first);
    for (std::size_t i = first; i < last; ++i)
      x[order[i]] += step * ((static_cast<double>(i - first) + 0.5) / count - 0.5);
  }
}

std::string brief(double x) {
  if (std::isinf(x)) return x > 0 ? "infinity" : "-infinity";
  // Two decimals, or two digits of what is smaller, without trailing zeros.
  if (x != 0 && std::fabs(x) < 0.1) return fmt::format("{:.2g}", x);
  std::string s = fmt::format("{:.2f}", x);
  s.erase(s.find_last_not_of('0') + 1);
  if (s.back() == '.') s.pop_back();
  return s;
}

}  // namespace noise

std::string_view name(TailMethod method) {
  constexpr std::array<std::string_view, 3> kNames = {"quantiles", "hill", "log-moment"};
  return kNames[static_cast<std::size_t>(method)];
}

std::string TailIndex::verdict() const {
  const std::string_view meaning = interval.high < 1   ? "so heavy that no mean exists"
                                   : interval.high < 2 ? "heavier than Gaussian"
                                   : interval.low >= 2
                                       ? "the variance is finite"
                                       : "infinite variance is neither shown nor ruled out";
  // At alpha = 1.8 and n = 1000 Hill says 2.6 on average, and its interval knows nothing of it.
  const bool doubtful = method == TailMethod::hill && interval.low >= 1.8;
  return fmt::format("tail index {} ({}-{}) by {}: {}", noise::brief(alpha),
                     noise::brief(interval.low), noise::brief(interval.high), name(method),
                     doubtful ? "the far tail looks light, but Hill's estimator reads too high on "
                                "stable laws above 1.4"
                              : meaning);
}

}  // namespace medgrad
