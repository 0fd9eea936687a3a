// Columns of up to 64 rows, sorted in registers by networks known to the compiler (network.h).
//
// There is a network for a few sizes only; what is between two of them is filled up with
// infinities. Entries are finite, results the same on every SIMD target. More rows: select.h.
#pragma once

#include <cstddef>

namespace medgrad::kernels {

inline constexpr std::size_t kSortedRows = 64;

// Columns in a cache line, which are sorted at once.
template <class T>
inline constexpr std::size_t kLineColumns = 64 / sizeof(T);

// out[j] = the median of rows[i][j], j < count; even n: the midpoint of the two middle values.
// n <= kSortedRows.
template <class T>
void sorted_medians(const T* const* rows, std::size_t n, std::size_t count, T* out);

// tile[r * kLineColumns<T> + j] = the r-th smallest (from 0) of rows[i][j], j < width <=
// kLineColumns<T>. There is room for kSortedRows lines in the tile; those from n on are of no use.
template <class T>
void sort_columns(const T* const* rows, std::size_t n, std::size_t width, T* tile);

// out[j] = the mean, in double, of what is left of column j without its f smallest and f largest
// entries, added up from the smallest to the largest; 2 f < n <= kSortedRows.
template <class T>
void sorted_means(const T* const* rows, std::size_t n, std::size_t count, std::size_t f, T* out);

}  // namespace medgrad::kernels
