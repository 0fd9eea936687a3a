// Rounding to bfloat16 at random (medgrad/bfloat16.h), one number at a time: what the SIMD loops do
// too.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "medgrad/bfloat16.h"

namespace medgrad::kernels {

// Random bits by place: the rounds of an integer hash, with both halves of a key of the step's. Of
// 2^32 places in a row every value comes equally often.
struct RandomBits {
  std::uint32_t first = 0, second = 0;

  RandomBits() = default;
  explicit RandomBits(const Dither& dither) {
    // SplitMix64 (Steele, Lea and Flood, 2014), twice.
    const auto mix = [](std::uint64_t x) {
      x += 0x9e3779b97f4a7c15;
      x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
      x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
      return x ^ (x >> 31);
    };
    const std::uint64_t key = mix(mix(dither.seed) ^ dither.step);
    first = static_cast<std::uint32_t>(key);
    second = static_cast<std::uint32_t>(key >> 32);
  }

  static constexpr std::uint32_t kFirstFactor = 0x21f0aaad, kSecondFactor = 0xd35a2d97,
                                 kThirdFactor = 0x9e3779b1;

  // 16 bits.
  [[nodiscard]] std::uint32_t at(std::uint32_t place) const {
    std::uint32_t h = place ^ first;
    h = (h ^ (h >> 16)) * kFirstFactor;
    h = (h ^ (h >> 15) ^ second) * kSecondFactor;
    h = (h ^ (h >> 15)) * kThirdFactor;
    return h >> 16;
  }
};

// The largest finite number, in the bits of a float: what is beyond becomes that, and no number is
// rounded to infinity.
inline constexpr std::uint32_t kMostBFloat16 = 0x7f7f0000;

// A finite x.
[[nodiscard]] inline BFloat16 rounded(float x, std::uint32_t random) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t size = std::min(bits & 0x7fffffff, kMostBFloat16) + random;
  return {static_cast<std::uint16_t>(((bits & 0x80000000) | size) >> 16)};
}

}  // namespace medgrad::kernels
