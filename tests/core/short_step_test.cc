// Short vectors have kernels of their own: they must take the same step as the general ones, bit
// for bit, whatever comes in.
#include "kernels/short_step.h"

#include <gtest/gtest.h>

#include "kernels/simd.h"
#include "medgrad/error.h"
#include "medgrad/estimator.h"
#include "testing.h"

namespace medgrad {
namespace {

using testing::random_vector;
using testing::same_bits;

template <class T>
class ShortStepTest : public ::testing::Test {
 protected:
  void TearDown() override { kernels::force_simd_target(kernels::simd_targets().front()); }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ShortStepTest, Types);

std::vector<OnlineMethod> methods(double tau) {
  return {ProximalPoint{Squared{}, tau},  ProximalPoint{L1{}, tau},     ProximalPoint{L2{}, tau},
          ProximalPoint{Huber(0.5), tau}, Subgradient{Squared{}, tau},  Subgradient{L1{}, tau},
          Subgradient{L2{}, tau},         Subgradient{Huber(0.5), tau}, ClippedMean{0.9, tau},
          ProximalPoint{Lp(2), tau},      ClippedMean{0.0, tau}};
}

template <class T>
struct Outcome {
  std::vector<T> m, w;
  StepInfo info;
};

// An empty second block changes nothing but that the vector is not in one piece: the general way.
template <class T>
Outcome<T> take(const OnlineMethod& method, Outcome<T> from, const std::vector<T>& g, bool general,
                bool with_w, StepOptions options) {
  Workspace<T> workspace;
  const Block<T> blocks[] = {{from.m, g, with_w ? std::span<T>(from.w) : std::span<T>(), 0.01}, {}};
  from.info = step<T>(method, {blocks, general ? 2u : 1u}, options, workspace);
  return from;
}

template <class T>
void expect_same(const Outcome<T>& a, const Outcome<T>& b) {
  EXPECT_TRUE(same_bits<T>(a.m, b.m));
  EXPECT_TRUE(same_bits<T>(a.w, b.w));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(a.info.increment_norm),
            std::bit_cast<std::uint64_t>(b.info.increment_norm));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(a.info.effective_beta),
            std::bit_cast<std::uint64_t>(b.info.effective_beta));
  EXPECT_EQ(a.info.clipped_share, b.info.clipped_share);
  EXPECT_EQ(a.info.non_finite, b.info.non_finite);
}

// Ordinary numbers, signed zeros, and now and then one that is not ordinary.
template <class T>
std::vector<T> mixed_vector(std::mt19937_64& rng, std::size_t n, bool finite) {
  using Limits = std::numeric_limits<T>;
  const T wild[] = {T{0},
                    -T{0},
                    Limits::min(),
                    Limits::denorm_min(),
                    Limits::max(),
                    Limits::lowest(),
                    Limits::infinity(),
                    Limits::quiet_NaN()};
  std::vector<T> x = random_vector<T>(rng, n, 1);
  std::uniform_int_distribution<std::size_t> kind(0, 15 * n);
  for (T& v : x) {
    const std::size_t k = kind(rng);
    if (k < (finite ? 6 : 8)) v = wild[k];
  }
  return x;
}

TYPED_TEST(ShortStepTest, SameBitsAsTheGeneralWayOnEveryTarget) {
  using T = TypeParam;
  std::mt19937_64 rng(41);
  for (std::size_t n = 0; n <= kernels::kShort + 1; ++n) {
    for (const double tau : {1e-3, 1.0, 1e300}) {
      for (const OnlineMethod& method : methods(tau)) {
        const Outcome<T> from{mixed_vector<T>(rng, n, true), random_vector<T>(rng, n, 0), {}};
        const std::vector<T> g = mixed_vector<T>(rng, n, false);
        const bool with_w = rng() % 2 == 0;
        const StepOptions options{.start = rng() % 4 == 0 ? Start::cold : Start::warm,
                                  .non_finite = NonFinite::robust};
        kernels::force_simd_target(kernels::simd_targets().front());
        const Outcome<T> expected = take(method, from, g, true, with_w, options);
        for (const std::string& target : kernels::simd_targets()) {
          kernels::force_simd_target(target);
          SCOPED_TRACE(target + " n=" + std::to_string(n));
          expect_same(take(method, from, g, false, with_w, options), expected);
        }
      }
    }
  }
}

