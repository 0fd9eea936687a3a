// Eigenvalues of symmetric tridiagonal matrices, to which larger ones are reduced.
#pragma once

#include <cstddef>
#include <vector>

namespace medgrad::estimators {

struct Tridiagonal {
  std::vector<double> diagonal, beside;  // beside[i] between i - 1 and i
};

[[nodiscard]] std::size_t count_from(const Tridiagonal& t, double x);  // eigenvalues >= x
// To rounding, or to a share of it.
[[nodiscard]] double largest_of(const Tridiagonal& t, double share = 0);
// An eigenvector of length 1 for an eigenvalue.
[[nodiscard]] std::vector<double> vector_of(const Tridiagonal& t, double value);

}  // namespace medgrad::estimators
