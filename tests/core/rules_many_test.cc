// Rules on many rows, where they are computed in other ways than by their definitions: against the
// definitions, on the rows themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "core/sample_helpers.h"
#include "medgrad/pre_aggregators.h"
#include "medgrad/rules.h"

namespace medgrad {
namespace {

using sample_test::Matrix;
using sample_test::normal;
using sample_test::run;

constexpr std::size_t kRows = 150, kLiars = 20;

// Some rows are far away, some are equal.
Matrix<double> many(std::size_t d, unsigned seed) {
  Matrix<double> m = normal<double>(kRows, d, seed);
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < d; ++j) {
      if (i % 8 == 7) m(i, j) += 9;
      if (i >= 100 && i < 105) m(i, j) = m(0, j);
    }
  }
  return m;
}

long double square(const Matrix<double>& m, std::size_t i, std::size_t k) {
  long double sum = 0;
  for (std::size_t j = 0; j < m.d; ++j) {
    const long double r = static_cast<long double>(m(i, j)) - m(k, j);
    sum += r * r;
  }
  return sum;
}

// The others, nearest first.
std::vector<std::size_t> by_distance(const Matrix<double>& m, std::size_t i) {
  std::vector<std::size_t> order(m.n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  order.erase(order.begin() + static_cast<std::ptrdiff_t>(i));
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return square(m, i, a) < square(m, i, b); });
  return order;
}

std::vector<std::size_t> by_score(const Matrix<double>& m, std::size_t neighbours) {
  std::vector<long double> score(m.n);
  for (std::size_t i = 0; i < m.n; ++i) {
    const auto order = by_distance(m, i);
    for (std::size_t k = 0; k < neighbours; ++k) score[i] += square(m, i, order[k]);
  }
  std::vector<std::size_t> best(m.n);
  std::iota(best.begin(), best.end(), std::size_t{0});
  std::stable_sort(best.begin(), best.end(),
                   [&](std::size_t a, std::size_t b) { return score[a] < score[b]; });
  return best;
}

std::vector<double> mean_of(const Matrix<double>& m, std::span<const std::size_t> chosen) {
  std::vector<double> mean(m.d);
  for (std::size_t j = 0; j < m.d; ++j) {
    long double sum = 0;
    for (const std::size_t i : chosen) sum += m(i, j);
    mean[j] = static_cast<double>(sum / static_cast<long double>(chosen.size()));
  }
  return mean;
}

Matrix<double> mixed(const Matrix<double>& m, std::size_t f) {
  Matrix<double> out(m.n, m.d);
  for (std::size_t i = 0; i < m.n; ++i) {
    auto order = by_distance(m, i);
    order.insert(order.begin(), i);
    order.resize(m.n - f);
    const auto mean = mean_of(m, order);
    std::copy(mean.begin(), mean.end(), &out(i, 0));
  }
  return out;
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  for (std::size_t j = 0; j < a.size(); ++j) EXPECT_NEAR(a[j], b[j], tolerance) << j;
}

TEST(ManyRows, Krum) {
  const auto m = many(40, 3);
  const auto best = by_score(m, kRows - kLiars - 2);
  const auto krum = run<double>(Krum{.f = kLiars}, m).m;
  for (std::size_t j = 0; j < m.d; ++j) EXPECT_EQ(krum[j], m(best[0], j));
  expect_near(run<double>(MultiKrum{.f = kLiars}, m).m,
              mean_of(m, std::span(best).first(kRows - kLiars)), 1e-13);
  const auto few = by_score(m, 3);
  expect_near(run<double>(MultiKrum{.f = kLiars, .neighbours = 3, .select = 5}, m).m,
              mean_of(m, std::span(few).first(5)), 1e-13);
}

// Every score appears twice: of two that are equal the first is taken, whatever the order in which
// their distances come.
TEST(ManyRows, EqualScoresAreEqualToTheBit) {
  Matrix<double> m = normal<double>(2 * kRows, 3, 4);
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < m.d; ++j) m(2 * kRows - 1 - i, j) = -m(i, j);
  }
  const auto krum = run<double>(Krum{.f = kLiars}, m).m;
  std::size_t found = 0;
  while (found < m.n && !std::equal(krum.begin(), krum.end(), &m(found, 0))) ++found;
  EXPECT_LT(found, kRows);
}

TEST(ManyRows, NearestNeighbours) {
  const auto m = many(40, 5);
  const Matrix<double> after = mixed(m, kLiars);
  const auto one = [](SampleMethod method) { return Rule({Nnm{.f = kLiars}}, std::move(method)); };
  expect_near(run<double>(one(Median{}), m).m, run<double>(Median{}, after).m, 1e-13);
  expect_near(run<double>(one(TrimmedMean{kLiars}), m).m, run<double>(TrimmedMean{kLiars}, after).m,
              1e-13);
  expect_near(run<double>(one(GeometricMedian{}), m).m, run<double>(GeometricMedian{}, after).m,
              1e-9);
  const auto best = by_score(after, kRows - kLiars - 2);
  expect_near(run<double>(one(MultiKrum{.f = kLiars}), m).m,
              mean_of(after, std::span(best).first(kRows - kLiars)), 1e-12);
}

