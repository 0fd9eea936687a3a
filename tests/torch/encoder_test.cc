#include "torch/models/encoder.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "medgrad/error.h"
#include "medgrad/torch/runtime.h"
#include "model_checks.h"
#include "torch/models/positions.h"

namespace medgrad::libtorch {
namespace {

using testing::random_language;

EncoderOptions tiny() {
  EncoderOptions o;
  o.vocabulary = 13;
  o.width = 8;
  o.heads = 2;
  o.hidden = 6;
  o.dropout = 0.25;
  o.seed = 4;
  return o;
}

TEST(EncoderModel, HasTheParametersOfTheTasks) {
  EncoderOptions o;
  EXPECT_EQ(testing::count_parameters(EncoderModel(o)), 4494000);
  o.vocabulary = 33278;
  EXPECT_EQ(testing::count_parameters(EncoderModel(o)), 13828478);
}

// Logits are from N(0, 0.02^2 200): ln 10000 + 0.08 / 2, give or take (0.08 / 2240)^(1/2) = 0.006
// for 2240 random targets. Without a spread it would be ln 10000 = 9.2103.
TEST(EncoderModel, StartsAtTheLossOfTheTask) {
  EncoderModel model({});
  const Batch batch = random_language(10000, 35, 64);
  const at::NoGradGuard no_gradients;
  EXPECT_NEAR(model.loss(batch).item<double>(), 9.2503, 0.025);
  model.eval();
  EXPECT_NEAR(model.loss(batch).item<double>(), 9.2503, 0.025);
}

// Weights by kind: N(0, 0.02^2), N(1, 0.02^2) for norms, Xavier for the projections, which are the
// same in all layers. A deviation from n draws is off by 5 / sqrt(2 n) of itself once in 2e6.
TEST(EncoderModel, InitialWeightsFollowTheirLaw) {
  const EncoderModel model({});
  const auto p = model.named_parameters();
  for (const auto& item : p) {
    SCOPED_TRACE(item.key());
    const at::Tensor x = item.value().detach().to(at::kDouble);
    const double n = static_cast<double>(x.numel()), mean = x.mean().item<double>();
    const bool norm = item.key().find("norm") != std::string::npos;
    if (x.dim() == 1 && !(norm && item.key().find("weight") != std::string::npos)) {
      EXPECT_EQ(x.abs().max().item<double>(), 0);
      continue;
    }
    const bool xavier = item.key().find("in_proj") != std::string::npos;
    const double deviation = xavier ? std::sqrt(6.0 / 800 / 3) : 0.02;
    EXPECT_NEAR(x.std().item<double>() / deviation, 1, 5 / std::sqrt(2 * n));
    EXPECT_NEAR(mean, norm ? 1 : 0, 5 * deviation / std::sqrt(n));
    if (xavier) {
      EXPECT_LT(x.abs().max().item<double>(), std::sqrt(6.0 / 800));
      EXPECT_GT(x.abs().max().item<double>(), std::sqrt(6.0 / 800) * 0.999);
    }
  }
  EXPECT_TRUE(p["layers.0.self_attn.in_proj_weight"].equal(p["layers.1.self_attn.in_proj_weight"]));
  for (const char* name : {"self_attn.out_proj.weight", "linear1.weight", "norm1.weight"}) {
    EXPECT_FALSE(
        p[std::string("layers.0.").append(name)].equal(p[std::string("layers.1.").append(name)]));
  }
}

TEST(EncoderModel, OneSeedIsOneModelWhateverTheThreads) {
  EncoderOptions o;
  o.seed = 9;
  const auto weights = [&](int threads) {
    use_threads(threads);
    EncoderModel model(o);
    use_threads(1);
    return ::torch::nn::utils::parameters_to_vector(model.parameters()).detach();
  };
  const at::Tensor one = weights(1);
  EXPECT_TRUE(one.equal(weights(2)));
  o.seed = 10;
  EXPECT_FALSE(one.equal(weights(1)));
}

TEST(EncoderModel, LooksBackOnly) {
  EncoderModel model(tiny());
  model.to(at::kDouble);
  testing::disturb(model, 0.3);
  model.eval();
  const at::NoGradGuard no_gradients;
  const at::Tensor tokens = testing::random_tokens(13, {7, 3});
  const at::Tensor before = model.hidden(tokens);
  EXPECT_EQ(before.sizes(), at::IntArrayRef({7, 3, 8}));
  for (std::int64_t changed = 0; changed < 7; ++changed) {
    at::Tensor other = tokens.clone();
    other[changed] = (other[changed] + 1) % 13;
    const at::Tensor after = model.hidden(other);
    for (std::int64_t i = 0; i < 7; ++i)
      EXPECT_EQ(before[i].equal(after[i]), i < changed) << i << " " << changed;
  }
}

TEST(EncoderModel, SequencesOfABatchDoNotMeet) {
  EncoderModel model(tiny());
  model.to(at::kDouble);
  testing::disturb(model, 0.3);
  model.eval();
  const at::NoGradGuard no_gradients;
  const at::Tensor tokens = testing::random_tokens(13, {7, 3});
  const at::Tensor all = model.hidden(tokens), one = model.hidden(tokens.narrow(1, 2, 1));
  EXPECT_LT(testing::largest_difference(all.narrow(1, 2, 1), one), 1e-12);
}

TEST(EncoderModel, GradientsAreThoseOfFiniteDifferences) {
  EncoderModel model(tiny());
  model.to(at::kDouble);
  testing::disturb(model, 0.3);
  const Batch batch = random_language(13, 5, 3);
  for (const bool training : {false, true}) {
    model.train(training);
    testing::expect_gradients(model, [&] {
      model.reseed(1, 2);
      return model.loss(batch);
    });
  }
}

TEST(Positions, AreSinesAndCosines) {
  const std::int64_t count = 40, width = 12;
  const at::Tensor rising = interleaved_positions(count, width);
  const at::Tensor falling = falling_positions(count, width);
  for (std::int64_t t = 0; t < count; ++t) {
    for (std::int64_t i = 0; i < width / 2; ++i) {
      const double angle =
          static_cast<double>(t) * std::pow(10000.0, -2.0 * static_cast<double>(i) / 12);
      EXPECT_NEAR(rising[t][2 * i].item<double>(), std::sin(angle), 1e-5);
      EXPECT_NEAR(rising[t][2 * i + 1].item<double>(), std::cos(angle), 1e-5);
      EXPECT_NEAR(falling[count - 1 - t][i].item<double>(), std::sin(angle), 1e-5);
      EXPECT_NEAR(falling[count - 1 - t][width / 2 + i].item<double>(), std::cos(angle), 1e-5);
    }
  }
}

// Another way to the same function: torch's own encoder with the same weights.
TEST(EncoderModel, AgreesWithTorchsEncoder) {
  namespace nn = ::torch::nn;
  EncoderModel model(tiny());
  model.to(at::kDouble);
  testing::disturb(model, 0.3);
  model.eval();
  nn::TransformerEncoder peer(nn::TransformerEncoderOptions(
      nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(6).dropout(0.25), 2));
  peer->to(at::kDouble);
  peer->eval();
  const at::NoGradGuard no_gradients;
  const auto p = model.named_parameters();
  for (auto& item : peer->named_parameters()) item.value().copy_(p[item.key()]);
  const at::Tensor tokens = testing::random_tokens(13, {6, 4});
  const at::Tensor x = at::embedding(p["emb.weight"], tokens) * std::sqrt(8.0) +
                       interleaved_positions(6, 8).unsqueeze(1);
  const at::Tensor mask =
      at::full({6, 6}, -std::numeric_limits<double>::infinity(), at::kDouble).triu(1);
  EXPECT_LT(testing::largest_difference(peer(x, mask), model.hidden(tokens)), 1e-12);
}

TEST(EncoderModel, ResumesItsDropoutAndDrawsAnewForEveryBatch) {
  EncoderModel model(tiny());
  testing::disturb(model, 0.3);
  const Batch batch = random_language(13, 5, 3);
  const at::NoGradGuard no_gradients;
  model.reseed(3, 0);
  const double first = model.loss(batch).item<double>(), second = model.loss(batch).item<double>();
  EXPECT_NE(first, second);
  EXPECT_EQ(model.step(), 2U);
  model.reseed(3, 1);
  EXPECT_EQ(model.loss(batch).item<double>(), second);
  model.eval();
  EXPECT_EQ(model.loss(batch).item<double>(), model.loss(batch).item<double>());
  EXPECT_EQ(model.step(), 2U);
}

TEST(EncoderModel, SaysWhatIsWrong) {
  EncoderOptions o = tiny();
  o.heads = 3;
  EXPECT_THROW(EncoderModel{o}, Error);
  o = tiny();
  o.dropout = 1;
  EXPECT_THROW(EncoderModel{o}, Error);
  EncoderModel model(tiny());
  Batch batch = random_language(13, 5, 3);
  batch.tokens[2][1] = 13;
  EXPECT_THROW(static_cast<void>(model.loss(batch)), Error);
}

}  // namespace
}  // namespace medgrad::libtorch
