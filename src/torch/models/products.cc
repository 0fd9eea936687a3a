#include "torch/models/products.h"

#include <ATen/ATen.h>

namespace medgrad::libtorch {
namespace {

constexpr std::int64_t kMostParts = 64;

// A power of two of parts that have at least `least` each: every number of threads up to it that is
// one, too, shares them evenly.
std::int64_t parts_of(std::int64_t length, std::int64_t least) {
  std::int64_t parts = 1;
  while (parts < kMostParts && length / (2 * parts) >= least) parts *= 2;
  return parts;
}

// Where part i begins, on a multiple of the blocks that the BLAS works in.
std::int64_t begin_of(std::int64_t i, std::int64_t parts, std::int64_t length) {
  constexpr std::int64_t kBlock = 16;
  return i == parts ? length : length * i / parts / kBlock * kBlock;
}

template <class F>
void for_parts(std::int64_t parts, std::int64_t length, const F& f) {
  at::parallel_for(0, parts, 1, [&](std::int64_t i, std::int64_t end) {
    for (; i < end; ++i) {
      const std::int64_t from = begin_of(i, parts, length), to = begin_of(i + 1, parts, length);
      if (to > from) f(i, from, to - from);
    }
  });
}

// The part of a matrix from that row on, or from that column on.
template <class T>
MatrixView<T> rows_from(MatrixView<T> a, std::int64_t row) {
  a.data += a.transposed ? row : row * a.stride;
  return a;
}
template <class T>
MatrixView<T> columns_from(MatrixView<T> a, std::int64_t column) {
  return transposed(rows_from(transposed(a), column));
}

// C <- beta C + the sums of products of parts of k.
template <class T>
void multiply_by_inner(std::int64_t parts, std::int64_t m, std::int64_t n, std::int64_t k,
                       MatrixView<T> a, MatrixView<T> b, T beta, T* c, std::int64_t c_stride) {
  const at::Tensor memory =
      at::empty({parts * m * n}, at::TensorOptions().dtype(c10::CppTypeToScalarType<T>::value));
  T* const sums = memory.data_ptr<T>();
  for_parts(parts, k, [&](std::int64_t i, std::int64_t from, std::int64_t count) {
    multiply<T>(m, n, count, 1, columns_from(a, from), rows_from(b, from), 0, sums + i * m * n, n);
  });
  at::parallel_for(0, m, 16, [&](std::int64_t row, std::int64_t end) {
    for (; row < end; ++row) {
      T* const to = c + row * c_stride;
      if (beta == 0) {
        std::fill_n(to, n, T{0});
      } else if (beta != 1) {
        std::for_each_n(to, n, [&](T& x) { x *= beta; });
      }
      for (std::int64_t i = 0; i < parts; ++i) {
        const T* const from = sums + (i * m + row) * n;
        for (std::int64_t j = 0; j < n; ++j) to[j] += from[j];
      }
    }
  });
}

}  // namespace

template <class T>
void multiply_shared(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<T> a,
                     MatrixView<T> b, T beta, T* c, std::int64_t c_stride) {
  // Below this the BLAS does not share a product either.
  constexpr double kAlone = 65536.0 * 4;
  const std::int64_t longer = std::max(m, n);
  const bool alone =
      static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) <= kAlone;
  if (alone || longer < 2) return multiply<T>(m, n, k, 1, a, b, beta, c, c_stride);
  if (k >= 4 * longer && k >= 2048)
    return multiply_by_inner(parts_of(k, 1024), m, n, k, a, b, beta, c, c_stride);
  const std::int64_t parts = std::max<std::int64_t>(2, parts_of(longer, 512));
  for_parts(parts, longer, [&](std::int64_t, std::int64_t from, std::int64_t count) {
    if (m >= n) {
      multiply<T>(count, n, k, 1, rows_from(a, from), b, beta, c + from * c_stride, c_stride);
    } else {
      multiply<T>(m, count, k, 1, a, columns_from(b, from), beta, c + from, c_stride);
    }
  });
}

template void multiply_shared(std::int64_t, std::int64_t, std::int64_t, MatrixView<float>,
                              MatrixView<float>, float, float*, std::int64_t);
template void multiply_shared(std::int64_t, std::int64_t, std::int64_t, MatrixView<double>,
                              MatrixView<double>, double, double*, std::int64_t);

}  // namespace medgrad::libtorch
