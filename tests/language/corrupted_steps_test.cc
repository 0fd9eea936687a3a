// Steps whose gradient is wrong: which ones, how, and that runs of them go on as if never stopped.
#include "language/corrupted_steps.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "language/flat_gradient.h"
#include "language/made_up.h"
#include "medgrad/attack.h"
#include "medgrad/error.h"
#include "medgrad/torch/runtime.h"
#include "testing.h"

namespace medgrad::language {
namespace {

using Kind = lab::Corruption::Kind;
using medgrad::testing::message_of;
using testing::lines_of;
using testing::made_up;
using testing::options_for;
using testing::path_of;
using testing::TemporaryFolder;

constexpr Kind kKinds[] = {Kind::scaled, Kind::bit_flip, Kind::shuffled_labels};

// A share of 0 and one of 1 are none and all; between them as many as asked for, give or take six
// standard deviations, whatever their kind.
TEST(CorruptedSteps, AreAFunctionOfSeedAndStep) {
  const auto steps = [](const lab::Corruption& how, std::uint64_t seed) {
    const CorruptedSteps bad(how, seed, made_up());
    std::vector<bool> all;
    for (std::uint64_t t = 0; t < 4000; ++t) all.push_back(bad.contains(t));
    return all;
  };
  EXPECT_EQ(std::ranges::count(steps({.share = 0}, 1), true), 0);
  EXPECT_EQ(std::ranges::count(steps({.share = 1}, 1), true), 4000);
  const std::vector<bool> some = steps({.share = 0.1}, 1);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(some, true)), 400, 114);
  for (const Kind kind : kKinds) EXPECT_EQ(steps({.kind = kind, .share = 0.1}, 1), some);
  EXPECT_NE(steps({.share = 0.1}, 2), some);
}

// A bit of the exponent of one component of the gradient as one vector, as BitFlip has it; a
// parameter without a gradient has one of zeros.
TEST(CorruptedSteps, FlipABitOfTheWholeGradient) {
  std::vector<at::Tensor> parameters;
  for (const std::int64_t size : {3, 40, 7})
    parameters.push_back(::torch::randn({size}).requires_grad_());
  for (const int k : {0, 1}) parameters[k].mutable_grad() = ::torch::randn_like(parameters[k]);
  std::vector<float> before(50), after(50), expected(50);
  CorruptedSteps steps({.kind = Kind::bit_flip, .share = 1, .flips = 2}, 5, made_up());
  for (std::uint64_t number = 0; number < 50; ++number) {
    copy_gradient(parameters, before);
    (void)attack<float>(BitFlip{.flips = 2, .seed = 5}, Rows<float>(before.data(), 1, 50), 1,
                        expected, {.round = number});
    steps.corrupt(parameters, number);
    copy_gradient(parameters, after);
    int flipped = 0;
    for (std::size_t i = 0; i < after.size(); ++i) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(after[i]), std::bit_cast<std::uint32_t>(expected[i]));
      flipped += std::popcount(std::bit_cast<std::uint32_t>(after[i]) ^
                               std::bit_cast<std::uint32_t>(before[i]));
    }
    EXPECT_TRUE(flipped == 2 || flipped == 0) << flipped;  // a bit flipped twice is as it was
  }
}

