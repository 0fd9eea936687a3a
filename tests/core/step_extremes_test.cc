// Steps whose tau, gradients and state lie anywhere in the range of doubles, far outside that of
// floats too, against the same step in long double.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "medgrad/estimator.h"

namespace medgrad {
namespace {

using Wide = long double;  // 80 bits: holds squares and quotients of any two doubles
using WideVector = std::vector<Wide>;
static_assert(std::numeric_limits<Wide>::max_exponent > 4 * 1024);

// The increment of m that a method asks for, given v = g - m (and tau).
using Increment = std::function<WideVector(const WideVector& v, Wide tau)>;

Wide norm_of(const WideVector& v, Wide p) {
  Wide max = 0, sum = 0;
  for (const Wide x : v) max = std::max(max, std::fabs(x));
  if (max == 0 || std::isinf(p)) return max;
  for (const Wide x : v) sum += std::pow(std::fabs(x) / max, p);
  return max * std::pow(sum, 1 / p);
}

WideVector scaled(WideVector v, Wide f) {
  for (Wide& x : v) x *= f;
  return v;
}

WideVector lp_subgradient(WideVector v, Wide tau, Wide p) {
  const Wide norm = norm_of(v, p);
  Wide count = 0;
  for (const Wide x : v) count += std::fabs(x) == norm ? 1 : 0;
  for (Wide& x : v) {
    const Wide share = std::isinf(p) ? (std::fabs(x) == norm ? 1 / count : 0)
                                     : std::pow(std::fabs(x) / norm, p - 1);
    x = x == 0 ? 0 : std::copysign(tau * share, x);
  }
  return v;
}

struct Case {
  std::string name;
  std::function<OnlineMethod(double tau)> make;
  Increment increment;
};

std::vector<Case> cases() {
  const auto relative = [](Wide norm, Wide radius) { return norm <= radius ? 1 : radius / norm; };
  std::vector<Case> all = {
      {"momentum",
       [](double tau) {
         return ProximalPoint{Squared{}, tau};
       },
       [](const WideVector& v, Wide tau) { return scaled(v, tau / (1 + tau)); }},
      {"cclip",
       [](double tau) {
         return ProximalPoint{L1{}, tau};
       },
       [](WideVector v, Wide tau) {
         for (Wide& x : v) x = std::min(std::max(x, -tau), tau);
         return v;
       }},
      {"vclip",
       [](double tau) {
         return ProximalPoint{L2{}, tau};
       },
       [=](const WideVector& v, Wide tau) { return scaled(v, relative(norm_of(v, 2), tau)); }},
      {"subgradient squared",
       [](double tau) {
         return Subgradient{Squared{}, tau};
       },
       [](const WideVector& v, Wide tau) { return scaled(v, tau); }},
      {"subgradient l1",
       [](double tau) {
         return Subgradient{L1{}, tau};
       },
       [](WideVector v, Wide tau) { return lp_subgradient(std::move(v), tau, 1); }},
      {"subgradient l2",
       [](double tau) {
         return Subgradient{L2{}, tau};
       },
       [](WideVector v, Wide tau) { return lp_subgradient(std::move(v), tau, 2); }}};
  for (const double p : {1.5, 3.0, kInfinity}) {
    all.push_back({"subgradient lp " + std::to_string(p),
                   [=](double tau) {
                     return Subgradient{Lp(p), tau};
                   },
                   [=](WideVector v, Wide tau) { return lp_subgradient(std::move(v), tau, p); }});
  }
  for (const double mu : {1e-300, 1e-45, 1.0, 1e40, 1e300}) {
    const std::string name = "huber " + std::to_string(std::log10(mu));
    all.push_back({name,
                   [=](double tau) {
                     return ProximalPoint{Huber(mu), tau};
                   },
                   [=](const WideVector& v, Wide tau) {
                     return scaled(v, mu * tau / std::max(norm_of(v, 2), mu * (1 + tau)));
                   }});
    all.push_back({"subgradient " + name,
                   [=](double tau) {
                     return Subgradient{Huber(mu), tau};
                   },
                   [=](const WideVector& v, Wide tau) {
                     return scaled(v, tau * relative(norm_of(v, 2), mu));
                   }});
  }
  return all;
}

constexpr double kTaus[] = {5e-324, 1e-310, 1e-200, 1e-50, 1e-45, 1e-40, 1e-20,  0.5,
                            1e20,   1e38,   3.5e38, 1e50,  1e200, 1e300, 1.7e308};

// Entries with many signs and sizes around `size`, one of them 0.
template <Real T>
std::vector<T> entries(std::size_t n, double size, double phase) {
  std::vector<T> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] =
        i == 1 ? T{0} : static_cast<T>(size * std::sin(1 + phase + 2.3 * static_cast<double>(i)));
  }
  return x;
}

template <Real T>
std::vector<double> sizes_of() {
  std::vector<double> sizes = {0.9 * std::numeric_limits<T>::max(),
                               1,
                               1e-20,
                               4 * static_cast<double>(std::numeric_limits<T>::min()),
                               40 * static_cast<double>(std::numeric_limits<T>::denorm_min()),
                               0};
  if (std::is_same_v<T, double>) sizes.insert(sizes.end(), {1e200, 1e-200});
  return sizes;
}

