// Stable distributions at the ends of the range of doubles: scales, locations and points of any
// size, also where their quotients are no doubles any more.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "medgrad/stable.h"

namespace medgrad {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kMax = std::numeric_limits<double>::max();
constexpr double kMin = std::numeric_limits<double>::denorm_min();
constexpr double kAlphas[] = {0.1,       0.3,      0.5,  0.8, 0.95, 1 - 1e-7, 1 - 1e-15, 1,
                              1 + 3e-16, 1 + 1e-7, 1.05, 1.1, 1.5,  1.9,      2 - 1e-15, 2};
constexpr double kBetas[] = {-1, -1 + 1e-16, -0.4, 0, 1e-10, 0.7, 1};

std::string name(const StableParameters& s) {
  const auto text = [](double v) { return ::testing::PrintToString(v) + " "; };
  return text(s.alpha) + text(s.beta) + text(s.scale) + text(s.location) +
         (s.form == StableForm::S0 ? "S0 " : "S1 ");
}

// What all functions of one distribution owe each other, at increasing points.
void expect_consistent(const StableParameters& s, const std::vector<double>& points) {
  const Stable stable(s);
  // Around alpha = 1 differences as small as 1e-6 are divided by themselves.
  const double room = std::fabs(s.alpha - 1) < 0.01 ? 5e-9 : 1e-10;
  double last_cdf = 0, last_survival = 1;
  for (const double x : points) {
    SCOPED_TRACE(name(s) + ::testing::PrintToString(x));
    const double cdf = stable.cdf(x), survival = stable.survival(x);
    ASSERT_TRUE(cdf >= 0 && cdf <= 1) << cdf;
    ASSERT_TRUE(survival >= 0 && survival <= 1) << survival;
    EXPECT_NEAR(cdf + survival, 1, room);
    EXPECT_GE(cdf, last_cdf * (1 - room));
    EXPECT_LE(survival, last_survival * (1 + room));
    last_cdf = cdf;
    last_survival = survival;
    const double log_pdf = stable.log_pdf(x);
    EXPECT_FALSE(std::isnan(log_pdf));
    EXPECT_LT(log_pdf, kInf);
    EXPECT_EQ(stable.pdf(x), std::exp(log_pdf));
    // There and back; rounding the quantile moves the probability by as much as lies between two
    // neighbouring doubles.
    const bool left = cdf <= survival;
    const double p = left ? cdf : survival;
    if (p == 0) continue;
    const double q = left ? stable.quantile(p) : stable.survival_quantile(p);
    ASSERT_FALSE(std::isnan(q));
    const auto side = [&](double at) { return left ? stable.cdf(at) : stable.survival(at); };
    const double before = side(std::nextafter(q, -kInf)), after = side(std::nextafter(q, kInf));
    const double slack = p < 1e-300 ? 1e-6 : std::max(1e-8, room);
    EXPECT_GE(p, std::min(before, after) * (1 - slack) - kMin) << q << " has " << side(q);
    EXPECT_LE(p, std::max(before, after) * (1 + slack) + kMin) << q << " has " << side(q);
  }
}

TEST(StableExtremes, EveryFunctionOnEveryScale) {
  const std::vector<double> points = {-kMax,   -1e306, -1e300, -1e150, -1e6,   -1,
                                      -1e-300, -kMin,  0,      kMin,   1e-300, 1,
                                      1e6,     1e150,  1e300,  1e306,  kMax};
  for (const double alpha : kAlphas) {
    for (const double beta : kBetas) {
      for (const StableForm form : {StableForm::S0, StableForm::S1}) {
        for (const double scale : {kMin, 1e-3, 1e300, kMax}) {
          for (const double location : {0.0, -1e300, kMax}) {
            expect_consistent({alpha, beta, scale, location, form}, points);
          }
        }
      }
    }
  }
}

// P(X > x) = (1 + beta) sin(pi alpha/2) Gamma(alpha)/pi (x / scale)^-alpha (1 + O(its own size)).
TEST(StableExtremes, TailsOfQuotientsThatOverflow) {
  for (const double alpha : kAlphas) {
    if (alpha >= 1.99) continue;
    for (const double beta : {-0.4, 0.0, 0.7, 1.0}) {
      const double log_front =
          std::log((1 + beta) * std::sin(kPi / 2 * alpha) * std::tgamma(alpha) / kPi);
      for (const double scale : {kMin, 1e-300, 1e-3}) {
        const double log_y = std::log(1e306) - std::log(scale),
                     log_tail = log_front - alpha * log_y;
        for (const StableForm form : {StableForm::S0, StableForm::S1}) {
          const Stable right({alpha, beta, scale, 0, form}), left({alpha, -beta, scale, 0, form});
          SCOPED_TRACE(name(right.parameters()));
          const double log_pdf = log_tail + std::log(alpha) - log_y - std::log(scale);
          EXPECT_NEAR(right.log_pdf(1e306), log_pdf, 1e-12 * std::fabs(log_pdf));
          EXPECT_NEAR(left.log_pdf(-1e306), log_pdf, 1e-12 * std::fabs(log_pdf));
          const double tail = std::exp(log_tail);
          EXPECT_NEAR(right.survival(1e306), tail, 2e-12 * tail + kMin);
          EXPECT_NEAR(left.cdf(-1e306), tail, 2e-12 * tail + kMin);
          EXPECT_NEAR(right.cdf(1e306), 1 - tail, 1e-15);
        }
      }
    }
  }
}

// x - location overflows, the distance is 3e308; and a light tail is 0 there.
TEST(StableExtremes, LocationsOfTheOtherSign) {
  const Stable cauchy({1, 0, 1e300, -1.5e308, StableForm::S0});
  EXPECT_NEAR(cauchy.survival(1.5e308), std::atan(1e300 / 1.5e308 / 2) / kPi, 1e-22);
  EXPECT_NEAR(cauchy.cdf(1.5e308), 1, 1e-8);
  // 1.9 scales above the location is a quantile, though that many scales are no double.
  const Stable wide({1, 0, kMax, -kMax, StableForm::S0});
  const double p = std::atan(1 / 1.9) / kPi;  // P(X > location + 1.9 scales)
  EXPECT_NEAR(wide.survival_quantile(p) / kMax, 0.9, 1e-9);
  const Stable gaussian({2, 0, 1e-300, 0, StableForm::S0});
  EXPECT_EQ(gaussian.cdf(-1e306), 0);
  EXPECT_EQ(gaussian.survival(-1e306), 1);
  EXPECT_EQ(gaussian.log_pdf(1e306), -kInf);
}

// Next to the end of a support: exp(-1/(2z)) of Levy's law at z = 1e-8, and for alpha = 0.1 log f
// of z = 1e-600 is still a double: -(1 - a) a^{a/(1-a)} c z^{-a/(1-a)}, c = cos(pi a/2)^{-1/(1-a)}.
TEST(StableExtremes, PointsNextToTheEndOfASupport) {
  const Stable levy({0.5, 1, 1e300, 0, StableForm::S1});
  EXPECT_NEAR(levy.log_pdf(1e298) + std::log(1e300),
              -50 - 1.5 * std::log(1e-2) - 0.5 * std::log(2 * kPi), 1e-10);
  EXPECT_EQ(levy.cdf(1e-300), 0);
  const double a = 0.1, log_z = std::log(1e-300) - std::log(1e300);
  const Stable low({a, 1, 1e300, 0, StableForm::S1});
  const double c = std::pow(std::cos(kPi / 2 * a), -1 / (1 - a));
  const double energy = (1 - a) * std::pow(a, a / (1 - a)) * c * std::exp(-a / (1 - a) * log_z);
  EXPECT_NEAR(low.log_pdf(1e-300), -energy, 1e-9 * energy);
  EXPECT_EQ(low.cdf(1e-300), 0);
  EXPECT_EQ(low.survival(1e-300), 1);
}

// A quantile beyond the largest double is infinite, one before it is not.
TEST(StableExtremes, QuantilesPastTheLargestDouble) {
  const Stable cauchy({1, 0});
  EXPECT_EQ(cauchy.quantile(1e-310), -kInf);
  EXPECT_EQ(cauchy.survival_quantile(1e-310), kInf);
  EXPECT_EQ(cauchy.quantile(kMin), -kInf);
  EXPECT_NEAR(cauchy.quantile(3e-309) / (-1 / kPi / 3e-309), 1, 1e-12);
  for (const double alpha : {0.1, 0.3, 0.5, 0.8, 0.95, 1 - 1e-9, 1 + 1e-9, 1.02}) {
    for (const double beta : {-0.4, 0.0, 0.7}) {
      const double front =
          (1 - beta) * std::sin(kPi / 2 * alpha) * std::tgamma(alpha) / kPi;  // of the left tail
      for (const double scale : {1e-300, 1.0, 1e300}) {
        SCOPED_TRACE(name({alpha, beta, scale, 0, StableForm::S0}));
        const Stable left({alpha, beta, scale, 0, StableForm::S0});
        const Stable right({alpha, -beta, scale, 0, StableForm::S0});
        const double p = front * std::exp(alpha * (std::log(scale) - std::log(kMax)));
        if (p > 1e-5 || p < 1e-300) continue;  // the next term of the tail is p times as large
        EXPECT_EQ(left.quantile(p * 0.999), -kInf);
        EXPECT_EQ(right.survival_quantile(p * 0.999), kInf);
        const double inside = -kMax * std::pow(1.001, -1 / alpha);
        EXPECT_NEAR(left.quantile(p * 1.001) / inside, 1, 1e-3);
        EXPECT_NEAR(right.survival_quantile(p * 1.001) / -inside, 1, 1e-3);
      }
    }
  }
  // A denormal scale takes a standard quantile of 1e620 back into the range.
  const Stable narrow({0.1, 0, kMin, 0, StableForm::S0});
  const double q = narrow.survival_quantile(1e-61);
  EXPECT_TRUE(q > 1e280 && q < kMax) << q;
  EXPECT_NEAR(narrow.survival(q), 1e-61, 1e-70);
}

TEST(StableExtremes, SamplesAreFiniteOnEveryScale) {
  for (const double alpha : kAlphas) {
    for (const double beta : {-1.0, 0.0, 0.7}) {
      for (const StableForm form : {StableForm::S0, StableForm::S1}) {
        for (const double scale : {kMin, 1.0, kMax}) {
          for (const double location : {-kMax, 0.0, kMax}) {
            const Stable stable({alpha, beta, scale, location, form});
            SCOPED_TRACE(name(stable.parameters()));
            std::vector<double> doubles(64);
            std::vector<float> floats(64);
            stable.sample(doubles, 1, 2);
            stable.sample(floats, 1, 2);
            for (const double v : doubles) ASSERT_TRUE(std::isfinite(v)) << v;
            for (const float v : floats) ASSERT_TRUE(std::isfinite(v)) << v;
          }
        }
      }
    }
  }
}

TEST(StableExtremes, ConversionRoundsOnce) {
  // 1/tan(pi/2 1e-3) = 636.6 scales to the left: past the largest double, and back inside.
  const StableParameters far{0.999, 1, 1e306, 0, StableForm::S0};
  EXPECT_EQ(convert(far, StableForm::S1).location, -kInf);
  EXPECT_EQ(Stable(far).lower(), -kInf);
  const StableParameters near{0.999, 1, 5e305, kMax, StableForm::S0};
  const double want = kMax * (1 - 5e305 / kMax / std::tan(kPi / 2 * 0.001));
  EXPECT_NEAR(convert(near, StableForm::S1).location / want, 1, 1e-9);
}

}  // namespace
}  // namespace medgrad
