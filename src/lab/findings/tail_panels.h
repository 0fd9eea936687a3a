// Pictures of one tail: Hill plot and mean excess.
#pragma once

#include <optional>
#include <span>

#include "lab/report/figure.h"

namespace medgrad::lab {

// Of distances y_1 >= y_2 >= …: 1 / mean of log(y_i / y_{k+1}), i <= k, with its 95 % interval, for
// k from 10 to half of them; and a line at `index`, the tail index that was found.
[[nodiscard]] Panel hill_panel(std::span<const double> far, std::optional<double> index);

// From a threshold on, a generalised Pareto law.
struct ParetoTail {
  double threshold = 0, sigma = 1, xi = 0;
};
// The mean of y - u over the y above u = y_{k+1}; and that of the law from its threshold on,
// (sigma + xi (u - threshold)) / (1 - xi) for xi < 1.
[[nodiscard]] Panel mean_excess_panel(std::span<const double> far,
                                      const std::optional<ParetoTail>& law);

}  // namespace medgrad::lab
