// Adam's step: every target gives the bits of the formula, one component at a time.
#include "kernels/adapt.h"

#include <gtest/gtest.h>

#include "kernels/simd.h"
#include "testing.h"

namespace medgrad::kernels {
namespace {

using testing::random_vector;
using testing::same_bits;

template <class T>
class AdaptKernelTest : public ::testing::Test {
 protected:
  void TearDown() override { force_simd_target(simd_targets().front()); }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(AdaptKernelTest, Types);

template <class T>
void by_formula(const AdaptRun<T>& run, const Adapt& how) {
  const T keep = static_cast<T>(how.beta2), take = static_cast<T>(1 - how.beta2);
  for (std::size_t i = 0; i < run.n; ++i) {
    const T g = how.decay != 0 ? run.g[i] + static_cast<T>(how.decay) * run.w[i] : run.g[i];
    if (!std::isnan(g)) {
      const T seen = std::min(std::fabs(g), std::sqrt(std::numeric_limits<T>::max()) / 2);
      run.v[i] = keep * run.v[i] + take * seen * seen;
    }
    const T size = std::sqrt(run.v[i]) + static_cast<T>(how.root * how.epsilon);
    run.w[i] = static_cast<T>(how.shrink) * run.w[i] -
               static_cast<T>(how.root * how.rate) * run.m[i] / size;
  }
}

TYPED_TEST(AdaptKernelTest, EveryTargetGivesTheFormula) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 rng(3);
  for (std::size_t n = 0; n < 70; ++n) {
    const auto m = random_vector<T>(rng, n, 0), w = random_vector<T>(rng, n, 0);
    auto g = random_vector<T>(rng, n, 0), v = random_vector<T>(rng, n, 0);
    for (T& x : v) x = x * x;
    const T wild[] = {Limits::quiet_NaN(), Limits::infinity(),   -Limits::infinity(),
                      Limits::max(),       Limits::denorm_min(), T{0}};
    for (std::size_t k = 0; k < 6 && k < n; ++k) g[(k * 11 + n) % n] = wild[k];
    for (const Adapt how : {Adapt{0.999, 1e-8, 0.01, 0.5, 1, 0}, Adapt{0.9, 1e-3, 1, 1, 0.9, 0.1},
                            Adapt{0, 1e-8, 1, 1, 1, 0}}) {
      std::vector<T> expected_v = v, expected_w = w;
      by_formula<T>({m.data(), g.data(), expected_v.data(), expected_w.data(), n}, how);
      for (const T x : expected_v) EXPECT_TRUE(std::isfinite(x));
      for (const T x : expected_w) EXPECT_TRUE(std::isfinite(x));
      for (const std::string& target : simd_targets()) {
        force_simd_target(target);
        std::vector<T> got_v = v, got_w = w;
        adapt<T>({m.data(), g.data(), got_v.data(), got_w.data(), n}, how);
        EXPECT_TRUE(same_bits<T>(expected_v, got_v) && same_bits<T>(expected_w, got_w))
            << target << " n=" << n;
      }
    }
  }
}

template <class T>
void cut_by_formula(const CutRun<T>& run, const Cut& how, CutTally& tally) {
  const T most = std::sqrt(std::numeric_limits<T>::max()) / 2;
  const T keep = static_cast<T>(how.adapt.beta2), take = static_cast<T>(1 - how.adapt.beta2);
  for (std::size_t i = 0; i < run.n; ++i) {
    const T decay = static_cast<T>(how.adapt.decay);
    const T g = how.adapt.decay != 0 ? run.g[i] + decay * run.w[i] : run.g[i];
    const T bound =
        run.v[i] == 0
            ? most
            : std::min(static_cast<T>(how.cut / how.root_before) * std::sqrt(run.v[i]), most);
    const T whole = std::isnan(g) ? T{0} : g - run.m[i];
    const T cut = std::min(std::max(whole, -bound), bound);
    tally.clipped += cut != whole ? 1 : 0;
    tally.nan += std::isnan(g) ? 1 : 0;
    tally.inf += std::isinf(g) ? 1 : 0;
    const double seen = std::min(std::fabs(whole), most), kept = cut;
    tally.increment[i % kLanes] += seen * seen;
    tally.taken[i % kLanes] += kept * kept;
    const T size = std::min(std::fabs(run.m[i] + cut), most);
    if (!std::isnan(g)) run.v[i] = keep * run.v[i] + take * size * size;
    run.m[i] += static_cast<T>(how.share) * cut;
    const T scale = std::sqrt(run.v[i]) + static_cast<T>(how.adapt.root * how.adapt.epsilon);
    run.w[i] = static_cast<T>(how.adapt.shrink) * run.w[i] -
               static_cast<T>(how.adapt.root * how.adapt.rate) * run.m[i] / scale;
  }
}

TYPED_TEST(AdaptKernelTest, EveryTargetCutsByTheFormula) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 rng(4);
  for (std::size_t n = 0; n < 140; ++n) {
    const auto m = random_vector<T>(rng, n, 0), w = random_vector<T>(rng, n, 0);
    auto g = random_vector<T>(rng, n, 0), v = random_vector<T>(rng, n, 0);
    // Blocks of which nothing is cut have a way of their own: every other n has some.
    const bool calm = n % 2 == 1;
    for (std::size_t i = 0; i < n; ++i) v[i] = i % 5 == 2 && !calm ? T{0} : v[i] * v[i] + T(0.01);
    const T wild[] = {Limits::quiet_NaN(), Limits::infinity(),   -Limits::infinity(),
                      Limits::max(),       Limits::denorm_min(), T{0}};
    for (std::size_t k = 0; k < 6 && k < n; ++k) g[calm ? n - 1 - k : (k * 11 + n) % n] = wild[k];
    // Next to the bound, on either side, and what has no square.
    for (std::size_t i = 0; i < 16 && i < n && n % 3 == 0; ++i) {
      v[i] = T(0.25);
      g[i] = m[i] + std::nextafter(T(0.625), i % 2 == 0 ? T{0} : T{1});
    }
    for (std::size_t i = 16; i < 32 && i < n && n % 3 == 1; ++i) {
      v[i] = i % 2 == 0 ? Limits::denorm_min() : Limits::max() / 4;
      g[i] = m[i] + (i % 4 < 2 ? Limits::min() : T{0});
    }
    for (const Cut& how : {Cut{{0.999, 1e-8, 0.01, 0.5, 1, 0}, 0.1, 0.5, 0.4},
                           Cut{{0.999, 1e-8, 0.01, 0.5, 1, 0}, 0.1, 40, 1},
                           Cut{{0.9, 1e-3, 1, 1, 0.9, 0.1}, 1, 1e30, 1}}) {
      std::vector<T> expected_m = m, expected_v = v, expected_w = w;
      CutTally expected;
      cut_by_formula<T>({expected_m.data(), g.data(), expected_v.data(), expected_w.data(), n}, how,
                        expected);
      for (const T x : expected_m) EXPECT_TRUE(std::isfinite(x));
      for (const T x : expected_v) EXPECT_TRUE(std::isfinite(x));
      for (const std::string& target : simd_targets()) {
        force_simd_target(target);
        std::vector<T> got_m = m, got_v = v, got_w = w;
        CutTally got;
        cut_and_adapt<T>({got_m.data(), g.data(), got_v.data(), got_w.data(), n}, how, got);
        EXPECT_TRUE(same_bits<T>(expected_m, got_m) && same_bits<T>(expected_v, got_v) &&
                    same_bits<T>(expected_w, got_w))
            << target << " n=" << n;
        EXPECT_EQ(std::memcmp(&expected, &got, sizeof got), 0) << target << " n=" << n;
      }
    }
  }
}

}  // namespace
}  // namespace medgrad::kernels
