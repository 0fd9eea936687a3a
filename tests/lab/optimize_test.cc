// Optimisers: one property checker over all of optimizers(), and what each of them is by formula.
#include "medgrad/optimize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "medgrad/error.h"
#include "medgrad/objective.h"
#include "testing.h"

namespace medgrad {
namespace {

using testing::same_bits;
using testing::view;
constexpr double kMax = std::numeric_limits<double>::max();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The defaults, and something in range where a value has to be given.
ParameterValues defaults(const Entry<GradientMethod>& entry) {
  ParameterValues values;
  for (const Parameter& parameter : entry.parameters)
    if (parameter.required())
      values.emplace(parameter.name, std::clamp(3.0, parameter.range.min, parameter.range.max));
  return values;
}

GradientMethod make(std::string_view name, const ParameterValues& values = {}) {
  return find_optimizer(name).make(values);
}

std::vector<double> normal(std::mt19937_64& rng, std::size_t n) {
  std::normal_distribution<double> law;
  std::vector<double> x(n);
  std::ranges::generate(x, [&] { return law(rng); });
  return x;
}

// Steps with random gradients, then w and m, one after the other.
std::vector<double> random_run(const GradientMethod& method, std::size_t steps) {
  std::mt19937_64 rng(4);
  std::vector<double> w(5, 1), numbers;
  Optimizer optimizer(method, 5);
  for (std::size_t t = 0; t < steps; ++t) {
    const std::vector<double> g = normal(rng, 5 * optimizer.samples());
    optimizer.step(w, 0.1, Rows<double>(g.data(), optimizer.samples(), 5));
    numbers.insert(numbers.end(), w.begin(), w.end());
    numbers.insert(numbers.end(), optimizer.estimate().begin(), optimizer.estimate().end());
  }
  return numbers;
}

// ---- All of them --------------------------------------------------------------------------------

class EveryOptimizer : public ::testing::TestWithParam<std::size_t> {
 protected:
  const Entry<GradientMethod>& entry = optimizers()[GetParam()];
  GradientMethod method = entry.make(defaults(entry));
};

TEST_P(EveryOptimizer, IsFoundAndItsDefaultsAreValid) {
  EXPECT_EQ(&find_optimizer(entry.name), &entry);
  for (const std::string_view alias : entry.aliases) EXPECT_EQ(&find_optimizer(alias), &entry);
  EXPECT_NO_THROW(validate(method));
  EXPECT_FALSE(entry.formula.empty() || entry.meaning.empty());
  for (const Parameter& parameter : entry.parameters) {
    if (!parameter.required()) {
      EXPECT_NO_THROW(parameter.check(parameter.fallback));
    }
    EXPECT_FALSE(parameter.meaning.empty());
  }
}

// 1/2 sum c_j w_j^2 from ones, exact gradients, eta = 1/2 / (t + 1): sum eta diverges, so that
// steps of bounded length arrive, and eta goes to 0, so that steps of a fixed length settle.
TEST_P(EveryOptimizer, ConvergesWithoutNoise) {
  const Objective f = Quadratic{{1, 0.7, 1.5}};
  const Schedule eta = InverseSchedule{.value = 0.5};
  std::vector<double> w(3, 1), g(3);
  Optimizer optimizer(method, 3);
  for (std::size_t t = 0; t < 3000; ++t) {
    gradient(f, w, g);
    std::vector<double> rows;
    for (std::size_t i = 0; i < optimizer.samples(); ++i)
      rows.insert(rows.end(), g.begin(), g.end());
    optimizer.step(w, value_at(eta, t, 3000), Rows<double>(rows.data(), optimizer.samples(), 3));
  }
  EXPECT_LT(value(f, w), 0.03);  // from 1.6
}

TEST_P(EveryOptimizer, GivesTheSameBitsAgain) {
  const std::vector<double> once = random_run(method, 20), again = random_run(method, 20);
  EXPECT_TRUE(same_bits(view(once), view(again)));
}

TEST_P(EveryOptimizer, StepsAlongItsEstimate) {
  if (std::holds_alternative<AdaptiveGradient>(method)) return;
  std::mt19937_64 rng(6);
  std::vector<double> w(7, 0.5);
  Optimizer optimizer(method, 7);
  for (int t = 0; t < 10; ++t) {
    const std::vector<double> before = w, g = normal(rng, 7 * optimizer.samples());
    optimizer.step(w, 0.25, Rows<double>(g.data(), optimizer.samples(), 7));
    for (std::size_t j = 0; j < 7; ++j)
      EXPECT_NEAR(w[j], before[j] - 0.25 * optimizer.estimate()[j], 1e-14);
  }
}

TEST_P(EveryOptimizer, EstimatesStayFinite) {
  const std::vector<double> odd = {1e300, -1e300, kMax, -kMax, kInf, -kInf, kNaN, 0, 5e-324, 1, -1};
  std::mt19937_64 rng(7);
  std::vector<double> w(6, 1);
  Optimizer optimizer(method, 6);
  const auto step = [&](const std::function<double()>& next) {
    std::vector<double> g(6 * optimizer.samples());
    std::ranges::generate(g, next);
    ASSERT_NO_THROW(optimizer.step(w, 1e-300, Rows<double>(g.data(), optimizer.samples(), 6)));
    for (const double m : optimizer.estimate()) ASSERT_TRUE(std::isfinite(m)) << m;
    for (const double x : w) ASSERT_TRUE(std::isfinite(x)) << x;
  };
  for (const double one : odd) step([&] { return one; });
  for (int t = 0; t < 200; ++t) step([&] { return odd[rng() % odd.size()]; });
  for (int t = 0; t < 20; ++t) step([] { return kNaN; });
  for (int t = 0; t < 20; ++t) step([&] { return rng() % 2 == 0 ? kMax : -kMax; });
}

// Nothing was observed: nothing is learned.
TEST_P(EveryOptimizer, KeepsItsEstimateWhereNothingWasObserved) {
  const bool carries = std::holds_alternative<OnlineGradient>(method)
                           ? std::get<OnlineGradient>(method).start == Start::warm
                           : true;
  if (!carries) return;
  Optimizer optimizer(method, 2);
  std::vector<double> w(2), g(2 * optimizer.samples(), 1);
  optimizer.step(w, 0, Rows<double>(g.data(), optimizer.samples(), 2));
  const double before = optimizer.estimate()[0];
  for (std::size_t i = 0; i < optimizer.samples(); ++i) g[2 * i] = kNaN;
  optimizer.step(w, 0, Rows<double>(g.data(), optimizer.samples(), 2));
  if (std::holds_alternative<OnlineGradient>(method) &&
      std::holds_alternative<ClippedMean>(std::get<OnlineGradient>(method).method))
    return;  // decays by beta
  EXPECT_EQ(optimizer.estimate()[0], before);
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryOptimizer,
                         ::testing::Range(std::size_t{0}, optimizers().size()), [](const auto& at) {
                           std::string name(optimizers()[at.param].name);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Optimizers, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const auto& entry : optimizers()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    for (const std::string_view alias : entry.aliases)
      EXPECT_TRUE(names.insert(alias).second) << alias;
  }
  for (const char* name :
       {"sgd", "sgd-m", "momentum", "vclip", "cclip", "huber", "clipped-sgd", "sign-sgd", "adam",
        "median-adam", "cclip-adam", "smgd-l1", "smgd-l2", "smgd-mean"})
    EXPECT_TRUE(names.contains(name)) << name;
  for (const auto& method : sample_methods())
    EXPECT_TRUE(names.contains("smgd-" + std::string(method.name)));
  try {
    (void)find_optimizer("vclop");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'vclip'"), std::string::npos);
  }
}

// ---- Each by its formula ------------------------------------------------------------------------

// Runs an optimiser beside w <- w - eta step(g_1, …, g_n) and compares.
void expect_same_steps(
    const GradientMethod& method, double tolerance,
    const std::function<std::vector<double>(const std::vector<std::vector<double>>&)>& step) {
  std::mt19937_64 rng(8);
  std::cauchy_distribution<double> cauchy;
  constexpr std::size_t kD = 6;
  std::vector<double> w(kD, 1), other = w;
  Optimizer optimizer(method, kD);
  for (std::size_t t = 0; t < 60; ++t) {
    std::vector<std::vector<double>> gradients(optimizer.samples(), std::vector<double>(kD));
    std::vector<double> rows;
    for (auto& g : gradients) {
      std::ranges::generate(g, [&] { return cauchy(rng); });
      rows.insert(rows.end(), g.begin(), g.end());
    }
    optimizer.step(w, 0.05, Rows<double>(rows.data(), optimizer.samples(), kD));
    const std::vector<double> direction = step(gradients);
    for (std::size_t j = 0; j < kD; ++j) {
      other[j] -= 0.05 * direction[j];
      ASSERT_NEAR(w[j], other[j], tolerance * (1 + std::abs(other[j]))) << "step " << t;
    }
  }
}

using Gradients = std::vector<std::vector<double>>;

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return std::sqrt(sum);
}

TEST(Optimizers, SgdIsGradientDescent) {
  expect_same_steps(make("sgd"), 0, [](const Gradients& g) { return g[0]; });
}

TEST(Optimizers, MomentumIsTheDampedRecursion) {
  for (const double beta : {0.5, 0.9, 0.999}) {
    std::vector<double> m(6);
    for (const char* name : {"sgd-m", "momentum"}) {
      std::ranges::fill(m, 0);
      expect_same_steps(make(name, {{"tau", 1 / beta - 1}}), 1e-12, [&](const Gradients& g) {
        for (std::size_t j = 0; j < 6; ++j) m[j] = beta * m[j] + (1 - beta) * g[0][j];
        return m;
      });
    }
  }
}

TEST(Optimizers, SignAndNormalizedSgd) {
  expect_same_steps(make("sign-sgd"), 1e-14, [](const Gradients& g) {
    std::vector<double> d(6);
    std::ranges::transform(g[0], d.begin(), [](double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; });
    return d;
  });
  expect_same_steps(make("normalized-sgd"), 1e-13, [](const Gradients& g) {
    std::vector<double> d = g[0];
    for (double& x : d) x /= norm(g[0]);
    return d;
  });
  // sign(0) = 0, and 0/0 is no direction.
  for (const char* name : {"sign-sgd", "normalized-sgd"}) {
    std::vector<double> w = {1, 2}, g = {0, 0};
    Optimizer(make(name), 2).step(w, 1, Rows<double>(g.data(), 1, 2));
    EXPECT_EQ(w, (std::vector<double>{1, 2})) << name;
  }
}

TEST(Optimizers, ClippedSgd) {
  std::vector<double> m(6);
  expect_same_steps(make("clipped-sgd", {{"beta", 0.8}, {"clip", 2}}), 1e-13,
                    [&](const Gradients& g) {
                      const double scale = std::min(1.0, 2 / norm(g[0]));
                      for (std::size_t j = 0; j < 6; ++j) m[j] = 0.8 * m[j] + 0.2 * scale * g[0][j];
                      return m;
                    });
}

TEST(Optimizers, ColdVclipIsGradientClipping) {
  expect_same_steps(make("vclip", {{"tau", 1.5}, {"cold", 1}}), 1e-13, [](const Gradients& g) {
    std::vector<double> d = g[0];
    for (double& x : d) x *= std::min(1.0, 1.5 / norm(g[0]));
    return d;
  });
}

TEST(Optimizers, Adam) {
  for (const auto& [beta1, beta2] : {std::pair{0.9, 0.999}, std::pair{0.5, 0.9}}) {
    std::vector<double> m(6), v(6);
    double t = 0;
    expect_same_steps(make("adam", {{"beta1", beta1}, {"beta2", beta2}, {"epsilon", 1e-6}}), 1e-12,
                      [&, b1 = beta1, b2 = beta2](const Gradients& g) {
                        ++t;
                        std::vector<double> d(6);
                        for (std::size_t j = 0; j < 6; ++j) {
                          m[j] = b1 * m[j] + (1 - b1) * g[0][j];
                          v[j] = b2 * v[j] + (1 - b2) * g[0][j] * g[0][j];
                          d[j] = m[j] / (1 - std::pow(b1, t)) /
                                 (std::sqrt(v[j] / (1 - std::pow(b2, t))) + 1e-6);
                        }
                        return d;
                      });
  }
}

TEST(Optimizers, MedianAdam) {
  std::vector<double> m(6), v(6);
  double t = 0;
  expect_same_steps(make("median-adam", {{"cut", 0.5}}), 1e-12, [&](const Gradients& g) {
    ++t;
    std::vector<double> d(6);
    for (std::size_t j = 0; j < 6; ++j) {
      const double bound = t > 1 ? 0.5 * std::sqrt(v[j] / (1 - std::pow(0.999, t - 1))) : kInfinity;
      const double increment = std::clamp(g[0][j] - m[j], -bound, bound), seen = m[j] + increment;
      m[j] += 0.1 * increment;
      v[j] = 0.999 * v[j] + 0.001 * seen * seen;
      d[j] = m[j] / (1 - std::pow(0.9, t)) / (std::sqrt(v[j] / (1 - std::pow(0.999, t))) + 1e-8);
    }
    return d;
  });
}

// Adam in the limit of no cut, and as scale-free as Adam is without an epsilon.
TEST(Optimizers, MedianAdamIsAdamAndHasNoScale) {
  Optimizer adam(find_optimizer("adam").make({}), 3),
      uncut(find_optimizer("median-adam").make({{"cut", 1e9}}), 3),
      plain(find_optimizer("median-adam").make({{"epsilon", 1e-300}}), 3),
      scaled(find_optimizer("median-adam").make({{"epsilon", 1e-300}}), 3);
  std::vector<double> a(3), b(3), c(3), d(3);
  for (int t = 0; t < 40; ++t) {
    const std::vector<double> g = {std::sin(t), 3 + std::cos(5 * t), t % 7 == 3 ? 1e6 : 1e-3 * t};
    std::vector<double> g4 = g;
    for (double& x : g4) x *= 1024;
    adam.step(a, 0.01, Rows<double>(g, 1, 3));
    uncut.step(b, 0.01, Rows<double>(g, 1, 3));
    plain.step(c, 0.01, Rows<double>(g, 1, 3));
    scaled.step(d, 0.01, Rows<double>(g4, 1, 3));
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_NEAR(a[j], b[j], 1e-12);
      EXPECT_EQ(c[j], d[j]);
    }
  }
  EXPECT_EQ(scaled.estimate()[1], 1024 * plain.estimate()[1]);
  try {
    validate(GradientMethod(AdaptiveGradient{.first = ProximalPoint{L1{}, 1}, .cut = 3}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "cut is 3; that goes with momentum as first moment alone.");
  }
}

// NaN leaves m and v, an infinite component is cut like a large one; both are finite ever after.
TEST(Optimizers, MedianAdamIsFiniteAfterAnything) {
  const double nan = std::nan(""), max = std::numeric_limits<double>::max();
  for (const double cut : {1e-3, 3.0, 1e300}) {
    Optimizer optimizer(find_optimizer("median-adam").make({{"cut", cut}}), 4);
    std::vector<double> w(4);
    int t = 0;
    for (const double x : {1.0, nan, kInfinity, -max, 0.0, 1e-310, -kInfinity, max, nan}) {
      const std::vector<double> g = {x, -x, 1, ++t % 2 ? x : 2};
      const std::vector<double> before(optimizer.estimate().begin(), optimizer.estimate().end());
      optimizer.step(w, 0.1, Rows<double>(g, 1, 4));
      for (std::size_t j = 0; j < 4; ++j) {
        EXPECT_TRUE(std::isfinite(w[j]) && std::isfinite(optimizer.estimate()[j])) << x;
        if (std::isnan(g[j])) {
          EXPECT_EQ(optimizer.estimate()[j], before[j]);
        }
      }
    }
  }
}

TEST(Optimizers, CClipAdam) {
  std::vector<double> m(6), v(6);
  double t = 0;
  expect_same_steps(make("cclip-adam", {{"tau", 0.3}}), 1e-12, [&](const Gradients& g) {
    ++t;
    std::vector<double> d(6);
    for (std::size_t j = 0; j < 6; ++j) {
      m[j] += std::clamp(g[0][j] - m[j], -0.3, 0.3);
      v[j] = 0.999 * v[j] + 0.001 * g[0][j] * g[0][j];
      d[j] = m[j] / (std::sqrt(v[j] / (1 - std::pow(0.999, t))) + 1e-8);
    }
    return d;
  });
}

// Rules of several parts too, and a shuffle is another one in every step.
TEST(Optimizers, SampleDescentUsesRulesOfSeveralParts) {
  for (const char* const text : {"nnm+median:f=1", "arc:f=1+bucketing:bucket=3:seed=5+mean",
                                 "clip:clip=0.5+centered-clipping:iterations=3"}) {
    const MethodText given = parse_method_text(text);
    const Entry<GradientMethod>& entry = find_optimizer("smgd-" + given.name);
    ParameterValues values = read_parameters(entry.name, entry.parameters, given.parameters);
    values["n"] = 8;
    std::vector<double> m(6);
    std::uint64_t step = 0;
    expect_same_steps(entry.make(values), 0, [&](const Gradients& g) {
      std::vector<double> rows;
      for (const auto& row : g) rows.insert(rows.end(), row.begin(), row.end());
      const std::vector<double> before = m;
      SampleOptions<double> options{.round = ++step};
      if (keeps_center(make_rule(text))) options.center = before;
      aggregate(make_rule(text), Rows<double>(rows.data(), g.size(), 6), std::span(m), options);
      return m;
    });
  }
  EXPECT_THROW((void)find_optimizer("smgd-median+nnm"), Error);
}

// smgd-NAME steps along what aggregate() says of its gradients, whatever the estimator.
TEST(Optimizers, SampleDescentUsesTheSampleEstimators) {
  for (const auto& entry : rules()) {
    ParameterValues values;
    for (const Parameter& parameter : entry.parameters)
      if (parameter.required()) values.emplace(parameter.name, 3);
    const Rule estimator = entry.make(values);
    for (const double n : {1.0, 3.0, 8.0}) {
      try {
        validate(estimator, static_cast<std::size_t>(n));
      } catch (const Error&) {
        continue;  // as trimming one of one
      }
      ParameterValues with_n = values;
      with_n["n"] = n;
      std::vector<double> m(6);
      expect_same_steps(
          make("smgd-" + std::string(entry.name), with_n), 0, [&](const Gradients& g) {
            std::vector<double> rows;
            for (const auto& row : g) rows.insert(rows.end(), row.begin(), row.end());
            SampleOptions<double> options;
            const std::vector<double> before = m;
            if (keeps_center(estimator)) options.center = before;
            aggregate(estimator, Rows<double>(rows.data(), g.size(), 6), std::span(m), options);
            return m;
          });
    }
  }
}

// Steps of length tau around the minimum, passes enough to get there from the last one: the median
// is known to within a few tau.
TEST(Optimizers, InexactMediansApproachTheExactOnes) {
  std::mt19937_64 rng(9);
  struct Case {
    const char* name;
    ParameterValues more;
  };
  for (const Case& one :
       {Case{"smgd-median", {}}, Case{"smgd-geometric-median", {}}, Case{"smgd-mean", {}},
        Case{"smgd-huber-location", {}}, Case{"smgd-lp-median", {{"p", 3}}}}) {
    ParameterValues values = one.more;
    values["n"] = 5;
    const GradientMethod exact = make(one.name, values);
    double coarse_error = 0;
    for (const double tau : {0.1, 0.005}) {
      values["inexact"] = 20 / tau;
      values["inexact-tau"] = tau;
      Optimizer inexact(make(one.name, values), 4), sharp(exact, 4);
      std::vector<double> w(4), v(4), g(20);
      double worst = 0;
      for (int t = 0; t < 3; ++t) {
        g = normal(rng, 20);
        inexact.step(w, 0.1, Rows<double>(g.data(), 5, 4));
        sharp.step(v, 0.1, Rows<double>(g.data(), 5, 4));
        for (std::size_t j = 0; j < 4; ++j)
          worst = std::max(worst, std::abs(inexact.estimate()[j] - sharp.estimate()[j]));
      }
      if (tau == 0.1) coarse_error = worst;
      EXPECT_LT(worst, 8 * tau) << one.name;
      if (tau < 0.1) {
        EXPECT_LT(worst, coarse_error / 5) << one.name;
      }
    }
  }
  // Those that minimise nothing cannot be approached.
  for (const char* name : {"smgd-trimmed-mean", "smgd-median-of-means"})
    EXPECT_THROW((void)make(name, {{"inexact", 1}}), Error) << name;
}

TEST(Optimizers, TauMayChange) {
  Optimizer optimizer(make("cclip", {{"tau", 1}}), 1);
  std::vector<double> w = {0}, g = {10};
  const Rows<double> rows(g.data(), 1, 1);
  optimizer.step(w, 0, rows);
  optimizer.set_tau(0.25);
  optimizer.step(w, 0, rows);
  EXPECT_EQ(optimizer.estimate()[0], 1.25);
}

TEST(Optimizers, OutOfRange) {
  EXPECT_THROW((void)make("vclip", {{"tau", 0}}), Error);
  EXPECT_THROW((void)make("vclip", {{"tua", 1}}), Error);
  EXPECT_THROW((void)make("adam", {{"beta1", 1}}), Error);
  EXPECT_THROW((void)make("smgd-l1", {{"n", 0}}), Error);
  EXPECT_THROW((void)make("smgd-l1", {{"n", 2.5}}), Error);
  EXPECT_THROW((void)make("smgd-lp-median"), Error);
  EXPECT_THROW(validate(make("smgd-trimmed-mean", {{"n", 2}, {"f", 1}})), Error);
  EXPECT_THROW(Optimizer(OnlineGradient{ProximalPoint{L2{}, -1}}, 2), Error);
  EXPECT_THROW(Optimizer(AdaptiveGradient{.beta2 = 1}, 2), Error);
  EXPECT_THROW(Optimizer(AdaptiveGradient{.epsilon = kNaN}, 2), Error);
}

// ---- Schedules ----------------------------------------------------------------------------------

TEST(Schedule, Formulas) {
  constexpr std::size_t kSteps = 50;
  const double pi = std::numbers::pi;
  for (const std::size_t warmup : {0U, 4U}) {
    for (std::size_t t = 0; t < kSteps; ++t) {
      const double now = static_cast<double>(t);
      const double rise = t < warmup ? (now + 1) / (static_cast<double>(warmup) + 1) : 1;
      const auto at = [&](auto kind) {
        kind.value = 3;
        kind.warmup = warmup;
        return value_at(kind, t, kSteps);
      };
      EXPECT_NEAR(at(ConstantSchedule{}), rise * 3, 1e-14);
      EXPECT_NEAR(at(InverseSqrtSchedule{}), rise * 3 / std::sqrt(now + 1), 1e-14);
      EXPECT_NEAR(at(InverseSchedule{}), rise * 3 / (now + 1), 1e-14);
      EXPECT_NEAR(at(HorizonSchedule{}), rise * 3 / std::sqrt(50.0), 1e-14);
      EXPECT_NEAR(at(StepSchedule{.factor = 0.5, .every = 7}),
                  rise * 3 * std::pow(0.5, static_cast<double>(t / 7)), 1e-14);
      EXPECT_NEAR(at(CosineSchedule{.factor = 0.5}),
                  rise * 3 * (0.5 + 0.5 * (1 + std::cos(pi * now / 50)) / 2), 1e-14);
    }
  }
  EXPECT_EQ(value_at(HorizonSchedule{.value = 2}, 0, 0), 2);  // no steps, no division
  EXPECT_EQ(value_at(CosineSchedule{}, 0, 10), 1);
  EXPECT_NEAR(value_at(CosineSchedule{}, 5, 10), 0.5, 1e-15);
}

}  // namespace
}  // namespace medgrad
