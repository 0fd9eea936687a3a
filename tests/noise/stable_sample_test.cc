#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>
#include <vector>

#include "kernels/simd.h"
#include "medgrad/stable.h"
#include "medgrad/thread_pool.h"
#include "noise/transform.h"
#include "testing.h"

namespace medgrad {
namespace {

using testing::same_bits;
using testing::view;
constexpr double kPi = std::numbers::pi;

template <class T>
T transform(const StableParameters& parameters, double v, double w) {
  const T vs = static_cast<T>(v), ws = static_cast<T>(w);
  T out;
  noise::transform_stable(noise::plan_stable(parameters), std::span<const T>(&vs, 1),
                          std::span<const T>(&ws, 1), std::span<T>(&out, 1));
  return out;
}
// v of the angle U: its distance from the nearer end, over pi, with its sign.
double from_angle(double u) { return std::copysign(0.5 - std::fabs(u) / kPi, u); }

TEST(StableSample, TransformAgreesWithTheReference) {
  std::ifstream file(testing::golden("traces.json"));
  const auto rows = nlohmann::json::parse(file)["cms"]["rows"];
  ASSERT_EQ(rows.size(), 25);
  for (const auto& row : rows) {
    SCOPED_TRACE(row.dump());
    for (const StableForm form : {StableForm::S0, StableForm::S1}) {
      const StableParameters s{row["alpha"], row["beta"], 1, 0, form};
      const double v = from_angle(row["U"]), w = row["W"];
      const double wanted = row[form == StableForm::S0 ? "S0" : "S1"];
      EXPECT_NEAR(transform<double>(s, v, w), wanted, 1e-13 * (1 + std::fabs(wanted)));
      EXPECT_NEAR(transform<float>(s, v, w), wanted, 4e-6 * (1 + std::fabs(wanted)));
    }
  }
}

TEST(StableSample, ClosedForms) {
  for (const double u : {-1.5, -0.7, 0.0, 0.3, 1.57}) {
    for (const double w : {1e-6, 0.3, 1.0, 20.0}) {
      const double v = from_angle(u), slack = 1e-13;
      const double normal = 2 * std::sin(u) * std::sqrt(w), cauchy = std::tan(u);
      EXPECT_NEAR(transform<double>({2, 0.3}, v, w), normal, slack * (1 + std::fabs(normal)));
      EXPECT_NEAR(transform<double>({1, 0}, v, w), cauchy, 1e-12 * std::fabs(cauchy) + slack);
      // Levy: 1 / N^2 with N = sqrt(2 w) cos(psi/2), psi = u + pi/2; its mirror image for beta =
      // -1.
      const double cos = std::cos((u + kPi / 2) / 2), levy = 1 / (2 * w * cos * cos);
      EXPECT_NEAR(transform<double>({0.5, 1, 1, 0, StableForm::S1}, v, w), levy, 1e-11 * levy);
      EXPECT_NEAR(transform<double>({0.5, -1, 1, 0, StableForm::S1}, -v, w), -levy, 1e-11 * levy);
      EXPECT_NEAR(transform<double>({0.5, 1}, v, w), levy - 1, 1e-11 * levy);
    }
  }
}

// S0 is continuous: around alpha = 1, X moves by its derivative times the step, which is no more
// than (1 + |log r|)^2 (1 + |X|) for the arguments here, and the two sides meet.
TEST(StableSample, ContinuousThroughAlphaOne) {
  for (const double beta : {-1.0, -0.5, 0.0, 0.7, 1.0}) {
    for (const double u : {-1.5, -0.4, 0.001, 1.2}) {
      for (const double w : {0.01, 0.8, 4.0}) {
        const double v = from_angle(u), at = transform<double>({1, beta}, v, w);
        for (const double step : {1e-15, 1e-12, 1e-9, 1e-6, 1e-3}) {
          const double room = 100 * step * (1 + std::fabs(at)) + 1e-14 * (1 + std::fabs(at));
          EXPECT_NEAR(transform<double>({1 - step, beta}, v, w), at, room) << beta << " " << u;
          EXPECT_NEAR(transform<double>({1 + step, beta}, v, w), at, room) << beta << " " << u;
        }
      }
    }
  }
}

// The two formulas meet at |1 - alpha| = 1/2.
TEST(StableSample, ContinuousBetweenFormulas) {
  for (const double alpha : {0.5, 1.5}) {
    const double outside = alpha == 0.5 ? std::nextafter(0.5, 0) : std::nextafter(1.5, 2);
    for (const double beta : {-1.0, 0.0, 0.6}) {
      for (const double u : {-1.57, -1.0, 0.2, 1.57}) {
        const double v = from_angle(u), a = transform<double>({alpha, beta}, v, 0.7);
        EXPECT_NEAR(transform<double>({outside, beta}, v, 0.7), a, 1e-13 * (1 + std::fabs(a)));
      }
    }
  }
}

// The ends of what the words can give: v from 2^-54 (2^-32) to 1/2, W from its distance to 0 or 1.
template <class T>
void check_extremes(double smallest) {
  const double v_ends[] = {smallest, 1e-9, 0.25, 0.5};
  const double w_ends[] = {smallest, 1e-9, 1, -std::log(smallest)};
  for (const double alpha :
       {1e-300, 0.01, 0.1, 0.499, 0.5, 0.9, 1 - 1e-15, 1.0, 1 + 1e-15, 1.3, 1.7, 2 - 1e-15, 2.0}) {
    for (const double beta : {-1.0, -1 + 1e-15, -0.3, -1e-300, 0.0, 1e-10, 0.8, 1.0}) {
      for (const StableForm form : {StableForm::S0, StableForm::S1}) {
        for (const double scale : {1.0, 1e-200, 1e200}) {
          for (const double v : v_ends) {
            for (const double w : w_ends) {
              const StableParameters s{alpha, beta, scale, 0, form};
              const T plus = transform<T>(s, v, w), minus = transform<T>(s, -v, w);
              ASSERT_TRUE(std::isfinite(plus) && std::isfinite(minus))
                  << alpha << " " << beta << " " << scale << " " << v << " " << w;
              if (alpha < 1 && form == StableForm::S1 && beta == 1) {
                ASSERT_GE(plus, 0);
              }
            }
          }
        }
      }
    }
  }
}
TEST(StableSample, AlwaysFinite) {
  check_extremes<double>(0x1p-54);
  check_extremes<float>(0x1p-32);
}

// Overflow gives the largest number with the right sign.
TEST(StableSample, Saturates) {
  std::vector<double> x(10'000);
  std::vector<float> y(10'000);
  Stable({0.01, 0}).sample(x, 1, 1);
  Stable({0.01, 0}).sample(y, 1, 1);
  constexpr double kMax = std::numeric_limits<double>::max();
  EXPECT_GT(std::ranges::count(x, kMax), 0);
  EXPECT_GT(std::ranges::count(x, -kMax), 0);
  EXPECT_GT(std::ranges::count(y, std::numeric_limits<float>::max()), 0);
}

// ---- Distribution

struct Discrepancy {
  double body;   // sqrt(n) sup |F_n - F| over some order statistics
  double tails;  // largest |n P(beyond x_(k)) - k| / sqrt(k) over extreme order statistics
};

template <class T>
Discrepancy discrepancy(const Stable& stable, std::vector<T> x) {
  std::sort(x.begin(), x.end());
  const std::size_t n = x.size();
  const auto at = [&](std::size_t i) { return static_cast<double>(x[i]); };
  const auto size = static_cast<double>(n);
  Discrepancy d{0, 0};
  for (std::size_t i = n / 40; i < n; i += n / 20) {
    const double f = stable.cdf(at(i));
    d.body =
        std::max(d.body, std::sqrt(size) * std::fabs(f - (static_cast<double>(i) + 0.5) / size));
  }
  for (const std::size_t k : {30u, 300u}) {
    const auto rank = static_cast<double>(k);
    const double below = size * stable.cdf(at(k - 1)), above = size * stable.survival(at(n - k));
    d.tails = std::max({d.tails, std::fabs(below - rank) / std::sqrt(rank),
                        std::fabs(above - rank) / std::sqrt(rank)});
  }
  return d;
}

// DKW: P(sqrt(n) sup |F_n - F| > 3.2) <= 2 exp(-2 * 3.2^2) = 3e-9 for each of the 200 samples. The
// k-th smallest of n uniforms times n is about Gamma(k): P(Gamma(30) > 30 + 8 sqrt(30)) <
// exp(-(43.8
// - 30 log(73.8/30))) = 6e-8, the other ranks and sides are less likely.
template <class T>
void check_distribution(const StableParameters& parameters, std::size_t n, std::uint64_t stream) {
  std::vector<T> x(n);
  const Stable stable(parameters);
  stable.sample(x, 77, stream);
  const Discrepancy d = discrepancy(stable, x);
  EXPECT_LT(d.body, 3.2);
  EXPECT_LT(d.tails, 8);
}

TEST(StableSample, HasItsDistribution) {
  std::uint64_t stream = 0;
  for (const double alpha : {0.3, 0.5, 0.8, 0.999, 1.0, 1.001, 1.1, 1.5, 1.9, 2.0}) {
    for (const double beta : {-1.0, -0.5, 0.0, 0.7, 1.0}) {
      SCOPED_TRACE("alpha " + std::to_string(alpha) + " beta " + std::to_string(beta));
      check_distribution<double>({alpha, beta, 1, 0, StableForm::S0}, 100'000, ++stream);
      check_distribution<double>({alpha, beta, 2.5, -3, StableForm::S1}, 100'000, ++stream);
      check_distribution<float>({alpha, beta, 0.5, 1, StableForm::S0}, 100'000, ++stream);
    }
  }
}

// ---- Access

template <class T>
void check_access(const StableParameters& parameters) {
  constexpr std::size_t kN = 40'000;
  const Stable stable(parameters);
  std::vector<T> whole(kN);
  stable.sample(whole, 9, 3);
  for (const std::string& target : kernels::simd_targets()) {
    SCOPED_TRACE(target);
    kernels::force_simd_target(target);
    for (const std::size_t first : {0u, 1u, 2u, 511u}) {
      for (const std::size_t n : {1u, 5u, 512u, 1100u}) {
        std::vector<T> slice(n);
        stable.sample(slice, 9, 3, first);
        ASSERT_TRUE(same_bits<T>(slice, view(whole).subspan(first, n))) << first << " " << n;
      }
    }
    for (const unsigned threads : {1u, 2u, 7u}) {
      ThreadPool pool(threads);
      std::vector<T> again(kN);
      stable.sample(again, 9, 3, 0, &pool);
      ASSERT_TRUE(same_bits<T>(again, whole)) << threads;
    }
  }
  kernels::force_simd_target(kernels::simd_targets().front());
}
TEST(StableSample, SlicesThreadsAndTargetsAgree) {
  for (const double alpha : {0.3, 0.5, 1.0, 1.1, 1.8, 2.0}) {
    for (const double beta : {0.0, 0.4, -1.0}) {
      for (const StableForm form : {StableForm::S0, StableForm::S1}) {
        SCOPED_TRACE("alpha " + std::to_string(alpha) + " beta " + std::to_string(beta));
        check_access<double>({alpha, beta, 1, 0, form});
        check_access<float>({alpha, beta, 1, 0, form});
      }
    }
  }
}

}  // namespace
}  // namespace medgrad
