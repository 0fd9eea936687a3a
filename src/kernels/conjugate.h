// Floats in the inner loops of eigenvectors (core/sample/refine.h): the products of a symmetric
// matrix with a vector, and what is done to vectors between two of them.
//
// Vectors are as long as whole blocks of kLanes, with zeros behind what counts, so that no loop has
// an end of its own. Sums run over lanes (simd.h); products are fused, on every target.
#pragma once

#include <cstddef>

#include "kernels/simd.h"

namespace medgrad::kernels {

[[nodiscard]] constexpr std::size_t in_blocks(std::size_t n) {
  return (n + kLanes - 1) / kLanes * kLanes;
}

// <x, y>.
[[nodiscard]] float inner_product(const float* x, const float* y, std::size_t n);

// y += a x.
void add_multiple(float a, const float* x, std::size_t n, float* y);

// y = theta p - y + s x; returns <p, y>.
[[nodiscard]] float deflate(float theta, const float* p, float s, const float* x, std::size_t n,
                            float* y);

// d += t p and r -= t y; returns <r, r>.
[[nodiscard]] float conjugate_step(float t, const float* p, const float* y, std::size_t n, float* d,
                                   float* r);

// p = r + a p.
void turn(float a, const float* r, std::size_t n, float* p);

// A symmetric n x n matrix times `unit`, in rows of in_blocks(n): every row up to the end of the
// block of kLanes x kLanes that has its diagonal entry, and nothing behind.
void narrow_lower(const double* a, std::size_t n, double unit, float* out);

// out += the part of such a matrix times x that is read from rows [begin, end), multiples of 4:
// what is before the block of the diagonal counts twice, for its row and for its column.
void add_lower(const float* a, std::size_t padded, std::size_t begin, std::size_t end,
               const float* x, float* out);

}  // namespace medgrad::kernels
