// The geometric median and Huber location against their optimality conditions, evaluated in long
// double, where they are hard: far outliers, minima on and next to data points, clusters.
#include <gtest/gtest.h>

#include "core/sample/embedding.h"
#include "core/sample/weber.h"
#include "core/sample_helpers.h"

namespace medgrad {
namespace {

using sample_test::farthest;
using sample_test::Matrix;
using sample_test::normal;
using sample_test::objective;
using sample_test::run;
using sample_test::stationarity;

// A minimum: the pull of the others is at most what the rows at m can hold; elsewhere it vanishes
// up to rounding (n unit vectors, each good to a few 1e-16 relative to |x| / r).
void expect_minimum(const Matrix<double>& data, const std::vector<double>& m, double slack) {
  const auto s = stationarity(data, m);
  EXPECT_LE(static_cast<double>(s.pull), static_cast<double>(s.here) + slack);
}

TEST(SampleSpatial, RandomDataOfAllShapes) {
  for (const std::size_t n : {1u, 2u, 3u, 4u, 5u, 8u, 11u, 17u, 40u, 130u}) {
    for (const std::size_t d : {1u, 2u, 3u, 9u, 50u, 1000u}) {
      SCOPED_TRACE(std::to_string(n) + " x " + std::to_string(d));
      const auto data = normal<double>(n, d, static_cast<unsigned>(n * 1000 + d));
      const auto got = run<double>(GeometricMedian{}, data);
      if (d > 1 && n > 2) expect_minimum(data, got.m, 1e-13 * static_cast<double>(n));
      EXPECT_NEAR(got.info.objective, static_cast<double>(objective(data, got.m, 2)),
                  1e-13 * got.info.objective);
      EXPECT_LE(got.info.gap, 1e-13);
      const bool middle = n % 2 == 0 && (n == 2 || d == 1);  // rows on a line
      EXPECT_TRUE(got.info.stop == (middle ? Stop::closed_form : Stop::tolerance) ||
                  got.info.stop == Stop::data_point);

      const auto huber = run<double>(HuberLocation{.mu = 0.5}, data);
      EXPECT_LE(static_cast<double>(stationarity(data, huber.m, 0.5).pull),
                1e-13 * static_cast<double>(n));
      EXPECT_LE(huber.info.gap, 1e-12);
    }
  }
}

TEST(SampleSpatial, FarOutliersDoNotCostDigits) {
  for (const double far : {1e6, 1e12, 1e100, 1e300}) {
    for (const std::size_t d : {2u, 5u, 100u}) {
      SCOPED_TRACE(std::to_string(far) + ", d = " + std::to_string(d));
      auto data = normal<double>(9, d, 77);
      for (std::size_t j = 0; j < d; ++j) {
        data(2, j) = far * (j % 2 == 0 ? 1 : -0.5);
        data(5, j) = -far * (j % 3 == 0 ? 1 : 0.25);
        data(6, j) = far;
      }
      const auto got = run<double>(GeometricMedian{}, data);
      expect_minimum(data, got.m, 1e-13);
      const auto huber = run<double>(HuberLocation{.mu = 0.5}, data);
      EXPECT_LE(static_cast<double>(stationarity(data, huber.m, 0.5).pull), 1e-13);
    }
  }
}

TEST(SampleSpatial, OnADataPoint) {
  for (const std::size_t d : {2u, 3u, 40u}) {
    auto data = normal<double>(7, d, 3);
    for (std::size_t j = 0; j < d; ++j) data(4, j) = data(1, j) = data(6, j);      // three of seven
    for (std::size_t j = 0; j < d; ++j) data(0, j) = 2 * data(6, j) - data(2, j);  // opposite pair
    const auto got = run<double>(GeometricMedian{}, data);
    EXPECT_EQ(got.info.stop, Stop::data_point);
    EXPECT_EQ(got.info.gap, 0);
    for (std::size_t j = 0; j < d; ++j) EXPECT_EQ(got.m[j], data(6, j));
  }
}

// Four unit vectors e_i from the origin have the pull R = sum e_i; the origin with a weight a
// little below |R| leaves the minimum at a distance of about (|R| - weight) / stiffness from it.
TEST(SampleSpatial, NextToADataPoint) {
  for (const double off : {1e-3, 1e-6, 1e-9, 1e-12}) {
    for (const std::size_t d : {3u, 60u}) {
      SCOPED_TRACE(std::to_string(off) + ", d = " + std::to_string(d));
      auto data = normal<double>(6, d, 11);
      for (std::size_t j = 0; j < d; ++j) data(0, j) = 0;
      Matrix<double> others(5, d);
      std::copy(data.x.begin() + static_cast<std::ptrdiff_t>(d), data.x.end(), others.x.begin());
      const std::vector<double> zero(d);
      const double pull = static_cast<double>(stationarity(others, zero).pull);
      const std::vector<double> weights = {pull * (1 - off), 1, 1, 1, 1, 1};
      SampleOptions<double> options;
      options.weights = weights;
      const auto got = run<double>(GeometricMedian{}, data, options);
      EXPECT_NE(got.info.stop, Stop::data_point);
      // g = weight m/|m| + the pull of the others must vanish: to rounding, whatever |m|.
      std::vector<long double> g(d);
      long double size = 0, square = 0;
      for (std::size_t i = 0; i < 6; ++i) {
        long double r = 0;
        for (std::size_t j = 0; j < d; ++j)
          r += std::pow(static_cast<long double>(got.m[j]) - data(i, j), 2.0L);
        r = std::sqrt(r);
        if (i == 0) size = r;
        for (std::size_t j = 0; j < d; ++j)
          g[j] += weights[i] * (static_cast<long double>(got.m[j]) - data(i, j)) / r;
      }
      for (const long double v : g) square += v * v;
      EXPECT_LE(static_cast<double>(std::sqrt(square)), 1e-14 + 1e-15 / static_cast<double>(size));
      EXPECT_GT(static_cast<double>(size), 0.05 * off);
      EXPECT_LT(static_cast<double>(size), 10 * off * static_cast<double>(d));
    }
  }
}

// Rows that matter lie far from the componentwise median and close together: the embedding is made
// again from there.
TEST(SampleSpatial, TightClusterAwayFromTheCentre) {
  for (const double size : {1e-3, 1e-6, 1e-9}) {
    for (const std::size_t d : {2u, 50u}) {
      SCOPED_TRACE(std::to_string(size) + ", d = " + std::to_string(d));
      auto data = normal<double>(8, d, 21);
      const auto inner = normal<double>(3, d, 22);
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < d; ++j) data(i, j) = 1 + size * inner(i, j);
      }
      const std::vector<double> weights = {4, 4, 4, 1, 1, 1, 1, 1};
      Matrix<double> repeated(0, d);
      for (std::size_t i = 0; i < 8; ++i) {
        for (int k = 0; k < static_cast<int>(weights[i]); ++k, ++repeated.n)
          repeated.x.insert(repeated.x.end(), &data.x[i * d], &data.x[i * d] + d);
      }
      SampleOptions<double> options;
      options.weights = weights;
      const auto got = run<double>(GeometricMedian{}, data, options);
      // One ulp of m near 1 turns the unit vectors of the cluster by 1e-16 / size.
      expect_minimum(repeated, got.m, 1e-13 + 1e-14 / size);
    }
  }
}