template <Real T>
void expect_step(const Case& method, double tau, const std::vector<T>& m, const std::vector<T>& g) {
  constexpr Wide kMax = std::numeric_limits<T>::max();
  constexpr Wide kTiny = std::numeric_limits<T>::denorm_min();
  constexpr Wide kEps = std::numeric_limits<T>::epsilon();
  WideVector v(m.size());
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<Wide>(g[i]) - m[i];
  const Wide norm = norm_of(v, 2);
  const WideVector want = method.increment(v, tau);
  OnlineEstimator<T> estimator(method.make(tau), m.size());
  estimator.reset(m);
  const StepInfo info = estimator.update(g);
  WideVector moved(m.size());
  for (std::size_t i = 0; i < m.size(); ++i) {
    const Wide got = estimator.estimate()[i];
    const Wide right = std::min(std::max(m[i] + want[i], -kMax), kMax);
    const Wide size = std::max(std::fabs(static_cast<Wide>(m[i])), std::fabs(right));
    ASSERT_LE(std::fabs(got - right), 16 * kEps * size + 2 * kTiny)
        << i << ": " << got << " instead of " << right << ", m " << m[i] << ", g " << g[i];
    moved[i] = got - m[i];
  }
  // As asked for, or as it came out, rounded and kept finite.
  const Wide beta = info.effective_beta;
  const Wide asked = norm > 0 ? norm_of(want, 2) / norm : 1;
  const Wide done = norm > 0 ? norm_of(moved, 2) / norm : 1;
  const bool close = std::fabs(1 - beta - asked) <= 16 * kEps * std::max<Wide>(1, asked) ||
                     std::fabs(1 - beta - done) <= 16 * kEps * std::max<Wide>(1, done);
  const bool beyond =
      std::max(asked, done) > std::numeric_limits<double>::max() && beta == -kInfinity;
  ASSERT_TRUE(close || beyond) << "effective beta " << beta << " instead of " << 1 - asked << " or "
                               << 1 - done;
}

template <Real T>
void expect_steps() {
  const std::vector<double> sizes = sizes_of<T>();
  for (const Case& method : cases()) {
    for (const double tau : kTaus) {
      for (const std::size_t n : {std::size_t{1}, std::size_t{5}, std::size_t{150}}) {
        for (const double of_m : sizes) {
          for (const double of_g : sizes) {
            SCOPED_TRACE(method.name + ", tau " + ::testing::PrintToString(tau) + ", " +
                         std::to_string(n) + " components, m " + ::testing::PrintToString(of_m) +
                         ", g " + ::testing::PrintToString(of_g));
            ASSERT_NO_FATAL_FAILURE(
                expect_step<T>(method, tau, entries<T>(n, of_m, 0.7), entries<T>(n, of_g, 0)));
          }
        }
      }
    }
  }
}

// From m = 0 the step of a norm is the projection of g onto the ball of its dual norm: inside it,
// no longer than g, and g itself where that is inside.
template <Real T>
void expect_projections() {
  constexpr Wide kEps = std::numeric_limits<T>::epsilon();
  constexpr Wide kTiny = std::numeric_limits<T>::denorm_min();
  for (const double p : {1.0, 1.5, 2.0, 3.0, kInfinity}) {
    const Wide q = Lp(p).q();
    for (const double tau : kTaus) {
      for (const double size : sizes_of<T>()) {
        SCOPED_TRACE("p " + std::to_string(p) + ", tau " + ::testing::PrintToString(tau) + ", g " +
                     ::testing::PrintToString(size));
        const std::vector<T> g = entries<T>(70, size, 0);
        const WideVector wide(g.begin(), g.end());
        OnlineEstimator<T> estimator(ProximalPoint{Lp(p), tau}, g.size());
        const StepInfo info = estimator.update(g);
        const auto m = estimator.estimate();
        const WideVector moved(m.begin(), m.end());
        const Wide room = 70 * kTiny, length = norm_of(wide, q);
        EXPECT_LE(norm_of(moved, q), std::min<Wide>(tau, length) * (1 + 64 * kEps) + room);
        if (length <= tau) {
          EXPECT_EQ(std::vector<T>(m.begin(), m.end()), g);
        }
        EXPECT_TRUE(info.effective_beta >= -1e-5 && info.effective_beta <= 1);
      }
    }
  }
}

TEST(StepExtremes, ProjectionsOfFloats) { expect_projections<float>(); }
TEST(StepExtremes, ProjectionsOfDoubles) { expect_projections<double>(); }

// m = (1 - beta) min(1, clip / |g|) g from m = 0.
template <Real T>
void expect_clipped_means() {
  for (const double clip : kTaus) {
    for (const double size : sizes_of<T>()) {
      SCOPED_TRACE("clip " + ::testing::PrintToString(clip) + ", g " +
                   ::testing::PrintToString(size));
      const std::vector<T> g = entries<T>(70, size, 0);
      OnlineEstimator<T> estimator(ClippedMean{0.9, clip}, g.size());
      const StepInfo info = estimator.update(g);
      const Wide norm = norm_of({g.begin(), g.end()}, 2);
      const Wide factor = (1 - Wide{0.9}) * (norm <= clip ? 1 : clip / norm);
      for (std::size_t i = 0; i < g.size(); ++i) {
        const Wide right = factor * g[i], got = estimator.estimate()[i];
        ASSERT_LE(std::fabs(got - right),
                  16 * std::numeric_limits<T>::epsilon() * std::fabs(right) +
                      2 * std::numeric_limits<T>::denorm_min());
      }
      EXPECT_NEAR(info.effective_beta, norm > 0 ? static_cast<double>(1 - factor) : 0, 1e-6);
    }
  }
}

TEST(StepExtremes, ClippedMeans) {
  expect_clipped_means<float>();
  expect_clipped_means<double>();
}

TEST(StepExtremes, Floats) { expect_steps<float>(); }
TEST(StepExtremes, Doubles) { expect_steps<double>(); }

}  // namespace
}  // namespace medgrad
