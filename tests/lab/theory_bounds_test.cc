// Step sizes and bounds: by hand where that is possible, and against runs that they have to bound.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "medgrad/error.h"
#include "medgrad/estimator.h"
#include "medgrad/rng.h"
#include "medgrad/theory.h"
#include "testing.h"

namespace medgrad::theory {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double norm(std::span<const double> x, double p) {
  double sum = 0;
  for (const double v : x) sum += std::pow(std::fabs(v), p);
  return std::pow(sum, 1 / p);
}

TEST(NormRatio, IsTheBestConstant) {
  EXPECT_DOUBLE_EQ(rho_alpha(1, 100), 10);
  EXPECT_EQ(rho_alpha(2, 100), 1);
  EXPECT_EQ(rho_alpha(1.3, 1), 1);
  EXPECT_DOUBLE_EQ(rho_alpha(1.1, 10), std::pow(10, 0.9 / 2.2));
  EXPECT_EQ(norm_ratio(kInf, 9), 1);
  EXPECT_EQ(norm_ratio(3, 9), 1);
  EXPECT_DOUBLE_EQ(norm_ratio(1, 9), 3);
  std::mt19937_64 rng(1);
  for (const double p : {0.5, 1.0, 1.1, 1.7, 2.0, 5.0}) {
    const std::vector<double> ones(12, 1);
    if (p <= 2) {
      EXPECT_NEAR(norm(ones, p) / norm(ones, 2), norm_ratio(p, 12), 1e-12);
    }
    for (int i = 0; i < 40; ++i) {
      const auto x = testing::random_vector<double>(rng, 12, i);
      EXPECT_LE(norm(x, p), norm_ratio(p, 12) * norm(x, 2) * (1 + 1e-12));
    }
  }
}

TEST(StableNoise, GivesTheConstantsOfTheProof) {
  const StableNoiseConstants c = median_noise({.alpha = 1.1, .n = 5, .d = 10, .c_1 = 3, .c_2 = 2});
  EXPECT_NEAR(c.C_n, 0.969657596527097, 1e-12);
  const double factor = 0.969657596527097 * std::pow(10, 0.9 / 1.1);  // C_n rho^2
  EXPECT_NEAR(c.median.sigma_1 * c.median.sigma_1, 3 * factor, 1e-10);
  EXPECT_NEAR(c.median.sigma_2, 2 * factor, 1e-10);
  EXPECT_EQ(c.median.delta_1, 0);
  EXPECT_EQ(c.median.delta_2, 0);
  const auto diagonal =
      median_noise({.alpha = 1.1, .n = 5, .d = 10, .c_1 = 3, .c_2 = 2, .diagonal = true});
  EXPECT_EQ(diagonal.rho_alpha, 1);
  EXPECT_NEAR(diagonal.median.sigma_2, 2 * diagonal.C_n, 1e-15);
  // Beyond the paper's alpha > 1, n >= 3: what counts is that C_n is finite.
  EXPECT_GT(median_noise({.alpha = 0.9, .n = 5}).C_n, 0);
  EXPECT_THROW((void)median_noise({.alpha = 1, .n = 3}), Error);
  EXPECT_THROW((void)median_noise({.alpha = 1.5, .n = 4}), Error);
  EXPECT_THROW((void)median_noise({.alpha = 1.5, .d = 0}), Error);
  EXPECT_THROW((void)median_noise({.alpha = 1.5, .c_1 = -1}), Error);
  EXPECT_THROW((void)median_noise({.alpha = 1.5, .c_2 = kInf}), Error);
}

TEST(SmoothBound, ByHand) {
  // 4*3/(0.1*20) + 8*0.5*0.1*(0.04 + 0.25 + 4) + 4*(0.25 + 0.04) = 6 + 1.716 + 1.16.
  const Smooth problem{.L = 0.5,
                       .gap = 3,
                       .noise = {.delta_1 = 0.5, .delta_2 = 0.125, .sigma_1 = 2, .sigma_2 = 0.5},
                       .epsilon = 0.2,
                       .T = 20,
                       .eta = 0.1};
  const SmoothBound b = bound(problem);
  EXPECT_DOUBLE_EQ(b.eta_max, 1 / (4 * 2.25));
  EXPECT_DOUBLE_EQ(b.start, 6);
  EXPECT_DOUBLE_EQ(b.spread, 1.716);
  EXPECT_DOUBLE_EQ(b.bias, 1.16);
  EXPECT_DOUBLE_EQ(b.bound, 8.876);
  Smooth other = problem;
  other.eta.reset();
  EXPECT_DOUBLE_EQ(bound(other).eta, b.eta_max / std::sqrt(20));
  for (double eta = b.eta_max; eta > 1e-4; eta *= 0.8) {
    other.eta = eta;
    EXPECT_GE(bound(other).bound, b.bound_best);
  }
  other.T = 1000000;  // far from eta_max: both terms are equal at the best eta
  other.eta = bound(other).eta_best;
  EXPECT_NEAR(bound(other).start / bound(other).spread, 1, 1e-12);
  EXPECT_EQ(bound(other).bound, bound(other).bound_best);
}

TEST(SmoothBound, RefusesWhatIsOutsideOfTheTheorem) {
  EXPECT_NO_THROW((void)bound(Smooth{}));
  EXPECT_THROW((void)bound(Smooth{.L = 0}), Error);
  EXPECT_THROW((void)bound(Smooth{.gap = -1}), Error);
  EXPECT_THROW((void)bound(Smooth{.noise = {.delta_2 = 0.126}}), Error);
  EXPECT_THROW((void)bound(Smooth{.noise = {.sigma_1 = std::nan("")}}), Error);
  EXPECT_THROW((void)bound(Smooth{.epsilon = kInf}), Error);
  EXPECT_THROW((void)bound(Smooth{.T = 0}), Error);
  EXPECT_THROW((void)bound(Smooth{.eta = 0.126}), Error);
  EXPECT_THROW((void)bound(Smooth{.eta = 0}), Error);
}

// l1-SMGD on |w|^2/2 with noise sqrt(1 + s |w|^2) zeta: E|w+|^2 = (1-eta)^2 E|w|^2 + eta^2 C_n d
// (1 + s E|w|^2).
struct Quadratic {
  double alpha;
  std::uint64_t n, d, T;
  double s;

