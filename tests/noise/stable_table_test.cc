// Tables of densities against the integrals, their derivatives against differences, and fits by
// maximum likelihood.
#include "medgrad/stable_table.h"

#include <gtest/gtest.h>

#include "laws.h"
#include "medgrad/error.h"
#include "medgrad/stable_fit.h"
#include "testing.h"

namespace medgrad {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::pair<double, double> kShapes[] = {{0.3, 0.5}, {0.5, 1},    {0.9, -1}, {1, 0},
                                                 {1, 0.7},   {1.2, -0.7}, {1.5, 0},  {1.5, 1},
                                                 {1.9, 0.3}, {2, 0}};
constexpr double kPoints[] = {-1e300, -1e9, -1e4, -37.5, -3,  -0.7, 0,
                              1e-12,  0.4,  2,    11,    600, 1e7,  1e12};

TEST(StableTable, KeepsItsTolerance) {
  for (const auto& [alpha, beta] : kShapes) {
    for (const double tolerance : {1e-10, 1e-4}) {
      const StableParameters p{alpha, beta, 3, -5};
      const Stable law(p);
      const StableTable table(p, tolerance);
      EXPECT_EQ(table.tolerance(), tolerance);
      laws::Random r(1);
      for (int i = 0; i < 60; ++i) {
        const double x = i < 14 ? kPoints[i] : -5 + 3 * std::sinh(12 * laws::uniform(r) - 6);
        const double exact = law.log_pdf(x), found = table.log_pdf(x);
        if (std::isinf(exact)) {
          EXPECT_EQ(found, exact) << x;
        } else {
          // The table's own error, of log f where f is less than the smallest number, and that of
          // the integrals around alpha = 1.
          const double size = std::fabs(exact), own = tolerance * (size > 740 ? size : 1);
          EXPECT_NEAR(found, exact, own + 1e-14 * size) << alpha << " " << beta << " " << x;
        }
      }
    }
  }
}

TEST(StableTable, LightTailsEndInZero) {
  // The right tail of beta = -1; 1/scale makes densities large.
  for (const double scale : {1.0, 1e-300, 1e300}) {
    const StableParameters p{1.6, -1, scale, 0};
    const Stable law(p);
    const StableTable table(p);
    for (double x = 1; x < 1e8; x *= 1.3) {
      const double exact = law.pdf(scale * x);
      EXPECT_NEAR(table.pdf(scale * x), exact, 1e-10 * exact + 1e-320) << scale << " " << x;
    }
  }
}

// Where f is less than the smallest number log f goes on, by the table: hardly any part of its
// range is left to the integrals, and it agrees with them to 1e-10 of log f.
TEST(StableTable, LogarithmsOfLightTails) {
  for (const double alpha : {0.15, 0.5, 0.7, 0.95, 0.999, 1.0, 1.02, 1.3, 1.8}) {
    // In S1 the half-lines of alpha < 1 begin at 0.
    const StableParameters p{alpha, 1, 1, 0, alpha < 1 ? StableForm::S1 : StableForm::S0};
    const Stable law(p);
    const StableTable table(p);
    EXPECT_LT(table.uncovered(), 0.002) << alpha;
    int below = 0;
    for (double d = 1e3; d > 1e-140; d *= 0.9) {
      const double x = alpha < 1 ? d : -100 * d;
      const double exact = law.log_pdf(x), found = table.log_pdf(x);
      below += exact < -745 ? 1 : 0;
      if (std::isfinite(exact)) {
        EXPECT_NEAR(found, exact, 1e-10 * std::max(1.0, exact < -740 ? -exact : 1)) << x;
      } else {
        EXPECT_EQ(found, exact) << x;
      }
      // The derivative is that of the logarithm.
      const double h = 1e-6 * x;
      const double slope = (table.log_pdf(x + h) - table.log_pdf(x - h)) / (2 * h);
      if (exact < -1e4 && exact > -1e150) {
        EXPECT_NEAR(table.derivatives(x).first / slope, 1, 1e-3) << alpha << ' ' << x;
      }
    }
    EXPECT_GT(below, 20) << alpha;
  }
}

// The peak of a small alpha, 1e-5 of the scale wide at 0.2: by the table all the same. The
// reference is Zolotarev's integral in 40 digits.
TEST(StableTable, PeaksOfSmallAlpha) {
  for (const double alpha : {0.1, 0.2, 0.25, 0.4}) {
    for (const double beta : {0.0, 0.6, -0.99}) {
      const StableParameters p{alpha, beta, 1, 0, StableForm::S1};
      const Stable law(p);
      const StableTable table(p);
      EXPECT_EQ(table.uncovered(), 0) << alpha << ' ' << beta;
      for (double z = 1e-40; z < 1e30; z *= 7) {
        EXPECT_NEAR(table.log_pdf(z), law.log_pdf(z), 1e-10) << alpha << ' ' << beta << ' ' << z;
        EXPECT_NEAR(table.log_pdf(-z), law.log_pdf(-z), 1e-10) << alpha << ' ' << beta << ' ' << z;
      }
    }
  }
}

TEST(StableTable, MirrorsToTheLastBit) {
  for (const auto& [alpha, beta] : kShapes) {
    const StableTable table({alpha, beta, 2}), mirrored({alpha, -beta, 2});
    laws::Random r(4);
    for (int i = 0; i < 100; ++i) {
      const double x = std::sinh(20 * laws::uniform(r) - 10);
      EXPECT_EQ(table.log_pdf(x), mirrored.log_pdf(-x)) << alpha << ' ' << beta << ' ' << x;
      const double slope = table.derivatives(x).first;
      EXPECT_TRUE(std::isnan(slope) || slope == -mirrored.derivatives(-x).first) << alpha << x;
    }
  }
}

TEST(StableTable, CoarserIsSmaller) {
  EXPECT_LT(StableTable({1.4, 0.2}, 1e-4).intervals(), StableTable({1.4, 0.2}, 1e-12).intervals());
  EXPECT_EQ(StableTable({1.4, 0.2}).uncovered(), 0);
  EXPECT_THROW(StableTable({1.4, 0.2}, 0), Error);
  EXPECT_THROW(StableTable({1.4, 0.2}, kNaN), Error);
  EXPECT_THROW(StableTable({0.05}), Error);
}

// Closed forms: Gaussian N(0, 2), f'/f = -x/2; Cauchy -2x/(1 + x^2) and its derivative.
TEST(StableTable, Derivatives) {
  const StableTable gaussian({2, 0}), cauchy({1, 0, 2, 1});
  for (const double x : {-3.0, -0.2, 0.0, 0.9, 4.0}) {
    const auto g = gaussian.derivatives(x);
    EXPECT_NEAR(g.first, -x / 2, 1e-8);
    EXPECT_NEAR(g.second, -0.5, 1e-6);
    const auto c = cauchy.derivatives(x);
    const double y = (x - 1) / 2, q = 1 + y * y;
    EXPECT_NEAR(c.first, -2 * y / q / 2, 1e-8);
    EXPECT_NEAR(c.second, (2 * y * y - 2) / (q * q) / 4, 1e-6);
  }
  // Far out the density is a power: f'/f = -(1 + alpha)/x.
  const StableTable heavy({1.5, 0.5});
  for (const double x : {1e6, 1e12}) EXPECT_NEAR(heavy.derivatives(x).first * x, -2.5, 1e-3);
}

TEST(StableFit, MaximumLikelihoodFindsTheLaw) {
  const std::pair<double, double> shapes[] = {{0.8, 0.2}, {1.2, -0.7}, {1.5, 1}, {1.8, 0}};
  for (const auto& [alpha, beta] : shapes) {
    laws::Random r(3);
    std::vector<double> x(4000);
    for (double& v : x) v = 100 + 20 * laws::stable(r, alpha, beta);
    const StableFit fit = fit_stable(x, {});
    const double error = (fit.alpha.high - fit.alpha.low) / 2 / 1.96;
    EXPECT_NEAR(fit.parameters.alpha, alpha, 4 * error);
    EXPECT_LT(error, 1.5 / std::sqrt(4000));
    EXPECT_NEAR(fit.parameters.beta, beta, 0.2);
    EXPECT_NEAR(fit.parameters.scale, 20, 2);
    EXPECT_NEAR(fit.parameters.location, 100, 4);
    // No other fit has a higher likelihood.
    const auto likelihood = [&](const StableParameters& p) {
      const StableTable table(p);
      double sum = 0;
      for (const double v : x) sum += table.log_pdf(v);
      return sum;
    };
    const double best = likelihood(fit.parameters);
    EXPECT_GE(best, likelihood(fit_stable(x).parameters));
    EXPECT_GE(best, likelihood(test_stable(x).fit.parameters));
    for (const double by : {-0.02, 0.02}) {
      StableParameters other = fit.parameters;
      other.alpha += by;
      EXPECT_GT(best, likelihood(other)) << alpha;
    }
  }
}

TEST(StableFit, GaussianDataAndMirrors) {
  laws::Random r(7);
  std::vector<double> x(1000);
  for (double& v : x) v = laws::normal(r);
  const StableFit gaussian = fit_stable(x, {});
  EXPECT_GT(gaussian.parameters.alpha, 1.97);
  EXPECT_EQ(gaussian.alpha.high, 2);
  EXPECT_NEAR(gaussian.parameters.scale, std::sqrt(0.5), 0.06);

  for (double& v : x) v = laws::stable(r, 1.3, 0.4);
  const StableFit a = fit_stable(x, {.profile = true});
  EXPECT_TRUE(a.alpha.contains(a.parameters.alpha) && a.beta.contains(a.parameters.beta));
  // Wilks and Wald agree where the likelihood is regular.
  const StableFit wald = fit_stable(x, {});
  EXPECT_NEAR(a.alpha.low, wald.alpha.low, 0.02);
  EXPECT_NEAR(a.alpha.high, wald.alpha.high, 0.02);
  EXPECT_THROW((void)fit_stable(std::span(x).first(19), StableFitOptions{}), Error);
}

FitMethod method_of(std::string_view name) { return fit_method(name); }

// Standard errors by simulation: over 40 samples the mean of ((estimate - truth) / error)^2 is 1
// with a standard deviation of sqrt(2/40) = 0.22, so between 0.4 and 2 but for once in 10,000.
TEST(StableFit, ErrorsOfRegressionsAreTrue) {
  const std::pair<double, double> shapes[] = {{0.7, 0.3}, {1.0001, 0.5}, {1.5, 0.6}, {1.8, -0.3}};
  for (const std::string_view name : {"koutrouvelis", "kogon-williams", "cf"}) {
    for (const auto& [alpha, beta] : shapes) {
      std::array<double, 4> squares{};
      for (std::uint64_t seed = 0; seed < 40; ++seed) {
        laws::Random r(500 + seed);
        std::vector<double> x(2000);
        for (double& v : x) v = -7 + 0.01 * laws::stable(r, alpha, beta);
        const StableFit f = fit_stable(x, {.method = method_of(name)});
        const StableParameters& p = f.parameters;
        const StandardErrors& e = f.errors;
        const double off[] = {(p.alpha - alpha) / e.alpha, (p.beta - beta) / e.beta,
                              (p.scale - 0.01) / e.scale, (p.location + 7) / e.location};
        for (std::size_t i = 0; i < 4; ++i) squares[i] += off[i] * off[i] / 40;
      }
      for (const double s : squares) {
        EXPECT_GT(s, 0.4) << name << " " << alpha;
        EXPECT_LT(s, 2.0) << name << " " << alpha;
      }
    }
  }
}

// Beta close to its end, where the estimate often stands: intervals reach inside and cover. Of 12
// intervals of 95 %, fewer than 9 cover once in 5000.
TEST(StableFit, IntervalsOfBetaAtItsEnd) {
  for (const FitMethod method :
       {FitMethod::likelihood, FitMethod::koutrouvelis, FitMethod::kogon_williams}) {
    int covered = 0, clamped = 0;
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      std::vector<double> x(300);
      Stable({1.5, 0.9}).sample(x, seed, 0);
      const StableFit fit = fit_stable(x, {.method = method});
      covered += fit.beta.contains(0.9) ? 1 : 0;
      clamped += fit.parameters.beta == 1 ? 1 : 0;
      EXPECT_LT(fit.beta.low, fit.beta.high) << name(method) << ' ' << seed;
      if (method != FitMethod::likelihood) continue;
      // A number in the light tail does not keep it from the maximum.
      const auto likelihood = [&](double beta) {
        const StableTable table(
            {fit.parameters.alpha, beta, fit.parameters.scale, fit.parameters.location});
        double sum = 0;
        for (const double v : x) sum += table.log_pdf(v);
        return sum;
      };
      for (const double beta : {0.8, 0.95})
        EXPECT_GE(likelihood(fit.parameters.beta) + 1e-3, likelihood(beta)) << seed;
    }
    EXPECT_GE(covered, 9) << name(method);
    EXPECT_GE(clamped, 1) << name(method);
  }
}

