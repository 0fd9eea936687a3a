#include "core/sample/eigen.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/sample/lanczos.h"
#include "core/sample/refine.h"
#include "core/sample/tridiagonal.h"

namespace medgrad::estimators {
namespace {

// A = Q T Q' with T tridiagonal. The Householder vectors that make up Q are left in the rows of
// `a`: row i has those of step i in columns [0, i), with factor_i such that the reflection is
// I - factor v v'.
struct Reduced {
  Tridiagonal t;
  std::vector<double> factor;
};

Reduced reduce(std::size_t n, std::vector<double>& a) {
  Reduced made{{std::vector<double>(n), std::vector<double>(n)}, std::vector<double>(n)};
  Tridiagonal& t = made.t;
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
    const double factor = made.factor[i] = 2 / (square + v[i - 1] * v[i - 1]);
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
  return made;
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
  return std::ldexp(largest_of(reduce(n, b).t), exponent);
}

bool has_eigenvalue_from(double bound, std::size_t n, std::span<const double> a) {
  if (n == 0) return false;
  int exponent = 0;
  std::vector<double> b = normalised(a, exponent);
  return count_from(reduce(n, b).t, std::ldexp(bound, -exponent)) > 0;
}

EigenPair largest_eigenpair(std::size_t n, std::span<const double> a, ThreadPool* pool) {
  if (n == 0) return {};
  // Reducing takes 4/3 n^3 operations, the others n^2 for each of about a hundred steps.
  constexpr std::size_t kManyRows = 32, kVeryMany = 64;
  if (n > kManyRows) {
    if (std::optional<EigenPair> pair = refined_eigenpair(n, a, pool)) return *std::move(pair);
  }
  if (n > kVeryMany) {
    if (std::optional<EigenPair> pair = lanczos_eigenpair(n, a, pool)) return *std::move(pair);
  }
  int exponent = 0;
  std::vector<double> b = normalised(a, exponent);
  const Reduced reduced = reduce(n, b);
  EigenPair pair;
  pair.value = largest_of(reduced.t);
  pair.vector = vector_of(reduced.t, pair.value);
  std::vector<double>& x = pair.vector;
  for (std::size_t i = 1; i < n; ++i) {  // undo the reflections
    if (reduced.factor[i] == 0) continue;
    const double* const v = &b[i * n];
    double product = 0;
    for (std::size_t k = 0; k < i; ++k) product += v[k] * x[k];
    for (std::size_t k = 0; k < i; ++k) x[k] -= reduced.factor[i] * product * v[k];
  }
  pair.value = std::ldexp(pair.value, exponent);
  return pair;
}

}  // namespace medgrad::estimators
