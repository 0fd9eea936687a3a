// Tail indices: exact recovery from exact quantiles, coverage on random samples, and what odd data
// does.
#include "medgrad/tail_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "medgrad/error.h"
#include "noise/tail_parts.h"
#include "noise/tail_quantiles.h"
#include "testing.h"

namespace medgrad {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double uniform(std::mt19937_64& rng) {  // in (0, 1)
  return (static_cast<double>(rng() >> 12) + 0.5) * 0x1p-52;
}

// Chambers, Mallows and Stuck's transform of two uniforms, standard symmetric: the tests' own, to
// owe nothing to the library.
double symmetric_stable(std::mt19937_64& rng, double alpha) {
  const double v = M_PI * (uniform(rng) - 0.5), w = -std::log(uniform(rng));
  if (alpha == 1) return std::tan(v);
  return std::sin(alpha * v) / std::pow(std::cos(v), 1 / alpha) *
         std::pow(std::cos((1 - alpha) * v) / w, (1 - alpha) / alpha);
}

// The skewed one, alpha != 1, in S0.
double skewed_stable(std::mt19937_64& rng, double alpha, double beta) {
  const double v = M_PI * (uniform(rng) - 0.5), w = -std::log(uniform(rng));
  const double t = beta * std::tan(M_PI * alpha / 2), b = std::atan(t) / alpha;
  const double s = std::pow(1 + t * t, 1 / (2 * alpha));
  return s * std::sin(alpha * (v + b)) / std::pow(std::cos(v), 1 / alpha) *
             std::pow(std::cos(v - alpha * (v + b)) / w, (1 - alpha) / alpha) -
         t;
}

std::vector<double> stable_sample(std::uint64_t seed, std::size_t n, double alpha) {
  std::mt19937_64 rng(seed);
  std::vector<double> x(n);
  for (double& v : x) v = symmetric_stable(rng, alpha);
  return x;
}

std::vector<double> pareto_sample(std::uint64_t seed, std::size_t n, double alpha) {
  std::mt19937_64 rng(seed);
  std::vector<double> x(n);
  for (double& v : x) v = std::pow(uniform(rng), -1 / alpha);
  return x;
}

noise::FiveByFive covariance(double n) {
  noise::FiveByFive c{};
  for (std::size_t a = 0; a < 5; ++a) {
    for (std::size_t b = 0; b < 5; ++b) {
      const auto& p = noise::kFitProbabilities;
      c[a][b] = p[std::min(a, b)] * (1 - p[std::max(a, b)]) / n;
    }
  }
  return c;
}

noise::FiveQuantiles exact_quantiles(const Stable& law) {
  noise::FiveQuantiles q{};
  for (std::size_t k = 0; k < 5; ++k) q[k] = law.quantile(noise::kFitProbabilities[k]);
  return q;
}

// Of 200 intervals that cover with probability 0.95, 190 do, give or take sqrt(200 0.95 0.05)
// = 3.1. Three and a half of these are 10.8: at least 179. Intervals clamped at 2 may cover always.
constexpr int kTrials = 200, kFewestCovered = 179;

// --- the table ---

TEST(TailTable, HoldsQuantilesOfStable) {
  for (const std::size_t i : {0U, 7U, 8U, 9U, 16U}) {
    for (const std::size_t j : {0U, 7U, 16U}) {
      const auto q = exact_quantiles(
          Stable({1 / noise::table_inverse_alpha(i), noise::table_beta(j), 1, 0, StableForm::S0}));
      for (std::size_t k = 0; k < 5; ++k) {
        EXPECT_NEAR(noise::table_quantiles(i, j)[k], q[k], 1e-8 * (1 + std::fabs(q[k])))
            << i << ' ' << j << ' ' << k;
      }
    }
  }
}

TEST(TailTable, InterpolatesBetween) {
  for (const double alpha : {0.53, 0.7, 0.97, 1.0, 1.03, 1.45, 1.9}) {
    for (const double beta : {-0.97, -0.31, 0.0, 0.62, 1.0}) {
      const auto q = exact_quantiles(Stable({alpha, beta, 1, 0, StableForm::S0}));
      const auto t = noise::QuantilesAt(alpha)(beta);
      for (std::size_t k = 0; k < 5; ++k) {
        EXPECT_NEAR(t[k], q[k], (alpha < 0.97 ? 2e-3 : 1e-4) * (q[3] - q[1]))
            << alpha << ' ' << beta << ' ' << k;
      }
    }
  }
}

// --- McCulloch ---

TEST(StableFitTest, RecoversExactQuantiles) {
  for (const double alpha : {0.6, 0.8, 0.99, 1.0, 1.01, 1.2, 1.5, 1.8, 1.95}) {
    for (const double beta : {-1.0, -0.5, 0.0, 0.3, 0.9, 1.0}) {
      const StableParameters truth{alpha, beta, 3, -7, StableForm::S0};
      const StableFit fit = noise::fit_quantiles(exact_quantiles(Stable(truth)), covariance(1000));
      SCOPED_TRACE(::testing::Message() << alpha << ' ' << beta);
      EXPECT_NEAR(fit.parameters.alpha, alpha, 1e-3);
      // Near alpha = 2 beta hardly matters, and is hardly told.
      EXPECT_NEAR(fit.parameters.beta, beta, alpha > 1.9 ? 2e-2 : 5e-3);
      EXPECT_NEAR(fit.parameters.scale, 3, 5e-3);
      EXPECT_NEAR(fit.parameters.location, -7, 1e-2);
      EXPECT_TRUE(fit.alpha.contains(alpha) && fit.scale.contains(3) && fit.location.contains(-7));
    }
  }
}

TEST(StableFitTest, GaussianHasNoBeta) {
  const StableFit fit = noise::fit_quantiles(
      exact_quantiles(Stable({2, 0, 0.5, 1, StableForm::S0})), covariance(500));
  EXPECT_NEAR(fit.parameters.alpha, 2, 1e-3);
  EXPECT_NEAR(fit.parameters.scale, 0.5, 1e-3);
  EXPECT_NEAR(fit.parameters.location, 1, 1e-3);
  EXPECT_FALSE(fit.alpha_clamped);
  EXPECT_LE(fit.beta.low, -0.9);
  EXPECT_GE(fit.beta.high, 0.9);
}

// A whole sample at (i - 1/2)/n, in S1: the fit is in S0 and converts back.
TEST(StableFitTest, RecoversFromAWholeSample) {
  const StableParameters truth{1.4, 0.5, 2, 10, StableForm::S1};
  const Stable law(truth);
  std::vector<double> x(210);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = law.quantile((static_cast<double>(i) + 0.5) / static_cast<double>(x.size()));
  }
  const StableFit fit = fit_stable(x);
  const StableParameters s1 = convert(fit.parameters, StableForm::S1);
  EXPECT_NEAR(s1.alpha, 1.4, 1e-2);
  EXPECT_NEAR(s1.beta, 0.5, 1e-2);
  EXPECT_NEAR(s1.scale, 2, 2e-2);
  EXPECT_NEAR(s1.location, 10, 5e-2);
  EXPECT_EQ(fit.n, 210U);
}

