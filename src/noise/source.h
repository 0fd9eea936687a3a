// Where random words come from: the key and the counter of Philox.
#pragma once

#include <cstdint>

namespace medgrad::noise {

// Block i of a source has the counter (i + domain 2^62, stream) and the key `seed`. Domains are
// separate sources behind one (seed, stream): a model that needs two kinds of numbers, say the
// radius and the direction of a vector, takes them from two domains. Indices stay below 2^62.
struct Source {
  std::uint64_t seed = 0, stream = 0;
  unsigned domain = 0;  // 0, 1, 2 or 3

  [[nodiscard]] std::uint64_t counter(std::uint64_t block) const {
    return block + (static_cast<std::uint64_t>(domain) << 62);
  }
};

}  // namespace medgrad::noise
