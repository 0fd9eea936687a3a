// Combinations of rows, and their distances from a centre: one pass over the rows each.
//
// In double, by blocks of columns, over lanes, as in gram.h: every SIMD target adds the same
// numbers in the same order, products fused.
#pragma once

#include <cstddef>

namespace medgrad::kernels {

// lanes[i * kLanes + l] += the sum of (x_ij - c_j)^2 over the elements j < count of lane l; scales
// as in centred_tile. The centre is of T, or of doubles.
template <class T, class C>
void add_squared_distances(const T* const* rows, std::size_t n, std::size_t count, const C* centre,
                           const double* scales, double* lanes);

// out_j = a_j + sum_i coefficients_i (x_ij - a_j), rounded to T. `error` (kLanes) gathers the
// squares of what the last addition and the rounding lost. Rows of coefficient 0 are not read. With
// scales: the coefficients belong to differences scaled as in centred_tile. `anchor`
// may be null for a = 0. `sum` (count doubles) gets the sum over i.
template <class T>
void combine(const T* const* rows, std::size_t n, std::size_t count, const T* anchor,
             const double* coefficients, const double* scales, double* sum, T* out, double* error);

}  // namespace medgrad::kernels