TYPED_TEST(ShortStepTest, RejectNamesTheComponentAndChangesNothing) {
  using T = TypeParam;
  std::mt19937_64 rng(42);
  for (const OnlineMethod& method : methods(1)) {
    const Outcome<T> from{random_vector<T>(rng, 10, 0), random_vector<T>(rng, 10, 0), {}};
    Outcome<T> after = from;
    std::vector<T> g = random_vector<T>(rng, 10, 0);
    g[6] = -std::numeric_limits<T>::infinity();
    Workspace<T> workspace;
    const Block<T> block{after.m, g, after.w, 1};
    try {
      step<T>(method, {&block, 1}, {}, workspace);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("component 7 is -inf"), std::string::npos);
    }
    EXPECT_TRUE(same_bits<T>(after.m, from.m));
    EXPECT_TRUE(same_bits<T>(after.w, from.w));
  }
}

// An increment among the smallest numbers, beside a component that is enormous and stands still.
TYPED_TEST(ShortStepTest, AnEnormousComponentThatStandsStillStaysFinite) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  for (const OnlineMethod& method : methods(1e300)) {
    for (const T large : {Limits::max(), Limits::max() / 16, Limits::lowest()}) {
      std::vector<T> m = {0, large}, w = m;
      const std::vector<T> g = {Limits::denorm_min(), large};
      Workspace<T> workspace;
      const Block<T> block{m, g, w};
      step<T>(method, {&block, 1}, {.non_finite = NonFinite::robust}, workspace);
      EXPECT_TRUE(std::isfinite(m[0]) && std::isfinite(m[1]));
    }
  }
}

// Rows of every temper, in one matrix and behind separate pointers, one of them out of order.
TYPED_TEST(ShortStepTest, ManyRowsAtOnceTakeTheSameSteps) {
  using T = TypeParam;
  std::mt19937_64 rng(43);
  constexpr std::size_t kRows = 40;
  for (const std::size_t n : {1u, 2u, 7u, 10u, 16u, 17u}) {
    for (const double tau : {1e-3, 1.0, 1e300}) {
      for (const OnlineMethod& method : methods(tau)) {
        std::vector<T> data;
        for (std::size_t i = 0; i < kRows; ++i) {
          const std::vector<T> row = i % 7 == 3 ? mixed_vector<T>(rng, n, false)
                                                : random_vector<T>(rng, n, static_cast<int>(i));
          data.insert(data.end(), row.begin(), row.end());
        }
        std::vector<const T*> pointers;
        for (std::size_t i = 0; i < kRows; ++i) pointers.push_back(&data[i * n]);
        std::swap(pointers[4], pointers[30]);
        const Rows<T> all[] = {Rows<T>(data.data(), kRows, n),
                               Rows<T>(data.data(), kRows / 2, n, 2 * n),
                               Rows<T>(std::span<const T* const>(pointers), n)};
        for (const EstimatorOptions& options :
             {EstimatorOptions{.non_finite = NonFinite::robust},
              EstimatorOptions{.start = Start::cold, .non_finite = NonFinite::robust},
              EstimatorOptions{.non_finite = NonFinite::robust, .average = true}}) {
          for (const Rows<T>& rows : all) {
            OnlineEstimator<T> one(method, n, options);
            for (std::size_t i = 0; i < rows.n(); ++i) one.update({rows.row(i), n});
            for (const std::string& target : kernels::simd_targets()) {
              kernels::force_simd_target(target);
              SCOPED_TRACE(target + " n=" + std::to_string(n));
              OnlineEstimator<T> together(method, n, options);
              together.update_all(rows);
              ASSERT_TRUE(same_bits<T>(together.estimate(), one.estimate()));
              ASSERT_TRUE(same_bits<T>(together.average(), one.average()));
              ASSERT_EQ(together.steps(), one.steps());
            }
          }
        }
      }
    }
  }
  OnlineEstimator<T> estimator(ProximalPoint{}, 3);
  const std::vector<T> short_rows(8);
  EXPECT_THROW(estimator.update_all(Rows<T>(short_rows.data(), 4, 2)), Error);
}

}  // namespace
}  // namespace medgrad
