// Centered clipping of long rows, where a few iterations are passes over the rows and many are done
// on inner products: against the definition, whichever it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/sample_helpers.h"
#include "medgrad/error.h"
#include "medgrad/rules.h"
#include "medgrad/thread_pool.h"

namespace medgrad {
namespace {

using sample_test::Matrix;
using sample_test::normal;
using sample_test::run;

constexpr std::size_t kRows = 40;

// Some rows are far away, two of them next to each other; one is zero.
template <class T>
Matrix<T> rows_of(std::size_t d, unsigned seed) {
  Matrix<T> m = normal<T>(kRows, d, seed);
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t i = 7; i < kRows; i += 8) m(i, j) += 9;
    m(3, j) *= 10000;
    m(4, j) = m(3, j) + m(4, j) / 16;
    m(5, j) = 0;
  }
  return m;
}

// By the definition, in long double.
template <class T>
std::vector<long double> defined(const CenteredClipping& rule, const Matrix<T>& x,
                                 const std::vector<double>& weights, const std::vector<T>& centre) {
  std::vector<long double> v(centre.begin(), centre.end());
  v.resize(x.d);
  long double total = 0;
  for (std::size_t i = 0; i < x.n; ++i) total += weights.empty() ? 1 : weights[i];
  for (int round = 0; round < rule.iterations; ++round) {
    std::vector<long double> move(x.d);
    for (std::size_t i = 0; i < x.n; ++i) {
      long double square = 0;
      for (std::size_t j = 0; j < x.d; ++j) square += (x(i, j) - v[j]) * (x(i, j) - v[j]);
      const long double length = std::sqrt(square);
      const long double factor = (weights.empty() ? 1 : weights[i]) / total *
                                 (length > rule.clip ? rule.clip / length : 1.0L);
      for (std::size_t j = 0; j < x.d; ++j) move[j] += factor * (x(i, j) - v[j]);
    }
    for (std::size_t j = 0; j < x.d; ++j) v[j] += move[j];
  }
  return v;
}

template <class T>
void expect_near(const std::vector<T>& got, const std::vector<long double>& want, double most) {
  long double largest = 0, off = 0;
  for (std::size_t j = 0; j < want.size(); ++j) {
    largest = std::max(largest, std::abs(want[j]));
    off = std::max(off, std::abs(want[j] - static_cast<long double>(got[j])));
  }
  EXPECT_LE(off, most * largest);
}

template <class T>
class CenteredClippingOf : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CenteredClippingOf, Types);

TYPED_TEST(CenteredClippingOf, LongRows) {
  using T = TypeParam;
  const auto data = rows_of<T>(1003, 1);
  const std::vector<T> centre(data.d, T{0.25});
  std::vector<double> weights(kRows, 1.0);
  for (std::size_t i = 0; i < kRows; ++i)
    weights[i] = i % 5 == 4 ? 0.01 : 1 + 0.1 * static_cast<double>(i);
  // A result is rounded to T once, after sums of 40 terms in double.
  const double most = std::is_same_v<T, float> ? 0x1p-24 : 1e-14;
  for (const double clip : {0.5, 40.0, 1e4}) {
    for (const int iterations : {1, 2, 3, 4, 9}) {
      SCOPED_TRACE(std::to_string(clip) + ", " + std::to_string(iterations));
      const CenteredClipping rule{.clip = clip, .iterations = iterations};
      const auto got = run<T>(rule, data);
      expect_near(got.m, defined<T>(rule, data, {}, {}), most);
      EXPECT_EQ(got.info.iterations, iterations);
      expect_near(run<T>(rule, data, {.weights = weights, .center = centre}).m,
                  defined<T>(rule, data, weights, centre), most);
    }
  }
}

TYPED_TEST(CenteredClippingOf, LongRowsOnThreads) {
  using T = TypeParam;
  const auto data = rows_of<T>(20011, 2);
  ThreadPool pool(3);
  for (const int iterations : {1, 3}) {
    const CenteredClipping rule{.clip = 100, .iterations = iterations};
    EXPECT_EQ(run<T>(rule, data).m, run<T>(rule, data, {.pool = &pool}).m);
  }
}

// What is missing is the median of its column, and infinity is the largest number.
TYPED_TEST(CenteredClippingOf, LongRowsWithHoles) {
  using T = TypeParam;
  auto data = rows_of<T>(1003, 3);
  auto filled = data;
  data(9, 500) = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> column;
  for (std::size_t i = 0; i < kRows; ++i)
    if (i != 9) column.push_back(data(i, 500));
  std::sort(column.begin(), column.end());
  filled(9, 500) = column[column.size() / 2];
  for (const int iterations : {1, 2, 3}) {
    const CenteredClipping rule{.clip = 40, .iterations = iterations};
    EXPECT_THROW((void)run<T>(rule, data), Error);
    const auto got = run<T>(rule, data, {.non_finite = NonFinite::robust});
    EXPECT_EQ(got.m, run<T>(rule, filled).m);
    EXPECT_EQ(got.info.nan, 1u);
  }
}

TEST(CenteredClippingRule, LongRowsOfAnySize) {
  const auto data = rows_of<double>(1003, 4);
  for (const int iterations : {1, 2}) {
    const CenteredClipping rule{.clip = 40, .iterations = iterations};
    const auto want = run<double>(rule, data).m;
    for (const int exponent : {-700, -300, 300, 700}) {
      auto scaled = data;
      for (double& x : scaled.x) x = std::ldexp(x, exponent);
      const CenteredClipping same{.clip = std::ldexp(40, exponent), .iterations = iterations};
      auto got = run<double>(same, scaled).m;
      for (double& x : got) x = std::ldexp(x, -exponent);
      expect_near(got, std::vector<long double>(want.begin(), want.end()), 1e-13);
    }
  }
}

}  // namespace
}  // namespace medgrad
