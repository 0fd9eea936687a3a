// The Cholesky factor of a symmetric d x d matrix, d known at run time.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace medgrad::noise {

// m = L L', of which only the lower half is read; L in its place, zeros above. False where m is not
// positive definite.
[[nodiscard]] inline bool factorise(std::vector<double>& m, std::size_t d) {
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = m[i * d + j];
      for (std::size_t k = 0; k < j; ++k) sum -= m[i * d + k] * m[j * d + k];
      if (i != j) {
        m[i * d + j] = sum / m[j * d + j];
        continue;
      }
      if (!(sum > 0) || !std::isfinite(sum)) return false;
      m[i * d + i] = std::sqrt(sum);
    }
    for (std::size_t j = i + 1; j < d; ++j) m[i * d + j] = 0;
  }
  return true;
}

// |L^-1 z|, z by forward substitution in its place.
[[nodiscard]] inline double solved_norm(const std::vector<double>& factor, std::vector<double>& z) {
  const std::size_t d = z.size();
  double norm = 0;
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t k = 0; k < i; ++k) z[i] -= factor[i * d + k] * z[k];
    z[i] /= factor[i * d + i];
    norm = std::hypot(norm, z[i]);
  }
  return norm;
}

}  // namespace medgrad::noise