// A start with beta = 1 and alpha < 1 has an end that some of the numbers lie beyond.
TEST(StableFit, NumbersBeyondTheEndOfTheStart) {
  for (std::uint64_t seed = 1; seed < 5; ++seed) {
    std::vector<double> x(300);
    Stable({0.8, 0.95}).sample(x, seed, 0);
    const StableFit fit = fit_stable(x, {});
    EXPECT_TRUE(std::isfinite(fit.errors.alpha)) << seed;
    EXPECT_LT(fit.alpha.low, fit.alpha.high) << seed;
    EXPECT_LT(fit.beta.low, fit.beta.high) << seed;
  }
}

TEST(StableFit, MirrorsToTheLastBit) {
  for (const std::string_view name : fit_methods()) {
    const StableFitOptions options{.method = method_of(name)};
    for (const double beta : {0.4, -0.9}) {
      laws::Random r(8);
      std::vector<double> x(301);
      for (double& v : x) v = 3 + laws::stable(r, 1.3, beta);
      x[5] = kNaN;
      x[9] = -std::numeric_limits<double>::infinity();
      const StableFit a = fit_stable(x, options);
      for (double& v : x) v = -v;
      const StableFit b = fit_stable(x, options);
      EXPECT_EQ(a.parameters.alpha, b.parameters.alpha) << name;
      EXPECT_EQ(a.parameters.beta, -b.parameters.beta) << name;
      EXPECT_EQ(a.parameters.scale, b.parameters.scale) << name;
      EXPECT_EQ(a.parameters.location, -b.parameters.location) << name;
      EXPECT_EQ(a.alpha.low, b.alpha.low) << name;
      EXPECT_EQ(a.alpha.high, b.alpha.high) << name;
      EXPECT_EQ(a.beta.low, -b.beta.high) << name;
      EXPECT_EQ(a.location.high, -b.location.low) << name;
      EXPECT_EQ(a.errors.beta, b.errors.beta) << name;
    }
  }
}

