// Kernels for estimators that treat rows as vectors: their inner products (combine.h: combinations
// and distances).
//
// They work on blocks of columns in double whatever the element type. Element j of a block belongs
// to lane j mod kLanes, blocks start at multiples of kLanes, and lanes persist from block to block:
// every SIMD target adds the same numbers in the same order, products fused (fused-inl.h).
#pragma once

#include <cstddef>

namespace medgrad::kernels {

// tile[i * width + j] = x_ij - c_j for j < count, 0 for count <= j < width. With scales:
// (x_ij - c_j) s_i for powers of two s_i, without overflow on the way. `centre` may be null for c =
// 0.
template <class T>
void centred_tile(const T* const* rows, std::size_t n, std::size_t count, const T* centre,
                  const double* scales, std::size_t width, double* tile);

// lanes[pair(i, k) * kLanes + l] += the sum over the elements of lane l of x_ij x_kj, for k <= i
// and the x of centred_tile(); any count of columns, with a tile of n * width to work in, where
// width is a multiple of kLanes. The centre is not null.
inline constexpr std::size_t pair_index(std::size_t i, std::size_t k) {
  return i * (i + 1) / 2 + k;
}
template <class T>
void add_gram(const T* const* rows, std::size_t n, std::size_t count, const T* centre,
              const double* scales, std::size_t width, double* tile, double* lanes);

// sums[pair(i, k)] += the sum over all elements of that tile, by lanes as above and then as
// sum_lanes does: for many rows, whose lanes would fill the caches. The tile has zeros in as many
// rows after the n as make a multiple of kGramRows.
inline constexpr std::size_t kGramRows = 4;
void sum_gram(const double* tile, std::size_t n, std::size_t width, double* sums);

}  // namespace medgrad::kernels
