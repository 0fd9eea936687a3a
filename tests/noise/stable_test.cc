// Properties of stable distributions: forms, symmetry, closed forms, calculus, limits, errors.
#include "medgrad/stable.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "medgrad/error.h"
#include "medgrad/thread_pool.h"
#include "noise/quadrature.h"
#include "testing.h"

namespace medgrad {
namespace {

using testing::message_of;

constexpr double kPi = std::numbers::pi;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kAlphas[] = {0.1, 0.3, 0.5, 0.8, 0.95, 1, 1.02, 1.3, 1.7, 1.95, 2};
constexpr double kBetas[] = {-1, -0.4, 0, 0.7, 1};
constexpr double kPoints[] = {-300, -7, -1.1, -0.2, 0.03, 0.9, 4, 50, 1e5};

Stable s0(double alpha, double beta) { return Stable({alpha, beta, 1, 0, StableForm::S0}); }
Stable s1(double alpha, double beta) { return Stable({alpha, beta, 1, 0, StableForm::S1}); }

void expect_relative(double got, double want, double tolerance) {
  if (got == want) return;
  EXPECT_NEAR(got, want, tolerance * std::fabs(want));
}

TEST(Stable, Reflection) {
  for (const double alpha : kAlphas) {
    for (const double beta : kBetas) {
      for (const double x : kPoints) {
        const Stable stable = s0(alpha, beta), mirrored = s0(alpha, -beta);
        EXPECT_EQ(stable.pdf(x), mirrored.pdf(-x)) << alpha << " " << beta << " " << x;
        EXPECT_EQ(stable.cdf(x), mirrored.survival(-x)) << alpha << " " << beta << " " << x;
      }
    }
  }
}

TEST(Stable, ScaleAndLocation) {
  for (const double alpha : kAlphas) {
    const Stable standard = s0(alpha, 0.7), moved({alpha, 0.7, 4, 2, StableForm::S0});
    for (const double x : kPoints) {
      expect_relative(moved.pdf(2 + 4 * x), standard.pdf(x) / 4, 1e-11);
      expect_relative(moved.cdf(2 + 4 * x), standard.cdf(x), 1e-11);
    }
    expect_relative(moved.quantile(0.2), 2 + 4 * standard.quantile(0.2), 1e-12);
  }
}

TEST(Stable, FormsAreTheSameDistribution) {
  for (const double alpha : kAlphas) {
    for (const double beta : kBetas) {
      for (const double scale : {1.0, 0.3, 20.0}) {
        const StableParameters one{alpha, beta, scale, -0.5, StableForm::S1};
        const StableParameters zero = convert(one, StableForm::S0);
        EXPECT_EQ(zero.form, StableForm::S0);
        EXPECT_NEAR(convert(zero, StableForm::S1).location, -0.5,
                    1e-13 * (1 + std::fabs(zero.location)));
        for (const double x : {-3.0, 0.4, 11.0}) {
          SCOPED_TRACE(std::to_string(alpha) + " " + std::to_string(beta));
          expect_relative(Stable(zero).cdf(x), Stable(one).cdf(x), 1e-9);
          expect_relative(Stable(zero).pdf(x), Stable(one).pdf(x), 1e-9);
        }
      }
    }
  }
}

TEST(Stable, ClosedForms) {
  for (const double x : {-30.0, -2.0, 0.0, 0.7, 5.0, 40.0}) {
    const Stable gauss = s0(2, 0.3), cauchy = s0(1, 0);
    expect_relative(gauss.pdf(x), std::exp(-x * x / 4) / std::sqrt(4 * kPi), 1e-13);
    expect_relative(gauss.cdf(x), std::erfc(-x / 2) / 2, 1e-13);
    expect_relative(cauchy.pdf(x), 1 / (kPi * (1 + x * x)), 1e-14);
    expect_relative(cauchy.cdf(x), std::atan2(1, -x) / kPi, 1e-14);
    const Stable levy = s1(0.5, 1);
    const double density = std::exp(-0.5 / x) / std::sqrt(2 * kPi * x * x * x);
    expect_relative(levy.pdf(x), x > 0 ? density : 0, 1e-13);
    expect_relative(levy.cdf(x), x > 0 ? std::erfc(std::sqrt(0.5 / x)) : 0, 1e-13);
    expect_relative(levy.survival(x), x > 0 ? std::erf(std::sqrt(0.5 / x)) : 1, 1e-13);
  }
}

// Just beside a closed form the integrals take over; f changes by a few times the change of alpha
// or beta (times a logarithm of x).
TEST(Stable, TheIntegralsMeetTheClosedForms) {
  for (const double x : {0.01, 0.7, 3.0, 5.0}) {
    expect_relative(s0(2 - 1e-12, 0).pdf(x), s0(2, 0).pdf(x), 1e-9);
    expect_relative(s0(2 - 1e-12, 0).cdf(-x), s0(2, 0).cdf(-x), 1e-9);
    expect_relative(s0(1, 1e-12).pdf(x), s0(1, 0).pdf(x), 1e-10);
    expect_relative(s0(1 + 1e-12, 0).pdf(x), s0(1, 0).pdf(x), 1e-10);
    expect_relative(s1(0.5 + 1e-12, 1).pdf(x), s1(0.5, 1).pdf(x), 1e-9);
    // (Further in, where f is below 1e-13, the other side shows through.)
    if (x > 0.1) expect_relative(s1(0.5, 1 - 1e-13).pdf(x), s1(0.5, 1).pdf(x), 1e-9);
  }
}

TEST(Stable, S0IsContinuousAcrossAlphaOne) {
  for (const double beta : {-1.0, -0.5, 0.0, 1e-7, 0.001, 0.3, 1.0}) {
    for (const double gap : {1e-6, 1.1e-6, 1e-7, 1e-9, 1e-13}) {
      for (const double x : {-2.0, 0.0, 0.8, 30.0, 900.0, 1100.0, 1e9}) {
        const double at_one = s0(1, beta).log_pdf(x);
        // The slope of log f in alpha grows like log x, in the light tail like log f itself.
        const double room = gap * (20 + 10 * std::fabs(at_one)) + 1e-9 * (1 + std::fabs(at_one));
        if (at_one < -1e6) continue;
        EXPECT_NEAR(s0(1 - gap, beta).log_pdf(x), at_one, room) << beta << " " << gap << " " << x;
        EXPECT_NEAR(s0(1 + gap, beta).log_pdf(x), at_one, room) << beta << " " << gap << " " << x;
      }
    }
  }
}

TEST(Stable, TheDerivativeOfTheDistributionFunctionIsTheDensity) {
  for (const double alpha : kAlphas) {
    for (const double beta : kBetas) {
      const Stable stable = s0(alpha, beta);
      for (const double x : {-6.0, -1.1, 0.37, 2.0, 12.0}) {
        const double from_end = std::min(x - stable.lower(), stable.upper() - x);
        if (from_end < 0.2) continue;
        // Five points, error h^4 f'''' / 30 and rounding 1e-13 F / h.
        const double h = 3e-4 * std::min(std::fabs(x), from_end);
        const auto side = [&](double y) { return x < 0 ? stable.cdf(y) : -stable.survival(y); };
        if (std::fabs(side(x)) < 1e-9) continue;  // light tails bend too much for any h
        const double slope =
            (8 * (side(x + h) - side(x - h)) - (side(x + 2 * h) - side(x - 2 * h))) / (12 * h);
        EXPECT_NEAR(slope, stable.pdf(x), 1e-6 * stable.pdf(x) + 1e-11 * std::fabs(side(x)) / h)
            << alpha << " " << beta << " " << x;
      }
    }
  }
}

// Over u with x = sinh(u) and, at the end of a support, over log z.
TEST(Stable, TheDensityIntegratesToOne) {
  for (const double alpha : {0.3, 0.5, 0.8, 0.95, 1.0, 1.02, 1.3, 1.7, 1.95, 2.0}) {
    for (const double beta : kBetas) {
      const Stable stable = s1(alpha, beta);
      double total = 0;
      for (const double sign : {-1.0, 1.0}) {
        const auto f = [&](std::span<const double> u, double* out) {
          for (std::size_t i = 0; i < u.size(); ++i) {
            out[i] = std::exp(stable.log_pdf(sign * std::exp(u[i])) + u[i]);
          }
        };
        std::vector<double> cuts;
        for (double u = -80; u <= 140; u += 2) cuts.push_back(u);
        for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
          total += noise::integrate(f, std::span<const double>(cuts).subspan(i, 2), 1e-10);
        }
      }
      EXPECT_NEAR(total, 1, 1e-9) << alpha << " " << beta;
    }
  }
}

TEST(Stable, QuantilesInvert) {
  for (const double alpha : kAlphas) {
    for (const double beta : kBetas) {
      const Stable stable = s1(alpha, beta);
      for (double p = 1e-12; p < 0.6; p *= 10) {
        SCOPED_TRACE(std::to_string(alpha) + " " + std::to_string(beta) + " " + std::to_string(p));
        expect_relative(stable.cdf(stable.quantile(p)), p, 1e-8);
        expect_relative(stable.survival(stable.survival_quantile(p)), p, 1e-8);
      }
      EXPECT_EQ(stable.quantile(0), stable.lower());
      EXPECT_EQ(stable.quantile(1), stable.upper());
      EXPECT_EQ(stable.survival_quantile(0), stable.upper());
    }
  }
  // Where the body of an all but Gaussian law meets its tail, log P has a corner.
  for (const double alpha : {2 - 3e-16, 2 - 1e-10, 1.9999}) {
    for (double x = -5; x > -30; x -= 0.05) {
      SCOPED_TRACE(::testing::PrintToString(alpha) + " " + std::to_string(x));
      const Stable stable = s0(alpha, 0);
      expect_relative(stable.quantile(stable.cdf(x)), x, 1e-8);
    }
  }
  // Next to the end of a support, relative to it.
  const Stable levy = s1(0.5, 1), half = s1(0.7, 1), mirrored = s1(0.7, -1);
  EXPECT_EQ(levy.lower(), 0);
  for (const double p : {1e-300, 1e-100, 1e-20}) {
    const double z = half.quantile(p);
    EXPECT_GT(z, 0);
    expect_relative(half.cdf(z), p, 1e-8);
    EXPECT_EQ(mirrored.survival_quantile(p), -z);
  }
}

// Parameters and points at random, with a taste for the extremes.
TEST(Stable, RandomSweep) {
  std::mt19937_64 rng(7);
  std::uniform_real_distribution<double> uniform;
  const auto pick_alpha = [&] {
    const double u = uniform(rng), tiny = std::pow(10, -16 * uniform(rng));
    if (u < 0.4) return 0.1 + 1.9 * uniform(rng);
    if (u < 0.6) return 1 - 0.9 * tiny;
    return u < 0.8 ? 1 + tiny : 2 - tiny;
  };
  const auto pick_beta = [&] {
    const double u = uniform(rng), tiny = std::pow(10, -17 * uniform(rng));
    return (uniform(rng) < 0.5 ? -1 : 1) * (u < 0.4 ? uniform(rng) : u < 0.7 ? 1 - tiny : tiny);
  };
  for (int i = 0; i < 3000; ++i) {
    const double alpha = pick_alpha(), beta = pick_beta();
    const Stable stable = uniform(rng) < 0.5 ? s0(alpha, beta) : s1(alpha, beta);
    const double size = std::pow(10, 12 * uniform(rng) - 5);
    const double x = uniform(rng) < 0.5 ? size : -size;
    SCOPED_TRACE(::testing::PrintToString(alpha) + " " + ::testing::PrintToString(beta) + " " +
                 ::testing::PrintToString(x));
    const double cdf = stable.cdf(x), survival = stable.survival(x);
    EXPECT_TRUE(cdf >= 0 && cdf <= 1) << cdf;
    EXPECT_TRUE(survival >= 0 && survival <= 1) << survival;
    // Around alpha = 1 differences as small as 1e-6 are divided by themselves.
    const double room = std::fabs(alpha - 1) < 0.01 ? 5e-9 : 1e-10;
    EXPECT_NEAR(cdf + survival, 1, room);
    const double further = x + 0.1 * size;
    EXPECT_GE(stable.cdf(further), cdf * (1 - room));
    EXPECT_LE(stable.survival(further), survival * (1 + room));
    const double log_pdf = stable.log_pdf(x);
    EXPECT_FALSE(std::isnan(log_pdf));
    if (x > stable.lower() && x < stable.upper())
      EXPECT_LT(log_pdf, kInf);
    else
      EXPECT_EQ(log_pdf, -kInf);
  }
}

TEST(Stable, SpansAndThreadsGiveTheSame) {
  const Stable stable = s0(1.3, 0.4);
  std::vector<double> x(1000), alone(x.size()), together(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sinh(0.02 * static_cast<double>(i) - 10);
  ThreadPool pool(3);
  stable.pdf(x, alone);
  stable.pdf(x, together, &pool);
  EXPECT_TRUE(testing::same_bits(testing::view(alone), testing::view(together)));
  for (std::size_t i = 0; i < x.size(); i += 77) EXPECT_EQ(alone[i], stable.pdf(x[i]));
  stable.cdf(x, alone);
  stable.cdf(x, together, &pool);
  EXPECT_TRUE(testing::same_bits(testing::view(alone), testing::view(together)));
  EXPECT_NE(message_of([&] {
              stable.cdf(x, std::span<double>(alone).first(3));
              return 0;
            }).find("1000"),
            std::string::npos);
}

TEST(Stable, NoNumbersAndInfinities) {
  for (const double alpha : kAlphas) {
    const Stable stable = s0(alpha, 0.4);
    EXPECT_TRUE(std::isnan(stable.pdf(NAN)));
    EXPECT_TRUE(std::isnan(stable.cdf(NAN)));
    EXPECT_TRUE(std::isnan(stable.survival(NAN)));
    EXPECT_EQ(stable.pdf(kInf), 0);
    EXPECT_EQ(stable.cdf(kInf), 1);
    EXPECT_EQ(stable.cdf(-kInf), 0);
    EXPECT_EQ(stable.survival(kInf), 0);
    EXPECT_EQ(stable.survival(-kInf), 1);
  }
}

TEST(Stable, ErrorsNameTheValue) {
  EXPECT_EQ(message_of([] {
              return Stable({2.5, 0});
            }),
            "alpha is 2.5; it must satisfy 0 < alpha <= 2.");
  EXPECT_EQ(message_of([] {
              return Stable({0, 0});
            }),
            "alpha is 0; it must satisfy 0 < alpha <= 2.");
  EXPECT_EQ(message_of([] {
              return Stable({NAN, 0});
            }),
            "alpha is nan; it must satisfy 0 < alpha <= 2.");
  EXPECT_EQ(message_of([] {
              return Stable({1.5, -1.01});
            }),
            "beta is -1.01; it must satisfy -1 <= beta <= 1.");
  EXPECT_EQ(message_of([] {
              return Stable({1.5, 0, 0});
            }),
            "scale is 0; it must satisfy 0 < scale < inf.");
  EXPECT_EQ(message_of([] {
              return Stable({1.5, 0, 1, kInf});
            }),
            "location is inf; it must satisfy -inf < location < inf.");
  EXPECT_EQ(message_of([] {
              return convert({3, 0}, StableForm::S1);
            }),
            "alpha is 3; it must satisfy 0 < alpha <= 2.");
  const std::string too_small =
      "alpha is 0.05; densities and probabilities are given from 0.1 on only.";
  const Stable tiny({0.05, 0.2});
  EXPECT_EQ(message_of([&] { return tiny.pdf(1); }), too_small);
  EXPECT_EQ(message_of([&] { return tiny.cdf(1); }), too_small);
  EXPECT_EQ(message_of([&] { return tiny.quantile(0.3); }), too_small);
  EXPECT_EQ(message_of([] { return s0(1.5, 0).quantile(1.5); }),
            "a probability of 1.5 is not between 0 and 1.");
}

}  // namespace
}  // namespace medgrad
