// Eigenvalues of small symmetric matrices.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "medgrad/thread_pool.h"

namespace medgrad::estimators {

// The largest eigenvalue of a symmetric n x n matrix (row-major, entries of any finite size).
[[nodiscard]] double largest_eigenvalue(std::size_t n, std::span<const double> a);

// Is it at least `bound` (> 0)? Much faster than to find it.
[[nodiscard]] bool has_eigenvalue_from(double bound, std::size_t n, std::span<const double> a);

// With an eigenvector of length 1, to rounding: the error of the vector is that of the matrix over
// the distance to the next eigenvalue.
struct EigenPair {
  double value = 0;
  std::vector<double> vector;
};
// The result does not depend on the threads of the pool.
[[nodiscard]] EigenPair largest_eigenpair(std::size_t n, std::span<const double> a,
                                          ThreadPool* pool = nullptr);

}  // namespace medgrad::estimators
