// Products of matrices and vectors of doubles, by rows: what n x n matrices of inner products need.
//
// Every sum has one order, and where products are fused they are on every target, so that all SIMD
// targets give the same bits.
#pragma once

#include <cstddef>

namespace medgrad::kernels {

// out_j = sum_k x_k a[k * stride + j] for j < columns, k < rows (A' x; for a symmetric matrix, A
// x): rows in order, four at a time as (x0 a0 + x1 a1) + (x2 a2 + x3 a3). With `add` on top of what
// out has.
void add_lines(const double* a, std::size_t rows, std::size_t columns, std::size_t stride,
               const double* x, double* out, bool add = false);

// The same of the rows chosen_0, chosen_1, …, `count` of them.
void add_chosen_lines(const double* a, const std::size_t* chosen, std::size_t count,
                      std::size_t columns, std::size_t stride, const double* x, double* out);

// out_k = <row k of a, x>, over lanes like every sum (simd.h).
void line_products(const double* a, std::size_t rows, std::size_t columns, std::size_t stride,
                   const double* x, double* out);

// out_j += the part of A x, A symmetric of n x n, that rows [begin, end) have in and below the
// diagonal: those products are read, and no others. Four rows at a time from multiples of 4 on;
// begin is one, and so is end, or it is n. Sums over a row are by lanes.
void add_symmetric_lines(const double* a, std::size_t n, std::size_t begin, std::size_t end,
                         const double* x, double* out);

// Inner products around a mean from squared distances, c_ik = (mean_i + mean_k - squares_ik - all)
// / 2 (n x n): out_ik = (scale_i scale_k) c_ik for begin <= i < end and, of the columns, those up
// to the end of the block of kLanes that has the diagonal entry.
void scale_centred(const double* squares, std::size_t n, std::size_t begin, std::size_t end,
                   const double* mean, double all, const double* scale, double* out);

// c = a b for matrices of n x m and m x p; sums run in the order of m, products fused. `room`:
// multiply_room(m) doubles.
[[nodiscard]] constexpr std::size_t multiply_room(std::size_t m) { return 16 * m + 8; }
void multiply(const double* a, const double* b, std::size_t n, std::size_t m, std::size_t p,
              double* c, double* room);

}  // namespace medgrad::kernels