// In the plane the largest eigenvalue of a covariance has a formula.
std::vector<double> caf_by_definition(const Matrix<double>& m, std::size_t f) {
  std::vector<long double> c(m.n, 1);
  std::vector<double> best;
  long double least = std::numeric_limits<long double>::infinity();
  for (;;) {
    const long double total = std::accumulate(c.begin(), c.end(), 0.0L);
    if (!(total > static_cast<long double>(m.n - 2 * f))) return best;
    long double mean[2] = {}, xx = 0, xy = 0, yy = 0;
    for (std::size_t i = 0; i < m.n; ++i)
      for (std::size_t j = 0; j < 2; ++j) mean[j] += c[i] / total * m(i, j);
    for (std::size_t i = 0; i < m.n; ++i) {
      const long double x = m(i, 0) - mean[0], y = m(i, 1) - mean[1];
      xx += c[i] / total * x * x;
      xy += c[i] / total * x * y;
      yy += c[i] / total * y * y;
    }
    const long double lambda = (xx + yy) / 2 + std::sqrt((xx - yy) * (xx - yy) / 4 + xy * xy),
                      u = lambda - yy;
    if (lambda < least) {
      least = lambda;
      best = {static_cast<double>(mean[0]), static_cast<double>(mean[1])};
    }
    std::vector<long double> tau(m.n);  // along (lambda - yy, xy)
    long double most = 0;
    for (std::size_t i = 0; i < m.n; ++i) {
      const long double along = (m(i, 0) - mean[0]) * u + (m(i, 1) - mean[1]) * xy;
      tau[i] = along * along;
      if (c[i] > 0) most = std::max(most, tau[i]);
    }
    for (std::size_t i = 0; i < m.n; ++i) c[i] = c[i] > 0 ? c[i] * (1 - tau[i] / most) : 0;
  }
}

TEST(ManyRows, Caf) {
  for (const unsigned seed : {6u, 7u, 8u}) {
    const auto m = many(2, seed);
    expect_near(run<double>(Caf{.f = 0}, m).m, run<double>(Mean{}, m).m, 1e-13);
    for (const std::size_t f : {1u, 5u, 20u})
      expect_near(run<double>(Caf{.f = f}, m).m, caf_by_definition(m, f), 1e-12);
    // A hundred rounds enlarge what rounding does in the first.
    expect_near(run<double>(Caf{.f = 74}, m).m, caf_by_definition(m, 74), 1e-9);
  }
}

// Every row becomes the mean of the n - f nearest to it, itself included.
Matrix<double> nearest_means(const Matrix<double>& m, std::size_t f) {
  Matrix<double> mixed(m.n, m.d);
  for (std::size_t i = 0; i < m.n; ++i) {
    const auto order = by_distance(m, i);
    for (std::size_t j = 0; j < m.d; ++j) {
      long double sum = m(i, j);
      for (std::size_t k = 0; k + f + 1 < m.n; ++k) sum += m(order[k], j);
      mixed(i, j) = static_cast<double>(sum / static_cast<long double>(m.n - f));
    }
  }
  return mixed;
}

// Found from inner products of the rows; the same as of the mixed rows themselves, which are close
// together and far from the rest. The last digits of entries near 1e6 are at 1e-10.
TEST(MixedRows, MinimisersAreThoseOfTheRowsWrittenDown) {
  for (const std::size_t n : {3u, 5u, 20u, 41u, 90u}) {
    for (const double shift : {0.0, 1e6}) {
      Matrix<double> m = normal<double>(n, 30, static_cast<unsigned>(n));
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < m.d; ++j) m(i, j) += shift + (i % 8 == 7 ? 1e5 : 0);
      for (const std::size_t f : {std::size_t{1}, n / 4, (n - 1) / 2}) {
        SCOPED_TRACE(n * 1000 + f);
        const Matrix<double> mixed = nearest_means(m, f);
        const auto check = [&](const Rule& rule, const SampleMethod& method) {
          const auto ours = run<double>(rule, m), written = run<double>(method, mixed);
          expect_near(ours.m, written.m, shift == 0 ? 1e-10 : 2e-9);
          EXPECT_NEAR(ours.info.objective, written.info.objective,
                      1e-9 * (1 + written.info.objective));
          EXPECT_LE(ours.info.gap, shift == 0 ? 1e-10 : 1e-8);
        };
        check(Rule({Nnm{.f = f}}, GeometricMedian{}), GeometricMedian{});
        check(Rule({Nnm{.f = f}}, HuberLocation{.mu = 0.3}), HuberLocation{.mu = 0.3});
      }
    }
  }
}

// One row of 1e300 is no reason to lose the others.
TEST(MixedRows, BearRowsOfAnySize) {
  Matrix<double> m = normal<double>(12, 9, 1);
  for (std::size_t j = 0; j < m.d; ++j) m(3, j) = 1e300;
  for (const double x : run<double>(Rule({Nnm{.f = 2}}, GeometricMedian{}), m).m)
    EXPECT_LT(std::abs(x), 3);
  for (double& x : m.x) x *= 1e-300;
  for (std::size_t j = 0; j < m.d; ++j) m(3, j) = 0;
  const auto after = run<double>(Rule({Nnm{.f = 2}}, GeometricMedian{}), m).m;
  for (const double x : after) EXPECT_LT(std::abs(x), 3e-300);
}

}  // namespace
}  // namespace medgrad
