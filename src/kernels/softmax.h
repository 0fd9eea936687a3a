// Rows of exponentials, which softmax and cross-entropy are made of.
//
// A row is read twice: for its largest number c, and for e^(x - c), which never overflows, with the
// sum. What divides by the sum can do so later, on something shorter than the row. Sums differ in
// the last bits between SIMD targets, unlike elsewhere in this library: the matrix products around
// them are the BLAS's and differ as well, and fused multiplications make them a third faster.
// A NaN anywhere, or +Inf, makes the sum NaN; -Inf is an exponential of zero.
#pragma once

#include <cstddef>

namespace medgrad::kernels {

// log sum_i e^(x_i) = peak + log(sum).
template <class T>
struct RowSum {
  T peak, sum;
};

// x_i <- e^(x_i + bias_i - peak), with peak = max_i (x_i + bias_i). No bias: nullptr. n > 0.
template <class T>
RowSum<T> exponentials(T* x, const T* bias, std::size_t n);

// The same peak and sum; x stays as it is.
template <class T>
[[nodiscard]] RowSum<T> sum_exponentials(const T* x, const T* bias, std::size_t n);

// x <- softmax(x + bias).
template <class T>
void softmax(T* x, const T* bias, std::size_t n);

// g <- scale p (g - <p, g>): the gradient at the input of p = softmax(scale x), from that at p.
template <class T>
void softmax_gradient(const T* p, T* g, std::size_t n, T scale);

}  // namespace medgrad::kernels
