// Many steps in a row on a vector so short that it stays in registers.
//
// The steps of short_step.h, bit for bit, without their diagnostics: calling, choosing and checking
// once for all rows leaves little more than the arithmetic.
#pragma once

#include <cstddef>

#include "kernels/simd.h"

namespace medgrad::kernels {

// The step v -> f v, sign or clamp, for v = g - m:
struct Plan {
  enum class Kind : unsigned char {
    radial,  // m <- m + f v, f = inside where |v| <= inner, else radius / |v|
    relax,   // m <- m + inside v
    clamp,   // m <- min(max(g, m - radius), m + radius)
    sign,    // m <- m + radius sign(v)
  };
  Kind kind = Kind::relax;
  double inner = 0, inside = 0, radius = 0;
};

// Steps m, of n <= kLanes components, through rows at g, g + stride, ... Stops before the first row
// that is not ordinary (short_step.h) and tells how many were taken.
template <class T>
[[nodiscard]] std::size_t follow(T* m, std::size_t n, const T* g, std::size_t stride,
                                 std::size_t rows, const Plan& plan);

}  // namespace medgrad::kernels
