// Hill plot, mean excess and quantile plots, on the quantiles of laws for which they are known.
#include "lab/findings/tail_panels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace medgrad::lab {
namespace {

// Value i of n is the quantile of 1 - (i + 1/2) / n.
template <class Quantile>
std::vector<double> farthest_first(std::size_t n, Quantile&& quantile) {
  std::vector<double> y;
  for (std::size_t i = 0; i < n; ++i)
    y.push_back(quantile((static_cast<double>(i) + 0.5) / static_cast<double>(n)));
  return y;
}

// P(Y > y) = y^-1.5: Hill's estimate is 1.5 wherever it looks, and its interval +-1.96 / sqrt(k).
TEST(TailPanels, HillOfAParetoLaw) {
  const auto y = farthest_first(10000, [](double p) { return std::pow(p, -1 / 1.5); });
  const Panel panel = hill_panel(y, 1.5);
  ASSERT_EQ(panel.series.size(), 2U);
  const Series& hill = panel.series[0];
  ASSERT_GT(hill.x.size(), 50U);
  EXPECT_EQ(hill.x.front(), 10);
  EXPECT_LT(hill.x.back(), 5000);
  for (std::size_t i = 0; i < hill.x.size(); ++i) {
    EXPECT_NEAR(hill.y[i], 1.5, 1.5 / hill.x[i]);
    EXPECT_NEAR(hill.high[i] - hill.low[i], 2 * 1.96 * hill.y[i] / std::sqrt(hill.x[i]), 0.01);
  }
  EXPECT_EQ(panel.series[1].y, (std::vector<double>{1.5, 1.5}));
  EXPECT_EQ(hill_panel(y, {}).series.size(), 1U);
}

// The mean excess of an exponential law is 1 everywhere, that of a Pareto law with index 3 is u /
// 2, which as a generalised Pareto law from 1 on has xi = 1/3 and sigma = 1/3.
TEST(TailPanels, MeanExcess) {
  const auto exponential = farthest_first(100000, [](double p) { return -std::log(p); });
  const Panel level = mean_excess_panel(exponential, {});
  for (const double excess : level.series[0].y) EXPECT_NEAR(excess, 1, 0.1);
  const auto pareto = farthest_first(100000, [](double p) { return std::pow(p, -1.0 / 3); });
  const Panel panel = mean_excess_panel(pareto, ParetoTail{1, 1.0 / 3, 1.0 / 3});
  ASSERT_EQ(panel.series.size(), 2U);
  const Series &sample = panel.series[0], &law = panel.series[1];
  ASSERT_EQ(sample.x, law.x);
  for (std::size_t i = 0; i < law.x.size(); ++i) {
    EXPECT_NEAR(law.y[i], law.x[i] / 2, 1e-12 * law.x[i]);
    EXPECT_NEAR(sample.y[i], law.y[i], 0.1 * law.y[i]);
  }
}

// The quantiles of the law itself are on the diagonal, those of a law twice as wide twice as far.
TEST(TailPanels, QuantilesOfTheLaw) {
  const StableParameters parameters{1.5, 0.5, 2, 7};
  const Stable law(parameters);
  constexpr std::size_t kCount = 500;
  std::vector<double> x;
  for (std::size_t i = 0; i < kCount; ++i)
    x.push_back(2 * (law.quantile((static_cast<double>(i) + 0.5) / kCount) - law.quantile(0.5)));
  const Panel panel = quantile_panel(x, parameters);
  ASSERT_EQ(panel.series.size(), 3U);
  for (const Series& tail : {panel.series[0], panel.series[1]}) {
    ASSERT_GT(tail.x.size(), 40U);
    for (std::size_t i = 0; i < tail.x.size(); ++i)
      EXPECT_NEAR(tail.y[i], 2 * tail.x[i], 1e-9 * tail.x[i]);
    EXPECT_TRUE(std::is_sorted(tail.x.begin(), tail.x.end()));
  }
  EXPECT_EQ(panel.series[2].x, panel.series[2].y);

  // P(Y > y) = y^-3 from 1 on is generalised Pareto; xi = 0 is exponential.
  const auto pareto = farthest_first(1000, [](double p) { return std::pow(p, -1.0 / 3); });
  const auto exponential = farthest_first(1000, [](double p) { return 5 - 2 * std::log(p); });
  const ParetoTail laws[] = {{1, 1.0 / 3, 1.0 / 3}, {5, 2, 0}};
  for (const bool first : {true, false}) {
    const Panel far = quantile_panel(first ? pareto : exponential, laws[first ? 0 : 1]);
    ASSERT_EQ(far.series.size(), 2U);
    ASSERT_GT(far.series[0].x.size(), 50U);
    for (std::size_t i = 0; i < far.series[0].x.size(); ++i)
      EXPECT_NEAR(far.series[0].y[i], far.series[0].x[i], 1e-9 * far.series[0].x[i]);
  }
  EXPECT_TRUE(quantile_panel(pareto, ParetoTail{1e9, 1, 1}).series.empty());
}

// Nothing to draw is no curve; without a mean there is no line.
TEST(TailPanels, OfLittle) {
  for (const std::size_t n : {0U, 1U, 5U, 10U}) {
    const std::vector<double> y(n, 1);
    EXPECT_TRUE(hill_panel(y, 1.5).series[0].x.empty()) << n;
    EXPECT_EQ(hill_panel(y, 1.5).series.size(), 1U) << n;
    EXPECT_TRUE(mean_excess_panel(y, {}).series[0].x.empty()) << n;
  }
  const auto y = farthest_first(1000, [](double p) { return std::pow(p, -1.25); });
  EXPECT_EQ(mean_excess_panel(y, ParetoTail{1, 1.25, 1.25}).series.size(), 1U);
}

}  // namespace
}  // namespace medgrad::lab
