// From a sample to the five quantiles of McCulloch's fit and the covariance of its distribution
// function.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/text.h"
#include "medgrad/error.h"
#include "noise/standardised.h"
#include "noise/tail_parts.h"
#include "noise/tail_quantiles.h"

namespace medgrad {
namespace noise {
namespace {

// McCulloch's continuity correction: the i-th smallest of n stands at (i - 1/2) / n, straight lines
// between them. Partitions x instead of sorting it.
FiveQuantiles sample_quantiles(std::vector<double>& x) {
  FiveQuantiles q{};
  auto done = x.begin();  // everything before is in place
  const auto order_statistic = [&](std::size_t i) {
    const auto at = x.begin() + static_cast<std::ptrdiff_t>(i);
    if (at >= done) {
      std::nth_element(done, at, x.end());
      done = at + 1;
    }
    return *at;
  };
  const double n = static_cast<double>(x.size());
  for (std::size_t k = 0; k < 5; ++k) {
    const double place = std::clamp(n * kFitProbabilities[k] - 0.5, 0.0, n - 1);
    const double below = std::floor(place), w = place - below;
    const double a = order_statistic(static_cast<std::size_t>(below));
    const double b = w > 0 ? order_statistic(static_cast<std::size_t>(below) + 1) : a;
    q[k] = a == b || w == 0 ? a : (1 - w) * a + w * b;
  }
  return q;
}

FiveByFive independent_covariance(std::size_t n) {
  FiveByFive c{};
  for (std::size_t a = 0; a < 5; ++a) {
    for (std::size_t b = 0; b < 5; ++b) {
      const double low = kFitProbabilities[std::min(a, b)],
                   high = kFitProbabilities[std::max(a, b)];
      c[a][b] = low * (1 - high) / static_cast<double>(n);
    }
  }
  return c;
}

// The same from what it is between groups, whatever it is within: sum over groups of s s^T with s
// the group's excess of counts below the quantiles.
FiveByFive grouped_covariance(std::span<const double> x, std::size_t group, std::size_t n,
                              const FiveQuantiles& q) {
  FiveByFive c{};
  const std::size_t groups = (x.size() + group - 1) / group;
  for (std::size_t g = 0; g < groups; ++g) {
    FiveQuantiles s{};
    for (const double v : x.subspan(g * group, std::min(group, x.size() - g * group))) {
      if (std::isnan(v)) continue;
      for (std::size_t k = 0; k < 5; ++k) s[k] += (v <= q[k] ? 1.0 : 0.0) - kFitProbabilities[k];
    }
    for (std::size_t a = 0; a < 5; ++a) {
      for (std::size_t b = 0; b < 5; ++b) c[a][b] += s[a] * s[b];
    }
  }
  const double size = static_cast<double>(n), count = static_cast<double>(groups);
  // Few groups: Student's quantile in place of the normal one that the intervals use.
  const double wider = student95(groups - 1) / kZ95;
  for (FiveQuantiles& row : c) {
    for (double& v : row) v *= wider * wider * count / ((count - 1) * size * size);
  }
  return c;
}

// Coordinates that are centred by the median of n entries and divided by their median absolute
// value are a mixture: both are known to some n^-1/2 only, which stretches q95 - q05 against
// q75 - q25. By 1 + c/n, with c as below, found by simulation for n from 20 to 400; Gaussian noise
// of 20 rows would look like alpha = 1.79 without. It varies by 0.15 with the parity of n.
constexpr double kStretchSlack = 0.15;
double stretch_of(double alpha) {
  constexpr double kAlpha[] = {1.2, 1.5, 1.8}, kStretch[] = {0.25, 1.13, 1.5};
  if (alpha <= kAlpha[0]) return kStretch[0];
  for (std::size_t i = 0; i < 2; ++i) {
    const double part = (alpha - kAlpha[i]) / (kAlpha[i + 1] - kAlpha[i]);
    if (part <= 1) return std::lerp(kStretch[i], kStretch[i + 1], part);
  }
  return kStretch[2];
}

FiveQuantiles relaxed(FiveQuantiles q, double stretch) {
  for (const std::size_t k : {std::size_t{0}, std::size_t{4}})
    q[k] = q[2] + (q[k] - q[2]) / stretch;
  // (The outer quantiles of what has no tails at all stay outside the inner ones.)
  q[0] = std::min(q[0], q[1]);
  q[4] = std::max(q[4], q[3]);
  return q;
}

// The fit without that stretch, its interval as wide as is not known about it.
StableFit fit_standardised(const FiveQuantiles& q, const FiveByFive& covariance, std::size_t rows) {
  const auto n = static_cast<double>(rows);
  const auto fit_by = [&](double c) { return fit_quantiles(relaxed(q, 1 + c / n), covariance); };
  double c = stretch_of(2);
  for (int round = 0; round < 2; ++round) c = stretch_of(fit_by(c).parameters.alpha);
  StableFit fit = fit_by(c);
  fit.alpha.low = std::min(fit.alpha.low, fit_by(c - kStretchSlack).alpha.low);
  fit.alpha.high = std::max(fit.alpha.high, fit_by(c + kStretchSlack).alpha.high);
  return fit;
}

}  // namespace

StableFit fit_grouped(std::span<const double> sample, std::size_t group, std::size_t rows) {
  Cleaned cleaned = clean(sample);
  const std::size_t n = cleaned.values.size();
  if (n < kFewest) {
    throw Error(fmt::format("the sample has {}; a fit by quantiles needs at least 20.",
                            counted(n, "number")));
  }
  const FiveQuantiles q = sample_quantiles(cleaned.values);
  if (std::isinf(q.front()) || std::isinf(q.back())) {
    throw Error(
        "5 % or more of the sample on one side are infinite; a fit by quantiles needs "
        "finite 5 % and 95 % quantiles.");
  }
  if (!(q[1] < q[3])) {
    throw Error(
        fmt::format("the sample has no spread: its 25 % and 75 % quantiles are both {}; a fit by "
                    "quantiles needs them to differ.",
                    std::to_string(q[1])));
  }
  const FiveByFive covariance =
      group > 1 ? grouped_covariance(sample, group, n, q) : independent_covariance(n);
  StableFit fit = rows > 0 ? fit_standardised(q, covariance, rows) : fit_quantiles(q, covariance);
  fit.n = n;
  fit.missing = cleaned.missing;
  fit.infinite = cleaned.infinite;
  return fit;
}

}  // namespace noise

StableFit fit_stable(std::span<const double> sample) {
  noise::Cleaned cleaned = noise::clean(sample);
  std::vector<double>& x = cleaned.values;
  const bool left = !x.empty() && noise::leans_left(x, noise::median(x));
  if (left) {
    for (double& v : x) v = -v;
  }
  StableFit fit = noise::fit_grouped(x, 1);
  fit.missing = cleaned.missing;
  return left ? noise::mirrored(fit) : fit;
}

TailIndex StableFit::tail_index() const {
  TailIndex t;
  t.alpha = parameters.alpha;
  t.interval = alpha;
  t.method = TailMethod::quantiles;
  t.n = n;
  t.missing = missing;
  t.infinite = infinite;
  t.clamped = alpha_clamped;
  return t;
}

}  // namespace medgrad
