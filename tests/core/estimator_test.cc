// Online estimators: the same checks for every registered method, then what is special to some.
#include "medgrad/estimator.h"

#include <gtest/gtest.h>

#include "estimator_helpers.h"
#include "kernels/simd.h"
#include "medgrad/error.h"
#include "medgrad/thread_pool.h"
#include "testing.h"

namespace medgrad {
namespace {

using estimator_test::all_methods;
using estimator_test::estimate;
using estimator_test::random_stream;
using testing::random_vector;
using testing::same_bits;
using testing::slack;
using testing::view;

template <class T>
class EstimatorTest : public ::testing::Test {
 protected:
  void TearDown() override { kernels::force_simd_target(kernels::simd_targets().front()); }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(EstimatorTest, Types);

// The step as the paper writes it, m <- g + prox_{tau D}(m - g), against the fused one.
TYPED_TEST(EstimatorTest, ProxViewAndBallViewAgree) {
  using T = TypeParam;
  for (const AnyDistance& d :
       {AnyDistance(Squared{}), AnyDistance(L1{}), AnyDistance(L2{}), AnyDistance(Huber(0.8)),
        AnyDistance(Lp(1.5)), AnyDistance(Lp(4)), AnyDistance(Lp(kInfinity))}) {
    const auto stream = random_stream<T>(11, 30, 21);
    OnlineEstimator<T> estimator(ProximalPoint{d, 0.6}, 21);
    std::vector<T> m(21), x(21);
    for (const auto& g : stream) {
      for (std::size_t i = 0; i < 21; ++i) x[i] = m[i] - g[i];
      d.prox(0.6, view(x), std::span<T>(x));
      for (std::size_t i = 0; i < 21; ++i) m[i] = g[i] + x[i];
      estimator.update(g);
      for (std::size_t i = 0; i < 21; ++i) {
        EXPECT_NEAR(estimator.estimate()[i], m[i], slack<T>(std::fabs(g[i]))) << d.name();
      }
      estimator.reset(m);  // so that roundings do not add up over steps
    }
  }
}

TYPED_TEST(EstimatorTest, SameBitsForAnyThreadsAndTargets) {
  using T = TypeParam;
  const auto stream = random_stream<T>(12, 3, 100'003);  // several chunks, odd length
  for (const OnlineMethod& method : all_methods()) {
    const auto expected = estimate(method, stream);
    for (const unsigned threads : {2u, 7u}) {
      ThreadPool pool(threads);
      EXPECT_TRUE(same_bits<T>(estimate(method, stream, {}, &pool), expected));
    }
    for (const std::string& target : kernels::simd_targets()) {
      kernels::force_simd_target(target);
      EXPECT_TRUE(same_bits<T>(estimate(method, stream), expected)) << target;
    }
  }
}

// Whatever comes in, m stays finite, and a NaN leaves its component alone.
TYPED_TEST(EstimatorTest, MIsFiniteAfterAnything) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  const T wild[] = {Limits::infinity(),
                    -Limits::infinity(),
                    Limits::quiet_NaN(),
                    Limits::max(),
                    -Limits::max(),
                    Limits::min(),
                    Limits::denorm_min(),
                    T{0},
                    T{1}};
  std::mt19937_64 rng(13);
  std::uniform_int_distribution<std::size_t> kind(0, std::size(wild) - 1);
  for (const OnlineMethod& base : all_methods()) {
    for (const double tau : {1e-300, 1e-3, 1.0, 1e30, 1e300}) {
      for (const Start start : {Start::warm, Start::cold}) {
        OnlineEstimator<T> estimator(
            base, 37, {.start = start, .non_finite = NonFinite::robust, .average = true});
        estimator.set_tau(tau);
        for (int t = 0; t < 40; ++t) {
          std::vector<T> g(37);
          std::size_t non_finite = 0;
          for (T& v : g) {
            v = wild[kind(rng)];
            non_finite += std::isfinite(v) ? 0 : 1;
          }
          const std::vector<T> before(estimator.estimate().begin(), estimator.estimate().end());
          const StepInfo info = estimator.update(g);
          EXPECT_EQ(info.non_finite, non_finite);
          EXPECT_FALSE(std::isnan(info.increment_norm));
          for (std::size_t i = 0; i < g.size(); ++i) {
            ASSERT_TRUE(std::isfinite(estimator.estimate()[i])) << "method " << base.index();
            ASSERT_TRUE(std::isfinite(estimator.average()[i]));
            if (std::isnan(g[i])) {
              EXPECT_EQ(estimator.estimate()[i], start == Start::warm ? before[i] : T{0});
            }
          }
        }
      }
    }
  }
}

TYPED_TEST(EstimatorTest, RejectNamesTheComponentAndChangesNothing) {
  using T = TypeParam;
  for (const OnlineMethod& method : all_methods()) {
    OnlineEstimator<T> estimator(method, 40'000);
    std::mt19937_64 rng(14);
    estimator.update(random_vector<T>(rng, 40'000, 0));
    const std::vector<T> before(estimator.estimate().begin(), estimator.estimate().end());
    auto g = random_vector<T>(rng, 40'000, 0);
    g[33'332] = std::numeric_limits<T>::quiet_NaN();
    g[39'000] = std::numeric_limits<T>::infinity();
    std::vector<T> w(40'000, T{1});
    try {
      estimator.update_and_step(w, 0.1, g);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("component 33333 is nan"), std::string::npos)
          << error.what();
    }
    EXPECT_TRUE(same_bits<T>(before, estimator.estimate()));
    EXPECT_EQ(w, std::vector<T>(40'000, T{1}));
    EXPECT_EQ(estimator.steps(), 1u);
  }
}

TYPED_TEST(EstimatorTest, StepsTheWeightsInTheSamePass) {
  using T = TypeParam;
  std::mt19937_64 rng(15);
  for (const OnlineMethod& method : all_methods()) {
    OnlineEstimator<T> estimator(method, 35);
    std::vector<T> w = random_vector<T>(rng, 35, 0), expected = w;
    for (int t = 0; t < 5; ++t) {
      estimator.update_and_step(w, 0.05, random_vector<T>(rng, 35, 0));
      for (std::size_t i = 0; i < w.size(); ++i) {
        expected[i] = expected[i] - static_cast<T>(0.05) * estimator.estimate()[i];
      }
    }
    EXPECT_TRUE(same_bits<T>(w, expected));
  }
}

// Cold start: clipping of g itself, sign-SGD, SGD (SPEC section 3).
TYPED_TEST(EstimatorTest, ColdStart) {
  using T = TypeParam;
  std::mt19937_64 rng(16);
  const auto g = random_vector<T>(rng, 20, 0);
  const auto cold = [&](const OnlineMethod& method) {
    return estimate<T>(method, {random_vector<T>(rng, 20, 0), g}, {.start = Start::cold});
  };
  const double size = norm(2, view(g));
  const auto clipped = cold(ProximalPoint{L2{}, 0.5}), signs = cold(Subgradient{L1{}, 0.5}),
             plain = cold(ProximalPoint{L1{}, 1e30});
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_NEAR(clipped[i], g[i] * 0.5 / size, slack<T>(1));
    EXPECT_EQ(signs[i], static_cast<T>(g[i] > 0 ? 0.5 : g[i] < 0 ? -0.5 : 0));
    EXPECT_EQ(plain[i], g[i]);
  }
}

TYPED_TEST(EstimatorTest, Limits) {
  using T = TypeParam;
  const auto stream = random_stream<T>(17, 20, 9);
  const auto huber = estimate<T>(ProximalPoint{Huber(1e12), 0.3}, stream);
  const auto momentum = estimate<T>(ProximalPoint{Squared{}, 0.3}, stream);
  const auto ema = estimate<T>(Subgradient{Squared{}, 0.3 / 1.3}, stream);
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_NEAR(huber[i], momentum[i], slack<T>(std::fabs(momentum[i])));
    EXPECT_NEAR(ema[i], momentum[i], slack<T>(std::fabs(momentum[i]) * 20));
  }
  // CClip and VClip with a large tau: m = g, exactly.
  EXPECT_EQ((estimate<T>(ProximalPoint{L1{}, 1e30}, stream)), stream.back());
  EXPECT_EQ((estimate<T>(ProximalPoint{L2{}, 1e30}, stream)), stream.back());
}

// Many blocks are one vector, bit for bit.
TYPED_TEST(EstimatorTest, BlocksAreOneVector) {
  using T = TypeParam;
  std::mt19937_64 rng(18);
  const std::size_t sizes[] = {1, 0, 17, 20'000, 16, 30'001, 3};
  std::size_t total = 0;
  for (const std::size_t s : sizes) total += s;
  const auto g = random_vector<T>(rng, total, 0);
  for (const OnlineMethod& method : all_methods()) {
    std::vector<T> whole(total), parts(total), w(total, T{1});
    Workspace<T> workspace;
    std::vector<Block<T>> blocks;
    std::size_t at = 0;
    for (const std::size_t s : sizes) {
      blocks.push_back({std::span<T>(parts).subspan(at, s), view(g).subspan(at, s),
                        std::span<T>(w).subspan(at, s), 1});
      at += s;
    }
    const Block<T> one{whole, g, {}};
    double size_of_one = 0, size_of_parts = 0;
    const StepInfo a = step<T>(method, {&one, 1}, {}, workspace, &size_of_one);
    const StepInfo b = step<T>(method, blocks, {}, workspace, &size_of_parts);
    EXPECT_EQ(a.increment_norm, b.increment_norm);
    EXPECT_EQ(a.effective_beta, b.effective_beta);
    EXPECT_EQ(a.clipped_share, b.clipped_share);
    EXPECT_EQ(size_of_one, size_of_parts);
    EXPECT_EQ(size_of_one > 0, is_automatic(method));
    for (std::size_t i = 0; i < total; ++i) {
      ASSERT_EQ(whole[i], parts[i]);
      ASSERT_EQ(w[i], T{1} - parts[i]);
    }
  }
}

// A block's decay is g + decay w, its shrinking w <- shrink w - eta m: the same bits as doing
// either by hand, and other blocks are left alone.
TYPED_TEST(EstimatorTest, WeightDecay) {
  using T = TypeParam;
  std::mt19937_64 rng(19);
  const std::size_t n = 20'011, cut = 5'003;
  const T decay{0.25}, shrink{0.5}, eta{0.125};
  const auto g = random_vector<T>(rng, n, 0), w0 = random_vector<T>(rng, n, 0),
             m0 = random_vector<T>(rng, n, 0);
  for (const OnlineMethod& method : all_methods()) {
    for (const NonFinite policy : {NonFinite::reject, NonFinite::robust}) {
      std::vector<T> m = m0, w = w0, by_hand = m0, decayed = g;
      for (std::size_t i = cut; i < n; ++i) decayed[i] += decay * w0[i];
      const auto head = [&](auto& x) { return std::span(x).first(cut); };
      const auto tail = [&](auto& x) { return std::span(x).subspan(cut); };
      const Block<T> blocks[] = {{head(m), view(g).first(cut), head(w), 1},
                                 {tail(m), view(g).subspan(cut), tail(w), eta, shrink, decay}};
      Workspace<T> workspace;
      const Block<T> plain{by_hand, decayed};
      double size_of_one = 0, size_of_parts = 0;
      const StepInfo a =
          step<T>(method, {&plain, 1}, {.non_finite = policy}, workspace, &size_of_one);
      const StepInfo b = step<T>(method, blocks, {.non_finite = policy}, workspace, &size_of_parts);
      EXPECT_EQ(size_of_one, size_of_parts);
      EXPECT_EQ(a.increment_norm, b.increment_norm);
      EXPECT_EQ(a.effective_beta, b.effective_beta);
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(m[i], by_hand[i]);
        ASSERT_EQ(w[i], i < cut ? w0[i] - m[i] : shrink * w0[i] - eta * m[i]);
      }
    }
  }
}

// Where w decays, a w that is not finite is input that is not finite.
TYPED_TEST(EstimatorTest, RejectsAWeightThatIsNotFinite) {
  using T = TypeParam;
  for (const OnlineMethod& method : all_methods()) {
    std::vector<T> m(40, T{1}), g(40, T{2}), w(40, T{3});
    w[7] = std::numeric_limits<T>::quiet_NaN();
    const std::vector<T> before = m;
    const Block<T> block{m, g, w, 0.1, 1, 0.5};
    Workspace<T> workspace;
    double size = 0;
    try {
      step<T>(method, {&block, 1}, {}, workspace, &size);
      FAIL();
    } catch (const NonFiniteInput& error) {
      EXPECT_EQ(error.index(), 7U);
    }
    EXPECT_EQ(m, before);
    EXPECT_EQ(w[6], T{3});
    EXPECT_EQ(size, 0);
    step<T>(method, {&block, 1}, {.non_finite = NonFinite::robust}, workspace, &size);
    for (const T x : m) EXPECT_TRUE(std::isfinite(x));
  }
}

TEST(Estimator, Diagnostics) {
  const std::vector<double> g = {3, 0, -4, 0.1};
  const auto info = [&](const OnlineMethod& method) {
    return OnlineEstimator<double>(method, 4).update(g);
  };
  const double size = std::sqrt(25.01);
  const StepInfo vclip = info(ProximalPoint{L2{}, 1});
  EXPECT_NEAR(vclip.increment_norm, size, 1e-14);
  EXPECT_NEAR(vclip.effective_beta, 1 - 1 / size, 1e-14);
  EXPECT_EQ(vclip.clipped_share, 1);
  const StepInfo cclip = info(ProximalPoint{L1{}, 1});
  EXPECT_EQ(cclip.clipped_share, 0.5);
  EXPECT_NEAR(cclip.effective_beta, 1 - std::sqrt(2.01) / size, 1e-14);
  const StepInfo momentum = info(ProximalPoint{Squared{}, 0.25});
  EXPECT_NEAR(momentum.effective_beta, 0.8, 1e-15);
  EXPECT_EQ(momentum.clipped_share, 0);
  const StepInfo inside = info(ProximalPoint{L1{}, 100});
  EXPECT_EQ(inside.effective_beta, 0);
  EXPECT_EQ(info(ProximalPoint{Lp(3), 1}).clipped_share, 1);
}

TEST(Estimator, RunningAverage) {
  const auto stream = random_stream<double>(19, 50, 6);
  OnlineEstimator<double> estimator(ProximalPoint{L2{}, 0.5}, 6, {.average = true});
  std::vector<double> sum(6);
  for (const auto& g : stream) {
    estimator.update(g);
    for (std::size_t i = 0; i < 6; ++i) sum[i] += estimator.estimate()[i];
  }
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(estimator.average()[i], sum[i] / 50, 1e-13);
}

TEST(Estimator, RightForHugeIncrements) {
  // tau / |v| * v where |v| and g - m are beyond the largest double.
  OnlineEstimator<double> vclip(ProximalPoint{L2{}, 1e-5}, 2);
  vclip.reset(std::vector<double>{-1.5e308, 0});
  vclip.update(std::vector<double>{1.5e308, 0});
  EXPECT_EQ(vclip.estimate()[0], -1.5e308);
  OnlineEstimator<double> from_zero(ProximalPoint{L2{}, 1e-5}, 2);
  from_zero.update(std::vector<double>{3e307, -4e307});
  EXPECT_NEAR(from_zero.estimate()[0] / 0.6e-5, 1, 1e-14);
  EXPECT_NEAR(from_zero.estimate()[1] / -0.8e-5, 1, 1e-14);
  OnlineEstimator<float> single(ProximalPoint{L2{}, 1e-5}, 2);
  single.update(std::vector<float>{1.8e38f, -2.4e38f});
  EXPECT_NEAR(single.estimate()[0] / 0.6e-5, 1, 1e-6);
  OnlineEstimator<double> tiny(Subgradient{L2{}, 1}, 2);
  tiny.update(std::vector<double>{3e-320, 4e-320});
  EXPECT_NEAR(tiny.estimate()[0], 0.6, 1e-3);  // denormals carry only a few digits
  OnlineEstimator<double> far(Subgradient{L2{}, 1e300}, 2);
  far.update(std::vector<double>{4.66e-315, 0});
  EXPECT_NEAR(far.estimate()[0] / 1e300, 1, 1e-6);
  EXPECT_EQ(far.estimate()[1], 0);
}

TEST(Estimator, BadOptionsAreRefused) {
  for (const double tau : {0.0, -1.0, kInfinity, std::nan("")}) {
    EXPECT_THROW(OnlineEstimator<double>(ProximalPoint{L2{}, tau}, 2), Error);
    EXPECT_THROW(OnlineEstimator<double>(Subgradient{L2{}, tau}, 2), Error);
    EXPECT_THROW(OnlineEstimator<double>(ClippedMean{0.9, tau}, 2), Error);
  }
  EXPECT_THROW(OnlineEstimator<double>(ClippedMean{1.0, 1}, 2), Error);
  OnlineEstimator<double> estimator(ProximalPoint{L2{}, 1}, 2);
  EXPECT_THROW(estimator.update(std::vector<double>{1}), Error);
  EXPECT_THROW(estimator.reset(std::vector<double>{1, std::nan("")}), Error);
}

TEST(Estimator, NothingToDo) {
  for (const OnlineMethod& method : all_methods()) {
    OnlineEstimator<double> estimator(method, 0);
    const StepInfo info = estimator.update({});
    EXPECT_EQ(info.increment_norm, 0);
    EXPECT_EQ(info.clipped_share, 0);
    EXPECT_EQ(info.effective_beta, 0);
  }
}

// A distance of a user's own through the general path: twice the 2-norm is VClip with twice the
// tau.
struct TwiceL2 {
  template <Real T>
  void prox(double tau, std::span<const T> x, std::span<T> out) const {
    L2{}.prox(2 * tau, x, out);
  }
  template <Real T>
  void subgradient(std::span<const T> x, std::span<T> out) const {
    L2{}.subgradient(x, out);
    for (T& v : out) v *= 2;
  }
};

TYPED_TEST(EstimatorTest, UserDefinedDistance) {
  using T = TypeParam;
  const auto stream = random_stream<T>(21, 10, 12);
  const auto custom = estimate<T>(ProximalPoint{TwiceL2{}, 0.5}, stream),
             vclip = estimate<T>(ProximalPoint{L2{}, 1}, stream),
             custom_sub = estimate<T>(Subgradient{TwiceL2{}, 0.5}, stream),
             normalized = estimate<T>(Subgradient{L2{}, 1}, stream);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_NEAR(custom[i], vclip[i], slack<T>(100));
    EXPECT_NEAR(custom_sub[i], normalized[i], slack<T>(100));
  }
}

}  // namespace
}  // namespace medgrad