TEST(StableFitTest, ClampsAtTheEnds) {
  std::vector<double> flat(1000), wild(1000);
  for (std::size_t i = 0; i < flat.size(); ++i) {
    const double u = (static_cast<double>(i) + 0.5) / 1000;
    flat[i] = u;  // lighter than Gaussian
    wild[i] = std::copysign(std::exp(20 * std::fabs(u - 0.5)) - 1, u - 0.5);  // heavier than 0.5
  }
  const StableFit light = fit_stable(flat), heavy = fit_stable(wild);
  EXPECT_EQ(light.parameters.alpha, 2);
  EXPECT_TRUE(light.alpha_clamped);
  EXPECT_EQ(light.alpha.high, 2);
  EXPECT_EQ(heavy.parameters.alpha, 0.5);
  EXPECT_TRUE(heavy.alpha_clamped);
  EXPECT_EQ(heavy.alpha.low, 0);
}

TEST(StableFitTest, IntervalsCover) {
  for (const auto& [alpha, beta] :
       {std::pair{0.8, 0.0}, {1.2, 0.6}, {1.5, 0.0}, {1.7, -0.4}, {2.0, 0.0}}) {
    int by_alpha = 0, by_beta = 0, by_scale = 0, by_location = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::mt19937_64 rng(static_cast<std::uint64_t>(trial));
      std::vector<double> x(1000);
      for (double& v : x) v = 5 + 2 * skewed_stable(rng, alpha, beta);
      const StableFit fit = fit_stable(x);
      by_alpha += fit.alpha.contains(alpha);
      by_beta += fit.beta.contains(beta);
      by_scale += fit.scale.contains(2);
      by_location += fit.location.contains(5);
    }
    SCOPED_TRACE(::testing::Message() << alpha << ' ' << beta);
    EXPECT_GE(by_alpha, kFewestCovered);
    EXPECT_GE(by_beta, kFewestCovered);
    EXPECT_GE(by_scale, kFewestCovered);
    EXPECT_GE(by_location, kFewestCovered);
  }
}

