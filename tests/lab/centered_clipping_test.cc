// Fixed points of centered clipping, and the geometric median.
#include <gtest/gtest.h>

#include <cmath>

#include "lab/studies.h"

namespace medgrad::lab {
namespace {

using testing::group;

Results results() {
  return testing::run(R"({
    "experiment": "c", "kind": "centered-clipping", "n": 9, "d": [1, 2], "clip": [0.4, 0.2, 0.1],
    "seeds": 4})");
}

// In one dimension the fixed point of a density is known another way: with the distribution
// function F of the mixture and G an antiderivative, E psi(X - v) = c - (G(v + c) - G(v - c)) = 0,
// psi(x) being the clamp of x to [-c, c].
TEST(CenteredClipping, DensityInOneDimension) {
  const auto G = [](double x) {  // of 0.6 N(0, 1) + 0.4 N(1.5, 0.6^2)
    double sum = 0;
    for (const auto& [weight, place, s] : {std::tuple(0.6, 0.0, 1.0), std::tuple(0.4, 1.5, 0.6)}) {
      const double z = (x - place) / s;
      sum += weight * s *
             (z * std::erfc(-z / std::sqrt(2.0)) / 2 +
              std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0)));
    }
    return sum;
  };
  const auto root = [&](double c) {
    double low = 0, high = 1.5;
    for (int i = 0; i < 60; ++i) {
      const double v = (low + high) / 2;
      (c - (G(v + c) - G(v - c)) > 0 ? low : high) = v;
    }
    return low;
  };
  const Results r = results();
  const double median = root(1e-5);  // off by some 1e-11, and rounding over 1e-5
  for (const double c : {0.4, 0.2, 0.1}) {
    const double distance = group(r, "density", "distance", {{"d", 1.0}, {"clip", c}}).last().mean;
    EXPECT_NEAR(distance, std::abs(median - root(c)), 1e-9);
    // 1/6 |p'|/p c^2, from the density by hand at the median 0.7291401.
    EXPECT_NEAR(group(r, "theory", "distance", {{"d", 1.0}, {"clip", c}}).last().mean,
                0.0642785 * c * c, 1e-6 * c * c);
  }
}

TEST(CenteredClipping, ClaimsHoldAndSamplesArrive) {
  const Results r = results();
  ASSERT_EQ(r.claims.size(), 3U);
  for (const Claim& claim : r.claims) EXPECT_TRUE(claim.holds.value_or(false)) << claim.evidence;
  EXPECT_FALSE(r.figures.empty());
}

TEST(CenteredClipping, SameForAnyThreads) {
  ThreadPool pool(3);
  const Node document = testing::built_in("centered-clipping");
  EXPECT_EQ(results_csv(testing::run(document)), results_csv(testing::run(document, &pool)));
}

}  // namespace
}  // namespace medgrad::lab
