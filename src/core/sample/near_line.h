// Points that are nearly on a line, with half of the weight on either side of a gap.
//
// On the line all of the gap would be minimisers (line.h). A little off it, by an angle eps, one of
// them is, but the objective differs between them by eps^2: below 1e-8 that is less than rounding,
// and every point of the gap, its ends included, passes for a minimum. What is left where the
// weights cancel can be computed apart, and has all its digits.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/small_vector.h"

namespace medgrad::estimators {

// The ends of the gap: a point and the way from it to the other.
struct Gap {
  std::size_t from = 0, to = 0;
  double length = 0;
  SmallVector<double, 16> along;  // of length 1
};

// If the points (n x k, by rows) are within an angle of 1e-3 of such a line. Costs little if not.
[[nodiscard]] std::optional<Gap> gap_near_line(std::span<const double> points, std::size_t k,
                                               std::span<const double> weights);

// The minimiser of sum omega_i |z - x_i|: the middle of the gap where the points are on the line to
// the last digit.
struct GapMinimum {
  std::size_t anchor = 0;     // the nearer end of the gap
  SmallVector<double, 16> z;  // seen from there; empty: at that end
  double nearest = 0;         // the distance of the nearest point
};
[[nodiscard]] GapMinimum minimum_in_gap(const Gap& gap, std::span<const double> points,
                                        std::span<const double> weights);

}  // namespace medgrad::estimators