  [[nodiscard]] Smooth problem() const {
    const double size = static_cast<double>(d);
    return {
        .gap = size / 2, .noise = median_noise({alpha, n, d, size, s * size, true}).median, .T = T};
  }
  // E|w_t|^2 for t < T, from w_0 = (1, ..., 1).
  [[nodiscard]] std::vector<double> exact(double eta) const {
    const double c = C_n(alpha, n) * static_cast<double>(d);
    std::vector<double> squares = {static_cast<double>(d)};
    while (squares.size() < T) {
      const double w = squares.back();
      squares.push_back((1 - eta) * (1 - eta) * w + eta * eta * c * (1 + s * w));
    }
    return squares;
  }
};

TEST(SmoothBound, BoundsTheExactRunOnAQuadratic) {
  for (const double alpha : {1.1, 1.5, 2.0}) {
    for (const std::uint64_t n : {3U, 5U, 21U}) {
      for (const std::uint64_t T : {1U, 10U, 100U, 10000U}) {
        for (const double s : {0.0, 1.0}) {
          const Quadratic run{alpha, n, 10, T, s};
          Smooth problem = run.problem();
          const SmoothBound best = bound(problem);
          for (const double eta : {best.eta, best.eta_max, best.eta_best, best.eta_max / 100}) {
            problem.eta = eta;
            const auto squares = run.exact(eta);  // the gradient is w
            const double mean =
                std::accumulate(squares.begin(), squares.end(), 0.0) / static_cast<double>(T);
            EXPECT_LE(mean, bound(problem).bound) << alpha << " " << n << " " << T << " " << s;
          }
        }
      }
    }
  }
}

// And the recursion is what SMGD does: 4000 runs of 30 steps. For n = 11 and alpha = 1.1 the median
// has six moments, so |w|^2 has a variance, and the mean of 4000 is within 4.5 standard errors.
TEST(SmoothBound, TheExactRunIsTheMeanOfSimulatedOnes) {
  constexpr std::size_t kRuns = 4000, kN = 11, kD = 4;
  for (const double s : {0.0, 1.0}) {
    const Quadratic run{1.1, kN, kD, 31, s};
    constexpr double kEta = 0.1;
    std::vector<double> noise(kN * kD);
    const Stable law({.alpha = 1.1});
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < kRuns; ++i) {
      std::vector<double> w(kD, 1);
      for (std::size_t t = 0; t < 30; ++t) {
        law.sample(noise, 3, i, t * noise.size());
        const double scale =
            std::sqrt(1 + s * std::inner_product(w.begin(), w.end(), w.begin(), 0.0));
        for (std::size_t k = 0; k < kD; ++k) {
          const auto begin = noise.begin() + static_cast<std::ptrdiff_t>(k * kN);
          std::nth_element(begin, begin + kN / 2, begin + kN);
          w[k] -= kEta * (w[k] + scale * begin[kN / 2]);
        }
      }
      const double w2 = std::inner_product(w.begin(), w.end(), w.begin(), 0.0);
      sum += w2 / kRuns;
      squares += w2 * w2 / kRuns;
    }
    EXPECT_NEAR(sum, run.exact(kEta).back(), 4.5 * std::sqrt((squares - sum * sum) / kRuns));
  }
}

