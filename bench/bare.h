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

// out = a x for a symmetric matrix of n x n floats, n a multiple of 16, of which half is read.
void product_loop(const float* a, std::size_t n, const float* x, float* out);
// How many such products the eigenvectors of CAF take on n rows of make_rows(), 2^22 entries in all
// (counted, an eighth cut off); 0 where they have not been counted.
constexpr std::size_t products_of_caf(std::size_t n, std::size_t d) {
  if (d != (std::size_t{1} << 22) / n) return 0;
  switch (n) {
    case 192:
      return 1364;
    case 256:
      return 1840;
    case 512:
      return 1694;
    case 1000:
      return 1242;
    default:
      return 0;
  }
}

}  // namespace medgrad::bench
