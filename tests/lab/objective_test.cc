// Objectives: one property checker over all of them, and what is special about each.
#include "medgrad/objective.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "medgrad/error.h"

namespace medgrad {
namespace {

using Loss = Regression::Loss;
constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<double> normal(std::mt19937_64& rng, std::size_t n, double scale = 1) {
  std::normal_distribution<double> law(0, scale);
  std::vector<double> x(n);
  std::ranges::generate(x, [&] { return law(rng); });
  return x;
}

Regression regression(Loss loss, double ridge = 0.3) {
  std::mt19937_64 rng(5);
  Regression f{.loss = loss, .dimension = 4, .a = normal(rng, 4 * 12), .b = normal(rng, 12)};
  f.ridge = ridge;
  f.mu = 0.7;
  if (loss == Loss::logistic)
    std::ranges::transform(f.b, f.b.begin(), [](double x) { return x < 0 ? -1 : 1; });
  return f;
}

struct Named {
  std::string name;
  Objective objective;
};

std::vector<Named> objectives() {
  return {{"fixed-target", FixedTarget{{1, -2, 0.5, 0}}},
          {"quadratic", Quadratic{{1, 10, 0, 0.1}}},
          {"l1-norm", L1Norm{4}},
          {"least-squares", regression(Loss::squared)},
          {"logistic", regression(Loss::logistic)},
          {"l1-regression", regression(Loss::absolute)},
          {"huber-regression", regression(Loss::huber)}};
}

std::vector<double> gradient_at(const Objective& f, const std::vector<double>& w) {
  std::vector<double> g(w.size());
  gradient(f, w, g);
  return g;
}

// Central differences are off by h^2/6 f''' plus rounding of f over h: below 1e-7 for h = 1e-5 and
// values of f below 100. A random point is no kink, and none is within h of it, but for a
// probability of the order of 1e-4, which the fixed seed excludes.
TEST(Objective, GradientsAreDerivatives) {
  constexpr double kStep = 1e-5;
  std::mt19937_64 rng(1);
  for (const auto& [name, f] : objectives()) {
    EXPECT_NO_THROW(check(f)) << name;
    ASSERT_EQ(dimension(f), 4U) << name;
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<double> w = normal(rng, 4, 2);
      const std::vector<double> g = gradient_at(f, w);
      for (std::size_t j = 0; j < 4; ++j) {
        const double at = w[j];
        w[j] = at + kStep;
        const double above = value(f, w);
        w[j] = at - kStep;
        const double below = value(f, w);
        w[j] = at;
        EXPECT_NEAR((above - below) / (2 * kStep), g[j], 1e-6) << name << " component " << j;
      }
    }
  }
}

// f(v) >= f(w) + <gradient(w), v - w> for convex f: at kinks too, where the gradient is one of many
// subgradients.
TEST(Objective, GradientsAreSubgradients) {
  std::mt19937_64 rng(2);
  for (const auto& [name, f] : objectives()) {
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::vector<double> w = normal(rng, 4, 2);
      for (double& x : w)
        if (rng() % 3 == 0) x = 0;  // a kink of |w|_1
      const std::vector<double> v = normal(rng, 4, 2), g = gradient_at(f, w);
      double tangent = value(f, w);
      for (std::size_t j = 0; j < 4; ++j) tangent += g[j] * (v[j] - w[j]);
      EXPECT_GE(value(f, v), tangent - 1e-10) << name;
    }
  }
  // Exactly at the kink of an absolute value: 0.
  EXPECT_EQ(gradient_at(L1Norm{3}, {0, -0.0, 2}), (std::vector<double>{0, 0, 1}));
  const Regression kink{.loss = Loss::absolute, .dimension = 2, .a = {1, 2}, .b = {3}};
  EXPECT_EQ(gradient_at(kink, {1, 1}), (std::vector<double>{0, 0}));
}

TEST(Objective, KnownValues) {
  EXPECT_EQ(value(FixedTarget{{1, -2}}, std::vector{3.0, 4.0}), -5);
  EXPECT_EQ(value(Quadratic{{1, 4}}, std::vector{2.0, 3.0}), 20);
  EXPECT_EQ(value(L1Norm{2}, std::vector{2.0, -3.0}), 5);
  const std::vector<double> w = {2};
  const auto at = [&](Loss loss, double b, double mu = 1) {
    return value(Regression{.loss = loss, .dimension = 1, .a = {1}, .b = {b}, .mu = mu}, w);
  };
  EXPECT_EQ(at(Loss::squared, 5), 4.5);
  EXPECT_EQ(at(Loss::absolute, 5), 3);
  EXPECT_EQ(at(Loss::huber, 5), 2.5);        // 1 * 3 - 1/2
  EXPECT_EQ(at(Loss::huber, 5, 3), 4.5);     // on the edge
  EXPECT_EQ(at(Loss::huber, 5, kInf), 4.5);  // never linear
  EXPECT_NEAR(at(Loss::logistic, 1), std::log1p(std::exp(-2.0)), 1e-15);
  EXPECT_NEAR(at(Loss::logistic, -1), std::log1p(std::exp(2.0)), 1e-14);
}

