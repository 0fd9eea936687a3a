// Sums in a fixed order: kLanes interleaved partial sums, added up as a tree. The compiler
// vectorises the inner loop at any width without changing the result.
#pragma once

#include <cstddef>

#include "kernels/simd.h"

namespace medgrad {

// sum of term(i) over [0, n).
template <class Term>
[[nodiscard]] double lane_sum(std::size_t n, const Term& term) {
  double lanes[kernels::kLanes] = {};
  std::size_t i = 0;
  for (; i + kernels::kLanes <= n; i += kernels::kLanes) {
    for (std::size_t lane = 0; lane < kernels::kLanes; ++lane) lanes[lane] += term(i + lane);
  }
  for (std::size_t lane = 0; i < n; ++i, ++lane) lanes[lane] += term(i);
  return kernels::sum_lanes(lanes);
}

}  // namespace medgrad
