// Moments of sample medians against an independent program (golden/moments.json), closed forms,
// limits, and samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>
#include <vector>

#include "medgrad/error.h"
#include "medgrad/theory.h"
#include "testing.h"

namespace medgrad::theory {
namespace {

using nlohmann::json;
constexpr double kPi = std::numbers::pi;

void expect_relative(double got, double want, double tolerance) {
  EXPECT_NEAR(got / want, 1, tolerance) << got << " instead of " << want;
}

MedianMoments moments(const StableParameters& law, std::uint64_t n) {
  const std::uint64_t list[] = {n};
  return median_moments(law, list).at(0);
}

TEST(MedianMoments, AgreeWithTheReference) {
  const json reference = json::parse(std::ifstream(testing::golden("moments.json")))["exact"];
  ASSERT_EQ(reference.size(), 2U);
  for (const auto& [alpha, rows] : reference.items()) {
    std::vector<std::uint64_t> n;
    for (const json& row : rows) n.push_back(row["n"]);
    const auto all = median_moments({.alpha = std::stod(alpha)}, n);
    for (std::size_t i = 0; i < n.size(); ++i) {
      SCOPED_TRACE("alpha " + alpha + " n " + std::to_string(n[i]));
      EXPECT_EQ(all[i].n, n[i]);
      expect_relative(all[i].E_abs, rows[i]["E_abs"], 1e-11);
      if (rows[i]["C_n"] == "inf") {
        EXPECT_TRUE(std::isinf(all[i].C_n));
      } else {
        expect_relative(all[i].C_n, rows[i]["C_n"], 1e-12);
      }
      EXPECT_EQ(all[i].mean, 0);
    }
  }
}

TEST(MedianMoments, ClosedForms) {
  for (const double alpha : {1.05, 1.1, 1.5, 1.9, 1.999, 2.0})  // E|X| of one sample
    expect_relative(E_abs(alpha, 1), 2 / kPi * std::tgamma(1 - 1 / alpha), 1e-11);
  // alpha = 2 is N(0, 2). The middle of three normals has variance 1 - sqrt(3)/pi, and for the
  // middle of five see David and Nagaraja, Order Statistics.
  expect_relative(C_n(2, 1), 2, 1e-13);
  expect_relative(C_n(2, 3), 2 * (1 - std::sqrt(3) / kPi), 1e-13);
  expect_relative(C_n(2, 5), 2 * 0.2868336616, 1e-9);
  // Cauchy, n = 3: F = 1/2 + atan(x)/pi, and with x = tan u
  //   E|M| = (12/pi^3) int_0^{pi/2} tan u (pi^2/4 - u^2) du. By parts, as -log cos u is the
  //   integral of tan u: (24/pi^3) int -u log cos u du, and int_0^{pi/2} u log cos u du = -pi^2
  //   log(2)/8 - 7 zeta(3)/16.
  const double integral = kPi * kPi * std::numbers::ln2 / 8 + 7 * std::riemann_zeta(3.0) / 16;
  expect_relative(E_abs(1, 3), 24 / std::pow(kPi, 3) * integral, 1e-12);
}

TEST(MedianMoments, ApproachTheNormalLimit) {
  for (const double alpha : {0.7, 0.9, 1.0, 1.1, 1.5, 1.9, 2.0}) {
    const double f0 = std::tgamma(1 + 1 / alpha) / kPi;
    const double limit = 1 / (4 * f0 * f0);
    const std::uint64_t n[] = {1001, 10001, 1000001};
    const auto m = median_moments({.alpha = alpha}, n);
    SCOPED_TRACE(alpha);
    // The distance from the limit is O(1/n): a tenth of it, and a hundredth of a tenth.
    const double first = 1001 * m[0].C_n / limit - 1, second = 10001 * m[1].C_n / limit - 1;
    EXPECT_NEAR(second / first, 0.1, 0.01);
    EXPECT_NEAR(1000001 * m[2].C_n / limit, 1, std::fabs(second) / 90);
    // E|N(0, s^2)| = s sqrt(2/pi).
    EXPECT_NEAR(m[2].E_abs / std::sqrt(m[2].C_n * 2 / kPi), 1, 1e-4);
  }
}

TEST(MedianMoments, AreFiniteFromTheSmallestNOn) {
  EXPECT_EQ(smallest_n(2), 1U);
  EXPECT_EQ(smallest_n(1.1), 3U);
  EXPECT_EQ(smallest_n(1), 5U);  // Chu (1955) for the Cauchy distribution
  EXPECT_EQ(smallest_n(0.5), 9U);
  EXPECT_EQ(smallest_n(1.1, 1), 1U);
  EXPECT_EQ(smallest_n(1, 1), 3U);
  EXPECT_EQ(smallest_n(0.1), 41U);
  for (const double alpha : {0.3, 0.5, 2.0 / 3, 0.8, 1.0, 1.0000001, 1.3, 1.9999}) {
    for (const double order : {1.0, 2.0}) {
      const std::uint64_t n = smallest_n(alpha, order);
      const auto moment = [&](std::uint64_t at) {
        return order == 1 ? E_abs(alpha, at) : C_n(alpha, at);
      };
      EXPECT_TRUE(std::isfinite(moment(n))) << alpha << " " << n;
      if (n > 1) {
        EXPECT_TRUE(std::isinf(moment(n - 2))) << alpha << " " << n;
      }
    }
  }
  EXPECT_TRUE(std::isnan(moments({.alpha = 0.9}, 1).mean));
}

// Just above the border almost all of the moment lies in the tail, where M has the density
// 6 alpha c^2 x^{-2 alpha - 1} on either side for n = 3, P(X > x) ~ c x^-alpha.
TEST(MedianMoments, TheHeaviestTailsAreThere) {
  const double alpha = 1 + 1e-5;
  const double c = std::tgamma(alpha) * std::sin(kPi * alpha / 2) / kPi;
  EXPECT_NEAR(C_n(alpha, 3) * (2 * alpha - 2) / (12 * alpha * c * c), 1, 1e-3);
}

TEST(MedianMoments, FollowScaleAndLocation) {
  const MedianMoments m = moments({.alpha = 1.3}, 7);
  const MedianMoments s = moments({.alpha = 1.3, .scale = 1e-3}, 7);
  expect_relative(s.C_n, 1e-6 * m.C_n, 1e-12);
  expect_relative(s.E_abs, 1e-3 * m.E_abs, 1e-12);
  const MedianMoments l = moments({.alpha = 1.3, .location = -0.5}, 7);
  EXPECT_EQ(l.mean, -0.5);
  expect_relative(l.variance, m.variance, 1e-12);
  expect_relative(l.C_n, m.variance + 0.25, 1e-12);
  // One sample of N(1, 2): E|X| = 2/sqrt(pi) e^{-1/4} + erf(1/2).
  expect_relative(moments({.alpha = 2, .location = 1}, 1).E_abs,
                  2 / std::sqrt(kPi) * std::exp(-0.25) + std::erf(0.5), 1e-12);
}

TEST(MedianMoments, OfSkewedLawsAgreeWithTheMeanAndWithTheMirror) {
  // In S1 the location is the mean, alpha > 1.
  for (const double alpha : {1.2, 1.5, 1.9}) {
    for (const double beta : {0.3, 1.0}) {
      const StableParameters law{alpha, beta, 1, 0, StableForm::S1};
      EXPECT_NEAR(moments(law, 1).mean, 0, 1e-8);
      const MedianMoments right = moments(law, 5),
                          left = moments({alpha, -beta, 1, 0, law.form}, 5);
      expect_relative(left.mean, -right.mean, 1e-10);
      expect_relative(left.C_n, right.C_n, 1e-10);
      expect_relative(left.E_abs, right.E_abs, 1e-10);
    }
  }
}

// alpha = 1/2, beta = 1 is the law of 1/Z^2, Z normal, with F(x) = erfc(1/sqrt(2x)): its integrals
// by mpmath in 30 digits.
TEST(MedianMoments, OfAOneSidedLaw) {
  const StableParameters levy{0.5, 1, 1, 0, StableForm::S1};
  expect_relative(moments(levy, 9).mean, 3.468426147594206, 1e-12);
  expect_relative(moments(levy, 9).E_abs, 3.468426147594206, 1e-12);
  expect_relative(moments(levy, 9).C_n, 48.56411449045335, 1e-12);
  expect_relative(moments(levy, 21).mean, 2.621209048987499, 1e-12);
  expect_relative(moments(levy, 21).E_abs, 2.621209048987499, 1e-12);
  expect_relative(moments(levy, 21).C_n, 9.614779163728516, 1e-12);
  EXPECT_TRUE(std::isinf(moments(levy, 7).C_n));
}

// Samples are an independent way. With 200,000 medians of n, the mean of |M| has the standard error
// sd(|M|)/sqrt(N), that of M^2 sd(M^2)/sqrt(N); both sds are finite where alpha (n+1)/2 > 4.
TEST(MedianMoments, AgreeWithSamples) {
  constexpr std::size_t kN = 200000;
  for (const StableParameters& law : {StableParameters{.alpha = 1.1},
                                      {.alpha = 1.6},
                                      {1.3, 1, 1, 0, StableForm::S1},
                                      {0.8, -0.5, 1, 0.3, StableForm::S0}}) {
    constexpr std::size_t kSamples = 11;
    std::vector<double> x(kN * kSamples);
    Stable(law).sample(x, 5, 0);
    double first = 0, second = 0, fourth = 0, mean = 0;
    for (std::size_t i = 0; i < kN; ++i) {
      const auto begin = x.begin() + static_cast<std::ptrdiff_t>(i * kSamples);
      std::nth_element(begin, begin + 5, begin + 11);
      const double m = begin[5];
      mean += m / kN;
      first += std::fabs(m) / kN;
      second += m * m / kN;
      fourth += std::pow(m, 4) / kN;
    }
    const MedianMoments exact = moments(law, kSamples);
    SCOPED_TRACE(law.alpha);
    const double error = std::sqrt((second - mean * mean) / kN);
    EXPECT_NEAR(exact.mean, mean, 4.5 * error);
    EXPECT_NEAR(exact.E_abs, first, 4.5 * error);
    EXPECT_NEAR(exact.C_n, second, 4.5 * std::sqrt((fourth - second * second) / kN));
  }
}

TEST(MedianMoments, RefuseWhatMakesNoSense) {
  EXPECT_THROW((void)C_n(1.5, 4), Error);
  EXPECT_THROW((void)C_n(1.5, 0), Error);
  EXPECT_THROW((void)C_n(2.5, 3), Error);
  EXPECT_THROW((void)C_n(0.05, 101), Error);
  EXPECT_THROW((void)smallest_n(0), Error);
  EXPECT_THROW((void)smallest_n(1.5, -1), Error);
  EXPECT_THROW((void)smallest_n(1.5, std::nan("")), Error);
}

}  // namespace
}  // namespace medgrad::theory