TEST(Objective, LogisticLossDoesNotOverflow) {
  const Regression f{.loss = Loss::logistic, .dimension = 1, .a = {1, 1}, .b = {1, -1}};
  for (const double z : {1e3, -1e3, 1e8, -1e8, 1e300, -1e300}) {
    // One of the two labels is wrong by |z|: loss |z| and slope of size 1, the other has neither.
    EXPECT_DOUBLE_EQ(value(f, std::vector{z}), std::abs(z) / 2);
    EXPECT_EQ(gradient_at(f, {z})[0], z > 0 ? 0.5 : -0.5);
  }
  // And small losses do not vanish: log(1 + e^-40) is e^-40 to rounding.
  const Regression right{.loss = Loss::logistic, .dimension = 1, .a = {1}, .b = {1}};
  EXPECT_NEAR(value(right, std::vector{40.0}) / std::exp(-40.0), 1, 1e-12);
}

// Batches that together have every row once average to the full gradient.
TEST(Objective, BatchesAverageToTheGradient) {
  std::mt19937_64 rng(3);
  for (const Loss loss : {Loss::squared, Loss::logistic, Loss::absolute, Loss::huber}) {
    const Regression f = regression(loss);
    const std::vector<double> w = normal(rng, 4), full = gradient_at(f, w);
    for (const std::size_t size : {1U, 2U, 3U, 6U, 12U}) {
      std::vector<std::uint32_t> rows(12);
      std::iota(rows.begin(), rows.end(), 0U);
      std::ranges::shuffle(rows, rng);
      std::vector<double> mean(4), g(4);
      for (std::size_t i = 0; i < 12; i += size) {
        gradient(f, w, std::span(rows).subspan(i, size), g);
        for (std::size_t j = 0; j < 4; ++j) mean[j] += g[j] * static_cast<double>(size) / 12;
      }
      for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(mean[j], full[j], 1e-13);
    }
    // A row named twice counts twice.
    std::vector<double> twice(4), once(4);
    gradient(f, w, std::vector<std::uint32_t>{3, 3}, twice);
    gradient(f, w, std::vector<std::uint32_t>{3}, once);
    for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(twice[j], once[j], 1e-14);
  }
}

std::string error_of(const Objective& f) {
  try {
    check(f);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Objective, CheckTellsWhatIsWrong) {
  const auto mentions = [](const Objective& f, std::string_view part) {
    const std::string error = error_of(f);
    EXPECT_NE(error.find(part), std::string::npos) << "'" << error << "' for " << part;
    EXPECT_TRUE(error.ends_with("."));
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  mentions(FixedTarget{{1, kInf}}, "Entry 2 of the target");
  mentions(FixedTarget{}, "dimension");
  mentions(Quadratic{{nan}}, "Entry 1 of the curvature");
  mentions(Quadratic{{1, -1}}, "curvature is negative");
  mentions(Quadratic{}, "dimension");
  mentions(L1Norm{0}, "dimension");
  const Regression good{.dimension = 2, .a = {1, 2, 3, 4}, .b = {1, -1}};
  EXPECT_EQ(error_of(good), "");
  const auto with = [&](auto change) {
    Regression f = good;
    change(f);
    return f;
  };
  mentions(with([](auto& f) { f.a.pop_back(); }), "a target for every row");
  mentions(with([](auto& f) { f.a.clear(), f.b.clear(); }), "at least one row");
  mentions(with([](auto& f) { f.dimension = 0; }), "at least one row");
  mentions(with([&](auto& f) { f.a[2] = nan; }), "Entry 3 of the data");
  mentions(with([&](auto& f) { f.b[1] = -kInf; }), "Entry 2 of the targets");
  mentions(with([](auto& f) { f.ridge = -1; }), "ridge");
  mentions(with([&](auto& f) { f.ridge = nan; }), "ridge");
  mentions(with([](auto& f) { f.mu = 0; }), "mu");
  mentions(with([&](auto& f) { f.mu = nan; }), "mu");
  mentions(with([](auto& f) { f.loss = Loss::logistic, f.b[0] = 0; }), "1 or -1");
  EXPECT_EQ(error_of(with([](auto& f) { f.loss = Loss::logistic; })), "");
}

}  // namespace
}  // namespace medgrad
