// The tasks on the data of the paper: what is known of them before any training.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "language/gradients.h"
#include "language/task.h"
#include "medgrad/torch/runtime.h"
#include "text/data.h"

namespace medgrad::language {
namespace {

using medgrad::testing::kNeedsData;
using medgrad::testing::lacks;

std::size_t parameters_of(const libtorch::Model& model) {
  std::size_t count = 0;
  for (const at::Tensor& w : model.parameters()) count += static_cast<std::size_t>(w.numel());
  return count;
}

double loss_of(libtorch::Model& model, const libtorch::Batch& batch) {
  const at::NoGradGuard no_gradients;
  return model.loss(batch).item<double>();
}

// The loss of the first batch in evaluation mode, the mean over models of so many seeds.
//
// At first a logit is w h with the components of w from N(0, 0.02^2) and |h|^2 the width d, as h
// comes out of a norm. So E loss = ln V + 0.02^2 d / 2: the logit of the target is 0 on average,
// and the sum over V words is as good as its mean. Over seeds the loss varies by the logits of
// the targets, a share p of which is the same word: by at most (0.02^2 d sum p^2)^(1/2). Words of
// these texts have sum p^2 = 0.011 or so. Logits that are all 0 would give ln V itself.
double mean_initial_loss(const Task& task, std::uint64_t seeds) {
  double mean = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const auto model = task.make_model(seed);
    model->eval();
    mean += loss_of(*model, task.batch_in_order(0)) / static_cast<double>(seeds);
  }
  return mean;
}

// ln 10000 + 0.04 and ln 33278 + 0.04. The deviation of one seed is at most 0.03, of the mean over
// 16 at most 0.0075: three and a half of these are less than the 0.04 that zeros would be away.
TEST(RealTask, EncodersBeginAtTheLossOfTheirLogits) {
  if (lacks("ptb") || lacks("wikitext-2")) GTEST_SKIP() << kNeedsData;
  libtorch::use_threads(0);
  EXPECT_NEAR(mean_initial_loss(*open_task("ptb", {.batch = 32}), 16), 9.2503, 0.026);
  EXPECT_NEAR(mean_initial_loss(*open_task("wikitext2-encoder", {.batch = 16}), 16), 10.4527,
              0.026);
}

// ln 33278 + 0.1024. One seed: at most 0.048; the mean over 5: 0.0215, and zeros are 0.1 away.
TEST(RealTask, TheTransformerXlBeginsAtTheLossOfItsLogits) {
  if (lacks("wikitext-2")) GTEST_SKIP() << kNeedsData;
  libtorch::use_threads(0);
  EXPECT_NEAR(mean_initial_loss(*open_task("wikitext2", {.batch = 4}), 5), 10.5151, 0.07);
}

TEST(RealTask, PennTreebankBeforeTraining) {
  if (lacks("ptb")) GTEST_SKIP() << kNeedsData;
  libtorch::use_threads(0);
  const auto task = open_task("ptb", {.evaluation_limit = 2});
  EXPECT_EQ(task->batches(), 104U);
  EXPECT_EQ(task->options().batch, 256U);
  const auto model = task->make_model(0);
  EXPECT_EQ(parameters_of(*model), 4494000U);
  const Scores scores = task->evaluate(*model);
  // The first two batches are of the same length: nothing is weighted. The test part has the same
  // words. (How near to a number of its own a single seed can be: see above.)
  double mean = 0;
  model->eval();
  for (std::size_t i = 0; i < 2; ++i) mean += loss_of(*model, task->batch_in_order(i)) / 2;
  EXPECT_NEAR(score(scores, "training_loss"), mean, 1e-6);
  EXPECT_NEAR(std::log(score(scores, "train_ppl")), mean, 1e-6);
  EXPECT_NEAR(std::log(score(scores, "valid_ppl")), mean, 0.01);
}

// Over all batches the norm is about 1.0 with dropout, and a batch of 64 about 0.34 away; a few
// batches are enough to tell a wrong scale. Their own mean is nearer to them, by (1 - 1/K)^(1/2).
TEST(RealTask, PennTreebankGradientsAreOfThePublishedSize) {
  if (lacks("ptb")) GTEST_SKIP() << kNeedsData;
  libtorch::use_threads(0);
  constexpr std::size_t kBatches = 12;
  const auto task = open_task("ptb", {.batch = 64, .drop_last = true, .limit = kBatches});
  const auto model = task->make_model(0);
  BatchGradients gradients(*task, *model, true);
  Measurement measurement(
      gradients, {.tracking = {.methods = {tracking_method("cclip", 0.01)}, .steps = kBatches}});
  while (!measurement.finished()) measurement.advance();
  EXPECT_NEAR(measurement.full().norm, 1.02, 0.1);
  EXPECT_NEAR(measurement.full().largest, 0.085, 0.025);
  const Tracking& seen = measurement.tracking();
  double mean = 0;
  for (const double d : seen.distances) mean += d / static_cast<double>(seen.distances.size());
  EXPECT_NEAR(mean, 0.34, 0.04);
}

TEST(RealTask, WikiTextBeforeTraining) {
  if (lacks("wikitext-2")) GTEST_SKIP() << kNeedsData;
  const auto task = open_task("wikitext2", {});
  EXPECT_EQ(task->batches(), 204U);  // of 80 sequences; four of them make a step
  EXPECT_EQ(task->options().batch, 80U);
  const auto few = open_task("wikitext2", {.batch = 2});
  const auto model = few->make_model(0);
  EXPECT_EQ(parameters_of(*model), 54585854U);
  const auto encoder = open_task("wikitext2-encoder", {.batch = 16});
  const auto small = encoder->make_model(0);
  EXPECT_EQ(parameters_of(*small), 13828478U);
}

}  // namespace
}  // namespace medgrad::language
