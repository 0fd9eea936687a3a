#include "noise/stable_tail.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "noise/pareto_fit.h"
#include "noise/tail_parts.h"

namespace medgrad::noise {
namespace {

constexpr std::size_t kPoints = 200;  // of the law's tail, which stand for all of it

// The excesses of the law's own peaks: quantiles at equal steps of probability, above the
// threshold. asinh of a quantile is smooth in the logarithm of its probability: Chebyshev points
// and the barycentric formula (Berrut and Trefethen, SIAM Review 46, 2004) give all of them from a
// few, to seven digits.
std::vector<double> excesses_of(const Stable& law, double share) {
  constexpr std::size_t kNodes = 24;
  constexpr double kStep = 1.0 / kPoints;
  const double low = std::log(kStep / 2), middle = low / 2;
  std::array<double, kNodes> at{}, value{}, weight{};
  for (std::size_t i = 0; i < kNodes; ++i) {
    const double angle = std::numbers::pi * (static_cast<double>(i) + 0.5) / kNodes;
    at[i] = middle - middle * std::cos(angle);
    weight[i] = (i % 2 == 0 ? 1 : -1) * std::sin(angle);
    value[i] = std::asinh(law.survival_quantile(share * std::exp(at[i])));
  }
  const double threshold = law.survival_quantile(share);
  std::vector<double> y(kPoints);
  for (std::size_t i = 0; i < kPoints; ++i) {
    const double x = std::log((static_cast<double>(i) + 0.5) * kStep);
    double sum = 0, weights = 0;
    for (std::size_t j = 0; j < kNodes; ++j) {
      // No quantile's logarithm is a node's but by chance; then a step aside changes nothing.
      const double off = x - at[j];
      const double part = weight[j] / (std::fabs(off) > 1e-12 ? off : 1e-12);
      sum += part * value[j];
      weights += part;
    }
    y[i] = std::max(std::sinh(sum / weights) - threshold, 0.0);
  }
  return y;
}

}  // namespace

double tail_excess(const StableFit& fit, const Peaks& peaks, bool folded) {
  constexpr double kNearGaussian = 1.9;
  StableParameters p{fit.alpha.high > kNearGaussian ? fit.alpha.high : fit.parameters.alpha,
                     folded                     ? 0
                     : peaks.tail == Tail::left ? -fit.parameters.beta
                                                : fit.parameters.beta};
  p.alpha = std::max(p.alpha, 0.1);
  if (p.alpha == 2) p.beta = 0;
  const Stable law(p);
  const double share =
      static_cast<double>(peaks.k) / static_cast<double>(peaks.n) / (folded ? 2 : 1);
  const double expected = fit_excesses(excesses_of(law, share)).xi;
  // The standard error that the law's own xi would have, and that of what is expected, which is
  // 1/alpha nearly: at small alpha it is no smaller than the former. Both come from the same
  // numbers and are correlated by some 0.3, as the spread of what is returned shows in samples of
  // stable laws of alpha from 0.3 to 1.7. The former is the least that counts.
  constexpr double kTogether = 0.3;
  const double own = (peaks.pareto.xi_interval.high - peaks.pareto.xi) / kZ95 *
                     std::max(1 + expected, 0.5) / std::max(1 + peaks.pareto.xi, 0.5);
  const double of_alpha = (fit.alpha.high - fit.alpha.low) / (2 * kZ95);
  const double other = expected * of_alpha / p.alpha;
  const double both = std::sqrt(own * own + other * other - 2 * kTogether * own * other);
  const double error = fit.alpha.high > kNearGaussian ? own : std::max(own, both);
  return (peaks.pareto.xi - expected) / error;
}

}  // namespace medgrad::noise
