// The optimisers against the core, step for step, and against torch::optim where they coincide.
#include "medgrad/torch/optim.h"

#include <gtest/gtest.h>

#include "medgrad/error.h"
#include "medgrad/optimize.h"
#include "medgrad/torch/runtime.h"
#include "torch/models.h"

namespace medgrad::libtorch {
namespace {

using medgrad::testing::flat;
using medgrad::testing::gradients;
using medgrad::testing::kVClip;
using medgrad::testing::largest_difference;
using medgrad::testing::parameters;
using medgrad::testing::same_bits;
using medgrad::testing::set_gradients;

const OnlineMethod kMomentum = ProximalPoint{Squared{}, 1.0 / 9};  // beta = 0.9
const OnlineMethod kCClip = ProximalPoint{L1{}, 0.1};

std::vector<Tensor> estimates(const TrackingOptimizer& optimizer,
                              const std::vector<Tensor>& params) {
  std::vector<Tensor> all;
  for (const Tensor& w : params) all.push_back(optimizer.estimate(w));
  return all;
}

// All tensors of a model are one vector: the core's estimator on their concatenation, bit for bit.
TEST(MedianSGD, EqualsTheCoreBitForBit) {
  for (const int threads : {1, 2}) {
    use_threads(threads);
    for (const OnlineMethod& method : medgrad::testing::online_methods()) {
      for (const Start start : {Start::warm, Start::cold}) {
        std::vector<Tensor> params = parameters(at::kDouble);
        MedianSGD optimizer(params, MedianSGDOptions(0.1).method(method).start(start));
        std::vector<double> w = flat(params);
        OnlineEstimator<double> core(method, w.size(), {.start = start});
        for (int t = 0; t < 12; ++t) {
          set_gradients(params, t);
          const std::vector<double> g = flat(gradients(params));
          const StepInfo expected = core.update_and_step(w, 0.1, g);
          optimizer.step();
          const StepInfo& got = optimizer.last_step().front().info;
          ASSERT_EQ(got.increment_norm, expected.increment_norm) << describe(method);
          ASSERT_EQ(got.effective_beta, expected.effective_beta);
          ASSERT_EQ(got.clipped_share, expected.clipped_share);
          ASSERT_EQ(got.tau, expected.tau);
          ASSERT_EQ(got.size, expected.size);
          ASSERT_EQ(flat(params), w) << describe(method) << " step " << t;
        }
        const auto m = core.estimate();
        EXPECT_EQ(flat(estimates(optimizer, params)), std::vector<double>(m.begin(), m.end()));
      }
    }
  }
  use_threads(1);
}

// Every scope has a size of its own: a tensor whose gradients are 2^10 times as large as the
// others' moves 2^10 times as far.
TEST(MedianSGD, AutomaticTauPerScope) {
  const OnlineMethod method = ProximalPoint{L2{}, kAutomaticNumber};
  std::vector<Tensor> plain = parameters(at::kDouble), scaled = parameters(at::kDouble);
  MedianSGD one(plain, MedianSGDOptions(1, method).scope(Scope::tensor));
  MedianSGD other(scaled, MedianSGDOptions(1, method).scope(Scope::tensor));
  for (int t = 0; t < 5; ++t) {
    set_gradients(plain, t);
    set_gradients(scaled, t);
    scaled[1].mutable_grad() = scaled[1].grad() * 1024;
    one.step();
    other.step();
    const ScopeReport &a = one.last_step()[1], &b = other.last_step()[1];
    EXPECT_EQ(b.info.size, 1024 * a.info.size);
    EXPECT_EQ(b.info.tau, 1024 * a.info.tau);
    EXPECT_EQ(one.last_step()[0].info.size, other.last_step()[0].info.size);
  }
  EXPECT_TRUE(at::equal(other.estimate(scaled[1]), one.estimate(plain[1]) * 1024));
  EXPECT_TRUE(at::equal(other.estimate(scaled[0]), one.estimate(plain[0])));
  MedianSGD groups({::torch::optim::OptimizerParamGroup({plain[0]}),
                    ::torch::optim::OptimizerParamGroup({plain[1]})},
                   MedianSGDOptions(1, method).scope(Scope::group));
  groups.step();
  EXPECT_NE(groups.last_step()[0].info.size, groups.last_step()[1].info.size);
}

TEST(MedianSGD, EqualsTheCoreInFloat) {
  std::vector<Tensor> params = parameters(at::kFloat);
  MedianSGD optimizer(params, MedianSGDOptions(0.1, kVClip));
  std::vector<double> start = flat(params);
  std::vector<float> w(start.begin(), start.end());
  OnlineEstimator<float> core(kVClip, w.size());
  for (int t = 0; t < 12; ++t) {
    set_gradients(params, t);
    const std::vector<double> g = flat(gradients(params));
    core.update_and_step(w, 0.1, std::vector<float>(g.begin(), g.end()));
    optimizer.step();
    ASSERT_EQ(flat(params), std::vector<double>(w.begin(), w.end()));
  }
}

// m in bfloat16: each step is the one in float from the m that is kept, so that w follows it to the
// last bit, and what is kept is that, off by less than a unit of 8 bits; the bits do not depend on
// threads, nor on how the vector is cut into tensors.
TEST(MedianSGD, KeepsItsStateInBFloat16) {
  for (const OnlineMethod& method : medgrad::testing::online_methods()) {
    std::vector<Tensor> before;
    for (const int threads : {1, 2}) {
      use_threads(threads);
      std::vector<Tensor> params = parameters(at::kFloat);
      MedianSGD optimizer(params, MedianSGDOptions(0.1, method).state(State::bfloat16));
      std::vector<float> w, g, m;
      const auto floats = [](const std::vector<Tensor>& all) {
        const std::vector<double> x = flat(all);
        return std::vector<float>(x.begin(), x.end());
      };
      Workspace<float> workspace;
      double size = 0;
      m.assign(floats(params).size(), 0);
      for (int t = 0; t < 12; ++t) {
        set_gradients(params, t);
        w = floats(params);
        g = floats(gradients(params));
        const Block<float> block{m, g, w, 0.1};
        const StepInfo expected =
            step<float>(method, {&block, 1}, {.non_finite = NonFinite::robust}, workspace, &size);
        optimizer.step();
        ASSERT_EQ(optimizer.last_step().front().info.increment_norm, expected.increment_norm);
        ASSERT_EQ(floats(params), w) << describe(method) << " step " << t;
        const std::vector<float> kept = floats(estimates(optimizer, params));
        for (std::size_t i = 0; i < m.size(); ++i)
          ASSERT_LT(std::fabs(kept[i] - m[i]), std::fabs(m[i]) * 0x1p-7F + 1e-38F);
        m = kept;
      }
      if (before.empty()) {
        before = params;
      } else {
        EXPECT_TRUE(same_bits(before, params));
      }
    }
  }
  use_threads(1);
}

TEST(MedianSGD, BFloat16IsForFloatsOnTheCpu) {
  std::vector<Tensor> params = parameters(at::kDouble);
  MedianSGD optimizer(params, MedianSGDOptions(0.1).state(State::bfloat16));
  set_gradients(params, 0);
  EXPECT_THROW(optimizer.step(), Error);
}

// Runs both on the same gradients and gives the largest difference of the weights.
template <class Ours, class Theirs>
double difference(const std::function<Ours(std::vector<Tensor>)>& ours,
                  const std::function<Theirs(std::vector<Tensor>)>& theirs, double sign = 1) {
  std::vector<Tensor> a = parameters(at::kDouble), b = parameters(at::kDouble);
  Ours one = ours(a);
  Theirs two = theirs(b);
  for (int t = 0; t < 30; ++t) {
    set_gradients(a, t);
    set_gradients(b, t);
    for (const Tensor& w : b) w.mutable_grad() = w.grad() * sign;
    one.step();
    two.step();
  }
  return largest_difference(a, b);
}

// Damped momentum with m_0 = 0 is torch's undamped one at lr (1 - beta).
TEST(MedianSGD, MomentumIsTorchsSgd) {
  for (const double decay : {0.0, 0.3}) {
    EXPECT_LT((difference<MedianSGD, ::torch::optim::SGD>(
                  [&](std::vector<Tensor> p) {
                    return MedianSGD(p, MedianSGDOptions(0.1, kMomentum).weight_decay(decay));
                  },
                  [&](std::vector<Tensor> p) {
                    return ::torch::optim::SGD(
                        p, ::torch::optim::SGDOptions(0.01).momentum(0.9).weight_decay(decay));
                  })),
              1e-13);
  }
}

TEST(MedianSGD, CClipOfLargeTauIsSgd) {
  EXPECT_LT((difference<MedianSGD, ::torch::optim::SGD>(
                [](std::vector<Tensor> p) {
                  return MedianSGD(p, MedianSGDOptions(0.1, ProximalPoint{L1{}, 1e9}));
                },
                [](std::vector<Tensor> p) { return ::torch::optim::SGD(p, 0.1); })),
            1e-14);
}

TEST(MedianSGD, MaximizeIsTheOppositeGradient) {
  for (const OnlineMethod& method : {kMomentum, kVClip, kCClip}) {
    EXPECT_EQ((difference<MedianSGD, MedianSGD>(
                  [&](std::vector<Tensor> p) {
                    return MedianSGD(
                        p, MedianSGDOptions(0.1, method).maximize(true).weight_decay(0.2));
                  },
                  [&](std::vector<Tensor> p) {
                    return MedianSGD(p, MedianSGDOptions(0.1, method).weight_decay(0.2));
                  },
                  -1)),
              0);
  }
}

TEST(ClippedSGD, IsTheClippedMean) {
  EXPECT_EQ((difference<ClippedSGD, MedianSGD>(
                [](std::vector<Tensor> p) {
                  return ClippedSGD(p, ClippedSGDOptions(0.1).beta(0.8).clip(2));
                },
                [](std::vector<Tensor> p) {
                  return MedianSGD(p, MedianSGDOptions(0.1, ClippedMean{0.8, 2}));
                })),
            0);
}

// clip_grad_norm_ and torch's undamped momentum at lr (1 - beta), the first step included. torch
// adds 1e-6 to the norm.
TEST(ClippedSGD, IsClipGradNormAndTorchsSgd) {
  for (const double clip : {0.5, 1e6}) {
    std::vector<Tensor> a = parameters(at::kDouble), b = parameters(at::kDouble);
    ClippedSGD one(a, ClippedSGDOptions(0.1).beta(0.9).clip(clip));
    ::torch::optim::SGD two(b, ::torch::optim::SGDOptions(0.01).momentum(0.9));
    for (int t = 0; t < 20; ++t) {
      set_gradients(a, t);
      set_gradients(b, t);
      ::torch::nn::utils::clip_grad_norm_(b, clip);
      one.step();
      two.step();
    }
    EXPECT_LT(largest_difference(a, b), clip < 1 ? 1e-6 : 1e-13) << clip;
  }
}

TEST(SignSGD, TakesSigns) {
  std::vector<Tensor> params = parameters(at::kDouble);
  const std::vector<Tensor> before = {params[0].detach().clone()};
  SignSGD optimizer(params, 0.25);
  set_gradients(params, 0);
  params[0].grad()[0][0] = 0;
  optimizer.step();
  EXPECT_TRUE(at::equal(params[0].detach(), before[0] - params[0].grad().sign() * 0.25));
}

TEST(MedianAdam, WithSquaredIsAdam) {
  EXPECT_LT((difference<MedianAdam, ::torch::optim::Adam>(
                [](std::vector<Tensor> p) {
                  return MedianAdam(p, MedianAdamOptions(0.01, kMomentum).weight_decay(0.1));
                },
                [](std::vector<Tensor> p) {
                  return ::torch::optim::Adam(p,
                                              ::torch::optim::AdamOptions(0.01).weight_decay(0.1));
                })),
            1e-13);
  EXPECT_LT((difference<MedianAdam, ::torch::optim::AdamW>(
                [](std::vector<Tensor> p) {
                  return MedianAdam(
                      p, MedianAdamOptions(0.01, kMomentum).weight_decay(0.1).decoupled(true));
                },
                [](std::vector<Tensor> p) {
                  return ::torch::optim::AdamW(
                      p, ::torch::optim::AdamWOptions(0.01).weight_decay(0.1));
                })),
            1e-13);
}

TEST(MedianAdam, EqualsTheCore) {
  for (const AdaptiveGradient& method : {cclip_adam(), median_adam(), median_adam(0.3)}) {
    std::vector<Tensor> params = parameters(at::kDouble);
    MedianAdam optimizer(params, MedianAdamOptions(0.1, method));
    std::vector<double> w = flat(params);
    Optimizer core(method, w.size());
    for (int t = 0; t < 12; ++t) {
      set_gradients(params, t);
      const std::vector<double> g = flat(gradients(params));
      core.step(w, 0.1, Rows<double>(g.data(), 1, g.size()));
      optimizer.step();
      ASSERT_EQ(flat(params), w);
    }
  }
}

// A bad gradient that is to be skipped or told moves nothing, in no tensor.
TEST(MedianAdam, CutSkipsAndRaises) {
  for (const BadGradient bad : {BadGradient::skip, BadGradient::raise}) {
    std::vector<Tensor> params = parameters(at::kDouble);
    MedianAdam optimizer(params, MedianAdamOptions(0.1).bad_gradient(bad));
    set_gradients(params, 0);
    optimizer.step();
    const std::vector<double> before = flat(params);
    set_gradients(params, 1);
    params.back().grad().view(-1)[0] = std::nan("");
    if (bad == BadGradient::raise) {
      EXPECT_THROW(optimizer.step(), Error);
    } else {
      optimizer.step();
      EXPECT_EQ(optimizer.skipped(), 1U);
    }
    EXPECT_EQ(flat(params), before);
  }
}

TEST(SampleMedianSGD, EqualsTheCore) {
  for (const auto& entry : rules()) {
    ParameterValues values;
    for (const Parameter& p : entry.parameters)
      if (p.required()) values.emplace(p.name, 3);
    const Rule method = entry.make(values);
    for (const auto type : {at::kDouble, at::kFloat}) {
      std::vector<Tensor> params = parameters(type);
      SampleMedianSGD optimizer(params, SampleMedianSGDOptions(0.1, method).n(7));
      std::vector<double> w = flat(params), rows, m(w.size());
      for (int step = 0; step < 3; ++step) {
        rows.clear();
        int t = 7 * step;
        const Tensor loss = optimizer.step([&] {
          for (const Tensor& p : params)
            EXPECT_TRUE(!p.grad().defined() || !p.grad().any().item<bool>());
          set_gradients(params, t++);
          const std::vector<double> g = flat(gradients(params));
          rows.insert(rows.end(), g.begin(), g.end());
          return at::scalar_tensor(t, at::kDouble);
        });
        EXPECT_EQ(loss.item<double>(), 7 * step + 4) << "the mean of the losses";
        const std::vector<double> last = keeps_center(method) ? m : std::vector<double>();
        aggregate<double>(method, Rows<double>(rows.data(), 7, w.size()), m, {.center = last});
        for (std::size_t i = 0; i < w.size(); ++i) w[i] -= 0.1 * m[i];
        const std::vector<double> got = flat(params);
        for (std::size_t i = 0; i < w.size(); ++i)
          ASSERT_NEAR(got[i], w[i], type == at::kDouble ? 1e-14 : 1e-5) << entry.name;
      }
    }
  }
}

// Columns that no gradient has: m stays what it was, and w goes on along it, as in the core.
TEST(SampleMedianSGD, AComponentThatNoGradientHasKeepsItsEstimate) {
  for (const SampleMethod& method : {SampleMethod(Median{}), SampleMethod(GeometricMedian{})}) {
    std::vector<Tensor> params = parameters(at::kDouble);
    SampleMedianSGD optimizer(params, SampleMedianSGDOptions(0.1, method).n(3));
    std::vector<double> w = flat(params);
    Optimizer core(SampleGradient{method, 3}, w.size());
    for (int step = 0; step < 3; ++step) {
      std::vector<double> rows;
      int t = 3 * step;
      optimizer.step([&] {
        set_gradients(params, t++);
        if (step > 0) params[0].grad().flatten()[1] = std::nan("");
        const std::vector<double> g = flat(gradients(params));
        rows.insert(rows.end(), g.begin(), g.end());
        return at::zeros({});
      });
      core.step(w, 0.1, Rows<double>(rows.data(), 3, w.size()));
      const std::vector<double> got = flat(params);
      for (std::size_t i = 0; i < w.size(); ++i) ASSERT_NEAR(got[i], w[i], 1e-14) << i;
      EXPECT_NE(optimizer.estimate(params[0]).flatten()[1].item<double>(), 0);
    }
  }
}

TEST(MakeOptimizer, KeepsBeta1) {
  const AdaptiveGradient method{ProximalPoint{L1{}, 0.1}, 0.5, 0.9, 1e-6};
  std::vector<Tensor> params = parameters(at::kDouble);
  const auto optimizer = make_optimizer(method, params, 0.1);
  std::vector<double> w = flat(params);
  Optimizer core(method, w.size());
  for (int t = 0; t < 5; ++t) {
    set_gradients(params, t);
    const std::vector<double> g = flat(gradients(params));
    core.step(w, 0.1, Rows<double>(g.data(), 1, g.size()));
    optimizer->step();
    ASSERT_EQ(flat(params), w);
  }
}

TEST(MedianAdam, DefaultIsTheRegistrys) {
  const auto made = std::get<AdaptiveGradient>(find_optimizer("median-adam").make({}));
  EXPECT_EQ(describe(MedianAdamOptions().method()), describe(made.first));
  EXPECT_EQ(MedianAdamOptions().beta2(), made.beta2);
  EXPECT_EQ(MedianAdamOptions().eps(), made.epsilon);
  EXPECT_EQ(MedianAdamOptions().beta1(), made.beta1);
  EXPECT_EQ(MedianAdamOptions().cut(), made.cut);
}

TEST(SampleMedianSGD, ObservesOneByOne) {
  std::vector<Tensor> a = parameters(at::kDouble), b = parameters(at::kDouble);
  const auto options = SampleMedianSGDOptions(0.1, GeometricMedian{}).n(3).weight_decay(0.5);
  SampleMedianSGD one(a, options), two(b, options);
  int t = 0;
  one.step([&] {
    set_gradients(a, t++);
    return at::zeros({});
  });
  EXPECT_THROW(two.step(), Error);
  for (int k = 0; k < 3; ++k) {
    set_gradients(b, k);
    two.observe();
  }
  EXPECT_EQ(two.observed(), 3U);
  EXPECT_THROW(two.observe(), Error);
  two.step();
  EXPECT_TRUE(same_bits(a, b));
  EXPECT_EQ(two.observed(), 0U);
}

// Scope by scope: the same as an optimiser of its own for each group, or for each tensor.
TEST(Scopes, AreSeparateVectors) {
  for (const Scope scope : {Scope::group, Scope::tensor}) {
    std::vector<Tensor> a = parameters(at::kDouble), b = parameters(at::kDouble);
    const auto options = MedianSGDOptions(0.1, kVClip).scope(scope);
    const auto half = [](const std::vector<Tensor>& p, int k) {
      return k == 0 ? std::vector<Tensor>(p.begin(), p.begin() + 3)
                    : std::vector<Tensor>(p.begin() + 3, p.end());
    };
    MedianSGD optimizer({::torch::optim::OptimizerParamGroup(half(a, 0)),
                         ::torch::optim::OptimizerParamGroup(half(a, 1))},
                        options);
    std::vector<std::unique_ptr<MedianSGD>> apart;
    for (const int k : {0, 1}) {
      if (scope == Scope::group) {
        apart.push_back(std::make_unique<MedianSGD>(half(b, k), MedianSGDOptions(0.1, kVClip)));
      } else {
        for (const Tensor& w : half(b, k))
          apart.push_back(
              std::make_unique<MedianSGD>(std::vector<Tensor>{w}, MedianSGDOptions(0.1, kVClip)));
      }
    }
    for (int t = 0; t < 5; ++t) {
      set_gradients(a, t);
      set_gradients(b, t);
      optimizer.step();
      for (const auto& one : apart) one->step();
    }
    EXPECT_TRUE(same_bits(a, b));
    EXPECT_EQ(optimizer.last_step().size(), apart.size());
    EXPECT_EQ(optimizer.last_step()[0].what,
              scope == Scope::group ? "group 1" : "parameter 1 of group 1");
  }
}

// Groups of one global vector may differ in all that concerns w.
TEST(Scopes, GlobalGroupsHaveTheirOwnRates) {
  std::vector<Tensor> params = parameters(at::kDouble);
  std::vector<double> w = flat(params);
  const std::size_t cut = flat({params[0], params[1]}).size();
  MedianSGD optimizer(
      {::torch::optim::OptimizerParamGroup({params[0], params[1]}),
       ::torch::optim::OptimizerParamGroup(
           {params.begin() + 2, params.end()},
           std::make_unique<MedianSGDOptions>(MedianSGDOptions(0.5, kVClip).maximize(true)))},
      MedianSGDOptions(0.1, kVClip));
  OnlineEstimator<double> core(kVClip, w.size());
  for (int t = 0; t < 5; ++t) {
    set_gradients(params, t);
    core.update(flat(gradients(params)));
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= (i < cut ? 0.1 : -0.5) * core.estimate()[i];
    optimizer.step();
  }
  EXPECT_EQ(optimizer.last_step().size(), 1U);
  const std::vector<double> got = flat(params);
  for (std::size_t i = 0; i < w.size(); ++i) ASSERT_NEAR(got[i], w[i], 1e-15);

  optimizer.param_groups()[1].options().set_lr(0.2);
  dynamic_cast<MedianSGDOptions&>(optimizer.param_groups()[1].options()).method(kCClip);
  EXPECT_THROW(optimizer.step(), Error) << "one vector, two methods";
}

TEST(Scopes, GroupsThatComeLaterHaveTheirOwnRates) {
  std::vector<Tensor> params = parameters(at::kDouble);
  MedianSGD optimizer({params[0]}, MedianSGDOptions(0.1, kVClip));
  const auto add = [&](const Tensor& w, const MedianSGDOptions& options) {
    optimizer.add_param_group(
        ::torch::optim::OptimizerParamGroup({w}, std::make_unique<MedianSGDOptions>(options)));
    return dynamic_cast<const MedianSGDOptions&>(optimizer.param_groups().back().options());
  };
  const MedianSGDOptions kept = add(params[1], MedianSGDOptions(0.5, kVClip).maximize(true));
  EXPECT_EQ(kept.lr(), 0.5);
  EXPECT_TRUE(kept.maximize());
  EXPECT_THROW(add(params[2], MedianSGDOptions(-1, kVClip)), Error);
  EXPECT_EQ(optimizer.param_groups().size(), 2U);
  optimizer.add_param_group(::torch::optim::OptimizerParamGroup({params[2]}));
  EXPECT_EQ(optimizer.param_groups().back().options().get_lr(), 0.1);
}

// Every exact optimiser of the registry takes the same steps here as in the core.
TEST(MakeOptimizer, EqualsTheCoreForTheWholeRegistry) {
  for (const auto& entry : optimizers()) {
    ParameterValues values;
    for (const Parameter& p : entry.parameters)
      if (p.required()) values.emplace(p.name, p.name == "p" ? 3 : 0.3);
    const GradientMethod method = entry.make(values);
    std::vector<Tensor> params = parameters(at::kDouble);
    const auto optimizer = make_optimizer(method, params, 0.1);
    std::vector<double> w = flat(params);
    Optimizer core(method, w.size());
    for (int t = 0; t < 4; ++t) {
      std::vector<double> rows;
      std::size_t taken = 0;
      optimizer->step([&] {
        set_gradients(params, 20 * t + static_cast<int>(taken++));
        const std::vector<double> g = flat(gradients(params));
        rows.insert(rows.end(), g.begin(), g.end());
        return at::zeros({});
      });
      ASSERT_EQ(taken, core.samples()) << entry.name;
      core.step(w, 0.1, Rows<double>(rows.data(), taken, w.size()));
      const std::vector<double> got = flat(params);
      for (std::size_t i = 0; i < w.size(); ++i)
        ASSERT_NEAR(got[i], w[i], 1e-13 * (1 + std::fabs(w[i]))) << entry.name << " step " << t;
    }
  }
}

TEST(MedianSGD, TakesClosures) {
  const Tensor w = ::torch::ones({4}, at::kDouble).set_requires_grad(true);
  MedianSGD optimizer(std::vector<Tensor>{w}, MedianSGDOptions(0.5, ProximalPoint{L1{}, 1e9}));
  const ::torch::NoGradGuard off;
  for (int t = 0; t < 3; ++t) {
    const Tensor loss = optimizer.step([&] {
      optimizer.zero_grad();
      const Tensor value = w.square().sum() / 2;
      value.backward();
      return value;
    });
    EXPECT_EQ(loss.item<double>(), 2 * std::pow(0.25, t));
  }
  EXPECT_EQ(optimizer.steps(), 3U);
}

}  // namespace
}  // namespace medgrad::libtorch
