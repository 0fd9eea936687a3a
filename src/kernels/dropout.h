// Setting random elements to zero: the arithmetic of dropout, given random bits.
//
// Element i is kept where bits_i >= threshold, 16 bits each, and then multiplied by `scale`, which
// is 1 / P(kept). The map is linear and diagonal, hence its own adjoint: backward is the same call
// on the gradient.
#pragma once

#include <cstddef>
#include <cstdint>

namespace medgrad::kernels {

template <class T>
struct DropRule {
  std::uint16_t threshold = 0;
  T scale = 1;
};

// out_i = scale x_i where kept, else 0; in place is allowed.
template <class T>
void drop(const T* x, const std::uint16_t* bits, std::size_t n, DropRule<T> rule, T* out);

// out_i = base_i + the above.
template <class T>
void drop_and_add(const T* x, const T* base, const std::uint16_t* bits, std::size_t n,
                  DropRule<T> rule, T* out);

// out_i = max(x_i, 0), scaled where kept, else 0.
template <class T>
void drop_and_rectify(const T* x, const std::uint16_t* bits, std::size_t n, DropRule<T> rule,
                      T* out);

// Backward of it, from its result y, which says all: out_i = scale g_i where y_i > 0, else 0.
template <class T>
void pass_positive(const T* y, const T* g, std::size_t n, T scale, T* out);

}  // namespace medgrad::kernels
