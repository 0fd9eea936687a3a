// Products of matrices as large as there are rows or points.
#pragma once

#include <cstddef>

#include "medgrad/thread_pool.h"

namespace medgrad::estimators {

// c = a b for row-major matrices of n x m and m x p; of the rows of a, entries that are 0 cost
// little where most are. The same bits for any number of threads.
void multiply(const double* a, const double* b, std::size_t n, std::size_t m, std::size_t p,
              double* c, ThreadPool* pool);

// c = w g w' for w of n x m and a symmetric g: equal up to rounding on both sides of the diagonal.
void multiply_both_sides(const double* w, const double* g, std::size_t n, std::size_t m, double* c,
                         ThreadPool* pool);

// out_j = the k-th smallest (from 1) of the n entries of column j of a matrix of so many columns,
// all of them finite.
void select_of_columns(const double* a, std::size_t n, std::size_t columns, std::size_t k,
                       double* out, ThreadPool* pool);

}  // namespace medgrad::estimators
