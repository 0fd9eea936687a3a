// One seed, one answer: the number of threads changes no bit of a training run.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "language/method.h"
#include "language/training.h"
#include "medgrad/torch/runtime.h"
#include "text/data.h"
#include "torch/models/encoder.h"
#include "torch/models/question_answering.h"
#include "torch/models/transformer_xl.h"

namespace medgrad::language {
namespace {

// Gradients of a model that is drawn anew, with dropout.
template <class Make>
std::vector<at::Tensor> gradients(const Make& make, const libtorch::Batch& batch, int threads) {
  libtorch::use_threads(threads);
  const auto model = make();
  model->train();
  model->loss(batch).backward();
  libtorch::use_threads(1);
  std::vector<at::Tensor> all;
  for (const at::Tensor& w : model->parameters()) all.push_back(w.grad());
  return all;
}

template <class Make>
void expect_same(const Make& make, const libtorch::Batch& batch) {
  const auto one = gradients(make, batch, 1);
  for (const int threads : {2, 5}) {
    const auto several = gradients(make, batch, threads);
    const auto names = make()->named_parameters();
    ASSERT_EQ(one.size(), several.size());
    for (std::size_t i = 0; i < one.size(); ++i)
      EXPECT_TRUE(one[i].equal(several[i])) << names[i].key() << ", " << threads << " threads";
  }
}

libtorch::Batch words(std::int64_t vocabulary, std::int64_t time, std::int64_t batch) {
  ::torch::manual_seed(5);
  const at::Tensor tokens = at::randint(vocabulary, {time + 1, batch}, at::kLong);
  return {tokens.narrow(0, 0, time), tokens.narrow(0, 1, time), {}, {}};
}

// Sizes at which products are cut along each of their dimensions.
TEST(Threads, GradientsOfTheEncoder) {
  expect_same(
      [] {
        libtorch::EncoderOptions o;
        o.vocabulary = 3011;
        return std::make_shared<libtorch::EncoderModel>(o);
      },
      words(3011, 35, 70));
}

TEST(Threads, GradientsOfTransformerXL) {
  expect_same(
      [] {
        libtorch::TransformerXLOptions o;
        o.vocabulary = 1999;
        o.width = 128;
        o.hidden = 500;
        o.layers = 2;
        return std::make_shared<libtorch::TransformerXL>(o);
      },
      words(1999, 100, 30));
}

TEST(Threads, GradientsOfQuestionAnswering) {
  ::torch::manual_seed(6);
  libtorch::Batch batch;
  batch.tokens = at::randint(1000, {30, 90}, at::kLong);
  batch.types = at::randint(2, {30, 90}, at::kLong);
  batch.mask = at::ones({30, 90}, at::kLong);
  batch.targets = at::randint(90, {30, 2}, at::kLong);
  expect_same(
      [] {
        libtorch::BertOptions o;
        o.kind = libtorch::BertKind::bert;
        o.vocabulary = 1000;
        o.types = 2;
        o.width = 96;
        o.hidden = 300;
        o.layers = 2;
        return std::make_shared<libtorch::QuestionAnswering>(o);
      },
      batch);
}

TEST(Threads, ChangeNothingInARun) {
  for (const bool questions : {false, true}) {
    const auto task =
        open_task(questions ? "synthetic-questions" : "synthetic",
                  {.size = Size::small, .batch = 24, .limit = 4, .evaluation_limit = 2});
    const Method method = parse_method("vclip");
    TrainingOptions options;
    options.method = method.line;
    options.gradient = method.gradient;
    options.lr = 1;
    const auto scores = [&](int threads) {
      libtorch::use_threads(threads);
      const TrainingResult result = train(*task, options);
      libtorch::use_threads(1);
      return result.evaluations.back().scores;
    };
    EXPECT_EQ(scores(1), scores(2));
  }
}

TEST(Threads, ChangeNothingOnRealText) {
  if (medgrad::testing::lacks("ptb")) GTEST_SKIP() << medgrad::testing::kNeedsData;
  libtorch::use_fast_blas();
  const auto task = open_task("ptb", {.batch = 64});
  expect_same([&] { return task->make_model(0); }, task->batch_in_order(0));
}

}  // namespace
}  // namespace medgrad::language
