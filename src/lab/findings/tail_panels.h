// Pictures of tails: Hill plot, mean excess, quantiles against a fitted law.
#pragma once

#include <optional>
#include <span>

#include "lab/report/figure.h"
#include "medgrad/peaks.h"
#include "medgrad/stable.h"

namespace medgrad::lab {

// Of distances y_1 >= y_2 >= …: 1 / mean of log(y_i / y_{k+1}), i <= k, with its 95 % interval, for
// k from 10 to half of them; and a line at `index`, the tail index that was found.
[[nodiscard]] Panel hill_panel(std::span<const double> far, std::optional<double> index);

// From a threshold on, a generalised Pareto law.
struct ParetoTail {
  double threshold = 0, sigma = 1, xi = 0;
};
[[nodiscard]] ParetoTail pareto_tail(const Peaks& peaks);
// The mean of y - u over the y above u = y_{k+1}; and that of the law from its threshold on,
// (sigma + xi (u - threshold)) / (1 - xi) for xi < 1.
[[nodiscard]] Panel mean_excess_panel(std::span<const double> far,
                                      const std::optional<ParetoTail>& law);

// Both tails of numbers around their median, in increasing order, against a stable law around its
// own, on logarithmic axes: rank r of n against the law's quantile of (r - 1/2) / n.
[[nodiscard]] Panel quantile_panel(std::span<const double> centred, const StableParameters& law);
// Of distances y_1 >= y_2 >= … those above the threshold, against the law.
[[nodiscard]] Panel quantile_panel(std::span<const double> far, const ParetoTail& law);

}  // namespace medgrad::lab
