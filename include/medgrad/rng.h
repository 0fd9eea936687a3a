// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC 2011; Random123).
//
// A number is a function of (seed, stream, index) and of nothing else: no state is carried along,
// any part of a sequence can be made by itself, and the number of threads or the SIMD instruction
// set change nothing, not one bit. Block i of a stream is Philox with key = seed and counter =
// (i, stream), each as two 32-bit words, the lower one first; it gives four 32-bit words.
//
// Filling [a, b) gives what filling [0, b) has there. The kinds of numbers are made from the same
// blocks, so that two kinds at one (seed, stream) are not independent: give each its own stream.
// Indices stay below 2^62.
#pragma once

#include <cstdint>
#include <span>

#pragma GCC visibility push(default)
namespace medgrad {

class ThreadPool;

class Philox {
 public:
  explicit Philox(std::uint64_t seed, std::uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] std::uint64_t stream() const { return stream_; }

  // Random123's words: word i is word i mod 4 of block i / 4.
  void fill_bits(std::span<std::uint32_t> out, std::uint64_t first = 0,
                 ThreadPool* pool = nullptr) const;

  // Uniform on (0, 1): the odd multiples of 2^-53 (double) or 2^-24 (float), never 0 or 1.
  void fill_uniform(std::span<double> out, std::uint64_t first = 0,
                    ThreadPool* pool = nullptr) const;
  void fill_uniform(std::span<float> out, std::uint64_t first = 0,
                    ThreadPool* pool = nullptr) const;

  // N(0, 1) by Box and Muller. Reaches 8.6 (double) and 6.7 (float) standard deviations.
  void fill_normal(std::span<double> out, std::uint64_t first = 0,
                   ThreadPool* pool = nullptr) const;
  void fill_normal(std::span<float> out, std::uint64_t first = 0, ThreadPool* pool = nullptr) const;

 private:
  std::uint64_t seed_, stream_;
};

}  // namespace medgrad
#pragma GCC visibility pop
