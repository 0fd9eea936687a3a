// The Cholesky factor of a small symmetric matrix of a fixed size.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace medgrad::noise {

template <std::size_t N>
class Cholesky {
 public:
  using Vector = std::array<double, N>;
  using Matrix = std::array<Vector, N>;

  // With `ridge` of each diagonal entry added to it, for matrices that are nearly singular.
  explicit Cholesky(const Matrix& m, double ridge = 0) {
    for (std::size_t i = 0; i < N; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = m[i][j] + (i == j ? ridge * m[i][i] : 0);
        for (std::size_t k = 0; k < j; ++k) sum -= l_[i][k] * l_[j][k];
        l_[i][j] = i == j ? std::sqrt(std::fmax(sum, 1e-300)) : sum / l_[j][j];
      }
    }
  }

  // L^-1 x and L^-T x.
  [[nodiscard]] Vector forward(Vector x) const {
    for (std::size_t i = 0; i < N; ++i) {
      for (std::size_t k = 0; k < i; ++k) x[i] -= l_[i][k] * x[k];
      x[i] /= l_[i][i];
    }
    return x;
  }
  [[nodiscard]] Vector backward(Vector x) const {
    for (std::size_t i = N; i-- > 0;) {
      for (std::size_t k = i + 1; k < N; ++k) x[i] -= l_[k][i] * x[k];
      x[i] /= l_[i][i];
    }
    return x;
  }

 private:
  Matrix l_{};
};

}  // namespace medgrad::noise