TEST(StableFitTest, FollowsScaleAndShift) {
  const std::vector<double> x = stable_sample(3, 501, 1.3);
  const StableFit fit = fit_stable(x);
  for (const double c : {0x1p-1060, 1e-3, -1.0, 7.0, 0x1p+990}) {
    std::vector<double> y = x;
    for (double& v : y) v *= c;
    const StableFit scaled = fit_stable(y);
    EXPECT_NEAR(scaled.parameters.alpha, fit.parameters.alpha, 1e-3) << c;
    EXPECT_NEAR(scaled.parameters.beta, std::copysign(1, c) * fit.parameters.beta, 1e-2) << c;
    EXPECT_NEAR(scaled.parameters.scale / std::fabs(c), fit.parameters.scale, 1e-2) << c;
  }
  std::vector<double> y = x;
  for (double& v : y) v += 100;
  EXPECT_NEAR(fit_stable(y).parameters.location, fit.parameters.location + 100, 1e-6);
  EXPECT_NEAR(fit_stable(y).parameters.alpha, fit.parameters.alpha, 1e-6);
}

TEST(StableFitTest, OddEntries) {
  std::vector<double> x = stable_sample(4, 400, 1.5);
  const StableFit plain = fit_stable(x);
  // An extreme value more extreme changes no quantile.
  *std::max_element(x.begin(), x.end()) = kInfinity;
  *std::min_element(x.begin(), x.end()) = -kInfinity;
  x.push_back(kNaN);
  const StableFit odd = fit_stable(x);
  EXPECT_EQ(odd.parameters.alpha, plain.parameters.alpha);
  EXPECT_EQ(odd.parameters.location, plain.parameters.location);
  EXPECT_EQ(odd.missing, 1U);
  EXPECT_EQ(odd.infinite, 2U);
  EXPECT_EQ(odd.n, 400U);

  for (const std::size_t n : {0U, 1U, 19U}) {
    EXPECT_THROW((void)fit_stable(std::span(x).first(n)), Error) << n;
  }
  EXPECT_EQ(testing::message_of([&] { return fit_stable(std::span(x).first(1)); }),
            "the sample has 1 number; a fit by quantiles needs at least 20.");
  EXPECT_NO_THROW((void)fit_stable(std::span(x).first(20)));
  EXPECT_THROW((void)fit_stable(std::vector<double>(100, 3.0)), Error);
  EXPECT_THROW((void)fit_stable(std::vector<double>(100, kNaN)), Error);
  EXPECT_THROW((void)fit_stable(std::vector<double>(100, kInfinity)), Error);
  std::fill_n(x.begin(), 40, kInfinity);
  EXPECT_THROW((void)fit_stable(x), Error);
}

// --- Hill ---

TEST(HillTest, ExactOnAParetoSample) {
  for (const double alpha : {0.5, 1.0, 1.7, 4.0}) {
    const TailIndex t = hill(pareto_sample(9, 20000, alpha), {.k = 10000});
    EXPECT_NEAR(t.alpha, alpha, 4 * alpha / std::sqrt(10000.0));
    EXPECT_NEAR(t.interval.high - t.interval.low, 2 * 1.96 * t.alpha / 100, 1e-3 * t.alpha);
    EXPECT_EQ(t.k, 10000U);
  }
}

TEST(HillTest, IntervalsCoverForAGivenK) {
  int covered = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto x = pareto_sample(static_cast<std::uint64_t>(trial), 500, 1.5);
    covered += hill(x, {.k = 200}).interval.contains(1.5);
  }
  EXPECT_GE(covered, kFewestCovered);
}

// k = 0 looks at the data first, which costs a little coverage: 90 % of the intervals are asked for
// here, 180 of 200, less 3.5 sqrt(200 0.9 0.1) = 14.8.
TEST(HillTest, ChoosesK) {
  int pareto = 0, stable = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto seed = static_cast<std::uint64_t>(trial);
    const TailIndex t = hill(pareto_sample(seed, 500, 1.5));
    pareto += t.interval.contains(1.5);
    EXPECT_GE(t.k, 10U);
    // A Cauchy sample has a power tail only far out: all of it would say much less than 1.
    const TailIndex s = hill(stable_sample(seed, 2000, 1));
    stable += std::fabs(s.alpha - 1) < 0.25;
    EXPECT_LT(s.k, 1334U);
  }
  EXPECT_GE(pareto, 165);
  EXPECT_GE(stable, 165);
}

