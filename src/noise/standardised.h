// A sample around its median in units of half its interquartile range, for fits of stable laws.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace medgrad::noise {

struct Standardised {
  std::vector<double> z;  // finite ones only
  double centre = 0, unit = 1;
  std::size_t n = 0, missing = 0, infinite = 0;
};

// Mirrored exactly for -x. Error for fewer than 20 numbers and where the middle half is one value.
[[nodiscard]] Standardised standardise(std::span<const double> sample);

}  // namespace medgrad::noise
