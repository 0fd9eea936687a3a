#include "torch/models/gemm.h"

#include <dlfcn.h>
#include <torch/torch.h>

#include <type_traits>

namespace medgrad::libtorch {
namespace {

template <class T>
using Gemm = void (*)(const char*, const char*, const int*, const int*, const int*, const T*,
                      const T*, const int*, const T*, const int*, const T*, T*, const int*);

// The BLAS that libtorch itself has loaded; nullptr where it keeps it to itself.
template <class T>
Gemm<T> blas() {
  static const auto found = reinterpret_cast<Gemm<T>>(
      dlsym(RTLD_DEFAULT, std::is_same_v<T, float> ? "sgemm_" : "dgemm_"));
  return found;
}

template <class T>
at::Tensor tensor(MatrixView<T> a, std::int64_t rows, std::int64_t columns) {
  const auto type = std::is_same_v<T, float> ? at::kFloat : at::kDouble;
  const std::int64_t by_row = a.transposed ? 1 : a.stride, by_column = a.transposed ? a.stride : 1;
  return at::from_blob(const_cast<T*>(a.data), {rows, columns}, {by_row, by_column},
                       at::TensorOptions().dtype(type));
}

}  // namespace

template <class T>
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, MatrixView<T> a,
              MatrixView<T> b, T beta, T* c, std::int64_t c_stride) {
  const Gemm<T> gemm = blas<T>();
  if (gemm == nullptr) {
    const at::AutoDispatchBelowAutograd no_gradients;
    at::Tensor out = tensor<T>({c, c_stride}, m, n);
    out.addmm_(tensor(a, m, k), tensor(b, k, n), beta, alpha);
    return;
  }
  // By columns, which is how the BLAS reads memory, C is transposed: C' = B' A'.
  const auto narrow = [](std::int64_t x) { return static_cast<int>(x); };
  const int rows = narrow(n), columns = narrow(m), inner = narrow(k);
  const int lda = narrow(a.stride), ldb = narrow(b.stride), ldc = narrow(c_stride);
  gemm(b.transposed ? "T" : "N", a.transposed ? "T" : "N", &rows, &columns, &inner, &alpha, b.data,
       &ldb, a.data, &lda, &beta, c, &ldc);
}

template void multiply(std::int64_t, std::int64_t, std::int64_t, float, MatrixView<float>,
                       MatrixView<float>, float, float*, std::int64_t);
template void multiply(std::int64_t, std::int64_t, std::int64_t, double, MatrixView<double>,
                       MatrixView<double>, double, double*, std::int64_t);

}  // namespace medgrad::libtorch
