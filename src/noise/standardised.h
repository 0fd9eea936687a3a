// A sample around its median in units of half its interquartile range, for fits of stable laws.
//
// Mirrored data are to give the mirrored fit to the last bit, which no sum and no iteration does by
// itself. So what is fitted has its farthest number on the right: x and -x are then the same data,
// and what was found is mirrored back.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "medgrad/tail_index.h"
#include "noise/characteristic.h"

namespace medgrad::noise {

struct Standardised {
  std::vector<double> z;  // finite ones only
  double centre = 0, unit = 1;
  bool mirrored = false;  // z and centre are those of -x
  std::size_t n = 0, missing = 0, infinite = 0;
};

// Error for fewer than 20 numbers and where the middle half is one value.
[[nodiscard]] Standardised standardise(std::span<const double> sample);

// Is the number that is farthest from the centre (the first of them) below it?
[[nodiscard]] bool leans_left(std::span<const double> x, double centre);

// The fit of -x from that of x.
[[nodiscard]] StableFit mirrored(StableFit fit);

// A law of z as the fit of the sample that was standardised, not mirrored back yet. `errors` are
// the standard errors of alpha, beta, log(scale) and location; 0 where a parameter was held at its
// end.
[[nodiscard]] StableFit fit_of(const Standardised& s, const Shape& law,
                               const std::array<double, 4>& errors);
// And as it was.
[[nodiscard]] inline StableFit as_given(const Standardised& s, StableFit fit) {
  return s.mirrored ? mirrored(fit) : fit;
}

}  // namespace medgrad::noise