TEST(LipschitzBound, ByHand) {
  const LipschitzBound b = bound(Lipschitz{.G = 1, .D = 1, .T = 100});
  EXPECT_DOUBLE_EQ(b.eta_best, 0.2);  // 2 sqrt(2) / sqrt(200)
  EXPECT_DOUBLE_EQ(b.bound_best, 0.2);
  EXPECT_NEAR(b.bound, 0.2, 1e-15);
  EXPECT_DOUBLE_EQ(b.eta_simple, 0.1);
  EXPECT_DOUBLE_EQ(b.bound_simple, 0.3);
  // a = 8, b = (4 + 9)/2, c = 1/4: 8/(0.5*16) + 6.5*0.5 + 0.25*0.5*16.
  const LipschitzBound c = bound(Lipschitz{2, 2, 1, 2, 16, 0.5});
  EXPECT_DOUBLE_EQ(c.bound, 1 + 3.25 + 2);
  EXPECT_DOUBLE_EQ(c.eta_best, 4 * std::sqrt(2) / std::sqrt(2 * 13 * 16 + 256));
  EXPECT_DOUBLE_EQ(c.bound_best, 4 * std::sqrt(13.0 / 16 + 0.5));
  EXPECT_DOUBLE_EQ(c.eta_simple, 1.0 / 20);
  EXPECT_DOUBLE_EQ(c.bound_simple, (8 + 4 + 1 + 4) / 4.0 + 9);
  for (const std::uint64_t T : {1U, 2U, 7U, 1000U}) {
    const LipschitzBound d = bound(Lipschitz{.T = T});
    double sum = 0;
    for (std::uint64_t t = 0; t < T; ++t) sum += std::pow(d.theta, static_cast<double>(t));
    EXPECT_NEAR(d.weights / sum, 1, 1e-12);
    EXPECT_DOUBLE_EQ(d.theta, static_cast<double>(T) / static_cast<double>(T + 2));
  }
}

