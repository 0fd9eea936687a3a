#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/sample/distinct.h"
#include "core/sample/plan.h"
#include "core/sample/product.h"

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

// Is it the identity of the first n of `all` points?
bool changes_nothing(std::span<const double> m, std::size_t n, std::size_t all) {
  if (m.size() != n * all) return false;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < all; ++k)
      if (m[i * all + k] != (i == k ? 1 : 0)) return false;
  return true;
}

// Subtracts from all rows the median of each column of the first n: what most of them have in
// common is then gone.
void subtract_middle(Matrix& w, std::size_t n, std::size_t columns, ThreadPool* pool) {
  std::vector<double> middle(columns);
  select_of_columns(w.data(), n, columns, (n + 1) / 2, middle.data(), pool);
  for_each_band(pool, w.size() / columns, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin * columns; i < end * columns; i += columns)
      for (std::size_t k = 0; k < columns; ++k) w[i + k] -= middle[k];
  });
}

}  // namespace

void merge_columns(Matrix& w, std::span<const std::size_t> same) {
  const std::size_t columns = same.size();
  for (std::size_t i = 0; columns > 0 && i < w.size(); i += columns) {
    for (std::size_t k = 0; k < columns; ++k) {
      if (same[k] == k) continue;
      w[i + same[k]] += w[i + k];
      w[i + k] = 0;
    }
  }
}

Points::Points(Gram gram, ThreadPool* pool)
    : pool_(pool),
      gram_(std::move(gram)),
      rows_(gram_.points),
      measured_(!gram_.g.empty()),
      own_(gram_.exponents),
      row_same_(gram_.same) {
  for (std::size_t i = 0; i < gram_.points && measured_; ++i)
    reach_.push_back(std::sqrt(gram_.row(i)[i]));
}

Scaled Points::distance(std::size_t i, std::size_t k) const {
  const Scaled square = gram_.square(i, k);
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

Matrix Points::squared_distances() const {
  const std::size_t n = size();
  const int one = unit();
  Matrix squares(n * n);
  std::vector<double> own(n);
  for (std::size_t i = 0; i < n; ++i) own[i] = gram_.row(i)[i];
  // No square is larger than four times the largest of these, and in_units changes nothing, unless
  // they are very large.
  const bool plain = gram_.exponents.empty() && gram_.squares.empty() && n > 0 &&
                     *std::max_element(own.begin(), own.end()) < 0x1p977;
  for_each_band(pool_, plain ? n : 0, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const double* const g = gram_.row(i);
      double* const to = &squares[i * n];
      for (std::size_t k = 0; k < n; ++k) {
        const double square = own[i] + own[k] - 2 * g[k];
        to[k] = square > 0 ? square : 0.0;
      }
      to[i] = 0;
    }
  });
  if (plain) return squares;
  for (std::size_t i = 0; i < n; ++i) {
    squares[i * n + i] = 0;
    for (std::size_t k = 0; k < i; ++k) {
      const Scaled square = gram_.square(i, k);
      const bool as_it_is = square.exponent == 0 && one == 0 && square.value < 0x1p980;
      squares[i * n + k] = squares[k * n + i] = as_it_is ? square.value : in_units(square, one);
    }
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

bool Points::keeps_distance(std::size_t i, std::size_t k, double share) const {
  if (!gram_.same.empty() && gram_.same[i] == gram_.same[k]) return true;
  if (!gram_.squares.empty()) return true;
  const Scaled square = gram_.square(i, k);
  const int e = square.exponent / 2;
  const double far =
      std::ldexp(reach_[i], gram_.exponent(i) - e) + std::ldexp(reach_[k], gram_.exponent(k) - e);
  return square.value >= share * far * far;
}

bool Points::keeps_distances(double share) const {
  if (!gram_.squares.empty()) return true;
  if (gram_.exponents.empty()) {  // nearly always: row by row, and only rows that fail pair by pair
    std::vector<double> own(size());
    for (std::size_t i = 0; i < size(); ++i) own[i] = gram_.row(i)[i];
    std::atomic<bool> keeps = true;
    for_each_band(pool_, size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end && keeps; ++i) {
        const double* const g = gram_.row(i);
        std::size_t lost = 0;
        for (std::size_t k = 0; k < i; ++k) {
          const double far = reach_[i] + reach_[k];
          lost += own[i] + own[k] - 2 * g[k] < share * far * far ? 1 : 0;
        }
        for (std::size_t k = 0; k < i && lost > 0; ++k)
          if (!keeps_distance(i, k, share)) keeps = false;
      }
    });
    return keeps;
  }
  for (std::size_t i = 0; i < size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (!keeps_distance(i, k, share)) return false;
  return true;
}

bool Points::keeps_lengths(double share) const {
  for (std::size_t i = 0; i < size() && gram_.origin; ++i)
    if (!keeps_distance(i, size(), share)) return false;
  return true;
}

// The inner products of the combinations in the rows of w, a matrix of gram.points x all(), which
// are in the units of gram.
void Points::multiply_out(Matrix w, Gram& gram) {
  const std::size_t old = all(), now = gram.points;
  // Points that are equal are one, and points made in the same way are the same, as they often are
  // among neighbours.
  merge_columns(w, gram_.same);
  const Distinct points = distinct_rows(w, now, old);
  const std::size_t few = points.first.size();
  Matrix own, inner(few * few);
  if (few == now) {
    own = std::move(w);
  } else {
    own.resize(few * old);
    for (std::size_t i = 0; i < few; ++i)
      std::copy_n(&w[points.first[i] * old], old, &own[i * old]);
  }
  std::vector<double> reach(few);
  for (std::size_t i = 0; i < few; ++i) {
    for (std::size_t k = 0; k < old; ++k) reach[i] += std::abs(own[i * old + k]) * reach_[k];
  }
  multiply_both_sides(own.data(), gram_.g.data(), few, old, inner.data(), pool_);
  gram.g.resize(now * now);
  gram.same.resize(now);
  for_each_band(pool_, now, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t p = points.of[i];
      gram.same[i] = points.first[p];
      // Equal up to rounding on both sides of the diagonal; rules may rely on more.
      for (std::size_t k = 0; k < now; ++k) {
        const std::size_t q = points.of[k];
        gram.g[i * now + k] = (inner[p * few + q] + inner[q * few + p]) / 2;
      }
    }
  });
  reach_.resize(now);
  for (std::size_t i = 0; i < now; ++i) reach_[i] = reach[points.of[i]];
}

void Points::mix(std::size_t n, std::span<const double> m, bool products) {
  const std::size_t old = all(), now = n + (gram_.origin ? 1 : 0);
  Matrix w(m.begin(), m.end());
  w.resize(now * old, 0.0);
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
  if (mixture_.empty()) {
    mixture_ = w;
  } else {
    Matrix mixture(now * rows_);
    multiply(w.data(), mixture_.data(), now, old, rows_, mixture.data(), pool_);
    mixture_ = std::move(mixture);
  }
  const bool of_rows = row_products_.empty() && own_.empty() && old == rows_;
  if (changes_nothing(m, size(), old)) {
    if (of_rows) row_products_ = gram_.g;
    return;
  }
  Gram gram;
  gram.points = now;
  gram.origin = gram_.origin;
  gram.exponents = std::move(exponents);
  gram.seen = gram_.seen;
  if (products && !gram_.g.empty()) {
    if (gram.exponents.empty()) subtract_middle(w, n, old, pool_);
    multiply_out(std::move(w), gram);
  }
  if (of_rows) row_products_ = std::move(gram_.g);
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
