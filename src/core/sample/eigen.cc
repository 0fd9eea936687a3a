#include "core/sample/eigen.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace medgrad::estimators {
namespace {

// A = Q T Q' with T tridiagonal: its diagonal and what is beside it. The Householder vectors that
// make up Q are left in the rows of `a`: row i has those of step i in columns [0, i), with factor_i
// such that the reflection is I - factor v v'.
struct Tridiagonal {
  std::vector<double> diagonal, beside, factor;  // beside[i] between i - 1 and i
};

Tridiagonal reduce(std::size_t n, std::vector<double>& a) {
  Tridiagonal t{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n)};
  std::vector<double> p(n);
  for (std::size_t i = n; i-- > 1;) {
    double* const v = &a[i * n];
    double square = 0;
    for (std::size_t k = 0; k + 1 < i; ++k) square += v[k] * v[k];
    t.diagonal[i] = v[i];
    if (square == 0) {  // nothing to annihilate
      t.beside[i] = v[i - 1];
      continue;
    }
    const double norm = std::sqrt(square + v[i - 1] * v[i - 1]);
    const double alpha = v[i - 1] > 0 ? -norm : norm;
    t.beside[i] = alpha;
    v[i - 1] -= alpha;
    const double factor = t.factor[i] = 2 / (square + v[i - 1] * v[i - 1]);
    // The leading i x i block becomes B - v q' - q v' with p = factor B v, q = p - (factor/2)(v.p)
    // v.
    std::fill_n(p.begin(), i, 0.0);
    for (std::size_t r = 0; r < i; ++r) {
      const double* const row = &a[r * n];
      double sum = row[r] * v[r];
      for (std::size_t c = 0; c < r; ++c) {
        sum += row[c] * v[c];
        p[c] += row[c] * v[r];
      }
      p[r] += sum;
    }
    double product = 0;
    for (std::size_t k = 0; k < i; ++k) {
      p[k] *= factor;
      product += v[k] * p[k];
    }
    for (std::size_t k = 0; k < i; ++k) p[k] -= factor / 2 * product * v[k];
    for (std::size_t r = 0; r < i; ++r) {
      double* const row = &a[r * n];
      for (std::size_t c = 0; c <= r; ++c) row[c] -= v[r] * p[c] + p[r] * v[c];
    }
  }
  t.diagonal[0] = a[0];
  return t;
}

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
double largest_of(const Tridiagonal& t) {
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
    if (!(middle > low && middle < high)) return low;
    (count_from(t, middle) > 0 ? low : high) = middle;
  }
}

// An eigenvector of T by inverse iteration: T - value by Gaussian elimination with row exchanges,
// twice, from a vector without a special direction.
std::vector<double> vector_of(const Tridiagonal& t, double value, double norm) {
  const std::size_t n = t.diagonal.size();
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

// The matrix in units of a power of two near its largest entry, so that squares are safe.
std::vector<double> normalised(std::span<const double> a, int& exponent) {
  double largest = 0;
  for (const double x : a) largest = std::max(largest, std::abs(x));
  exponent = largest > 0 ? std::ilogb(largest) : 0;
  std::vector<double> b(a.begin(), a.end());
  if (exponent != 0)
    for (double& x : b) x = std::ldexp(x, -exponent);
  return b;
}

}  // namespace

double largest_eigenvalue(std::size_t n, std::span<const double> a) {
  if (n == 0) return 0;
  int exponent = 0;
  std::vector<double> b = normalised(a, exponent);
  return std::ldexp(largest_of(reduce(n, b)), exponent);
}

bool has_eigenvalue_from(double bound, std::size_t n, std::span<const double> a) {
  if (n == 0) return false;
  int exponent = 0;
  std::vector<double> b = normalised(a, exponent);
  return count_from(reduce(n, b), std::ldexp(bound, -exponent)) > 0;
}

EigenPair largest_eigenpair(std::size_t n, std::span<const double> a) {
  if (n == 0) return {};
  int exponent = 0;
  std::vector<double> b = normalised(a, exponent);
  const Tridiagonal t = reduce(n, b);
  double norm = 0;
  for (std::size_t i = 0; i < n; ++i)
    norm = std::max(norm, std::abs(t.diagonal[i]) + std::abs(t.beside[i]));
  EigenPair pair;
  pair.value = largest_of(t);
  pair.vector = vector_of(t, pair.value, norm);
  std::vector<double>& x = pair.vector;
  for (std::size_t i = 1; i < n; ++i) {  // undo the reflections
    if (t.factor[i] == 0) continue;
    const double* const v = &b[i * n];
    double product = 0;
    for (std::size_t k = 0; k < i; ++k) product += v[k] * x[k];
    for (std::size_t k = 0; k < i; ++k) x[k] -= t.factor[i] * product * v[k];
  }
  pair.value = std::ldexp(pair.value, exponent);
  return pair;
}

}  // namespace medgrad::estimators