TEST(LipschitzBound, TheBestStepIsBestAndTheSimpleOneKeepsItsPromise) {
  std::mt19937_64 rng(4);
  std::uniform_real_distribution<double> unit(-3, 3);
  const auto draw = [&] { return std::pow(10, unit(rng)); };
  for (int i = 0; i < 200; ++i) {
    Lipschitz problem{draw(),
                      draw(),
                      i % 4 == 0 ? 0 : draw(),
                      i % 3 == 0 ? 0 : draw(),
                      static_cast<std::uint64_t>(1 + 10 * draw()),
                      {}};
    const LipschitzBound b = bound(problem);
    EXPECT_NEAR(b.bound / b.bound_best, 1, 1e-12);
    problem.eta = b.eta_simple;
    EXPECT_LE(bound(problem).bound, b.bound_simple * (1 + 1e-12));
    for (const double factor : {0.1, 0.9, 1.1, 10.0}) {
      problem.eta = factor * b.eta_best;
      EXPECT_GT(bound(problem).bound, b.bound_best);
    }
  }
}

TEST(LipschitzBound, NoiseOfSmgd) {
  // sqrt(9 + 4*4) + 0.5; 2*(1 + 3*4) + 8*0.25 = 28.
  const BiasAndSpread noise = smgd_noise({3, 4, 1, 3}, 0.5, 2);
  EXPECT_DOUBLE_EQ(noise.delta, 5.5);
  EXPECT_DOUBLE_EQ(noise.sigma, std::sqrt(28));
  EXPECT_THROW((void)smgd_noise({.sigma_2 = -1}, 0, 1), Error);
  EXPECT_THROW((void)smgd_noise({}, -1, 1), Error);
  EXPECT_THROW((void)bound(Lipschitz{.G = 0}), Error);
  EXPECT_THROW((void)bound(Lipschitz{.D = kInf}), Error);
  EXPECT_THROW((void)bound(Lipschitz{.delta = -1}), Error);
  EXPECT_THROW((void)bound(Lipschitz{.sigma = -1}), Error);
  EXPECT_THROW((void)bound(Lipschitz{.T = 0}), Error);
  EXPECT_THROW((void)bound(Lipschitz{.eta = -1}), Error);
}

// l(w) = |w|, the median of five stable gradients and a bias: the mean over 2000 runs, plus 4.5
// standard errors, stays below the bound.
TEST(LipschitzBound, BoundsSimulatedRuns) {
  constexpr std::size_t kRuns = 2000, kN = 5;
  const Stable law({.alpha = 1.3});
  const double sigma = median_noise({.alpha = 1.3, .n = kN}).median.sigma_1;
  for (const double delta : {0.0, 0.2}) {
    for (const std::uint64_t T : {1U, 10U, 100U}) {
      const Lipschitz problem{1, 2, delta, sigma, T, {}};
      const LipschitzBound b = bound(problem);
      for (const double eta : {b.eta_best, b.eta_simple}) {
        double sum = 0, squares = 0;
        for (std::size_t run = 0; run < kRuns; ++run) {
          std::vector<double> noise(kN * T);
          law.sample(noise, 6, run);
          double w = 2, average = 0, weight = 1;
          for (std::uint64_t t = 0; t < T; ++t) {
            average += weight * w / b.weights;
            weight *= b.theta;
            const auto begin = noise.begin() + static_cast<std::ptrdiff_t>(t * kN);
            std::nth_element(begin, begin + kN / 2, begin + kN);
            w -= eta * ((w > 0) - (w < 0) + begin[kN / 2] - delta);
          }
          sum += std::fabs(average) / kRuns;
          squares += average * average / kRuns;
        }
        Lipschitz at = problem;
        at.eta = eta;
        EXPECT_LE(sum + 4.5 * std::sqrt((squares - sum * sum) / kRuns), bound(at).bound);
      }
    }
  }
}