// The labels of a batch stay the same ones, those of a question together, and the inputs in place.
TEST(CorruptedSteps, ShuffleTheLabelsOfABatch) {
  for (const bool questions : {false, true}) {
    const Task& task = made_up(questions);
    const CorruptedSteps steps({.kind = Kind::shuffled_labels, .share = 1}, 3, task);
    const libtorch::Batch batch = task.batch_in_order(1);
    const libtorch::Batch other = steps.shuffled(batch, 4);
    EXPECT_TRUE(other.tokens.equal(batch.tokens));
    EXPECT_EQ(other.targets.sizes(), batch.targets.sizes());
    EXPECT_TRUE(other.targets.equal(steps.shuffled(batch, 4).targets));
    EXPECT_FALSE(other.targets.equal(batch.targets));
    EXPECT_FALSE(other.targets.equal(steps.shuffled(batch, 6).targets));
    const auto labels = [&](const libtorch::Batch& of) {
      const at::Tensor rows = task.labels(of).reshape({task.labels(of).size(0), -1});
      std::vector<std::vector<std::int64_t>> all;
      for (std::int64_t i = 0; i < rows.size(0); ++i) {
        const std::int64_t* const row = rows[i].data_ptr<std::int64_t>();
        all.emplace_back(row, row + rows.size(1));
      }
      std::ranges::sort(all);
      return all;
    };
    EXPECT_EQ(labels(other), labels(batch));
    EXPECT_EQ(labels(batch).front().size(), questions ? 2U : 1U);
  }
  const auto alone = open_task("synthetic-questions", {.size = Size::small, .batch = 1});
  EXPECT_EQ(message_of([&] {
              return CorruptedSteps({.kind = Kind::shuffled_labels, .share = 1}, 3, *alone)
                  .shuffles_labels();
            }),
            "a batch with one label has none to shuffle; choose a larger batch.");
}

// Of every kind, a share of the steps gives other numbers than none, the same ones again with two
// threads and in two parts; with several gradients in a step and several batches in a gradient too.
TEST(CorruptedSteps, GoOnAsIfNeverStopped) {
  for (const Kind kind : kKinds) {
    for (const bool questions : {false, true}) {
      for (const std::string word : {"vclip", "smgd-l1:n=3"}) {
        const TemporaryFolder folder;
        TrainingOptions options = options_for(word, path_of(folder) / "clean");
        if (word == "vclip") options.accumulate = 2;
        const Task& task = made_up(questions);
        (void)train(task, options);
        options.corrupted = {.kind = kind, .share = 0.5, .factor = 2};
        options.folder = path_of(folder) / "whole";
        libtorch::use_threads(questions || word != "vclip" ? 1 : 2);
        (void)train(task, options);
        libtorch::use_threads(1);
        options.folder = path_of(folder) / "parts";
        int starts = 0;
        TrainingResult parts;
        do {
          ASSERT_LT(++starts, 60);
          std::atomic<bool> stop = false;
          std::size_t batches = 0;
          options.resume = starts > 1;
          parts = train(
              task, options,
              [&](const TrainingProgress& p) { stop = !p.evaluated && ++batches > 5; }, &stop);
        } while (parts.interrupted);
        EXPECT_GT(starts, 2);
        EXPECT_EQ(lines_of(path_of(folder) / "parts"), lines_of(path_of(folder) / "whole"));
        // A median of three gradients does not notice a flipped bit in each of them.
        if (kind != Kind::bit_flip || word == "vclip") {
          EXPECT_NE(lines_of(path_of(folder) / "whole"), lines_of(path_of(folder) / "clean"))
              << lab::name(kind) << word;
        }
        options.corrupted.kind = kind == Kind::scaled ? Kind::bit_flip : Kind::scaled;
        options.resume = true;
        EXPECT_NE(message_of([&] {
                    return train(task, options).steps;
                  }).find("belongs to a run with another 'corrupted'"),
                  std::string::npos);
      }
    }
  }
}

// Nothing is learned from labels in another order: all of them here, of a logistic regression.
TEST(CorruptedSteps, ShuffledLabelsTeachNothing) {
  const auto task = open_task("logistic", {.batch = 32, .limit = 40});
  TrainingOptions options = options_for("sgd", {});
  options.lr = 0.5;
  options.epochs = 3;
  options.lr_schedule = {};
  const auto end = [&] {
    return score(train(*task, options).evaluations.back().scores, "training_loss");
  };
  EXPECT_LT(end(), 0.5);
  options.corrupted = {.kind = Kind::shuffled_labels, .share = 1};
  EXPECT_GT(end(), 0.65);  // log 2 is 0.69
}

}  // namespace
}  // namespace medgrad::language
