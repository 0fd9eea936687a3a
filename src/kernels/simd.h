// Which SIMD instruction set runs: found at run time, or forced with
// MEDGRAD_SIMD=AVX3|AVX2|SCALAR.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace medgrad::kernels {

// Sums run over this many interleaved partial sums (element i goes to lane i mod kLanes) on every
// target, and lanes are added up as a balanced tree: all targets give the same bits.
inline constexpr std::size_t kLanes = 16;

// Names of the targets that this build has and this machine can run, best first.
[[nodiscard]] std::vector<std::string> simd_targets();
// The one in use. The first call reads MEDGRAD_SIMD and throws Error if it names none of the above.
[[nodiscard]] std::string simd_target();
// Switches to a target by name, for tests and fuzzers; not thread-safe. Throws Error if there is
// none.
void force_simd_target(std::string_view name);

// Every kernel calls this before it dispatches, so that MEDGRAD_SIMD holds from the first call on.
bool choose_simd_target();
inline void simd_ready() { [[maybe_unused]] static const bool once = choose_simd_target(); }

// The sum of kLanes partial sums, always in the same order.
[[nodiscard]] inline double sum_lanes(const double* lanes) {
  double s[kLanes / 2];
  for (std::size_t i = 0; i < kLanes / 2; ++i) s[i] = lanes[i] + lanes[i + kLanes / 2];
  for (std::size_t width = kLanes / 4; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) s[i] += s[i + width];
  }
  return s[0];
}

}  // namespace medgrad::kernels
