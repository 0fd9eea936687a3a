// Numbers in half the room: the 16 upper bits of a float (bfloat16), for what an optimiser keeps.
//
// A number with 8 bits of precision cannot follow a mean: m <- m + 0.001 v would leave it where it
// is. It can where it is rounded at random. x lies between two neighbours a <= x < b of that type
// and becomes b with probability (x - a) / (b - a), else a, so that its mean is x. That probability
// has as many bits as are cut off, 16, and 16 random bits decide.
//
// Random bits are a function of the run (`seed`), of the step and of the place of a component in
// the vector, and of nothing else: no state is carried along, and the bits of m depend neither on
// threads nor on the SIMD target.
#pragma once

#include <bit>
#include <cstdint>

#pragma GCC visibility push(default)
namespace medgrad {

struct BFloat16 {
  std::uint16_t bits = 0;

  [[nodiscard]] float get() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  friend bool operator==(const BFloat16&, const BFloat16&) = default;
};

// Which random bits a step rounds with.
struct Dither {
  std::uint64_t seed = 0, step = 0;
};

}  // namespace medgrad
#pragma GCC visibility pop
