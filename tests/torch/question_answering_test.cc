#include "torch/models/question_answering.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "medgrad/error.h"
#include "model_checks.h"
#include "testing.h"

namespace medgrad::libtorch {
namespace {

using medgrad::testing::message_of;

BertOptions tiny(BertKind kind) {
  BertOptions o;
  o.kind = kind;
  o.vocabulary = 13;
  o.positions = 9;
  o.types = kind == BertKind::bert ? 2 : 0;
  o.width = 8;
  o.heads = 2;
  o.hidden = 6;
  o.layers = 2;
  o.dropout = 0.25;
  o.attention_dropout = 0.2;
  o.head_dropout = 0.1;
  return o;
}

Batch some_batch() {
  Batch batch;
  batch.tokens = testing::random_tokens(13, {3, 7});
  batch.targets = at::tensor({1, 2, 0, 6, 3, 5}, at::kLong).view({3, 2});
  batch.types = testing::random_tokens(2, {3, 7});
  batch.mask = at::ones({3, 7}, at::kLong);
  batch.mask[1].narrow(0, 5, 2).zero_();
  return batch;
}

TEST(QuestionAnswering, HasTheParametersOfTheTask) {
  EXPECT_EQ(testing::count_parameters(QuestionAnswering({})), 66364418);
}

TEST(QuestionAnswering, GradientsAreThoseOfFiniteDifferences) {
  for (const BertKind kind : {BertKind::bert, BertKind::distilbert}) {
    QuestionAnswering model(tiny(kind));
    model.to(at::kDouble);
    testing::disturb(model, 0.3);
    const Batch batch = some_batch();
    for (const bool training : {false, true}) {
      model.train(training);
      testing::expect_gradients(model, [&] {
        model.reseed(1, 2);
        return model.loss(batch);
      });
    }
  }
}

TEST(QuestionAnswering, PaddingIsNotSeen) {
  QuestionAnswering model(tiny(BertKind::bert));
  model.to(at::kDouble);
  testing::disturb(model, 0.3);
  model.eval();
  const at::NoGradGuard no_gradients;
  const Batch padded = some_batch();
  Batch alone = padded;
  alone.tokens = padded.tokens.narrow(0, 1, 1).narrow(1, 0, 5);
  alone.types = padded.types.narrow(0, 1, 1).narrow(1, 0, 5);
  alone.mask = at::Tensor();
  const at::Tensor want = model.hidden(alone)[0], got = model.hidden(padded)[1].narrow(0, 0, 5);
  EXPECT_LT(testing::largest_difference(got, want), 1e-12);
}

// By hand: the mean over sequences of -log softmax at the target, over all positions, those of
// padding included; a target outside the tokens does not count.
TEST(QuestionAnswering, LossIsHalfOfTwoCrossEntropies) {
  QuestionAnswering model(tiny(BertKind::distilbert));
  model.to(at::kDouble);
  testing::disturb(model, 0.3);
  model.eval();
  const at::NoGradGuard no_gradients;
  Batch batch = some_batch();
  batch.targets[2][1] = 70;
  batch.targets[0][0] = -4;  // becomes 0
  const at::Tensor z = at::log_softmax(model.logits(batch), 1);
  EXPECT_EQ(z.sizes(), at::IntArrayRef({3, 7, 2}));
  const auto at = [&](std::int64_t b, std::int64_t t, std::int64_t k) {
    return z[b][t][k].item<double>();
  };
  const double first = -(at(0, 0, 0) + at(1, 0, 0) + at(2, 3, 0)) / 3;
  const double last = -(at(0, 2, 1) + at(1, 6, 1)) / 2;
  EXPECT_NEAR(model.loss(batch).item<double>(), (first + last) / 2, 1e-12);
}

// Weights under the published names, with any prefix, go where they belong.
TEST(QuestionAnswering, LoadsPublishedNames) {
  for (const BertKind kind : {BertKind::bert, BertKind::distilbert}) {
    const bool distil = kind == BertKind::distilbert;
    const BertOptions options = tiny(kind);
    const at::NoGradGuard no_gradients;
    const std::string layer = distil ? "transformer.layer.1." : "encoder.layer.1.";
    for (const std::string prefix : {"", "bert.", "distilbert."}) {
      QuestionAnswering model(options);
      std::map<std::string, at::Tensor> tensors;
      for (const auto& [name, tensor] :
           BertEncoder(options, std::make_shared<DropoutStream>()).published()) {
        tensors[prefix + name] = at::randn(tensor.sizes()) * 0.3;
      }
      tensors["pooler.dense.weight"] = at::zeros({8, 8});
      tensors["cls.predictions.bias"] = at::zeros({13});
      tensors["vocab_projector.bias"] = at::zeros({13});
      tensors["something.else"] = at::zeros({1});
      tensors.erase(prefix + layer + (distil ? "ffn.lin1.bias" : "intermediate.dense.bias"));
      if (!distil) {
        tensors["bert.embeddings.LayerNorm.gamma"] = at::full({8}, 2.0);
        tensors.erase(prefix + "embeddings.LayerNorm.weight");
      }
      const LoadReport report = model.load(tensors);
      EXPECT_EQ(
          report.missing,
          std::vector<std::string>{layer + (distil ? "ffn.lin1.bias" : "intermediate.dense.bias")});
      EXPECT_EQ(report.unexpected, std::vector<std::string>{"something.else"});
      EXPECT_EQ(report.ignored.size(), 3U);
      EXPECT_FALSE(report.head);
      const auto p = model.named_parameters();
      const std::string key = distil ? "attention.k_lin.weight" : "attention.self.key.weight";
      EXPECT_TRUE(p["encoder.layers.1.attention.in_proj_weight"].narrow(0, 8, 8).equal(
          tensors[prefix + layer + key]));
      if (!distil) {
        EXPECT_TRUE(p["encoder.norm.weight"].equal(at::full({8}, 2.0)));
      }
    }
  }
}

TEST(QuestionAnswering, RefusesTensorsOfAnotherShape) {
  QuestionAnswering model(tiny(BertKind::distilbert));
  EXPECT_EQ(message_of([&] {
              return model.load({{"distilbert.embeddings.LayerNorm.weight", at::zeros({9})}});
            }),
            "Tensor distilbert.embeddings.LayerNorm.weight of the checkpoint has shape (9); the "
            "model needs (8).");
}

TEST(QuestionAnswering, SaysWhatIsWrong) {
  QuestionAnswering model(tiny(BertKind::bert));
  Batch batch = some_batch();
  batch.tokens = testing::random_tokens(13, {3, 10});
  EXPECT_THROW(static_cast<void>(model.loss(batch)), Error);
  batch = some_batch();
  batch.mask[1].zero_();
  EXPECT_EQ(message_of([&] { return model.loss(batch); }), "A sequence consists of padding only.");
  batch = some_batch();
  batch.targets = batch.targets.t();
  EXPECT_THROW(static_cast<void>(model.loss(batch)), Error);
}

}  // namespace
}  // namespace medgrad::libtorch
