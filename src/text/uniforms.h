// Uniform random numbers one after the other, from a counter-based stream.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "medgrad/rng.h"

namespace medgrad::text {

class Uniforms {
 public:
  Uniforms(std::uint64_t seed, std::uint64_t stream) : philox_(seed, stream) {}

  // In (0, 1).
  [[nodiscard]] double next() {
    if (used_ == buffer_.size()) {
      philox_.fill_uniform(std::span<double>(buffer_), filled_);
      filled_ += buffer_.size();
      used_ = 0;
    }
    return buffer_[used_++];
  }
  // One of 0 … n − 1, all alike (to 2^-53 n).
  [[nodiscard]] std::size_t below(std::size_t n) {
    assert(n > 0);
    return static_cast<std::size_t>(next() * static_cast<double>(n));
  }

 private:
  Philox philox_;
  std::uint64_t filled_ = 0;
  std::array<double, 512> buffer_{};
  std::size_t used_ = buffer_.size();
};

}  // namespace medgrad::text
