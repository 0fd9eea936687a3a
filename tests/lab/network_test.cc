// The two-layer network as an objective: what it is by formula, and its derivatives.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "medgrad/error.h"
#include "medgrad/objective.h"
#include "testing.h"

namespace medgrad {
namespace {

using testing::message_of;
using testing::random_vector;

Network network(std::size_t inputs, std::size_t hidden, double ridge) {
  std::mt19937_64 rng(3);
  return {inputs, hidden, random_vector<double>(rng, 12 * inputs, 0),
          random_vector<double>(rng, 12, 0), ridge};
}

TEST(Network, IsItsFormula) {
  const Network f{2, 1, {1, 2, -1, 0.5}, {0.25, -1}, 0.5};
  const std::vector<double> w = {0.5, -0.25, 0.125, 2, -0.75};  // W, t, u, c
  const double first = -0.75 + 2 * std::tanh(0.5 - 0.5 + 0.125),
               second = -0.75 + 2 * std::tanh(-0.5 - 0.125 + 0.125);
  EXPECT_NEAR(f.output(w, std::vector<double>{1, 2}), first, 1e-15);
  const double size = 0.25 + 0.0625 + 0.015625 + 4 + 0.5625;
  EXPECT_NEAR(value(f, w), (std::pow(first - 0.25, 2) + std::pow(second + 1, 2)) / 4 + 0.25 * size,
              1e-14);
  EXPECT_EQ(dimension(Objective(f)), 5U);
}

// Central differences with h = 1e-5 are off by h^2/6 f''' and by rounding over h: below 1e-7.
TEST(Network, GradientsAreDerivatives) {
  constexpr double kStep = 1e-5;
  std::mt19937_64 rng(4);
  for (const auto& [inputs, hidden] : {std::pair<std::size_t, std::size_t>{1, 1}, {3, 2}, {2, 5}}) {
    for (const double ridge : {0.0, 0.3}) {
      const Objective f = network(inputs, hidden, ridge);
      std::vector<double> w = random_vector<double>(rng, dimension(f), 0), g(w.size());
      ASSERT_EQ(w.size(), hidden * (inputs + 2) + 1);
      gradient(f, w, g);
      for (std::size_t j = 0; j < w.size(); ++j) {
        const double at = w[j];
        w[j] = at + kStep;
        const double above = value(f, w);
        w[j] = at - kStep;
        const double below = value(f, w);
        w[j] = at;
        EXPECT_NEAR((above - below) / (2 * kStep), g[j], 1e-7);
      }
    }
  }
}

// Two points between which it lies above its chord.
TEST(Network, IsNotConvex) {
  const Network f{1, 1, {1}, {2}, 0};
  const std::vector<double> a = {2, 0, 2, 0}, b = {-2, 0, -2, 0}, middle = {0, 0, 0, 0};
  EXPECT_NEAR(value(f, a), value(f, b), 1e-15);
  EXPECT_GT(value(f, middle), value(f, a) + 1);
}

TEST(Network, BatchesAverageToTheGradient) {
  std::mt19937_64 rng(5);
  const Network f = network(3, 4, 0.1);
  const std::vector<double> w = random_vector<double>(rng, f.dimension(), 0);
  std::vector<double> full(w.size()), mean(w.size()), g(w.size());
  gradient(f, w, full);
  std::vector<std::uint32_t> rows(12);
  std::iota(rows.begin(), rows.end(), 0U);
  for (std::size_t i = 0; i < 12; i += 3) {
    gradient(f, w, std::span(rows).subspan(i, 3), g);
    for (std::size_t j = 0; j < w.size(); ++j) mean[j] += g[j] / 4;
  }
  for (std::size_t j = 0; j < w.size(); ++j) EXPECT_NEAR(mean[j], full[j], 1e-13);
}

TEST(Network, CheckTellsWhatIsWrong) {
  EXPECT_EQ(message_of([] {
              check(Network{2, 1, {1, 2, 3}, {1}});
            }),
            "A network needs at least one row, and a target for every row.");
  EXPECT_EQ(message_of([] {
              check(Network{1, 0, {1}, {1}});
            }),
            "hidden is 0; it must be from 1 to 256.");
  EXPECT_EQ(message_of([] {
              check(Network{1, 1, {std::nan("")}, {1}});
            }),
            "Entry 1 of the data is nan; it must be finite.");
}

}  // namespace
}  // namespace medgrad
