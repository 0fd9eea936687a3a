// The largest eigenvalue of a symmetric matrix of many rows and its eigenvector, for matrices
// without negative eigenvalues: found in float, corrected in double.
//
// A product with a matrix of many rows takes as long as it takes to read it, so nearly all of them
// are of a copy in float. Lanczos' method gives a first x. Then, as in Jacobi and Davidson's
// method, with theta = <x, A x> and r = A x - theta x, both in double, the correction d across x is
// found by conjugate gradients in float,
//
//     (I - x x') (theta - A) (I - x x') d = r,
//
// which is positive where theta is nearer to the largest eigenvalue than to the next one; else
// there is a direction in which it is not, and the method gives up. Each correction brings some
// five more digits, until |r| is at the level of rounding in double: how good the result is does
// not depend on how it was found.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/sample/eigen.h"

namespace medgrad::estimators {

// None where eigenvalues are crowded below the largest. The result does not depend on the threads
// of the pool.
[[nodiscard]] std::optional<EigenPair> refined_eigenpair(std::size_t n, std::span<const double> a,
                                                         ThreadPool* pool = nullptr);

}  // namespace medgrad::estimators
