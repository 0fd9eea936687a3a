// Kernels that look at each column of n rows by itself: means and medians of few rows.
//
// Rows are an array of n pointers; [begin, end) are the columns to work on. Comparisons and the
// midpoint are exact or rounded once, so every SIMD target gives the same bits.
#pragma once

#include <cstddef>

namespace medgrad::kernels {

// Up to this many rows a column median is found in registers, reading every row once.
inline constexpr std::size_t kRegisterRows = 16;

// Is every entry of the n rows in [begin, end) finite?
template <class T>
[[nodiscard]] bool all_finite(const T* const* rows, std::size_t n, std::size_t begin,
                              std::size_t end);

// The same, and a copy of them: copy[i * stride + j - begin].
template <class T>
[[nodiscard]] bool copy_finite(const T* const* rows, std::size_t n, std::size_t begin,
                               std::size_t end, std::size_t stride, T* copy);

// out[j - begin] = median of column j; 1 <= n <= kRegisterRows. Even n: the midpoint of the two
// middle values. False if an entry is not finite, and `out` is then of no use; it may be a false
// alarm where the sum of a column overflows (all_finite knows). With `stream`, `out` is written
// past the cache.
template <class T>
bool register_medians(const T* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                      T* out, bool stream = false);

// out[j - begin] = sum_i w_i x_ij / total, summed in double in the order of the rows, products
// fused; `weights` may be null for all one. `sum` is room for end - begin doubles. False if a sum
// is not finite, as it is where an entry is not: `out` is then of no use.
template <class T>
[[nodiscard]] bool column_means(const T* const* rows, std::size_t n, const double* weights,
                                double total, std::size_t begin, std::size_t end, double* sum,
                                T* out);

// out = the midpoint of a and b, rounded once: no overflow for 1e308, exact for denormals.
template <class T>
void midpoints(const T* a, const T* b, std::size_t count, T* out);

}  // namespace medgrad::kernels
