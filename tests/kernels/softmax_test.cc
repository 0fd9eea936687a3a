// Rows of exponentials against long double, on every SIMD target, for every length and misaligned.
#include "kernels/softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/simd.h"

namespace medgrad::kernels {
namespace {

template <class T>
class SoftmaxRows : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SoftmaxRows, Types);

template <class T>
std::vector<T> numbers(std::size_t n, double size, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, size);
  std::vector<T> x(n);
  for (T& v : x) v = static_cast<T>(normal(random));
  return x;
}

template <class F>
void on_every_target(const F& f) {
  const std::string best = simd_target();
  for (const std::string& target : simd_targets()) {
    SCOPED_TRACE(target);
    force_simd_target(target);
    f();
  }
  force_simd_target(best);
}

std::vector<std::size_t> lengths() {
  std::vector<std::size_t> all;
  for (std::size_t n = 1; n < 70; ++n) all.push_back(n);
  all.push_back(1000);
  all.push_back(10007);
  return all;
}

// Sums of 512 terms, on the target with the fewest lanes, are the largest error there is.
template <class T>
constexpr double kTolerance = std::is_same_v<T, float> ? 2e-6 : 1e-14;

TYPED_TEST(SoftmaxRows, AreExponentialsAndTheirSum) {
  using T = TypeParam;
  on_every_target([] {
    for (const std::size_t n : lengths()) {
      for (const double size : {0.1, 3.0, 200.0}) {
        for (const bool with_bias : {false, true}) {
          std::vector<T> x = numbers<T>(n + 1, size, 3), bias = numbers<T>(n + 1, size, 4);
          const T* b = with_bias ? bias.data() + 1 : nullptr;
          const auto z = [&](std::size_t i) { return with_bias ? x[i + 1] + b[i] : x[i + 1]; };
          T peak = z(0);
          for (std::size_t i = 0; i < n; ++i) peak = std::max(peak, z(i));
          long double sum = 0;
          std::vector<double> want;
          for (std::size_t i = 0; i < n; ++i) {
            want.push_back(static_cast<double>(std::exp(static_cast<long double>(z(i) - peak))));
            sum += want.back();
          }
          const RowSum<T> only = sum_exponentials(x.data() + 1, b, n);
          std::vector<T> e = x, p = x;
          const RowSum<T> got = exponentials(e.data() + 1, b, n);
          softmax(p.data() + 1, b, n);
          EXPECT_EQ(got.peak, peak);
          EXPECT_EQ(only.peak, peak);
          EXPECT_EQ(only.sum, got.sum);
          EXPECT_NEAR(static_cast<double>(got.sum / sum), 1, kTolerance<T>);
          for (std::size_t i = 0; i < n; ++i) {
            const double floor = std::is_same_v<T, float> ? 1e-37 : 1e-306;
            ASSERT_NEAR(e[i + 1], want[i], kTolerance<T> * want[i] + floor) << n << " " << i;
            ASSERT_NEAR(p[i + 1], want[i] / static_cast<double>(sum),
                        kTolerance<T> * want[i] + floor);
          }
          EXPECT_EQ(e[0], x[0]);
          EXPECT_EQ(p[0], x[0]);
        }
      }
    }
  });
}

TYPED_TEST(SoftmaxRows, HiddenEntriesAreZeroAndNotANumberSpreads) {
  using T = TypeParam;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  on_every_target([] {
    for (const std::size_t n : {2, 5, 16, 33, 64}) {
      for (std::size_t where = 0; where < n; ++where) {
        std::vector<T> x(n, 1);
        x[where] = -kInfinity;
        const RowSum<T> sum = exponentials<T>(x.data(), nullptr, n);
        EXPECT_EQ(sum.sum, static_cast<T>(n - 1));
        EXPECT_EQ(x[where], 0);
        for (const T bad : {std::numeric_limits<T>::quiet_NaN(), kInfinity}) {
          std::vector<T> y(n, 1);
          y[where] = bad;
          EXPECT_TRUE(std::isnan(sum_exponentials<T>(y.data(), nullptr, n).sum));
        }
      }
    }
  });
}

TYPED_TEST(SoftmaxRows, GradientIsTheFormulas) {
  using T = TypeParam;
  on_every_target([] {
    for (const std::size_t n : lengths()) {
      std::vector<T> p = numbers<T>(n + 1, 1, 5), g = numbers<T>(n + 1, 1, 6);
      softmax<T>(p.data() + 1, nullptr, n);
      long double dot = 0;
      for (std::size_t i = 1; i <= n; ++i) dot += static_cast<long double>(p[i]) * g[i];
      const std::vector<T> before = g;
      softmax_gradient<T>(p.data() + 1, g.data() + 1, n, T{0.25});
      EXPECT_EQ(g[0], before[0]);
      for (std::size_t i = 1; i <= n; ++i) {
        ASSERT_NEAR(g[i], static_cast<double>(0.25L * p[i] * (before[i] - dot)),
                    kTolerance<T> * static_cast<double>(p[i]) * 4);
      }
    }
  });
}

}  // namespace
}  // namespace medgrad::kernels
