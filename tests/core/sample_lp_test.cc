// The l_p medians against their optimality conditions and, for p = infinity, against all
// assignments.
#include <gtest/gtest.h>

#include <numeric>

#include "core/sample_helpers.h"

namespace medgrad {
namespace {

using sample_test::farthest;
using sample_test::Matrix;
using sample_test::normal;
using sample_test::objective;
using sample_test::run;

// |sum of gradients|_q in long double, rows at m left out.
double dual_residual(const Matrix<double>& data, const std::vector<double>& m, double p) {
  std::vector<long double> g(data.d);
  for (std::size_t i = 0; i < data.n; ++i) {
    Matrix<double> one(1, data.d);
    std::copy_n(&data.x[i * data.d], data.d, one.x.begin());
    const long double norm = objective(one, m, p);
    if (norm == 0) continue;
    for (std::size_t j = 0; j < data.d; ++j) {
      const long double v = static_cast<long double>(m[j]) - data(i, j);
      g[j] += std::copysign(std::pow(std::abs(v) / norm, static_cast<long double>(p - 1)), v);
    }
  }
  const Matrix<double> zero(1, data.d);
  return static_cast<double>(objective(zero, g, p / (p - 1)));
}

TEST(SampleLp, StationaryForEveryP) {
  for (const double p : {1.1, 1.5, 1.9, 2.5, 3.0, 4.0, 10.0}) {
    for (const std::size_t n : {3u, 5u, 8u, 20u}) {
      for (const std::size_t d : {2u, 3u, 10u, 80u}) {
        SCOPED_TRACE("p = " + std::to_string(p) + ", " + std::to_string(n) + " x " +
                     std::to_string(d));
        const auto data = normal<double>(n, d, static_cast<unsigned>(n * 100 + d));
        const auto got = run<double>(LpMedian{.p = p}, data);
        EXPECT_NEAR(got.info.objective, static_cast<double>(objective(data, got.m, p)),
                    1e-12 * got.info.objective);
        EXPECT_LE(got.info.gap, 1e-13);
        // Rounding m to double moves v by an ulp, and |v|^(p-1) has an infinite slope at 0 if p
        // < 2.
        const double slack = 1e-12 + (p < 2 ? 20 * std::pow(1e-16, p - 1) : 0);
        if (got.info.stop == Stop::data_point) {
          EXPECT_LE(dual_residual(data, got.m, p), 1 + 1e-12);
        } else {
          EXPECT_LE(dual_residual(data, got.m, p), slack * static_cast<double>(n));
        }
      }
    }
  }
}

TEST(SampleLp, FarOutliers) {
  for (const double p : {1.5, 3.0}) {
    for (const double far : {1e6, 1e12, 1e300}) {
      SCOPED_TRACE("p = " + std::to_string(p) + ", " + std::to_string(far));
      auto data = normal<double>(9, 12, 31);
      for (std::size_t j = 0; j < 12; ++j) {
        data(1, j) = far * (1 + static_cast<double>(j));
        data(4, j) = -far;
      }
      const auto got = run<double>(LpMedian{.p = p}, data);
      EXPECT_LE(dual_residual(data, got.m, p), 1e-7);
      EXPECT_LE(got.info.gap, 1e-10);
    }
  }
}

// The optimum is half of the largest sum of D_{i, s(i)} over all permutations s.
TEST(SampleLp, InfinityIsExact) {
  for (const std::size_t n : {1u, 2u, 3u, 4u, 5u, 6u, 7u}) {
    for (const std::size_t d : {1u, 2u, 5u, 40u}) {
      SCOPED_TRACE(std::to_string(n) + " x " + std::to_string(d));
      auto data = normal<double>(n, d, static_cast<unsigned>(n * 10 + d));
      if (n >= 5) {
        for (std::size_t j = 0; j < d; ++j) data(0, j) *= 1e6;
      }
      std::vector<std::size_t> s(n);
      std::iota(s.begin(), s.end(), 0u);
      double best = 0;
      do {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
          double most = 0;
          for (std::size_t j = 0; j < d; ++j)
            most = std::max(most, std::abs(data(i, j) - data(s[i], j)));
          sum += most;
        }
        best = std::max(best, sum / 2);
      } while (std::next_permutation(s.begin(), s.end()));
      const auto got = run<double>(LpMedian{.p = kInfinity}, data);
      EXPECT_NEAR(got.info.objective, best, 1e-14 * best);
      EXPECT_LE(got.info.gap, 1e-14);
      EXPECT_NEAR(static_cast<double>(objective(data, got.m, kInfinity)), best, 1e-14 * best);
    }
  }
}

// An outlier's direction matters, its size does not: the bulk gets the same digits.
TEST(SampleLp, InfinityBesideOutliersOfAnySize) {
  for (const std::size_t d : {2u, 5u, 40u}) {
    auto data = normal<double>(7, d, static_cast<unsigned>(d));
    std::vector<double> first;
    for (const double far : {1e3, 1e12, 1e100, 1e300}) {
      SCOPED_TRACE(std::to_string(d) + ", " + std::to_string(far));
      for (std::size_t j = 0; j < d; ++j) {
        data(1, j) = j % 3 == 0 ? far : far / 4;
        data(3, j) = -far;
      }
      const auto got = run<double>(LpMedian{.p = kInfinity}, data);
      EXPECT_LE(got.info.gap, 1e-14);
      if (first.empty()) first = got.m;
      EXPECT_LE(farthest(got.m, first), 1e-12);  // 1e3 has rounding errors of 1e-13
    }
  }
}

TEST(SampleLp, OneAndTwoAreTheMediansOfTheirOwn) {
  const auto data = normal<double>(7, 33, 8);
  EXPECT_EQ(run<double>(LpMedian{.p = 1}, data).m, run<double>(Median{}, data).m);
  EXPECT_EQ(run<double>(LpMedian{.p = 2}, data).m, run<double>(GeometricMedian{}, data).m);
}

}  // namespace
}  // namespace medgrad
