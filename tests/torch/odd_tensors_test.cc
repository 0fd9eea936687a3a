// Tensors that the fused kernels cannot have, gradients that are missing, sparse or not finite.
#include <gtest/gtest.h>

#include "medgrad/error.h"
#include "medgrad/torch/optim.h"
#include "torch/models.h"

namespace medgrad::libtorch {
namespace {

using medgrad::testing::flat;
using medgrad::testing::kVClip;
using medgrad::testing::largest_difference;
using medgrad::testing::parameters;
using medgrad::testing::same_bits;
using medgrad::testing::set_gradients;

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// Gradients laid out unlike their weights take the way of ATen operations; with the same result.
void scatter_gradients(const std::vector<Tensor>& params) {
  for (const Tensor& w : params) {
    if (w.dim() == 0) continue;
    const Tensor wide = at::zeros({2 * w.numel()}, w.options().requires_grad(false));
    Tensor odd = wide.slice(0, 0, 2 * w.numel(), 2)
                     .view(w.numel() == 0 ? w.sizes() : at::IntArrayRef{w.numel()});
    if (w.numel() > 0) {
      std::vector<std::int64_t> strides(w.strides().begin(), w.strides().end());
      for (auto& s : strides) s *= 2;
      odd = wide.as_strided(w.sizes(), strides);
    }
    odd.copy_(w.grad());
    w.mutable_grad() = odd;
  }
}

TEST(OddTensors, AtenGivesTheSameResult) {
  for (const auto type : {at::kDouble, at::kFloat}) {
    const double slack = type == at::kDouble ? 1e-13 : 2e-6;
    for (const OnlineMethod& method : medgrad::testing::online_methods()) {
      for (const bool wild : {false, true}) {
        for (const Start start : {Start::warm, Start::cold}) {
          std::vector<Tensor> a = parameters(type), b = parameters(type);
          const auto options =
              MedianSGDOptions(0.1, method).start(start).weight_decay(0.05).decoupled(wild);
          MedianSGD fused(a, options), aten(b, options);
          for (int t = 0; t < 6; ++t) {
            set_gradients(a, t);
            if (wild && t % 2 == 1) {
              a[0].grad()[1][2] = kNan;
              a[1].grad()[3] = kInf;
              a[3].grad()[0][1][2] = -kInf;
            }
            for (std::size_t i = 0; i < a.size(); ++i) b[i].mutable_grad() = a[i].grad().clone();
            scatter_gradients(b);
            fused.step();
            aten.step();
            const StepInfo &x = fused.last_step()[0].info, &y = aten.last_step()[0].info;
            ASSERT_EQ(x.non_finite, y.non_finite);
            ASSERT_NEAR(x.clipped_share, y.clipped_share, 1e-12);
            ASSERT_NEAR(x.effective_beta, y.effective_beta, 1e-5) << describe(method);
            ASSERT_NEAR(x.tau, y.tau, 1e-5 * x.tau) << describe(method);
            ASSERT_NEAR(x.size, y.size, 1e-5 * x.size) << describe(method);
            ASSERT_TRUE(x.increment_norm == y.increment_norm ||
                        std::fabs(x.increment_norm / y.increment_norm - 1) < 1e-5);
            // Momentum follows an Inf to the end of the range; near it only ratios say something.
            const std::vector<double> u = flat(a), v = flat(b);
            for (std::size_t i = 0; i < u.size(); ++i)
              ASSERT_NEAR(u[i], v[i], slack * std::max(1.0, std::fabs(u[i])))
                  << describe(method) << " step " << t << " component " << i;
          }
        }
      }
    }
  }
}

TEST(OddTensors, AdamByAtenGivesTheSameResult) {
  for (const MedianAdamOptions& made :
       {MedianAdamOptions(0.1).cut(0.7), MedianAdamOptions(0.1, cclip_adam())}) {
    std::vector<Tensor> a = parameters(at::kDouble), b = parameters(at::kDouble);
    MedianAdamOptions options = made;
    options.weight_decay(0.05);
    MedianAdam fused(a, options), aten(b, options);
    for (int t = 0; t < 6; ++t) {
      set_gradients(a, t);
      a[0].grad()[1][2] = t == 2 ? kNan : kInf;
      for (std::size_t i = 0; i < a.size(); ++i) b[i].mutable_grad() = a[i].grad().clone();
      scatter_gradients(b);
      fused.step();
      aten.step();
      ASSERT_LT(largest_difference(a, b), 1e-12);
      const StepInfo &x = fused.last_step()[0].info, &y = aten.last_step()[0].info;
      ASSERT_EQ(x.non_finite, y.non_finite);
      ASSERT_NEAR(x.clipped_share, y.clipped_share, 1e-12);
      ASSERT_NEAR(x.effective_beta, y.effective_beta, 1e-9);
    }
  }
}

// Any dense layout that gradient and weight share is fused: nothing but the order differs.
TEST(OddTensors, TransposedWeightsAreFused) {
  Tensor w = at::randn({5, 7}, at::kDouble).t().set_requires_grad(true);
  const Tensor before = w.detach().clone();
  const Tensor g = at::randn({5, 7}, at::kDouble).t();
  MedianSGD optimizer(std::vector<Tensor>{w}, MedianSGDOptions(1, kVClip));
  w.mutable_grad() = g;
  optimizer.step();
  const double norm = g.square().sum().sqrt().item<double>();
  EXPECT_LT((w.detach() - (before - g * (0.5 / norm))).abs().max().item<double>(), 1e-15);
  EXPECT_EQ(optimizer.estimate(w).strides(), w.strides());
}

// The stride of a dimension with one entry means nothing: bit for bit the core's step.
TEST(OddTensors, StridesOfSingleEntriesDoNotMatter) {
  const Tensor w = at::zeros({1, 333}, at::kDouble).set_requires_grad(true);
  const Tensor g = at::randn({333, 1}, at::kDouble).t();
  ASSERT_NE(g.strides(), w.strides());
  MedianSGD optimizer(std::vector<Tensor>{w}, MedianSGDOptions(1, kVClip));
  w.mutable_grad() = g;
  optimizer.step();
  OnlineEstimator<double> core(kVClip, 333);
  std::vector<double> expected(333, 0.0);
  core.update_and_step(expected, 1, flat({g}));
  EXPECT_EQ(flat({w}), expected);
}

TEST(OddTensors, HalfAndBfloat16KeepTheirEstimateInFloat) {
  for (const auto type : {at::kHalf, at::kBFloat16}) {
    const Tensor w = at::ones({50}).to(type).set_requires_grad(true);
    MedianSGD optimizer(std::vector<Tensor>{w}, MedianSGDOptions(0.25, ProximalPoint{L1{}, 1e-4}));
    for (int t = 0; t < 100; ++t) {
      w.mutable_grad() = at::ones({50}).to(type);
      optimizer.step();
    }
    EXPECT_EQ(optimizer.estimate(w).scalar_type(), at::kFloat);
    EXPECT_NEAR(optimizer.estimate(w)[0].item<double>(), 0.01, 1e-6);
    EXPECT_EQ(w.scalar_type(), type);
  }
}

TEST(OddTensors, FloatAndDoubleShareAVector) {
  const Tensor a = at::zeros({3}, at::kFloat).set_requires_grad(true),
               b = at::zeros({4}, at::kDouble).set_requires_grad(true);
  MedianSGD optimizer(std::vector<Tensor>{a, b}, MedianSGDOptions(1, ProximalPoint{L2{}, 1}));
  a.mutable_grad() = at::full({3}, 2.0, at::kFloat);
  b.mutable_grad() = at::full({4}, 3.0, at::kDouble);
  optimizer.step();
  const double norm = std::sqrt(3 * 4 + 4 * 9);
  EXPECT_NEAR(a[0].item<double>(), -2 / norm, 1e-7);
  EXPECT_NEAR(b[0].item<double>(), -3 / norm, 1e-15);
}

TEST(OddTensors, UndefinedGradientsAreSkipped) {
  std::vector<Tensor> params = parameters(at::kDouble);
  const Tensor before = params[1].detach().clone();
  MedianSGD optimizer(params, MedianSGDOptions(0.1, kVClip).weight_decay(1));
  set_gradients(params, 0);
  params[1].mutable_grad() = Tensor();
  optimizer.step();
  EXPECT_TRUE(at::equal(params[1].detach(), before));
  EXPECT_FALSE(optimizer.estimate(params[1]).defined());
  optimizer.zero_grad();
  MedianSGD none(std::vector<Tensor>{at::ones({2}).set_requires_grad(true)}, 0.1);
  none.step();
  EXPECT_TRUE(none.last_step().empty());
}

TEST(OddTensors, SparseGradientsAreRefused) {
  ::torch::nn::Embedding table(::torch::nn::EmbeddingOptions(10, 3).sparse(true));
  table->forward(at::tensor({1, 2}, at::kLong)).sum().backward();
  MedianSGD optimizer(table->parameters(), 0.1);
  optimizer.name_parameters(*table);
  EXPECT_NE(message_of([&] { optimizer.step(); }).find("weight has a sparse gradient"),
            std::string::npos);
}

// Their imaginary part would be lost.
TEST(OddTensors, ComplexParametersAreRefused) {
  const Tensor w = at::ones({2}, at::kComplexFloat).set_requires_grad(true);
  w.mutable_grad() = at::full({2}, c10::complex<float>(1, 2), at::kComplexFloat);
  MedianSGD optimizer(std::vector<Tensor>{at::ones({3}).set_requires_grad(true), w}, 0.1);
  EXPECT_NE(message_of([&] {
              optimizer.step();
            }).find("parameter 2 of group 1 has the type ComplexFloat; it must be of real numbers"),
            std::string::npos);
  EXPECT_TRUE(at::equal(w.detach(), at::ones({2}, at::kComplexFloat)));
}

TEST(OddTensors, OptionsOfAnotherOptimiserAreRefused) {
  std::vector<Tensor> params = parameters(at::kDouble);
  MedianSGD optimizer(params, 0.1);
  optimizer.param_groups()[0].set_options(std::make_unique<::torch::optim::SGDOptions>(0.1));
  EXPECT_THROW(optimizer.step(), Error);
  EXPECT_THROW(MedianSGD(params, MedianSGDOptions(-1)), Error);
  EXPECT_THROW(MedianSGD(params, MedianSGDOptions(0.1, ProximalPoint{L2{}, 0})), Error);
  EXPECT_THROW(MedianSGD(params, MedianSGDOptions(0.1).weight_decay(kNan)), Error);
  EXPECT_THROW(ClippedSGD(params, ClippedSGDOptions(0.1).beta(1)), Error);
  EXPECT_THROW(MedianAdam(params, MedianAdamOptions(0.1).beta2(1)), Error);
  EXPECT_THROW(SampleMedianSGD(params, SampleMedianSGDOptions(0.1).n(0)), Error);
}

TEST(BadGradients, SkipIsCountedAndChangesNothing) {
  for (const OnlineMethod& method : medgrad::testing::online_methods()) {
    std::vector<Tensor> params = parameters(at::kFloat);
    MedianSGD optimizer(params, MedianSGDOptions(0.1, method).bad_gradient(BadGradient::skip));
    set_gradients(params, 0);
    optimizer.step();
    std::vector<Tensor> before;
    for (const Tensor& w : params) before.push_back(w.detach().clone());
    const Tensor m = optimizer.estimate(params[3]).clone();
    set_gradients(params, 1);
    params[3].grad()[2][4][10] = kInf;
    optimizer.step();
    EXPECT_TRUE(same_bits(before, params));
    EXPECT_TRUE(at::equal(m, optimizer.estimate(params[3])));
    EXPECT_TRUE(optimizer.last_step()[0].skipped);
    EXPECT_EQ(optimizer.skipped(), 1U);
    set_gradients(params, 2);
    optimizer.step();
    EXPECT_FALSE(optimizer.last_step()[0].skipped);
    EXPECT_FALSE(same_bits(before, params));
  }
}

TEST(BadGradients, RaiseNamesTheParameterAndChangesNothing) {
  for (const Scope scope : {Scope::global, Scope::tensor}) {
    ::torch::nn::Sequential model(::torch::nn::Linear(3, 4), ::torch::nn::Linear(4, 2));
    MedianSGD optimizer(model->parameters(),
                        MedianSGDOptions(0.1).bad_gradient(BadGradient::raise).scope(scope));
    optimizer.name_parameters(*model);
    for (const Tensor& w : model->parameters()) w.mutable_grad() = at::ones_like(w);
    std::vector<Tensor> before;
    for (const Tensor& w : model->parameters()) before.push_back(w.detach().clone());
    model->parameters()[3].grad()[1] = kNan;
    EXPECT_NE(message_of([&] {
                optimizer.step();
              }).find("the gradient of 1.bias or its weights have a component"),
              std::string::npos);
    EXPECT_TRUE(same_bits(before, model->parameters()));
  }
}

TEST(BadGradients, RobustKeepsGoing) {
  std::vector<Tensor> params = parameters(at::kFloat);
  MedianSGD optimizer(params, MedianSGDOptions(0.1, ProximalPoint{L1{}, 0.1}));
  for (int t = 0; t < 5; ++t) {
    set_gradients(params, t);
    params[0].grad().fill_(kNan);
    params[1].grad().fill_(-kInf);
    optimizer.step();
    EXPECT_EQ(optimizer.last_step()[0].info.non_finite, 7U * 13 + 13);
  }
  EXPECT_FALSE(optimizer.estimate(params[0]).any().item<bool>()) << "no observation at all";
  EXPECT_NEAR(optimizer.estimate(params[1])[0].item<double>(), -0.5, 1e-6);
  for (const Tensor& w : params) EXPECT_TRUE(at::isfinite(w).all().item<bool>());
}

TEST(BadGradients, OfSamples) {
  const auto run = [](BadGradient bad, SampleMedianSGD*& made, const Tensor& w) {
    static std::unique_ptr<SampleMedianSGD> optimizer;
    optimizer = std::make_unique<SampleMedianSGD>(std::vector<Tensor>{w},
                                                  SampleMedianSGDOptions(1).n(3).bad_gradient(bad));
    made = optimizer.get();
    int k = 0;
    optimizer->step([&] {
      w.mutable_grad() = at::full({4}, static_cast<double>(++k), at::kDouble);
      w.grad()[0] = kNan;
      if (k == 2) w.grad()[1] = kInf;
      return at::zeros({});
    });
  };
  SampleMedianSGD* optimizer = nullptr;
  const Tensor w = at::zeros({4}, at::kDouble).set_requires_grad(true);
  EXPECT_THROW(run(BadGradient::raise, optimizer, w), Error);
  EXPECT_FALSE(w.any().item<bool>());
  run(BadGradient::skip, optimizer, w);
  EXPECT_FALSE(w.any().item<bool>());
  EXPECT_EQ(optimizer->skipped(), 1U);
  run(BadGradient::robust, optimizer, w);
  EXPECT_EQ(flat({w}), (std::vector<double>{0, -3, -2, -2}));
}

}  // namespace
}  // namespace medgrad::libtorch
