// Products of small matrices that lie in larger ones, without a tensor around each.
#pragma once

#include <cstdint>

namespace medgrad::libtorch {

// A row-major matrix: element (i, j) is at data[i * stride + j], or of its transpose.
template <class T>
struct MatrixView {
  const T* data;
  std::int64_t stride;
  bool transposed = false;
};

template <class T>
[[nodiscard]] MatrixView<T> transposed(MatrixView<T> a) {
  a.transposed = !a.transposed;
  return a;
}

// C <- alpha A B + beta C for A of m x k, B of k x n and C of m x n. beta = 0 overwrites whatever C
// holds. Runs in the calling thread when that is one of several.
template <class T>
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, MatrixView<T> a,
              MatrixView<T> b, T beta, T* c, std::int64_t c_stride);

}  // namespace medgrad::libtorch
