// Maximum likelihood of the generalised Pareto law, and how well it fits.
#pragma once

#include <span>

#include "medgrad/peaks.h"

namespace medgrad::noise {

// xi and sigma of finite excesses in decreasing order, y.front() > y.back() >= 0; the intervals are
// those of independent excesses.
[[nodiscard]] GeneralisedParetoFit fit_excesses(std::span<const double> y);

// Anderson and Darling's A^2 of a fit to the excesses it was fitted to (decreasing).
[[nodiscard]] double anderson_darling(std::span<const double> y, double xi, double sigma);
// P(A^2 > a) where both parameters are estimated.
[[nodiscard]] double anderson_darling_p(double a, double xi);

// What an excess adds to the estimate of xi, times the number of excesses: influences sum to 0.
[[nodiscard]] double influence_on_shape(double y, double xi, double sigma);

}  // namespace medgrad::noise
