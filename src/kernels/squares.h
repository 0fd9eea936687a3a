// Sums of squares that neither overflow nor lose everything to underflow.
//
// Blue's method: terms are squared in one of three ranges, big ones scaled down and small ones
// scaled up by powers of two, so that every partial sum is representable; floats are squared in
// double, where the middle range is all there is. Each range is summed in kLanes interleaved lanes
// (see simd.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/simd.h"

namespace medgrad::kernels {

// Thresholds and scales of the ranges for double: up to 2^52 terms of the middle range add up
// without overflow, and terms below it vanish beside any term in it.
inline constexpr double kBig = 0x1p486, kSmall = 0x1p-511;
inline constexpr double kShrink = 0x1p-538, kGrow = 0x1p537;
// Beside a sum of squares of this size, the square of a smaller term than kSmall is nothing: it
// need not be scaled.
inline constexpr double kSafe = 0x1p-800;

// |v| as value / scale with scale a power of two, so that it may exceed the largest double.
struct ScaledNorm {
  double value = 0, scale = 1;
  [[nodiscard]] double get() const { return scale == 1 ? value : value / scale; }
};

// Three sums, one per range: of (kGrow v)^2, v^2 and (kShrink v)^2.
struct Squares {
  double small, mid, big;  // uninitialised unless asked for: see Totals in core/step.cc

  Squares& operator+=(const Squares& o) {
    small += o.small;
    mid += o.mid;
    big += o.big;
    return *this;
  }

  [[nodiscard]] ScaledNorm norm() const {
    if (big > 0) return {std::sqrt(big + (mid * kShrink) * kShrink), kShrink};
    if (small == 0) return {std::sqrt(mid), 1};
    if (mid == 0) return {std::sqrt(small), kGrow};
    const double a = std::sqrt(mid), b = std::sqrt(small) / kGrow;
    return {std::max(a, b) * std::sqrt(1 + std::pow(std::min(a, b) / std::max(a, b), 2)), 1};
  }
};

// The lanes of the three sums.
struct SquareLanes {
  double small[kLanes] = {}, mid[kLanes] = {}, big[kLanes] = {};
  bool scaled = false;  // is anything in small or big?

  // Adds (a - b)^2 to a lane; a and b finite, their difference may overflow.
  void add_difference(std::size_t lane, double a, double b) {
    const double v = std::fabs(a - b);
    if (v > kBig) {
      const double s = kShrink * a - kShrink * b;
      big[lane] += s * s;
      scaled = true;
    } else if (v < kSmall && v > 0 && mid[lane] < kSafe) {
      const double s = kGrow * v;
      small[lane] += s * s;
      scaled = true;
    } else {
      mid[lane] += v * v;
    }
  }

  [[nodiscard]] Squares sum() const {
    if (!scaled) return {0, sum_lanes(mid), 0};
    return {sum_lanes(small), sum_lanes(mid), sum_lanes(big)};
  }
};

}  // namespace medgrad::kernels