TEST(HillTest, TailsAndCentres) {
  const std::vector<double> x = pareto_sample(5, 1000, 1.2);
  std::vector<double> negative = x, both = x, scaled = x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    negative[i] = -x[i];
    if (i % 2 == 0) both[i] = -x[i];
    scaled[i] = x[i] * 0x1p-800;
  }
  const TailIndex right = hill(x, {.k = 300, .tail = Tail::right});
  EXPECT_EQ(hill(negative, {.k = 300, .tail = Tail::left}).alpha, right.alpha);
  EXPECT_EQ(hill(both, {.k = 300}).alpha, right.alpha);
  EXPECT_NEAR(hill(scaled, {.k = 300}).alpha, right.alpha, 1e-9);
  EXPECT_THROW((void)hill(x, {.tail = Tail::left}), Error);
  std::vector<double> shifted = x;
  for (double& v : shifted) v += 1000;
  EXPECT_NEAR(hill(shifted, {.k = 50, .centre = Centre::median}).alpha,
              hill(x, {.k = 50, .centre = Centre::median}).alpha, 1e-6);
}

// Infinities are censored: with the top 50 lost the rest still says the same, within its own error.
TEST(HillTest, InfinitiesAreCensored) {
  std::vector<double> x = pareto_sample(6, 2000, 1.5);
  std::sort(x.begin(), x.end());
  std::fill(x.end() - 50, x.end(), kInfinity);
  const TailIndex t = hill(x, {.k = 1000});
  EXPECT_NEAR(t.alpha, 1.5, 4 * 1.5 / std::sqrt(950.0));
  EXPECT_EQ(t.infinite, 50U);
  EXPECT_NO_THROW((void)hill(x));
}

TEST(HillTest, OddEntries) {
  const std::vector<double> x = pareto_sample(7, 100, 1);
  for (const std::size_t n : {0U, 1U, 19U}) {
    EXPECT_THROW((void)hill(std::span(x).first(n)), Error) << n;
  }
  EXPECT_NO_THROW((void)hill(std::span(x).first(20)));
  EXPECT_THROW((void)hill(x, {.k = 1}), Error);
  EXPECT_THROW((void)hill(x, {.k = 100}), Error);
  EXPECT_NO_THROW((void)hill(x, {.k = 99}));
  EXPECT_THROW((void)hill(std::vector<double>(100, 2.0)), Error);
  EXPECT_THROW((void)hill(std::vector<double>(100, 0.0)), Error);
  EXPECT_THROW((void)hill(std::vector<double>(100, kInfinity)), Error);
  std::vector<double> extreme(100);
  for (std::size_t i = 0; i < 100; ++i)
    extreme[i] = i % 2 == 0 ? 1e300 / double(i + 1) : 5e-324 * double(i);
  const TailIndex t = hill(extreme);
  EXPECT_TRUE(std::isfinite(t.alpha) && t.alpha > 0);
}

// --- log-moments ---

TEST(LogMomentTest, IntervalsCover) {
  for (const double alpha : {0.7, 1.0, 1.5, 1.9, 2.0}) {
    int covered = 0, covered_pairs = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> x = stable_sample(static_cast<std::uint64_t>(trial), 2000, alpha);
      covered += log_moment(x).interval.contains(alpha);
      for (double& v : x) v += 30;
      covered_pairs += log_moment(x, {.centre = Centre::pairs}).interval.contains(alpha);
    }
    EXPECT_GE(covered, kFewestCovered) << alpha;
    EXPECT_GE(covered_pairs, kFewestCovered) << alpha;
  }
}

TEST(LogMomentTest, IgnoresScaleAndCountsWhatIsOdd) {
  std::vector<double> x = stable_sample(8, 1000, 1.3);
  const TailIndex plain = log_moment(x);
  for (const double c : {1e-280, -1.0, 1e290}) {
    std::vector<double> y = x;
    for (double& v : y) v *= c;
    EXPECT_NEAR(log_moment(y).alpha, plain.alpha, 1e-9) << c;
  }
  *std::max_element(x.begin(), x.end()) = kInfinity;
  x.insert(x.begin() + 5, {kNaN, 0.0, 0.0});
  const TailIndex odd = log_moment(x);
  EXPECT_NEAR(odd.alpha, plain.alpha, 0.1);
  EXPECT_EQ(odd.missing, 1U);
  EXPECT_EQ(odd.infinite, 1U);
  EXPECT_EQ(odd.zeros, 2U);

  for (const std::size_t n : {0U, 1U, 19U}) {
    EXPECT_THROW((void)log_moment(std::span(x).first(n)), Error) << n;
  }
  EXPECT_THROW((void)log_moment(x, {.block = 1}), Error);
  EXPECT_THROW((void)log_moment(x, {.block = 400}), Error);
  EXPECT_THROW((void)log_moment(std::vector<double>(100, 2.0), {.centre = Centre::pairs}), Error);
  EXPECT_THROW((void)log_moment(std::vector<double>(100, kInfinity)), Error);
}

}  // namespace
}  // namespace medgrad
