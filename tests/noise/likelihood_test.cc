// The likelihood of stable laws at both ends of alpha: where a tail is about to vanish, and where
// the density is a peak.
#include "noise/likelihood.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "medgrad/stable_fit.h"
#include "medgrad/stable_score.h"
#include "medgrad/stable_table.h"
#include "noise/laws.h"
#include "noise/standardised.h"

namespace medgrad {
namespace {

// Scores by extrapolation (stable_score.h), with numbers far out, where log f bends by hundreds
// within a thousandth of alpha.
TEST(Likelihood, ScoresHoldWhereATailVanishes) {
  const std::vector<double> body = {-5, -2, -0.5, 0, 0.3, 1, 3}, far = {-40, -9, 6, 12, 60};
  const std::pair<double, double> shapes[] = {{1.99, 0.9995}, {1.999, -0.5}, {1.9998, 0.3}};
  for (const auto& [alpha, beta] : shapes) {
    const StableScore score({alpha, beta});
    for (const std::vector<double>& x : {body, far}) {
      const noise::Likelihood found = noise::likelihood(x, {alpha, beta, 0, 0});
      StableScores exact;
      for (const double v : x) {
        const StableScores one = score(v);
        exact.alpha += one.alpha;
        exact.beta += one.beta;
      }
      EXPECT_NEAR(found.score[0], exact.alpha, 1e-3 * std::fabs(exact.alpha)) << alpha;
      EXPECT_NEAR(found.score[1], exact.beta, 1e-3 * std::fabs(exact.beta)) << alpha;
    }
  }
}

// Wilks: at the ends of an interval of alpha twice the loss of likelihood is 1.96^2, whatever the
// other parameters are, unless the end is 2.
TEST(Likelihood, ProfileEndsWhereItSaysItDoes) {
  constexpr double kLoss = 1.96 * 1.96;
  const std::pair<double, double> shapes[] = {{1.97, 0.3}, {1.999, 0}, {2, 0}};
  for (const auto& [alpha, beta] : shapes) {
    laws::Random r(12);
    std::vector<double> x(1000);
    for (double& v : x) v = laws::stable(r, alpha, beta);
    const StableFit fit = fit_stable(x, {});
    const StableParameters& p = fit.parameters;
    ASSERT_GT(p.alpha, 1.95);
    const auto profile = [&](double at) {
      double best = -std::numeric_limits<double>::infinity();
      for (const double start : {-0.7, 0.7}) {
        const noise::Shape from{at, start, std::log(p.scale), p.location};
        const auto found = noise::maximise_likelihood(x, from, {true, false, false, false}, 1e-4);
        best = std::max(best, found.at.value);
      }
      return best;
    };
    const double top = profile(p.alpha);
    EXPECT_NEAR(2 * (top - profile(fit.alpha.low)), kLoss, 0.1) << alpha;
    const double above = 2 * (top - profile(fit.alpha.high));
    if (fit.alpha.high < 2) {
      EXPECT_NEAR(above, kLoss, 0.1) << alpha;
    } else {
      EXPECT_LT(above, kLoss + 0.1) << alpha;
    }
  }
}

// The density of a small alpha is a peak of a thousandth of the scale and less: next to it lies the
// maximum, above the likelihood of the law that the numbers are from.
TEST(Likelihood, SmallAlpha) {
  const std::pair<double, double> shapes[] = {{0.25, 0.9}, {0.3, 0}, {0.3, -1}};
  for (const auto& [alpha, beta] : shapes) {
    std::vector<double> x(1000);
    Stable({alpha, beta, 2, 7}).sample(x, 5, 0);
    const StableFit fit = fit_stable(x, {});
    const auto value = [&](const StableParameters& p) {
      const StableTable table(p, 1e-6);
      double sum = 0;
      for (const double v : x) sum += table.log_pdf(v);
      return sum;
    };
    EXPECT_GT(value(fit.parameters), value({alpha, beta, 2, 7})) << alpha << ' ' << beta;
    // Four standard errors; that of alpha is some 0.8 alpha / sqrt(n).
    EXPECT_NEAR(fit.errors.alpha, 0.8 * alpha / std::sqrt(1000), 0.3 * alpha / std::sqrt(1000));
    EXPECT_NEAR(fit.parameters.alpha, alpha, 4 * fit.errors.alpha) << alpha << ' ' << beta;
    EXPECT_NEAR(fit.parameters.beta, beta, 4 * std::max(fit.errors.beta, 2e-3)) << alpha;
    EXPECT_TRUE(fit.beta.contains(fit.parameters.beta));
    EXPECT_TRUE(std::isfinite(fit.location.low) && fit.location.low < fit.location.high);
  }
}

// The end of a half-line lies closer before the first of 10,000 numbers than 1e-6 of their spread;
// at that number itself the likelihood is 0. The ascent starts where the end is likely to be.
TEST(Likelihood, EndsOfHalfLinesAreFoundSoon) {
  for (const double beta : {1.0, -1.0}) {
    std::vector<double> x(10000);
    Stable({0.21, beta, 2, 7}).sample(x, 11, 0);
    const noise::Standardised s = noise::standardise(x);
    const noise::LikelihoodFit fit = noise::likeliest(s.z);
    EXPECT_LT(fit.rounds, 30) << beta;
    EXPECT_FALSE(fit.stalled) << beta;
    EXPECT_EQ(fit.law.beta, 1) << beta;  // the longer tail is on the right
    EXPECT_LT(fit.law.location, *std::min_element(s.z.begin(), s.z.end())) << beta;
    EXPECT_NEAR(fit.law.alpha, 0.21, 4 * 0.8 * 0.21 / 100) << beta;
  }
}

// No unbiased estimator has a smaller mean squared error than the bound of Cramér and Rao, and this
// one has no larger one. Over the bound the mean of 40 squares is chi-square over its degrees:
// below 0.5 or above 1.6 once in 200.
TEST(Likelihood, ReachesTheBoundOfCramerAndRao) {
  constexpr std::size_t kNumbers = 1000, kSamples = 40;
  const std::pair<double, double> shapes[] = {{1.5, 0}, {0.8, 0.5}};
  for (const auto& [alpha, beta] : shapes) {
    const Stable law({alpha, beta});
    std::vector<double> x(kNumbers);
    for (std::size_t i = 0; i < kNumbers; ++i)
      x[i] = law.quantile((static_cast<double>(i) + 0.5) / kNumbers);
    const noise::Likelihood found = noise::likelihood(x, {alpha, beta, 0, 0});
    const noise::Information bound = noise::inverse_information(found.information, {});
    std::array<double, 4> squares{};
    for (std::size_t seed = 0; seed < kSamples; ++seed) {
      law.sample(x, seed, 1);
      const StableParameters p = fit_stable(x, {}).parameters;
      const std::array<double, 4> off = {p.alpha - alpha, p.beta - beta, std::log(p.scale),
                                         p.location};
      for (std::size_t i = 0; i < 4; ++i) squares[i] += off[i] * off[i] / kSamples;
    }
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_LT(squares[i], 1.6 * bound[i][i]) << alpha << ", parameter " << i;
      EXPECT_GT(squares[i], 0.5 * bound[i][i]) << alpha << ", parameter " << i;
    }
  }
}

// Below where alpha is looked for nothing is said about errors, and no interval leaves out the law.
TEST(Likelihood, NothingIsKnownAtTheLowerEnd) {
  std::vector<double> x(200);
  Stable({0.12, 0}).sample(x, 3, 0);
  const StableFit fit = fit_stable(x, {});
  EXPECT_TRUE(fit.alpha_clamped);
  EXPECT_EQ(fit.parameters.alpha, noise::kLowestAlpha);
  EXPECT_TRUE(std::isnan(fit.errors.alpha) && std::isnan(fit.errors.beta));
  EXPECT_TRUE(std::isnan(fit.errors.scale) && std::isnan(fit.errors.location));
  EXPECT_TRUE(fit.alpha.contains(0.12) && fit.beta.contains(0));
  EXPECT_TRUE(fit.scale.contains(1) && fit.location.contains(0));
}

}  // namespace
}  // namespace medgrad
