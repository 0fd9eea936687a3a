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

std::size_t parameters_of(const torch::Model& model) {
  std::size_t count = 0;
  for (const at::Tensor& w : model.parameters()) count += static_cast<std::size_t>(w.numel());
  return count;
}

double loss_of(torch::Model& model, const torch::Batch& batch) {
  const at::NoGradGuard no_gradients;
  return model.loss(batch).item<double>();
}

TEST(RealTask, PennTreebankBeforeTraining) {
  if (lacks("ptb")) GTEST_SKIP() << kNeedsData;
  torch::use_threads(0);
  const auto task = open_task("ptb", {.evaluation_limit = 2});
  EXPECT_EQ(task->batches(), 104U);
  EXPECT_EQ(task->options().batch, 256U);
  const auto model = task->make_model(0);
  EXPECT_EQ(parameters_of(*model), 4494000U);
  const Scores scores = task->evaluate(*model);
  EXPECT_NEAR(score(scores, "training_loss"), 9.2457, 0.05);
  EXPECT_NEAR(std::log(score(scores, "train_ppl")), 9.2457, 0.05);
  EXPECT_NEAR(std::log(score(scores, "valid_ppl")), 9.2457, 0.05);
}

// Over all batches the norm is about 1.0 with dropout, and a batch of 64 about 0.34 away; a few
// batches are enough to tell a wrong scale. Their own mean is nearer to them, by (1 - 1/K)^(1/2).
TEST(RealTask, PennTreebankGradientsAreOfThePublishedSize) {
  if (lacks("ptb")) GTEST_SKIP() << kNeedsData;
  torch::use_threads(0);
  constexpr std::size_t kBatches = 12;
  const auto task = open_task("ptb", {.batch = 64, .drop_last = true, .limit = kBatches});
  const auto model = task->make_model(0);
  BatchGradients gradients(*task, *model, true);
  const FullGradient full = full_gradient(gradients);
  EXPECT_NEAR(full.norm, 1.02, 0.1);
  EXPECT_NEAR(full.largest, 0.085, 0.025);
  const Tracking seen =
      track(gradients, full, {.methods = {tracking_method("cclip", 0.01)}, .steps = kBatches});
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
  EXPECT_NEAR(loss_of(*model, few->batch_in_order(0)), 10.5, 0.1);
  const auto encoder = open_task("wikitext2-encoder", {.batch = 16});
  const auto small = encoder->make_model(0);
  EXPECT_EQ(parameters_of(*small), 13828478U);
  EXPECT_NEAR(loss_of(*small, encoder->batch_in_order(0)), std::log(33278), 0.1);
}

}  // namespace
}  // namespace medgrad::language
