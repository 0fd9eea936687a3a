// Estimators against plain computations for row counts around every switch between methods, and
// with weights and centres.
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "core/sample_helpers.h"
#include "medgrad/error.h"

namespace medgrad {
namespace {

using sample_test::farthest;
using sample_test::Matrix;
using sample_test::normal;
using sample_test::objective;
using sample_test::run;
using sample_test::stationarity;

template <class T>
std::vector<T> column(const Matrix<T>& data, std::size_t j) {
  std::vector<T> values(data.n);
  for (std::size_t i = 0; i < data.n; ++i) values[i] = data(i, j);
  return values;
}

template <class T>
class SampleSizes : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SampleSizes, Types);

TYPED_TEST(SampleSizes, MedianIsTheMiddleOfEveryColumn) {
  using T = TypeParam;
  for (const std::size_t n : {1u, 2u, 3u, 16u, 17u, 33u, 64u, 127u, 128u, 129u, 300u}) {
    for (const std::size_t d : {1u, 19u, 300u}) {
      SCOPED_TRACE(std::to_string(n) + " x " + std::to_string(d));
      Matrix<T> data = normal<T>(n, d, static_cast<unsigned>(n));
      for (std::size_t j = 0; j < d; j += 3) {  // ties
        for (std::size_t i = 0; i < n; ++i) data(i, j) = std::round(data(i, j));
      }
      const std::vector<T> got = run<T>(Median{}, data).m;
      for (std::size_t j = 0; j < d; ++j) {
        std::vector<T> low = column(data, j), high = low;
        const auto at = [](std::size_t k) { return static_cast<std::ptrdiff_t>(k); };
        std::nth_element(low.begin(), low.begin() + at((n - 1) / 2), low.end());
        std::nth_element(high.begin(), high.begin() + at(n / 2), high.end());
        ASSERT_EQ(got[j], std::midpoint(low[(n - 1) / 2], high[n / 2]));
      }
    }
  }
}

TYPED_TEST(SampleSizes, TrimmedMeanIsTheMeanOfTheMiddle) {
  using T = TypeParam;
  const double tolerance = std::is_same_v<T, float> ? 1e-6 : 1e-14;
  for (const std::size_t n : {1u, 2u, 3u, 4u, 9u, 16u, 17u, 40u, 129u, 200u}) {
    for (const std::size_t f : {std::size_t{0}, std::size_t{1}, n / 4, (n - 1) / 2}) {
      if (2 * f >= n) {
        EXPECT_THROW(validate(TrimmedMean{f}, n), Error);
        continue;
      }
      SCOPED_TRACE("n = " + std::to_string(n) + ", f = " + std::to_string(f));
      const Matrix<T> data = normal<T>(n, 37, static_cast<unsigned>(n + f));
      const std::vector<T> got = run<T>(TrimmedMean{f}, data).m;
      for (std::size_t j = 0; j < data.d; ++j) {
        std::vector<T> values = column(data, j);
        std::sort(values.begin(), values.end());
        long double sum = 0;
        for (std::size_t i = f; i < n - f; ++i) sum += static_cast<long double>(values[i]);
        const long double want = sum / static_cast<long double>(n - 2 * f);
        ASSERT_NEAR(static_cast<double>(got[j]), static_cast<double>(want), tolerance);
      }
    }
  }
}

TYPED_TEST(SampleSizes, ClippedMeanAroundACentre) {
  using T = TypeParam;
  const double tolerance = std::is_same_v<T, float> ? 1e-6 : 1e-14;
  for (const std::size_t d : {1u, 5u, 300u}) {
    const Matrix<T> data = normal<T>(6, d, 4);
    std::vector<T> centre(d);
    for (std::size_t j = 0; j < d; ++j) centre[j] = static_cast<T>(j % 5) / 2 - 1;
    const std::vector<double> weights = {0.5, 1.25, 2, 0.1, 1, 3};
    for (const double clip : {1e-3, 1.0, 1.5 * std::sqrt(static_cast<double>(d)), 1e6}) {
      SampleOptions<T> options;
      options.center = centre;
      options.weights = weights;
      const std::vector<T> got = run<T>(SampleClippedMean{clip}, data, options).m;
      std::vector<long double> want(centre.begin(), centre.end());
      for (std::size_t i = 0; i < data.n; ++i) {
        long double square = 0;
        for (std::size_t j = 0; j < d; ++j)
          square += std::pow(static_cast<long double>(data(i, j)) - centre[j], 2.0L);
        const long double shrink = std::min(1.0L, clip / std::sqrt(square)) * weights[i] / 7.85L;
        for (std::size_t j = 0; j < d; ++j)
          want[j] += shrink * (static_cast<long double>(data(i, j)) - centre[j]);
      }
      EXPECT_LE(farthest(got, want), tolerance) << "d = " << d << ", clip = " << clip;
    }
  }
}

// Weights of any size: m minimises the weighted sum, and only their ratios matter.
TEST(SampleWeights, NeedNotBeIntegers) {
  const Matrix<double> data = normal<double>(7, 6, 12);
  const std::vector<double> weights = {0.31, 1.7, 0.05, 2.2, 0.9, 1.1, 0.4};
  std::vector<double> scaled = weights;
  for (double& w : scaled) w *= 1e-3;
  SampleOptions<double> options, other;
  options.weights = weights;
  options.objective = true;
  other.weights = scaled;
  for (const double p : {1.0, 1.3, 2.0, 2.6, 9.0}) {
    SCOPED_TRACE("p = " + std::to_string(p));
    const auto got = run<double>(LpMedian{.p = p}, data, options);
    const long double f = objective(data, got.m, p, weights);
    EXPECT_NEAR(got.info.objective, static_cast<double>(f), 1e-13);
    EXPECT_LE(farthest(run<double>(LpMedian{.p = p}, data, other).m, got.m), 1e-12);
    for (std::size_t j = 0; j < data.d; ++j) {
      for (const double step : {-1e-2, -1e-5, 1e-5, 1e-2}) {
        std::vector<double> near = got.m;
        near[j] += step;
        EXPECT_GE(objective(data, near, p, weights), f);
      }
    }
  }
  const std::vector<double> mean = run<double>(Mean{}, data, options).m;
  for (std::size_t j = 0; j < data.d; ++j) {
    long double sum = 0;
    for (std::size_t i = 0; i < data.n; ++i)
      sum += static_cast<long double>(weights[i]) * data(i, j);
    EXPECT_NEAR(mean[j], static_cast<double>(sum / 6.66L), 1e-14);
  }
}

TEST(SampleManyRows, LpMedian) {
  for (const std::size_t n : {513u, 700u}) {
    for (const double p : {1.5, 3.0}) {
      SCOPED_TRACE(std::to_string(n) + ", p = " + std::to_string(p));
      const Matrix<double> data = normal<double>(n, 3, static_cast<unsigned>(n));
      const auto got = run<double>(LpMedian{.p = p}, data);
      EXPECT_LE(got.info.gap, 1e-10);
      EXPECT_NEAR(static_cast<double>(objective(data, got.m, p)), got.info.objective,
                  1e-12 * got.info.objective);
    }
  }
}

TEST(SampleManyRows, GeometricMedian) {
  for (const std::size_t n : {1025u, 3000u}) {
    for (const std::size_t d : {1u, 2u, 7u}) {
      SCOPED_TRACE(std::to_string(n) + " x " + std::to_string(d));
      const Matrix<double> data = normal<double>(n, d, static_cast<unsigned>(n + d));
      const auto got = run<double>(GeometricMedian{}, data);
      EXPECT_LE(got.info.gap, 1e-12);
      const auto at = stationarity(data, got.m);
      EXPECT_LE(static_cast<double>(at.pull), static_cast<double>(at.here) + 1e-9);
    }
  }
}

}  // namespace
}  // namespace medgrad
