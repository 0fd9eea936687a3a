#include "noise/stable_tail.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "noise/pareto_fit.h"
#include "noise/tail_parts.h"

namespace medgrad::noise {

double tail_excess(const StableFit& fit, const Peaks& peaks, bool folded) {
  constexpr std::size_t kPoints = 200;  // of the law's tail, which stand for all of it
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
  const double threshold = law.survival_quantile(share);
  std::vector<double> y(kPoints);
  for (std::size_t i = 0; i < kPoints; ++i) {
    const double part = (static_cast<double>(i) + 0.5) / kPoints;
    y[i] = law.survival_quantile(share * part) - threshold;
  }
  const double expected = fit_excesses(y).xi;
  // The standard error that the law's own xi would have.
  const double error = (peaks.pareto.xi_interval.high - peaks.pareto.xi) / kZ95 *
                       std::max(1 + expected, 0.5) / std::max(1 + peaks.pareto.xi, 0.5);
  return (peaks.pareto.xi - expected) / error;
}

}  // namespace medgrad::noise
