// Sums over many rows, on all threads, with the same bits for any number of them.
//
// libtorch and the BLAS cut such sums by the number of threads, so that gradients differ in their
// last bits between one thread and two. Here the cuts depend on the sizes alone.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>

#include "torch/models/gemm.h"

namespace medgrad::libtorch {

// C <- A B + beta C, as multiply() of gemm.h. Cut along the rows or the columns of C into parts
// that the threads share, or, where k is much larger than both, along k into sums that are added in
// order.
template <class T>
void multiply_shared(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<T> a,
                     MatrixView<T> b, T beta, T* c, std::int64_t c_stride);

// out_j <- beta out_j + sum_i term(i, j) over `rows` and `columns`. 32 rows at a time are summed in
// T, these sums in double. What goes on over many calls does so in an `out` of doubles.
template <class T, class Out, class Term>
void column_sums(std::int64_t rows, std::int64_t columns, const Term& term, Out beta, Out* out) {
  constexpr std::int64_t kColumns = 64, kRows = 32;
  at::parallel_for(0, (columns + kColumns - 1) / kColumns, 1, [&](std::int64_t i, std::int64_t to) {
    for (; i < to; ++i) {
      const std::int64_t first = i * kColumns, count = std::min(kColumns, columns - first);
      double sums[kColumns] = {};
      for (std::int64_t row = 0; row < rows; row += kRows) {
        T part[kColumns] = {};
        for (std::int64_t r = row; r < std::min(row + kRows, rows); ++r)
          for (std::int64_t j = 0; j < count; ++j) part[j] += term(r, first + j);
        for (std::int64_t j = 0; j < count; ++j) sums[j] += static_cast<double>(part[j]);
      }
      for (std::int64_t j = 0; j < count; ++j) {
        const double before = beta == 0 ? 0 : static_cast<double>(beta * out[first + j]);
        out[first + j] = static_cast<Out>(before + sums[j]);
      }
    }
  });
}

}  // namespace medgrad::libtorch
