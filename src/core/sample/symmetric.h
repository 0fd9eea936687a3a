// Products of a symmetric matrix with vectors, which read half of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/conjugate.h"
#include "kernels/matrix.h"
#include "medgrad/thread_pool.h"

namespace medgrad::estimators {

// The largest entry, which is on the diagonal where no eigenvalue is negative.
inline double largest_entry(std::size_t n, const double* a) {
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(a[i * n + i]));
  return largest;
}

inline void add_symmetric(const double* a, std::size_t n, std::size_t begin, std::size_t end,
                          const double* x, double* out) {
  kernels::add_symmetric_lines(a, n, begin, end, x, out);
}
inline void add_symmetric(const float* a, std::size_t n, std::size_t begin, std::size_t end,
                          const float* x, float* out) {
  kernels::add_lower(a, n, begin, end, x, out);
}

// The matrix has n rows of n; those of floats are as in kernels::narrow_lower. Many rows are cut,
// by their number alone, into bands of about as many entries each; their sums are added in order.
template <class T>
class SymmetricMatrix {
 public:
  SymmetricMatrix(std::size_t n, const T* a, ThreadPool* pool)
      : n_(n), a_(a), pool_(pool), bands_(n < kManyRows ? 1 : kBands), sums_(bands_ * n) {}

  void multiply(const T* x, T* out) {
    if (bands_ == 1) {
      std::fill_n(out, n_, T{0});
      return add_symmetric(a_, n_, 0, n_, x, out);
    }
    for_each(pool_, bands_, [&](std::size_t band) {
      T* const sum = sums_.data() + band * n_;
      std::fill_n(sum, end(band), T{0});
      add_symmetric(a_, n_, band == 0 ? 0 : end(band - 1), end(band), x, sum);
    });
    std::copy_n(sums_.data() + (bands_ - 1) * n_, n_, out);  // the last one has all columns
    for (std::size_t band = 0; band + 1 < bands_; ++band) {
      const T* const sum = sums_.data() + band * n_;
      for (std::size_t i = 0; i < end(band); ++i) out[i] += sum[i];
    }
  }

 private:
  static constexpr std::size_t kManyRows = 512, kBands = 2;
  // The triangle above row n sqrt(k / bands) is k / bands of all.
  [[nodiscard]] std::size_t end(std::size_t band) const {
    if (band + 1 == bands_) return n_;
    const double share = static_cast<double>(band + 1) / static_cast<double>(bands_);
    return static_cast<std::size_t>(static_cast<double>(n_) * std::sqrt(share)) / kernels::kLanes *
           kernels::kLanes;
  }

  std::size_t n_;
  const T* a_;
  ThreadPool* pool_;
  std::size_t bands_;
  std::vector<T> sums_;
};

}  // namespace medgrad::estimators
