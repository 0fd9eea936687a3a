// Many rows: the solver that works on the Gram matrix, against the conditions of optimality and
// against the one that works on points.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/sample/weber_gram.h"
#include "core/sample_helpers.h"
#include "kernels/gram.h"
#include "medgrad/thread_pool.h"

namespace medgrad {
namespace {

using estimators::GramMatrix;
using estimators::solve;
using estimators::solve_by_gram;
using sample_test::farthest;
using sample_test::Matrix;
using sample_test::normal;
using sample_test::run;
using sample_test::stationarity;

GramMatrix gram_of(const Matrix<double>& data) {
  GramMatrix gram;
  gram.g.assign(kernels::pair_index(data.n, 0), 0.0);
  for (std::size_t i = 0; i < data.n; ++i) {
    for (std::size_t k = 0; k <= i; ++k) {
      double sum = 0;
      for (std::size_t j = 0; j < data.d; ++j) sum += data(i, j) * data(k, j);
      gram.g[kernels::pair_index(i, k)] = sum;
    }
  }
  return gram;
}

// sum_i c_i x_i with what is left of 1 on the anchor.
std::vector<double> point_of(const Matrix<double>& data, const estimators::WeberSolution& s) {
  std::vector<double> z(data.d);
  for (std::size_t j = 0; j < data.d; ++j) {
    z[j] = data(s.anchor, j);
    for (std::size_t i = 0; i < data.n; ++i)
      z[j] += s.coefficients[i] * (data(i, j) - data(s.anchor, j));
  }
  return z;
}

TEST(WeberByGram, FindsWhatThePointsGive) {
  for (const double mu : {0.0, 0.5, 3.0, 50.0}) {
    const Matrix<double> data = normal<double>(70, 12, 3);
    const GramMatrix gram = gram_of(data);
    std::vector<double> weights(data.n);
    for (std::size_t i = 0; i < data.n; ++i) weights[i] = 0.5 + static_cast<double>(i % 5);
    const auto got = solve_by_gram({&gram, 1, weights, mu, 1000, 0, nullptr});
    const auto want = solve({data.n, data.d, data.x, weights, mu, 1000, 0});
    ASSERT_TRUE(got) << mu;
    EXPECT_LE(farthest(point_of(data, *got), point_of(data, want)), 1e-11) << mu;
    EXPECT_NEAR(got->objective, want.objective, 1e-12 * want.objective);
    EXPECT_NEAR(got->bound, want.objective, 1e-12 * want.objective);
    EXPECT_LE(got->bound, got->objective * (1 + 1e-14));
  }
}

TEST(WeberByGram, StopsAtACertifiedGap) {
  const Matrix<double> data = normal<double>(80, 9, 4);
  const GramMatrix gram = gram_of(data);
  const std::vector<double> weights(data.n, 1.0);
  const auto exact = solve_by_gram({&gram, 1, weights, 0, 1000, 0, nullptr});
  const auto rough = solve_by_gram({&gram, 1, weights, 0, 1000, 1e-3, nullptr});
  ASSERT_TRUE(exact && rough);
  EXPECT_EQ(rough->stop, Stop::tolerance);
  EXPECT_LT(rough->iterations, exact->iterations);
  EXPECT_LE(rough->bound, exact->objective);
  EXPECT_LE(rough->objective, exact->objective * (1 + 1e-3));
}

TEST(WeberByGram, GivesUpWhereDigitsAreMissing) {
  Matrix<double> data = normal<double>(70, 12, 5);
  const std::vector<double> weights(data.n, 1.0);
  for (std::size_t i = 0; i < 40; ++i) {  // most rows are the same: the median is a data point
    for (std::size_t j = 0; j < data.d; ++j) data(i, j) = 1;
  }
  const GramMatrix same = gram_of(data);
  EXPECT_FALSE(solve_by_gram({&same, 1, weights, 0, 1000, 0, nullptr}));
  for (std::size_t i = 0; i < data.n; ++i) {  // nearly on a line
    for (std::size_t j = 0; j < data.d; ++j)
      data(i, j) = static_cast<double>(i) + 1e-6 * data(i, j);
  }
  const GramMatrix line = gram_of(data);
  EXPECT_FALSE(solve_by_gram({&line, 1, weights, 0, 1000, 0, nullptr}));
}

// Around the switch to that solver, with outliers, rows that are equal, and threads.
TEST(SampleByGram, ManyRowsAreStationary) {
  for (const std::size_t n : {64u, 65u, 130u}) {
    for (const double size : {1.0, 1e-150, 1e140}) {
      SCOPED_TRACE(std::to_string(n) + " x " + std::to_string(size));
      Matrix<double> data = normal<double>(n, 300, static_cast<unsigned>(n));
      for (std::size_t j = 0; j < data.d; ++j) {
        data(1, j) = data(0, j);
        data(2, j) *= 1e9;
      }
      for (double& x : data.x) x *= size;
      const auto got = run<double>(GeometricMedian{}, data);
      EXPECT_LE(got.info.gap, 1e-12);
      EXPECT_LE(static_cast<double>(stationarity(data, got.m).pull),
                1e-11 * static_cast<double>(n));
      ThreadPool pool(3);
      SampleOptions<double> options;
      options.pool = &pool;
      EXPECT_EQ(run<double>(GeometricMedian{}, data, options).m, got.m);
      const auto huber = run<double>(HuberLocation{.mu = 10 * size}, data);
      EXPECT_LE(huber.info.gap, 1e-12);
      EXPECT_LE(static_cast<double>(stationarity(data, huber.m, 10 * size).pull / size),
                1e-10 * static_cast<double>(n));
    }
  }
}

// More than half of the rows in one place: there it is, whatever the others are.
TEST(SampleByGram, ManyEqualRows) {
  Matrix<double> data = normal<double>(101, 200, 6);
  for (std::size_t i = 0; i < 52; ++i) {
    for (std::size_t j = 0; j < data.d; ++j) data(i, j) = 0.25;
  }
  const auto got = run<double>(GeometricMedian{}, data);
  EXPECT_EQ(got.m, std::vector<double>(200, 0.25));
  EXPECT_EQ(got.info.stop, Stop::data_point);
}

}  // namespace
}  // namespace medgrad