TEST(SampleSpatial, BothEmbeddingsAgree) {
  for (const double far : {1.0, 1e12}) {
    auto data = normal<double>(9, 30, 5);
    for (std::size_t j = 0; j < 30; ++j) {
      data(3, j) *= far;
      data(7, j) = data(2, j);
    }
    estimators::Input<double> input;
    input.n = 9;
    input.d = 30;
    input.weights.assign(9, 1.0);
    for (std::size_t i = 0; i < 9; ++i) input.rows.push_back(&data.x[i * 30]);
    const auto distances = [&](const estimators::Embedding& e) {
      const std::vector<double> ones(9, 1.0);
      const estimators::WeberProblem problem{e.n, e.k, e.points, ones, 0, 1000};
      auto r = estimators::solve(problem).distances;
      for (double& v : r) v = std::ldexp(v, e.exponent);
      return r;
    };
    const double* const median = nullptr;
    const auto a = distances(estimators::embed_by_gram(input, median));
    const auto b = distances(estimators::embed_directly(input, median));
    for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(a[i], b[i], 1e-13 * b[i]);
    EXPECT_EQ(a[2], a[7]);
  }
}

TEST(SampleSpatial, NearlyCollinear) {
  for (const double off : {1e-2, 1e-5, 1e-8, 0.0}) {
    for (const std::size_t n : {4u, 7u, 10u}) {
      SCOPED_TRACE(std::to_string(off) + ", n = " + std::to_string(n));
      auto data = normal<double>(n, 20, 9);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < 20; ++j)
          data(i, j) = off * data(i, j) + (1 + static_cast<double>(i * i)) * static_cast<double>(j);
      }
      const auto got = run<double>(GeometricMedian{}, data);
      EXPECT_LE(got.info.gap, 1e-12);
    }
  }
}

