// What medians do not depend on: the order of the rows, to the bit, and the size of the weights.
// Where minimisers are not unique, the middle of them.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <numeric>
#include <string>

#include "core/sample_helpers.h"

namespace medgrad {
namespace {

using sample_test::farthest;
using sample_test::Matrix;
using sample_test::normal;
using sample_test::objective;
using sample_test::run;

struct Named {
  std::string name;
  SampleMethod method;
  bool weighted = true;
};

std::vector<Named> medians() {
  return {{"geometric", GeometricMedian{}},
          {"huber", HuberLocation{.mu = 0.8}},
          {"huber, small", HuberLocation{.mu = 1e-3}},
          {"huber, large", HuberLocation{.mu = 1e3}},
          {"lp 1", LpMedian{.p = 1}},
          {"lp 1.2", LpMedian{.p = 1.2}},
          {"lp 3", LpMedian{.p = 3}},
          {"lp 9", LpMedian{.p = 9}},
          {"lp inf", LpMedian{.p = kInfinity}, false}};
}

template <class T>
struct Data {
  std::string name;
  Matrix<T> rows;
  std::vector<double> weights;
};

// Rows on a line but for `off` times a normal vector: x_i = b + position_i v.
template <class T>
Matrix<T> on_a_line(const std::vector<double>& positions, std::size_t d, double off,
                    unsigned seed) {
  const auto b = normal<double>(2, d, seed), noise = normal<double>(positions.size(), d, seed + 1);
  Matrix<T> m(positions.size(), d);
  for (std::size_t i = 0; i < m.n; ++i) {
    for (std::size_t j = 0; j < d; ++j)
      m(i, j) = static_cast<T>(b(0, j) + positions[i] * b(1, j) + off * noise(i, j));
  }
  return m;
}

template <class T>
std::vector<Data<T>> awkward() {
  std::vector<Data<T>> all;
  std::mt19937_64 random(3);
  const auto weights = [&](std::size_t n, int kind) {
    std::vector<double> w;
    for (std::size_t i = 0; i < n; ++i) {
      const double u = std::uniform_real_distribution<double>(0.1, 2)(random);
      w.push_back(kind == 0   ? u
                  : kind == 1 ? std::round(2 * u) + 1
                              : std::pow(10.0, 300 * (u - 1)));
    }
    return w;
  };
  for (const std::size_t d : {1u, 2u, 5u, 40u}) {
    const unsigned seed = static_cast<unsigned>(d);
    for (const std::size_t n : {2u, 3u, 6u, 9u}) {
      all.push_back({"random", normal<T>(n, d, seed + 7), {}});
      all.push_back({"weighted", normal<T>(n, d, seed + 8), weights(n, 0)});
      all.push_back({"weights of all sizes", normal<T>(n, d, seed + 8), weights(n, 2)});
    }
    Matrix<T> repeated = normal<T>(8, d, seed + 9);
    for (std::size_t j = 0; j < d; ++j) {
      repeated(3, j) = repeated(5, j) = repeated(0, j);
      repeated(6, j) = repeated(7, j);
    }
    all.push_back({"repeated", repeated, {}});
    all.push_back({"repeated, weighted", repeated, weights(8, 1)});
    const std::vector<double> positions = {0, 1, 1.25, 4, 7, 11};
    for (const double off : {0.0, 1e-14, 1e-12, 1e-9, 1e-6, 1e-3}) {
      all.push_back(
          {"off a line by " + std::to_string(off), on_a_line<T>(positions, d, off, seed), {}});
      all.push_back({"off a line, weighted, by " + std::to_string(off),
                     on_a_line<T>(positions, d, off, seed), weights(6, 1)});
    }
    Matrix<T> far = normal<T>(7, d, seed + 10);
    for (std::size_t j = 0; j < d; ++j) {
      far(2, j) = std::numeric_limits<T>::max();
      far(5, j) = far(5, j) * T(1e30);
      far(6, j) = far(6, j) * T(1e-30);
    }
    all.push_back({"far", far, {}});
    far(0, 0) = std::numeric_limits<T>::quiet_NaN();
    far(1, d - 1) = -std::numeric_limits<T>::infinity();
    all.push_back({"not finite", far, weights(7, 0)});
    Matrix<T> zeros = normal<T>(6, d, seed + 11);
    for (std::size_t i = 0; i < 6; ++i) zeros(i, 0) = i % 2 == 0 ? T(0) : T(-0.0);
    all.push_back({"signed zeros", zeros, {}});
  }
  return all;
}

template <class T>
class SampleInvariance : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SampleInvariance, Types);

TYPED_TEST(SampleInvariance, OfTheOrderOfRows) {
  using T = TypeParam;
  std::mt19937_64 random(11);
  for (const Data<T>& data : awkward<T>()) {
    const std::size_t n = data.rows.n, d = data.rows.d;
    for (const Named& one : medians()) {
      if (!one.weighted && !data.weights.empty()) continue;
      SCOPED_TRACE(one.name + " of " + data.name + ", " + std::to_string(n) + " x " +
                   std::to_string(d));
      SampleOptions<T> options;
      options.non_finite = NonFinite::robust;
      options.weights = data.weights;
      options.objective = true;
      const auto want = run<T>(one.method, data.rows, options);
      EXPECT_GE(want.info.gap, 0);
      std::vector<std::size_t> order(n);
      std::iota(order.begin(), order.end(), 0u);
      for (int trial = 0; trial < 4; ++trial) {
        std::shuffle(order.begin(), order.end(), random);
        Matrix<T> other(n, d);
        std::vector<double> weights(data.weights.size());
        for (std::size_t i = 0; i < n; ++i) {
          std::copy_n(&data.rows.x[order[i] * d], d, &other.x[i * d]);
          if (!weights.empty()) weights[i] = data.weights[order[i]];
        }
        options.weights = weights;
        const auto got = run<T>(one.method, other, options);
        EXPECT_EQ(got.m, want.m);
        EXPECT_EQ(got.info.stop, want.info.stop);
        if (one.name != "lp 1") {  // which is not sorted: -0 may be 0
          EXPECT_EQ(std::memcmp(got.m.data(), want.m.data(), d * sizeof(T)), 0);
          EXPECT_EQ(got.info.gap, want.info.gap);
          EXPECT_EQ(got.info.objective, want.info.objective);
        }
      }
    }
  }
}

TYPED_TEST(SampleInvariance, OfManyRows) {
  using T = TypeParam;
  for (const std::size_t n : {600u, 5000u}) {
    Matrix<T> data = normal<T>(n, 3, 5), other(n, 3);
    for (T& x : data.x) x = std::round(4 * x) / 4;  // ties
    for (std::size_t i = 0; i < n; ++i) std::copy_n(&data.x[i * 3], 3, &other.x[(n - 1 - i) * 3]);
    EXPECT_EQ(run<T>(GeometricMedian{}, data).m, run<T>(GeometricMedian{}, other).m);
    EXPECT_EQ(run<T>(HuberLocation{}, data).m, run<T>(HuberLocation{}, other).m);
  }
}

// The row and column that are named are those of the caller.
TEST(SampleInvarianceErrors, NameTheFirstRow) {
  Matrix<double> data = normal<double>(9, 3, 2);
  data(7, 1) = data(4, 1) = std::numeric_limits<double>::quiet_NaN();
  for (const Named& one : medians()) {
    try {
      (void)run<double>(one.method, data);
      FAIL();
    } catch (const std::exception& error) {
      EXPECT_NE(std::string(error.what()).find("row 5, column 2"), std::string::npos)
          << error.what();
    }
  }
}

// --- weights ---

TYPED_TEST(SampleInvariance, OfTheSizeOfWeights) {
  using T = TypeParam;
  const double tolerance = std::is_same_v<T, float> ? 1e-6 : 1e-12;
  const std::vector<double> weights = {0.75, 1, 1.5, 0.3, 2, 0.125};
  for (const std::size_t d : {1u, 2u, 3u, 30u}) {
    const Matrix<T> data = normal<T>(6, d, static_cast<unsigned>(d));
    for (const Named& one : medians()) {
      if (!one.weighted) continue;
      SCOPED_TRACE(one.name + ", d = " + std::to_string(d));
      SampleOptions<T> options;
      options.objective = true;
      options.weights = weights;
      const auto want = run<T>(one.method, data, options);
      const auto times = [&](double factor) {
        std::vector<double> scaled = weights;
        for (double& w : scaled) w *= factor;
        options.weights = scaled;
        return run<T>(one.method, data, options);
      };
      for (const int power : {-1000, -700, -3, 5, 900, 1022}) {
        const auto got = times(std::ldexp(1.0, power));
        EXPECT_EQ(std::memcmp(got.m.data(), want.m.data(), d * sizeof(T)), 0) << power;
        EXPECT_EQ(got.info.gap, want.info.gap);
        const double f = std::ldexp(want.info.objective, power);
        EXPECT_EQ(got.info.objective, std::min(f, std::numeric_limits<double>::max()));
      }
      for (const double factor : {1e-200, 1e200, 1e-300, 8e307}) {
        const auto got = times(factor);
        EXPECT_LE(farthest(got.m, want.m), tolerance) << factor;
        EXPECT_LE(got.info.gap, 1e-10);
      }
      const auto denormal = times(1e-318);  // digits of the weights are gone, 1e-5 of them
      EXPECT_LE(farthest(denormal.m, want.m), 1e-2);
    }
  }
}

// Five rows of weight 1e-200 and five of weight 1 are the same; the optimum is no data point.
TEST(SampleWeights, TinyOnes) {
  Matrix<double> data(5, 2);
  data.x = {0, 0, 1, 0, 0, 1, 1, 1.5, 3, 0};
  for (const double weight : {1e-150, 1e-200, 1e-305, 5e-324, 1e200, 1.7e308}) {
    const std::vector<double> weights(5, weight);
    SampleOptions<double> options;
    options.weights = weights;
    for (const Named& one : medians()) {
      if (!one.weighted) continue;
      SCOPED_TRACE(one.name + ", " + std::to_string(weight));
      const auto got = run<double>(one.method, data, options), want = run<double>(one.method, data);
      EXPECT_LE(farthest(got.m, want.m), 1e-14);
      EXPECT_EQ(got.info.stop, want.info.stop);
    }
  }
}

// Rows of almost no weight decide nothing but where the others are undecided.
TEST(SampleWeights, OfAllSizesAtOnce) {
  Matrix<double> data(5, 2);
  data.x = {0, 0, 4, 0, 0, 3, 100, 7, -20, 60};
  Matrix<double> three(3, 2);
  std::copy_n(data.x.begin(), 6, three.x.begin());
  for (const double light : {1e-300, 1e-30}) {
    const std::vector<double> weights = {1e300, 1e300, 1e300, light, 2 * light};
    SampleOptions<double> options;
    options.weights = weights;
    for (const Named& one : medians()) {
      if (!one.weighted) continue;
      SCOPED_TRACE(one.name);
      const auto got = run<double>(one.method, data, options);
      EXPECT_LE(farthest(got.m, run<double>(one.method, three).m), 1e-12);
      EXPECT_LE(got.info.gap, 1e-10);
    }
  }
  Matrix<double> line(3, 2);
  line.x = {0, 0, 1, 1, 4, 4};
  const std::vector<double> weights = {1e300, 1e-300, 1e300};
  SampleOptions<double> options;
  options.weights = weights;
  for (const double p : {1.0, 1.5, 2.0, 3.0})
    EXPECT_EQ(run<double>(LpMedian{.p = p}, line, options).m, std::vector<double>({1, 1}));
}

// Most of the weight is on three of seven rows, 1e300 away. Reference: the minimiser for those
// three and the others in one place, with a weight of 4, found by Newton's method in 60 digits.
TEST(SampleWeights, OfAFarMinority) {
  const std::vector<double> weights = {1, 1, 1, 1, 10, 10, 10};
  SampleOptions<double> options;
  options.weights = weights;
  for (const double far : {1e10, 1e140, 1e160, 1e300, 5e307}) {
    SCOPED_TRACE(std::to_string(far));
    Matrix<double> data(7, 2);
    data.x = {0, 0, 1, 0, 0, 1, 1, 1, far, 0, 0, 2 * far, -3 * far, -far};
    const double slack = 1e-13 + 4 / far;
    const auto l2 = run<double>(GeometricMedian{}, data, options);
    EXPECT_NEAR(l2.m[0] / far, 0.0205622585796718, slack);
    EXPECT_NEAR(l2.m[1] / far, 0.226535886182071, slack);
    if (far < 1e305) {
      EXPECT_NEAR(l2.info.objective / far, 61.29954539253639, 1e-12 + 10 / far);
    }
    EXPECT_LE(l2.info.gap, 1e-13);
    const auto huber = run<double>(HuberLocation{}, data, options);
    EXPECT_NEAR(huber.m[0] / far, 0.020562258579671, slack + 1e-9);
    EXPECT_NEAR(huber.m[1] / far, 0.226535886182071, slack + 1e-9);
    EXPECT_LE(huber.info.gap, 1e-13);
    const auto l3 = run<double>(LpMedian{.p = 3}, data, options);
    EXPECT_NEAR(l3.m[0] / far, -0.0947627861023478, slack);
    EXPECT_NEAR(l3.m[1] / far, 0.6515447552203377, slack);
    EXPECT_LE(l3.info.gap, 1e-13);
  }
}

// --- minimisers that are not unique ---

template <class T>
void expect_middle(const SampleMethod& method, const Matrix<T>& data,
                   const std::vector<double>& weights, const std::vector<double>& want,
                   double tolerance) {
  SampleOptions<T> options;
  options.weights = weights;
  const auto got = run<T>(method, data, options);
  EXPECT_LE(farthest(got.m, want), tolerance);
  EXPECT_LE(got.info.gap, (std::is_same_v<T, float> ? 1e-6 : 1e-12));
}

TYPED_TEST(SampleInvariance, MiddleOfTheMinimisers) {
  using T = TypeParam;
  const double tolerance = std::is_same_v<T, float> ? 1e-6 : 1e-14;
  const std::vector<SampleMethod> methods = {GeometricMedian{}, LpMedian{.p = 1.1},
                                             LpMedian{.p = 3}, HuberLocation{.mu = 0.2}};
  struct Case {
    std::vector<double> positions, weights;
    double middle;
  };
  const std::vector<Case> cases = {
      {{0, 1}, {}, 0.5},
      {{0, 1, 2, 7}, {}, 1.5},
      {{0, 7, 2, 1}, {}, 1.5},
      {{0, 0, 3, 3}, {}, 1.5},
      {{5, 0, 3}, {0.3, 0.1, 0.2}, 4},  // 0.1 + 0.2 is not 0.3 in double
      {{0, 1, 2}, {0.1, 0.2, 0.3}, 1.5},
      {{0, 1, 2}, {1e-201, 2e-201, 3e-201}, 1.5},
      {{0, 1, 2, 3, 4, 5}, {1, 2, 3, 3, 2, 1}, 2.5},
  };
  for (const SampleMethod& method : methods) {
    for (const Case& c : cases) {
      for (const std::size_t d : {1u, 2u, 3u, 50u}) {
        SCOPED_TRACE(std::to_string(method.index()) + ", " + std::to_string(c.middle) +
                     ", d = " + std::to_string(d));
        // b + t v with |v| >= 3, so that 0.2 is less than half of the gap.
        Matrix<T> data(c.positions.size(), d);
        std::vector<double> want(d);
        const auto x = [](std::size_t j, double t) {
          return 0.1 * static_cast<double>(j) + t * (3 + 0.3 * static_cast<double>(j));
        };
        for (std::size_t j = 0; j < d; ++j) {
          for (std::size_t i = 0; i < data.n; ++i)
            data(i, j) = static_cast<T>(x(j, c.positions[i]));
          want[j] = x(j, c.middle);
        }
        expect_middle<T>(method, data, c.weights, want, 1000 * tolerance);
      }
    }
  }
  // Two rows, to the bit and in any order.
  Matrix<T> two(2, 2), swapped(2, 2);
  two.x = {0, 0, 1, 1};
  swapped.x = {1, 1, 0, 0};
  for (const Named& one : medians()) {
    EXPECT_EQ(run<T>(one.method, two).m, std::vector<T>({T(0.5), T(0.5)})) << one.name;
    EXPECT_EQ(run<T>(one.method, swapped).m, std::vector<T>({T(0.5), T(0.5)})) << one.name;
  }
}

// Four rows in convex position have their median where the diagonals cross, however flat they are:
// (0,0) (1,h) (2,1.5h) (5,0) at (1.25, 0.9375h), and (0,h) (1,0) (2,h/4) (3,h) at (12/7, 5h/14). In
// a triangle the inner row, here (2, 0.3h), is the median. Huber's location is the same as long as
// no row is nearer than mu. Nearly on a line is not on a line.
TEST(SampleNearALine, FourFlatRows) {
  struct Case {
    std::vector<double> x, y;
    double at_x, at_y;
  };
  const std::vector<Case> cases = {{{0, 1, 2, 5}, {0, 1, 1.5, 0}, 1.25, 0.9375},
                                   {{0, 1, 2, 3}, {1, 0, 0.25, 1}, 12.0 / 7, 5.0 / 14},
                                   {{0, 1, 2, 5}, {0, 1, 0.3, 0.1}, 2, 0.3}};
  for (const double h : {1e-1, 1e-3, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14}) {
    for (const Case& c : cases) {
      for (const std::size_t d : {2u, 6u}) {  // more columns than rows: by way of inner products
        SCOPED_TRACE("h = " + std::to_string(std::log10(h)) + ", d = " + std::to_string(d));
        Matrix<double> data(4, d);
        for (std::size_t i = 0; i < 4; ++i) {
          data(i, 0) = c.x[i];
          data(i, 1) = h * c.y[i];
        }
        for (const SampleMethod& method :
             {SampleMethod(GeometricMedian{}), SampleMethod(HuberLocation{.mu = 1e-3})}) {
          if (method.index() != SampleMethod(GeometricMedian{}).index() && c.at_x == 2) continue;
          const auto got = run<double>(method, data);
          EXPECT_NEAR(got.m[0], c.at_x, 1e-9);
          EXPECT_NEAR(got.m[1] / h, c.at_y, 1e-9);
          EXPECT_LE(got.info.gap, 1e-14);
        }
        // Other norms: somewhere in the gap, and not worse than anything in it.
        const auto lp = run<double>(LpMedian{.p = 3}, data);
        EXPECT_LE(lp.info.gap, 1e-13);
        EXPECT_GE(lp.m[0], 1);
        EXPECT_LE(lp.m[0], 2);
      }
    }
  }
}

// Two clusters, the inner rows a gap apart: for gap > 2 mu all between them but mu at both ends are
// minimisers, else the minimiser is unique and follows the clusters' shapes. Rows at 0, 1 and
// 1 + gap, 1 + gap + 5: with mu = 1 and gap = 1 the pulls at m in (1, 2) are 1 + (m - 1) from the
// left (0 is at least mu away) and (2 - m) + 1 from the right, equal at 1.5; with mu = 2 they are
// min(m, 2) + (m - 1) and (2 - m) + 2, equal at m = 5/3.
TEST(SampleHuber, SetsOfMinimisers) {
  const auto at = [](double gap, double mu, double scale) {
    Matrix<double> data(4, 2);
    for (std::size_t j = 0; j < 2; ++j) {
      const double f = scale * (j == 0 ? 0.6 : 0.8);
      data(0, j) = 0;
      data(1, j) = f;
      data(2, j) = (1 + gap) * f;
      data(3, j) = (6 + gap) * f;
    }
    const auto got = run<double>(HuberLocation{.mu = mu * scale}, data);
    EXPECT_LE(got.info.gap, 1e-12);
    return got.m[0] / 0.6 / scale;
  };
  for (const double scale : {1.0, 1e-150, 1e150}) {
    EXPECT_NEAR(at(9, 1, scale), 5.5, 1e-12);
    EXPECT_NEAR(at(2.001, 1, scale), 2.0005, 1e-12);
    EXPECT_NEAR(at(2, 1, scale), 2, 1e-12);
    EXPECT_NEAR(at(1, 1, scale), 1.5, 1e-12);
    EXPECT_NEAR(at(1, 2, scale), 5.0 / 3, 1e-12);
  }
}

// The mean of rows far apart is what Huber's location is for a large mu, whatever their size.
TEST(SampleHuber, LargeThresholdsCutNothing) {
  Matrix<double> data(5, 2);
  data.x = {0, 1, 0, 2, 1, 3, 3, 1, 1e200, -1e200};
  const auto got = run<double>(HuberLocation{.mu = 1e250}, data);
  EXPECT_NEAR(got.m[0], 2e199, 1e185);
  EXPECT_NEAR(got.m[1], -2e199, 1e185);
}

// --- gaps ---

// What is reported bounds the true gap, for weights and rows of any size.
TEST(SampleGap, IsNeverZeroUnproved) {
  std::mt19937_64 random(19);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t n = 3 + random() % 6, d = 2 + random() % 3;
    Matrix<double> data(n, d);
    std::vector<double> weights(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double size = std::pow(10.0, trial % 2 == 0 ? 0 : 290 * uniform(random));
      for (std::size_t j = 0; j < d; ++j) data(i, j) = size * uniform(random);
      weights[i] = std::pow(10.0, trial % 3 == 0 ? 0 : 200 * uniform(random));
    }
    SampleOptions<double> options;
    options.weights = weights;
    for (const double p : {1.5, 2.0, 4.0}) {
      SCOPED_TRACE("trial " + std::to_string(trial) + ", p = " + std::to_string(p));
      const auto got = run<double>(LpMedian{.p = p}, data, options);
      EXPECT_LE(got.info.gap, 1e-9);
      EXPECT_TRUE(got.info.gap > 0 || got.info.stop == Stop::data_point ||
                  got.info.stop == Stop::closed_form);
      const long double exact = objective(data, got.m, p, weights);
      for (std::size_t i = 0; i < n; ++i) {
        const std::vector<double> row(&data.x[i * d], &data.x[i * d] + d);
        EXPECT_GE(objective(data, row, p, weights), exact * (1 - got.info.gap - 1e-13L));
      }
    }
  }
}

}  // namespace
}  // namespace medgrad
