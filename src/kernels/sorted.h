// Columns of up to 64 rows, sorted in registers by networks known to the compiler (network.h).
//
// There is a network for a few sizes only; what is between two of them is filled up with
// infinities. Results are the same on every SIMD target. More rows: select.h.
#pragma once

#include <cstddef>

namespace medgrad::kernels {

inline constexpr std::size_t kSortedRows = 64;

// Up to this many rows medians and means are taken from the caller's rows, without the time for a
// copy: of more, those that are a power of two apart share too few places of the cache.
inline constexpr std::size_t kSortedDirectly = 48;

// Two sorted halves are enough for a trimmed mean of more rows, where no more than a quarter is cut
// off at either end.
template <class T>
[[nodiscard]] constexpr bool halves_are_enough(std::size_t n, std::size_t f) {
  return sizeof(T) == 4 && n <= 2 * kSortedRows && 4 * f <= n;
}

// out[j - begin] = the median of column j, begin <= j < end; even n: the midpoint of the two middle
// values. n <= kSortedRows. False if an entry is not finite, and `out` is then of no use; it may be
// a false alarm where the sum of a column overflows.
template <class T>
bool sorted_medians(const T* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                    T* out);

// out[j - begin] = the mean, in double, of what is left of column j, begin <= j < end, without its
// f smallest and f largest entries; 2 f < n <= kSortedRows, or halves_are_enough. Doubles are added
// up from the smallest to the largest, floats in an order that may depend on that of the rows.
// False if an entry is not finite or a sum overflows, and `out` is then of no use; it may be a
// false alarm.
template <class T>
[[nodiscard]] bool sorted_means(const T* const* rows, std::size_t n, std::size_t begin,
                                std::size_t end, std::size_t f, T* out);

// The same of the n - f entries nearest to the median: of the f at either end, x_i and x_{i + n -
// f} in sorted order, the nearer one, and then the middle ones. odd[j - begin] is not zero where
// two of those are equally far, so that the order of the rows decides, or the sum overflows, and
// that column of `out` is then of no use.
struct NearMeans {
  bool finite;   // else an entry is not, and all is of no use; it may be a false alarm
  bool settled;  // is `odd` zero everywhere?
};
template <class T>
[[nodiscard]] NearMeans sorted_near_means(const T* const* rows, std::size_t n, std::size_t begin,
                                          std::size_t end, std::size_t f, T* out, T* odd);

}  // namespace medgrad::kernels