TEST(SampleSpatial, StopsWhenToldTo) {
  const auto data = normal<double>(11, 30, 1);
  const auto got = run<double>(GeometricMedian{.tolerance = 0, .max_iterations = 1}, data);
  EXPECT_EQ(got.info.stop, Stop::max_iterations);
  const auto best = run<double>(GeometricMedian{}, data);
  // The gap is an upper bound of the true one.
  EXPECT_GE(got.info.gap * got.info.objective, got.info.objective - best.info.objective);
}

// A tolerance is met, certified as met, and no more work is done than it takes.
TEST(SampleSpatial, ToleranceStopsTheIteration) {
  const auto data = normal<double>(30, 40, 6);
  const auto check = [&](auto method) {
    const auto best = run<double>(method, data);
    int last = best.info.iterations;
    for (const double tolerance : {1e-6, 1e-3, 0.1, 10.0}) {
      method.tolerance = tolerance;
      const auto got = run<double>(method, data);
      EXPECT_EQ(got.info.stop, Stop::tolerance);
      EXPECT_LE(got.info.gap, tolerance);
      EXPECT_LE(got.info.objective - best.info.objective, tolerance * got.info.objective);
      EXPECT_LE(got.info.iterations, last);
      last = got.info.iterations;
    }
    EXPECT_LT(last, best.info.iterations);
  };
  check(GeometricMedian{});
  check(HuberLocation{.mu = 0.5});
  check(LpMedian{.p = 1.2});
  check(LpMedian{.p = 3});
}

// Where mu is nothing beside the data its forces are nothing either, and yet the minimum is as
// sharp as the geometric median's.
TEST(SampleSpatial, HuberOfATinyThreshold) {
  for (const double mu : {1e-8, 1e-12, 1e-15, 1e-100}) {
    SCOPED_TRACE(mu);
    const auto data = normal<double>(9, 25, 4);
    const auto got = run<double>(HuberLocation{.mu = mu}, data);
    EXPECT_LE(got.info.gap, 1e-12);
    EXPECT_LE(farthest(got.m, run<double>(GeometricMedian{}, data).m), 1e-8);
  }
  auto large = normal<double>(9, 25, 4);
  for (double& x : large.x) x *= 1e14;
  EXPECT_LE(run<double>(HuberLocation{}, large).info.gap, 1e-12);
}

TEST(SampleSpatial, HuberBetweenMeanAndMedian) {
  const auto data = normal<double>(9, 25, 4);
  EXPECT_LE(farthest(run<double>(HuberLocation{.mu = 1e6}, data).m, run<double>(Mean{}, data).m),
            1e-14);
  EXPECT_LE(farthest(run<double>(HuberLocation{.mu = 1e-9}, data).m,
                     run<double>(GeometricMedian{}, data).m),
            1e-9);
}

}  // namespace
}  // namespace medgrad
