// Bare loops: what this machine needs for the reads and the arithmetic of a rule, with no care for
// its input.
#pragma once

#include <cstddef>

namespace medgrad::kernels {

// How often a column is counted: on average, in the first search and in the second.
struct Passes {
  double first, second;
};
// From so many rows on, columns are searched and not sorted.
inline constexpr std::size_t kSearched = 64;

}  // namespace medgrad::kernels

namespace medgrad::bench {

// The trimmed mean and MeaMed of n rows of length d, a quarter cut off; false where there is no
// loop for n. Up to 64 rows sort all, in registers as far as they go; more are copied, counted as
// often as a search takes, and added up. room: bare_room(n) numbers.
constexpr std::size_t bare_room(std::size_t n) { return (n | 1) * 512; }
bool trim_loop(const float* const* rows, std::size_t n, std::size_t d, float* room, float* out);
bool near_loop(const float* const* rows, std::size_t n, std::size_t d, float* room, float* out);

// The sum of all inner products of n rows, from which `centre` is subtracted: reads, conversions,
// products. n = 3, 4 or 8; else 0.
double gram_loop(const float* const* rows, std::size_t n, std::size_t d, const float* centre);

}  // namespace medgrad::bench