TEST(StableFit, OddDataAndNames) {
  for (const std::string_view name : fit_methods()) {
    EXPECT_EQ(medgrad::name(method_of(name)), name);
    const StableFitOptions options{.method = method_of(name)};
    laws::Random r(2);
    std::vector<double> x(20);
    for (double& v : x) v = laws::normal(r);
    EXPECT_NO_THROW((void)fit_stable(x, options)) << name;
    EXPECT_THROW((void)fit_stable(std::span(x).first(19), options), Error) << name;
    EXPECT_THROW((void)fit_stable(std::vector<double>(99, 2.0), options), Error) << name;
    // From denormals to the largest numbers, and light tails.
    x.resize(400);
    for (const double unit : {1e-310, 1e300}) {
      for (double& v : x) v = unit * laws::stable(r, 1.6, 0);
      const StableFit fit = fit_stable(x, options);
      EXPECT_NEAR(fit.parameters.scale / unit, 1, 0.3) << name << unit;
      EXPECT_NEAR(fit.parameters.alpha, 1.6, 0.5) << name << unit;
    }
    for (double& v : x) v = laws::uniform(r);
    EXPECT_EQ(fit_stable(x, options).parameters.alpha, 2) << name;
  }
  EXPECT_EQ(method_of("likelihood"), FitMethod::likelihood);
  EXPECT_EQ(testing::message_of([] { return fit_method("moments"); }),
            "method is 'moments'; it must be ml, cf, koutrouvelis, kogon-williams or quantiles.");
}

}  // namespace
}  // namespace medgrad
