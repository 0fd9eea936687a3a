#include "core/sample/tridiagonal.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace medgrad::estimators {

// How many eigenvalues of T are at least x: Sturm's count, where a pivot of zero counts as tiny.
std::size_t count_from(const Tridiagonal& t, double x) {
  constexpr double kTiny = std::numeric_limits<double>::min();
  std::size_t count = 0;
  double pivot = 1;
  for (std::size_t i = 0; i < t.diagonal.size(); ++i) {
    const double b = t.beside[i];
    pivot = t.diagonal[i] - x - (i == 0 ? 0 : b * b / pivot);
    if (std::abs(pivot) < kTiny) pivot = -kTiny;
    if (pivot >= 0) ++count;
  }
  return count;
}

// The largest eigenvalue of T by bisection: as many halvings as a double has digits, whatever the
// matrix.
double largest_of(const Tridiagonal& t, double share) {
  const std::size_t n = t.diagonal.size();
  double low = -std::numeric_limits<double>::infinity(), high = low;
  for (std::size_t i = 0; i < n; ++i) {
    const double reach =
        std::abs(i == 0 ? 0 : t.beside[i]) + std::abs(i + 1 == n ? 0 : t.beside[i + 1]);
    low = std::max(low, t.diagonal[i]);  // Rayleigh's quotient of a unit vector
    high = std::max(high, t.diagonal[i] + reach);
  }
  for (;;) {
    const double middle = low + (high - low) / 2;
    if (!(middle > low && middle < high) || high - low <= share * high) return low;
    (count_from(t, middle) > 0 ? low : high) = middle;
  }
}

// An eigenvector of T by inverse iteration: T - value by Gaussian elimination with row exchanges,
// twice, from a vector without a special direction.
std::vector<double> vector_of(const Tridiagonal& t, double value) {
  const std::size_t n = t.diagonal.size();
  double norm = 0;
  for (std::size_t i = 0; i < n; ++i)
    norm = std::max(norm, std::abs(t.diagonal[i]) + std::abs(t.beside[i]));
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = 1 + 0.5 * std::sin(static_cast<double>(3 * i + 1));
  if (n == 1) return {1};
  const double tiny =
      std::max(norm * std::numeric_limits<double>::epsilon(), std::numeric_limits<double>::min());
  // Row i of the upper factor: u, v, w in columns i, i + 1, i + 2.
  std::vector<double> u(n), v(n), w(n), factor(n);
  std::vector<bool> swapped(n);
  double p = t.diagonal[0] - value, q = t.beside[1];
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const double b = t.beside[i + 1], d = t.diagonal[i + 1] - value,
                 e = i + 2 < n ? t.beside[i + 2] : 0;
    swapped[i] = std::abs(b) > std::abs(p);
    if (swapped[i]) {
      u[i] = b, v[i] = d, w[i] = e;
      factor[i] = p / b;
      p = q - factor[i] * d;
      q = -factor[i] * e;
    } else {
      u[i] = p == 0 ? tiny : p, v[i] = q, w[i] = 0;
      factor[i] = b / u[i];
      p = d - factor[i] * q;
      q = e;
    }
  }
  u[n - 1] = p;
  for (double& pivot : u)
    if (std::abs(pivot) < tiny) pivot = std::copysign(tiny, pivot);
  for (int round = 0; round < 3; ++round) {
    if (round > 0) {
      for (std::size_t i = 0; i + 1 < n; ++i) {
        if (swapped[i]) std::swap(x[i], x[i + 1]);
        x[i + 1] -= factor[i] * x[i];
      }
    }
    for (std::size_t i = n; i-- > 0;) {
      if (i + 1 < n) x[i] -= v[i] * x[i + 1];
      if (i + 2 < n) x[i] -= w[i] * x[i + 2];
      x[i] /= u[i];
    }
    double largest = 0, square = 0;
    for (const double c : x) largest = std::max(largest, std::abs(c));
    for (double& c : x) {
      c /= largest;
      square += c * c;
    }
    for (double& c : x) c /= std::sqrt(square);
  }
  return x;
}

}  // namespace medgrad::estimators
