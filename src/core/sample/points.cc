#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/sample/distinct.h"
#include "core/sample/plan.h"
#include "kernels/matrix.h"

namespace medgrad::estimators {
namespace {

constexpr int kMostExponent = 490;  // of a length, so that sums of squares stay finite

// The exponent of a length from that of its square.
int half_exponent(double square) { return std::ilogb(square) >> 1; }

// A square in units of 2^(2 unit). What is beyond the range keeps its order: from 2^980 on it grows
// like a logarithm, digit by digit.
double in_units(Scaled square, int unit) {
  if (square.value == 0) return 0;
  const int exponent = std::ilogb(square.value) + square.exponent - 2 * unit;
  if (exponent < 2 * kMostExponent) return std::ldexp(square.value, square.exponent - 2 * unit);
  const double digits = std::ldexp(square.value, -std::ilogb(square.value)) - 1;
  const double beyond = exponent - 2 * kMostExponent + digits;
  return 0x1p980 * (1 + beyond / 8192);
}

// c = a b for row-major matrices of n x m and m x p. Sums run in the order of m.
void multiply(const double* a, const double* b, std::size_t n, std::size_t m, std::size_t p,
              double* c) {
  const auto zeros = static_cast<std::size_t>(std::count(a, a + n * m, 0.0));
  constexpr std::size_t kSparse = 8;
  if (n * m - zeros > n * m / kSparse) {
    std::vector<double> room(kernels::multiply_room(m));
    return kernels::multiply(a, b, n, m, p, c, room.data());
  }
  std::fill_n(c, n * p, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    double* const to = c + i * p;
    for (std::size_t k = 0; k < m; ++k) {
      const double factor = a[i * m + k];
      if (factor == 0) continue;
      const double* const from = b + k * p;
      for (std::size_t j = 0; j < p; ++j) to[j] += factor * from[j];
    }
  }
}

}  // namespace

Scaled Points::squared_distance(std::size_t i, std::size_t k) const {
  const double *gi = gram_.row(i), *gk = gram_.row(k);
  if (gram_.exponents.empty()) return {std::max(0.0, gi[i] + gk[k] - 2 * gi[k]), 0};
  const int e = std::max(gram_.exponents[i], gram_.exponents[k]);
  const double a = std::ldexp(1.0, gram_.exponents[i] - e),
               b = std::ldexp(1.0, gram_.exponents[k] - e);
  return {std::max(0.0, a * a * gi[i] + b * b * gk[k] - 2 * a * b * gi[k]), 2 * e};
}

Scaled Points::distance(std::size_t i, std::size_t k) const {
  const Scaled square = squared_distance(i, k);
  return {std::sqrt(square.value), square.exponent / 2};
}

int Points::unit() const {
  if (gram_.exponents.empty()) return 0;
  std::vector<int> exponents;
  for (std::size_t i = 0; i < size(); ++i) {
    const double square = gram_.row(i)[i];
    if (square > 0) exponents.push_back(gram_.exponents[i] + half_exponent(square));
  }
  if (exponents.empty()) return 0;
  std::sort(exponents.begin(), exponents.end());
  const std::size_t zeros = size() - exponents.size(), middle = size() / 2;
  return exponents[middle < zeros ? 0 : middle - zeros];
}

std::vector<double> Points::squared_distances() const {
  const std::size_t n = size();
  const int one = unit();
  std::vector<double> squares(n * n);
  if (gram_.exponents.empty()) {  // in_units changes nothing, unless they are very large
    std::vector<double> own(n);
    for (std::size_t i = 0; i < n; ++i) own[i] = gram_.row(i)[i];
    double most = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double* const g = gram_.row(i);
      double* const to = &squares[i * n];
      for (std::size_t k = 0; k < n; ++k) {
        const double square = own[i] + own[k] - 2 * g[k];
        to[k] = square > 0 ? square : 0.0;
        most = std::max(most, to[k]);
      }
      to[i] = 0;
    }
    if (most < 0x1p980) return squares;
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k)
      squares[i * n + k] = squares[k * n + i] = in_units(squared_distance(i, k), one);
  }
  return squares;
}

std::vector<double> Points::lengths() const {
  const int one = unit();
  std::vector<double> lengths(size());
  for (std::size_t i = 0; i < size(); ++i)
    lengths[i] = std::sqrt(in_units({gram_.row(i)[i], 2 * gram_.exponent(i)}, one));
  return lengths;
}