TEST(ProximalPointBound, ByHand) {
  // 9/(2*0.5*4) + (5/4)*0.5*4/2, and times 7.
  const ProximalPointBound b = bound(ProximalPointRun{2, 3, 4, 0.5, 7});
  EXPECT_DOUBLE_EQ(b.start, 2.25);
  EXPECT_DOUBLE_EQ(b.spread, 1.25);
  EXPECT_DOUBLE_EQ(b.bound, 3.5);
  EXPECT_DOUBLE_EQ(*b.distance_bound, 24.5);
  EXPECT_DOUBLE_EQ(b.tau_best, 3 / (2 * std::sqrt(5)));
  for (const double factor : {0.5, 0.99, 1.0, 1.01, 2.0}) {
    const auto at = bound(ProximalPointRun{2, 3, 4, factor * b.tau_best, {}});
    EXPECT_GE(at.bound, b.bound_best * (1 - 1e-14));
    EXPECT_FALSE(at.distance_bound);
  }
  EXPECT_NEAR(bound(ProximalPointRun{2, 3, 4, {}, {}}).bound, b.bound_best, 1e-14);
  EXPECT_THROW((void)bound(ProximalPointRun{.G = 0}), Error);
  EXPECT_THROW((void)bound(ProximalPointRun{.distance = -1}), Error);
  EXPECT_THROW((void)bound(ProximalPointRun{.T = 0}), Error);
  EXPECT_THROW((void)bound(ProximalPointRun{.tau = 0}), Error);
  EXPECT_THROW((void)bound(ProximalPointRun{.n = 0}), Error);
}

// The estimator itself on draws from n given points, heavy-tailed ones: the mean excess of phi at
// the averaged iterate over 300 runs stays below the bound, as does the distance for |.|_1.
TEST(ProximalPointBound, BoundsRunsOfTheEstimator) {
  constexpr std::size_t kN = 7, kD = 3, kRuns = 300;
  std::mt19937_64 rng(8);
  std::vector<double> points(kN * kD);
  Stable({.alpha = 1.2}).sample(points, 9, 0);
  std::vector<double> median;  // exact for |.|_1
  for (std::size_t k = 0; k < kD; ++k) {
    std::vector<double> column;
    for (std::size_t i = 0; i < kN; ++i) column.push_back(points[i * kD + k]);
    std::ranges::nth_element(column, column.begin() + kN / 2);
    median.push_back(column[kN / 2]);
  }
  const auto point = [&](std::size_t i) {
    return std::span<const double>(points).subspan(i * kD, kD);
  };
  const auto distance = [&](std::span<const double> a, std::span<const double> b, double p) {
    std::vector<double> c(kD);
    for (std::size_t k = 0; k < kD; ++k) c[k] = a[k] - b[k];
    return norm(c, p);
  };
  const std::vector<double> start(kD, 0);
  for (const double p : {1.0, 2.0}) {
    const auto phi = [&](std::span<const double> m) {
      double sum = 0;
      for (std::size_t i = 0; i < kN; ++i) sum += distance(m, point(i), p) / kN;
      return sum;
    };
    // phi_p(m_*) <= phi_p(any): comparing with the componentwise median is what the proof does too,
    // whose m_* may be any point.
    const double optimum = phi(median);
    for (const std::uint64_t T : {1U, 20U, 500U}) {
      for (const double factor : {0.1, 1.0, 10.0}) {
        ProximalPointRun run{norm_ratio(p, kD), distance(start, median, 2), T, {}, kN};
        run.tau = factor * bound(run).tau_best;
        const AnyDistance d = p == 1 ? AnyDistance(L1{}) : AnyDistance(L2{});
        double excess = 0, away = 0;
        for (std::size_t i = 0; i < kRuns; ++i) {
          OnlineEstimator<double> estimator(ProximalPoint{d, *run.tau}, kD, {.average = true});
          for (std::uint64_t t = 0; t < T; ++t) estimator.update(point(rng() % kN));
          excess += (phi(estimator.average()) - optimum) / kRuns;
          away += distance(estimator.average(), median, 2) / kRuns;
        }
        const ProximalPointBound b = bound(run);
        EXPECT_LE(excess, b.bound) << p << " " << T << " " << factor;
        if (p == 1) {
          EXPECT_LE(away, *b.distance_bound);
        }
      }
    }
  }
}

}  // namespace
}  // namespace medgrad::theory
