// Data and small independent computations for the tests of sample estimators.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "medgrad/sample.h"

namespace medgrad::sample_test {

// n rows of length d, with the arithmetic of the tests.
template <class T>
struct Matrix {
  std::size_t n = 0, d = 0;
  std::vector<T> x;

  Matrix() = default;
  Matrix(std::size_t rows, std::size_t columns) : n(rows), d(columns), x(rows * columns) {}
  T& operator()(std::size_t i, std::size_t j) { return x[i * d + j]; }
  T operator()(std::size_t i, std::size_t j) const { return x[i * d + j]; }
  [[nodiscard]] Rows<T> rows() const { return Rows<T>(x.data(), n, d); }
};

template <class T>
Matrix<T> normal(std::size_t n, std::size_t d, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> gauss;
  Matrix<T> m(n, d);
  for (T& v : m.x) v = static_cast<T>(gauss(random));
  return m;
}

template <class T>
struct Result {
  std::vector<T> m;
  SampleInfo info;
};

template <class T>
Result<T> run(const Rule& method, const Matrix<T>& data, SampleOptions<T> options = {}) {
  Result<T> result{std::vector<T>(data.d), {}};
  result.info = aggregate<T>(method, data.rows(), result.m, options);
  return result;
}

// sum omega_i |m - x_i|_p in long double.
template <class T, class U>
long double objective(const Matrix<T>& data, const std::vector<U>& m, double p,
                      const std::vector<double>& weights = {}) {
  long double f = 0;
  for (std::size_t i = 0; i < data.n; ++i) {
    long double sum = 0, most = 0;
    for (std::size_t j = 0; j < data.d; ++j)
      most = std::max(most, std::abs(static_cast<long double>(m[j]) - data(i, j)));
    for (std::size_t j = 0; j < data.d && most > 0 && p < kInfinity; ++j)
      sum += std::pow(std::abs(static_cast<long double>(m[j]) - data(i, j)) / most,
                      static_cast<long double>(p));
    const long double norm =
        p == kInfinity ? most : most * std::pow(sum, 1 / static_cast<long double>(p));
    f += (weights.empty() ? 1 : weights[i]) * norm;
  }
  return f;
}

// |sum of the gradients omega_i (m - x_i) / |m - x_i|| in long double, rows at m left out, and the
// weight of those.
struct Stationarity {
  long double pull = 0, here = 0;
};
template <class T, class U>
Stationarity stationarity(const Matrix<T>& data, const std::vector<U>& m, double mu = 0) {
  std::vector<long double> g(data.d);
  Stationarity s;
  for (std::size_t i = 0; i < data.n; ++i) {
    long double square = 0;
    for (std::size_t j = 0; j < data.d; ++j) {
      const long double v = static_cast<long double>(m[j]) - data(i, j);
      square += v * v;
    }
    const long double r = std::sqrt(square);
    if (r == 0) ++s.here;
    if (r == 0) continue;
    const long double pull = mu > 0 ? std::min<long double>(1, mu / r) : 1 / r;
    for (std::size_t j = 0; j < data.d; ++j)
      g[j] += pull * (static_cast<long double>(m[j]) - data(i, j));
  }
  long double square = 0;
  for (const long double v : g) square += v * v;
  s.pull = std::sqrt(square);
  return s;
}

template <class A, class B>
double farthest(const std::vector<A>& a, const std::vector<B>& b) {
  double most = 0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    const double off = std::abs(static_cast<double>(a[j]) - static_cast<double>(b[j]));
    if (!(off <= most)) most = off;  // NaN is far
  }
  return most;
}

}  // namespace medgrad::sample_test
