// Lanczos' method for the largest eigenvalue of a symmetric matrix without negative ones, and its
// eigenvector.
//
// An orthogonal basis q_1, q_2, … of the space of x, A x, A^2 x, … in which A is tridiagonal; the
// largest eigenvalue theta of that small matrix T, with eigenvector s, is soon one of A. After k
// steps y = sum s_i q_i has |A y - theta y| = beta_k |s_k|: that is known without another product,
// and ends the iteration at the level of rounding. The basis is kept orthogonal to rounding, and
// the start x is the same for every matrix of that size, so that the result is, too.
#pragma once

#include <optional>
#include <span>

#include "core/sample/eigen.h"

namespace medgrad::estimators {

// None where it does not converge within a few hundred steps: where eigenvalues are crowded below
// the largest.
[[nodiscard]] std::optional<EigenPair> lanczos_eigenpair(std::size_t n, std::span<const double> a,
                                                         ThreadPool* pool = nullptr);

}  // namespace medgrad::estimators
