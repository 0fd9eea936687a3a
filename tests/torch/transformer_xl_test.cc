#include "torch/models/transformer_xl.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "medgrad/error.h"
#include "model_checks.h"

namespace medgrad::libtorch {
namespace {

using testing::random_language;

TransformerXLOptions tiny() {
  TransformerXLOptions o;
  o.vocabulary = 13;
  o.width = 8;
  o.heads = 2;
  o.hidden = 6;
  o.layers = 2;
  o.dropout = 0.25;
  o.attention_dropout = 0.2;
  return o;
}

TEST(TransformerXL, IsTheModelOfTheTask) {
  TransformerXL model({});
  EXPECT_EQ(testing::count_parameters(model), 54585854);
  const auto p = model.named_parameters();
  for (const char* name : {"r_w_bias", "r_r_bias", "layers.0.qkv.weight", "layers.5.r.weight",
                           "layers.2.linear1.weight", "emb.weight"}) {
    SCOPED_TRACE(name);
    const double n = static_cast<double>(p[name].numel());
    EXPECT_NEAR(p[name].std().item<double>() / 0.02, 1, 5 / std::sqrt(2 * n));
  }
  EXPECT_FALSE(p["layers.0.qkv.weight"].equal(p["layers.1.qkv.weight"]));
  const at::NoGradGuard no_gradients;
  // Logits are from N(0, 0.02^2 512): ln 33278 + 0.2048 / 2, give or take (0.2048 / 1024)^(1/2) for
  // 1024 random targets. Without a spread it would be ln 33278 = 10.4126.
  model.eval();
  EXPECT_NEAR(model.loss(random_language(33278, 64, 16)).item<double>(), 10.5151, 0.06);
}

TEST(TransformerXL, LooksBackOnly) {
  TransformerXL model(tiny());
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

// Positions are relative: what a token sees does not depend on where the chunk begins, and a memory
// as long as the text makes reading it in parts the same as reading it at once.
TEST(TransformerXL, MemoryContinuesTheText) {
  TransformerXLOptions o = tiny();
  o.memory = 100;
  TransformerXL model(o);
  model.to(at::kDouble);
  testing::disturb(model, 0.3);
  model.eval();
  const at::NoGradGuard no_gradients;
  const at::Tensor tokens = testing::random_tokens(13, {9, 3});
  const at::Tensor whole = model.hidden(tokens);
  TransformerXL::Memory memory;
  std::vector<at::Tensor> parts;
  for (const auto& [first, count] : {std::pair{0, 4}, {4, 1}, {5, 4}})
    parts.push_back(model.hidden(tokens.narrow(0, first, count), &memory));
  EXPECT_LT(testing::largest_difference(at::cat(parts), whole), 1e-12);
  EXPECT_EQ(memory.front().size(0), 9 * 3);
  EXPECT_THROW(static_cast<void>(model.hidden(testing::random_tokens(13, {2, 5}), &memory)), Error);
}

TEST(TransformerXL, RemembersOnlyWhenAsked) {
  const Batch batch = random_language(13, 5, 3);
  for (const std::int64_t memory : {0, 3}) {
    TransformerXLOptions o = tiny();
    o.memory = memory;
    TransformerXL model(o);
    testing::disturb(model, 0.3);
    model.eval();
    const at::NoGradGuard no_gradients;
    const double first = model.loss(batch).item<double>();
    EXPECT_EQ(model.loss(batch).item<double>() == first, memory == 0);
    model.forget();
    EXPECT_EQ(model.loss(batch).item<double>(), first);
  }
}

TEST(TransformerXL, GradientsAreThoseOfFiniteDifferences) {
  for (const std::int64_t memory : {0, 3}) {
    TransformerXLOptions o = tiny();
    o.memory = memory;
    TransformerXL model(o);
    model.to(at::kDouble);
    testing::disturb(model, 0.3);
    const Batch batch = random_language(13, 5, 3);
    for (const bool training : {false, true}) {
      model.train(training);
      testing::expect_gradients(model, [&] {
        model.reseed(1, 2);
        model.forget();
        return model.loss(batch);
      });
    }
  }
}

TEST(TransformerXL, SaysWhatIsWrong) {
  TransformerXLOptions o = tiny();
  o.width = 9;
  EXPECT_THROW(TransformerXL{o}, Error);
  o = tiny();
  o.memory = -1;
  EXPECT_THROW(TransformerXL{o}, Error);
}

}  // namespace
}  // namespace medgrad::libtorch