void Points::mix(std::size_t n, std::span<const double> m, bool products) {
  const std::size_t old = all(), now = n + (gram_.origin ? 1 : 0);
  std::vector<double> w(m.begin(), m.end());
  w.resize(now * old);
  if (gram_.origin) w[now * old - 1] = 1;
  std::vector<int> exponents;
  if (!gram_.exponents.empty()) {  // in units of the longest that a point is made of
    exponents.resize(now);
    for (std::size_t i = 0; i < now; ++i) {
      int most = std::numeric_limits<int>::min();
      for (std::size_t k = 0; k < old; ++k) {
        if (w[i * old + k] != 0)
          most = std::max(most, gram_.exponents[k] + std::ilogb(w[i * old + k]));
      }
      exponents[i] = most;
      for (std::size_t k = 0; k < old; ++k)
        w[i * old + k] = std::ldexp(w[i * old + k], gram_.exponents[k] - most);
    }
  }
  std::vector<double> mixture(now * rows_);
  if (mixture_.empty()) {
    mixture = w;
  } else {
    multiply(w.data(), mixture_.data(), now, old, rows_, mixture.data());
  }
  mixture_ = std::move(mixture);
  if (row_products_.empty() && own_.empty() && old == rows_) row_products_ = gram_.g;
  Gram gram;
  gram.points = now;
  gram.origin = gram_.origin;
  gram.exponents = std::move(exponents);
  gram.seen = gram_.seen;
  if (products && !gram_.g.empty()) {
    // Points made in the same way are the same, and among neighbours they often are.
    const Distinct points = distinct_rows(w, now, old);
    const std::size_t few = points.first.size();
    std::vector<double> own(few * old), half(few * old), transposed(old * few), inner(few * few);
    for (std::size_t i = 0; i < few; ++i)
      std::copy_n(&w[points.first[i] * old], old, &own[i * old]);
    multiply(own.data(), gram_.g.data(), few, old, old, half.data());
    for (std::size_t i = 0; i < few; ++i) {
      for (std::size_t k = 0; k < old; ++k) transposed[k * few + i] = own[i * old + k];
    }
    multiply(half.data(), transposed.data(), few, old, few, inner.data());
    gram.g.resize(now * now);
    for (std::size_t i = 0; i < now; ++i) {
      for (std::size_t k = 0; k < now; ++k) {
        // Equal up to rounding on both sides of the diagonal; rules may rely on more.
        const std::size_t p = points.of[i], q = points.of[k];
        gram.g[i * now + k] = p >= q ? inner[p * few + q] : inner[q * few + p];
      }
    }
  }
  gram_ = std::move(gram);
}

std::vector<double> Points::combination(std::span<const double> c) const {
  std::vector<double> coefficients(rows_);
  if (mixture_.empty()) {
    for (std::size_t k = 0; k < rows_; ++k)
      coefficients[k] = own_.empty() ? c[k] : std::ldexp(c[k], own_[k]);
    return coefficients;
  }
  for (std::size_t i = 0; i < all(); ++i) {
    if (c[i] == 0) continue;
    const double factor = std::ldexp(c[i], gram_.exponent(i));
    for (std::size_t k = 0; k < rows_; ++k) coefficients[k] += factor * mixture_[i * rows_ + k];
  }
  return coefficients;
}

Combination combination_of(const Points& points, std::span<const double> c) {
  Combination made;
  made.coefficients = points.combination(c);
  if (!points.measured()) {
    made.anchor = Combination::kNone;
    return made;
  }
  const std::vector<int>& exponents = points.row_exponents();
  // The differences from the row that counts most are the smallest, and a row by itself is copied.
  double most = -1;
  for (std::size_t k = 0; k < made.coefficients.size(); ++k) {
    const double share =
        std::abs(std::ldexp(made.coefficients[k], exponents.empty() ? 0 : -exponents[k]));
    if (!(share > most)) continue;
    most = share;
    made.anchor = k;
  }
  if (exponents.empty()) return made;
  made.scales.resize(made.coefficients.size());
  for (std::size_t k = 0; k < made.scales.size(); ++k) {
    const int unit = std::max(exponents[k], exponents[made.anchor]);
    made.scales[k] = std::ldexp(1.0, -unit);
    made.coefficients[k] = std::ldexp(made.coefficients[k], unit - exponents[k]);
  }
  return made;
}

std::size_t count_outliers(const Points& points) {
  std::vector<double> r = points.lengths(), sorted = r;
  const double middle = median_of(std::span<double>(sorted));
  for (double& x : sorted) x = std::abs(x - middle);
  const double spread = 1.4826 * median_of(std::span<double>(sorted));
  // Of three or four rows one or two are at the median, and the spread of the rest says little.
  const double slack = r.size() < 5 ? 70 : 5 * (1 + 3 / std::sqrt(static_cast<double>(r.size())));
  return static_cast<std::size_t>(std::count_if(r.begin(), r.end(), [&](double x) {
    return x > middle + slack * spread && x > 1.5 * middle;
  }));
}

}  // namespace medgrad::estimators
