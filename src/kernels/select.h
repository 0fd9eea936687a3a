// Order statistics of the columns of many rows: the k-th smallest entry of each.
//
// Networks (network.h) need n log^2 n comparisons. From some thirty rows on counting is faster: a
// pivot per column, how many entries are at most as large, for all columns of a vector at once, and
// a better pivot between those that were too small and too large. Half a dozen passes over a tile
// in the cache do, whatever n; pivots are guesses, and the result is exact whatever they were: an
// entry, the same on every SIMD target, for any finite numbers, ties included (zeros come out as
// +0).
#pragma once

#include <cstddef>

namespace medgrad::kernels {

// More rows than that cannot be counted exactly in floats.
inline constexpr std::size_t kMostCounted = std::size_t{1} << 23;

// Columns of n rows that are copied at a time, a cache line of each row after the other: two such
// blocks fit into a second-level cache of half a megabyte.
[[nodiscard]] constexpr std::size_t tile_columns(std::size_t n) {
  return n <= 256 ? 256 : n <= 512 ? 128 : 64;
}
// Room for these copies of `count` columns, and one line to align them.
template <class T>
[[nodiscard]] constexpr std::size_t select_room(std::size_t n, std::size_t count) {
  constexpr std::size_t kLine = 64 / sizeof(T);
  const std::size_t columns = count < tile_columns(n) ? count : tile_columns(n);
  return (n | 1) * ((columns + kLine - 1) / kLine * kLine) + kLine;
}

// low[j] = the k-th smallest (from 1) of the n entries rows[i][j], and high[j] the next one (k <
// n), for j < count; `high` may be null. room: select_room<T>(n, count) numbers. n <= kMostCounted.
// False if an entry is not finite, and the results are then of no use.
template <class T>
bool select_columns(const T* const* rows, std::size_t n, std::size_t count, std::size_t k, T* low,
                    T* high, T* room);

// out[j] = the mean, in double, of what is left of column j without its f smallest and f largest
// entries, 2 f < n; room and entries as above. False if an entry is not finite or a sum overflows,
// and `out` is then of no use. The order of the rows matters to rounding.
template <class T>
[[nodiscard]] bool trimmed_columns(const T* const* rows, std::size_t n, std::size_t count,
                                   std::size_t f, T* out, T* room);

// out[j] = the mean, in double, of the n - f entries of column j that are nearest to the median, in
// the order of the rows, 2 f < n. odd[j] is not zero where several are as far as the last of them,
// or the sum overflows, and out[j] is then of no use. near_room<T>(n, count) numbers. False if an
// entry is not finite, and the results are then of no use.
template <class T>
[[nodiscard]] constexpr std::size_t near_room(std::size_t n, std::size_t count) {
  return select_room<T>(n, count) + n * (64 / sizeof(T));
}
template <class T>
[[nodiscard]] bool near_columns(const T* const* rows, std::size_t n, std::size_t count,
                                std::size_t f, T* out, T* odd, T* room);

}  // namespace medgrad::kernels
