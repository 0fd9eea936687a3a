// Training runs: what they write, and that going on is as if never stopped.
#include "language/training.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "language/made_up.h"
#include "language/parts.h"
#include "language/task_table.h"
#include "medgrad/error.h"

namespace medgrad::language {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::bytes_of;
using testing::lines_of;
using testing::made_up;
using testing::options_for;
using testing::path_of;
using testing::TemporaryFolder;

TEST(Training, GoesOnAsIfNeverStopped) {
  for (const bool questions : {false, true}) {
    for (const std::string word : {"vclip", "cclip:tau=0.001", "adam", "median-adam",
                                   "cclip:tau=auto", "smgd-l1:n=3", "sgd"}) {
      const TemporaryFolder folder;
      const fs::path whole = path_of(folder) / "whole", parts = path_of(folder) / "parts";
      const TrainingResult expected = train(made_up(questions), options_for(word, whole));
      EXPECT_FALSE(expected.interrupted);
      // Stopped after every step, in the middle of evaluations, and between the batches of a step.
      TrainingResult result;
      int starts = 0;
      do {
        ASSERT_LT(++starts, 60);
        std::atomic<bool> stop = false;
        TrainingOptions options = options_for(word, parts);
        options.resume = starts > 1;
        std::size_t batches = 0;
        const auto stops = [&](const TrainingProgress& p) {
          const bool step_is_over = ++batches > (word.find("n=3") != word.npos ? 3U : 1U);
          stop = starts % 3 == 0 || (!p.evaluated && (step_is_over || starts % 3 == 2));
        };
        result = train(made_up(questions), options, stops, &stop);
      } while (result.interrupted);
      EXPECT_GT(starts, 3);
      EXPECT_EQ(result.steps, expected.steps);
      ASSERT_EQ(result.evaluations.size(), expected.evaluations.size());
      for (std::size_t i = 0; i < expected.evaluations.size(); ++i)
        EXPECT_EQ(result.evaluations[i].scores, expected.evaluations[i].scores) << word;
      EXPECT_EQ(lines_of(parts), lines_of(whole)) << word;
      EXPECT_EQ(bytes_of(parts / "config.json"), bytes_of(whole / "config.json"));
    }
  }
}

TEST(Training, StopsWithinAnEvaluationOnlyAfterSaving) {
  const TemporaryFolder folder;
  std::atomic<bool> stop = true;
  const TrainingResult result = train(made_up(), options_for("vclip", path_of(folder)), {}, &stop);
  EXPECT_TRUE(result.interrupted);
  EXPECT_TRUE(fs::exists(path_of(folder) / "checkpoint.safetensors"));
  EXPECT_FALSE(fs::exists(path_of(folder) / "checkpoint.safetensors.new"));
}

TEST(Training, CountsStepsAndLeavesOutWhatMakesNone) {
  TrainingOptions options = options_for("momentum", {});
  options.accumulate = 2;
  const TrainingResult result = train(made_up(), options);
  EXPECT_EQ(result.steps, 6U) << "7 batches make 3 steps of 2, twice";
  ASSERT_EQ(result.evaluations.size(), 3U);
  EXPECT_EQ(result.evaluations[1].step, 3U);
  options.steps = 4;
  const TrainingResult shorter = train(made_up(), options);
  EXPECT_EQ(shorter.steps, 4U);
  EXPECT_EQ(shorter.evaluations.back().step, 4U) << "looked at where it ends";
  options.accumulate = 8;
  EXPECT_THROW(train(made_up(), options), Error);
}

// All steps times 2 is twice the learning rate, bit for bit; none is no change; a share of them is
// something else, and goes on from a checkpoint as if it had never been stopped.
TEST(Training, CorruptedSteps) {
  TrainingOptions options = options_for("sgd", {});
  options.lr = 0.01;
  options.lr_schedule = {};
  const auto losses = [](const TrainingOptions& of) {
    std::vector<double> all;
    for (const Evaluation& one : train(made_up(), of).evaluations)
      all.push_back(score(one.scores, "training_loss"));
    return all;
  };
  TrainingOptions half = options, some = options;
  half.lr = options.lr / 2;
  half.corrupted = {.share = 1, .factor = 2};
  EXPECT_EQ(losses(half), losses(options));
  some.corrupted.share = 0;
  EXPECT_EQ(losses(some), losses(options));
  some.corrupted = {.share = 0.5, .factor = 2};
  const std::vector<double> whole = losses(some);
  EXPECT_NE(whole, losses(options));
  const TemporaryFolder folder;
  some.folder = path_of(folder);
  some.steps = 5;
  (void)train(made_up(), some);
  some.steps = 0;
  some.resume = true;
  EXPECT_EQ(losses(some).back(), whole.back());
}

// The mean of gradients of k batches is the gradient of their mean loss: accumulating is averaging.
TEST(Training, LearnsSomething) {
  TrainingOptions options = options_for("adam", {});
  options.lr = 0.01;
  options.epochs = 8;
  options.lr_schedule = {};
  const TrainingResult result = train(made_up(), options);
  EXPECT_LT(score(result.evaluations.back().scores, "training_loss"),
            score(result.evaluations.front().scores, "training_loss") - 0.5);
  EXPECT_NEAR(score(result.evaluations.front().scores, "training_loss"), std::log(2000), 0.5);
}

// What the paper did, and what a task is made of, are two tables with the same names.
TEST(Task, EveryOneHasItsParts) {
  for (const TaskInfo& info : tasks()) {
    const TaskParts& parts = parts_of(info.name);
    EXPECT_EQ(parts.task, info.name);
    EXPECT_FALSE(info.validation.empty());
    EXPECT_EQ(info.statements.empty(), info.name == "logistic") << "the paper has it not";
    if (!parts.data_set.empty()) {
      EXPECT_EQ(text::data_set(parts.data_set).name, parts.data_set);
    }
  }
}

TEST(Task, ShufflesQuestionsBySeedAndEpoch) {
  const Task& task = made_up(true);
  const auto first_of = [&](Epoch epoch) { return task.batch(epoch, 0).tokens; };
  EXPECT_TRUE(first_of({3, 1}).equal(first_of({3, 1})));
  EXPECT_FALSE(first_of({3, 1}).equal(first_of({4, 1})));
  EXPECT_FALSE(first_of({3, 1}).equal(first_of({3, 2})));
  EXPECT_FALSE(first_of({0, 0}).equal(task.batch_in_order(0).tokens));
  // A limit is a part of the data, the same in every epoch: here all of its questions.
  const auto sum_of = [&](auto&& batch) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < task.batches(); ++i)
      sum += batch(i).tokens.sum().template item<std::int64_t>();
    return sum;
  };
  EXPECT_EQ(task.batches(), 7U);
  EXPECT_EQ(sum_of([&](std::size_t i) {
              return task.batch({5, 6}, i);
            }),
            sum_of([&](std::size_t i) { return task.batch_in_order(i); }));
}

TEST(Training, TellsWhatIsLeft) {
  const TemporaryFolder folder;
  TrainingOptions options = options_for("vclip", path_of(folder));
  std::atomic<bool> stop = false;
  std::size_t told = 0;
  train(
      made_up(), options,
      [&](const TrainingProgress& p) {
        if (p.evaluated) {
          EXPECT_TRUE(*p.evaluated > 0 && *p.evaluated <= 1);
        }
        EXPECT_EQ(p.seconds_left.has_value(), p.loss.has_value()) << "not known before training";
        stop = p.step == 10;
        ++told;
      },
      &stop);
  EXPECT_GT(told, 10U);
  options.resume = true;
  stop = false;
  const TrainingResult result = train(made_up(), options, [&](const TrainingProgress& p) {
    if (!p.loss || p.evaluated) return;
    EXPECT_GE(p.step, 10U);
    EXPECT_GT(p.tokens_per_second, 0);
    EXPECT_GT(p.seconds_left.value(), 0) << "and not 0 s after a step of a run that was resumed";
  });
  const std::vector<Json> lines = [&] {
    std::vector<Json> all;
    std::istringstream in(bytes_of(path_of(folder) / "metrics.jsonl"));
    for (std::string line; std::getline(in, line);) all.push_back(Json::parse(line));
    return all;
  }();
  for (std::size_t i = 1; i < lines.size(); ++i)
    EXPECT_GE(lines[i].at("seconds"), lines[i - 1].at("seconds")) << "the clock goes on";
  EXPECT_GE(result.seconds, lines.back().at("seconds"));
}

TEST(Training, OneRunAtATimeInAFolder) {
  const TemporaryFolder folder;
  const TrainingOptions options = options_for("vclip", path_of(folder));
  bool tried = false;
  train(made_up(), options, [&](const TrainingProgress&) {
    if (tried) return;
    tried = true;
    try {
      train(made_up(), options);
      ADD_FAILURE() << "two runs in one folder";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("in use"), std::string::npos) << error.what();
    }
  });
  EXPECT_TRUE(tried);
}

// A loss that grows and stays finite ends a run long before its epoch does.
TEST(Training, DivergesWithinAnEpoch) {
  const std::unique_ptr<Task> task = open_task(
      "synthetic", {.size = Size::small, .batch = 8, .limit = 400, .evaluation_limit = 2});
  TrainingOptions options = options_for("sgd", {});
  options.lr = 300;
  options.epochs = 1;
  options.lr_schedule = {};
  const TrainingResult result = train(*task, options);
  EXPECT_TRUE(result.diverged);
  EXPECT_LT(result.steps, 300U);
  EXPECT_EQ(result.evaluations.size(), 1U);
}

TEST(Training, TellsDivergence) {
  const TemporaryFolder folder;
  TrainingOptions options = options_for("sgd", path_of(folder));
  options.lr = 1e6;
  options.lr_schedule = {};
  const TrainingResult result = train(made_up(), options);
  EXPECT_TRUE(result.diverged);
  EXPECT_LT(result.steps, 14U);
}

TEST(Training, RefusesOtherRuns) {
  const TemporaryFolder folder;
  TrainingOptions options = options_for("vclip", path_of(folder));
  options.steps = 2;
  options.lr_schedule = {};
  options.resume = true;
  EXPECT_THROW(train(made_up(), options), Error) << "nothing to resume";
  options.resume = false;
  train(made_up(), options);
  EXPECT_THROW(train(made_up(), options), Error) << "there is a run already";
  options.resume = true;
  options.steps = 3;
  EXPECT_EQ(train(made_up(), options).steps, 3U) << "longer than it was meant to be";
  const auto message = [&] {
    try {
      train(made_up(), options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  options.lr = 0.5;
  EXPECT_NE(message().find("another 'lr' (0.05, not 0.5)"), std::string::npos) << message();
  options.lr = 0.05;
  options.steps = 2;
  EXPECT_NE(message().find("at step 3 already, of 2"), std::string::npos) << message();
  options.steps = 3;
  options.lr = 0.05;
  const std::string good = bytes_of(path_of(folder) / "checkpoint.safetensors");
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, good.size() / 2}) {
    std::ofstream(path_of(folder) / "checkpoint.safetensors", std::ios::binary)
        << good.substr(0, size);
    EXPECT_THROW(train(made_up(), options), Error) << "cut off at " << size;
  }
}

// Data of the same size, with the same number of batches.
TEST(Training, RefusesOtherData) {
  const auto open = [](std::uint64_t seed) {
    return open_task(
        "synthetic",
        {.size = Size::small, .batch = 8, .data_seed = seed, .limit = 4, .evaluation_limit = 1});
  };
  EXPECT_EQ(open(1)->data_checksum(), open(1)->data_checksum());
  EXPECT_NE(open(1)->data_checksum(), open(2)->data_checksum());
  EXPECT_NE(made_up(true).data_checksum(), made_up().data_checksum());
  // A task that differs from another in its data alone.
  class Other final : public Task {
   public:
    const TaskInfo& info() const override { return made_up().info(); }
    const TaskOptions& options() const override { return made_up().options(); }
    std::string description() const override { return made_up().description(); }
    std::string data_checksum() const override { return "0123456789abcdef"; }
    std::shared_ptr<libtorch::Model> make_model(std::uint64_t seed) const override {
      return made_up().make_model(seed);
    }
    std::size_t batches() const override { return made_up().batches(); }
    libtorch::Batch batch(const Epoch& epoch, std::size_t i) const override {
      return made_up().batch(epoch, i);
    }
    libtorch::Batch batch_in_order(std::size_t i) const override {
      return made_up().batch_in_order(i);
    }
    Scores evaluate(libtorch::Model& model, const Progress& done) const override {
      return made_up().evaluate(model, done);
    }
  };
  const TemporaryFolder folder;
  TrainingOptions options = options_for("vclip", path_of(folder));
  options.steps = 2;
  train(made_up(), options);
  options.resume = true;
  try {
    train(Other(), options);
    ADD_FAILURE() << "other data was taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("another 'data_checksum'"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(train(made_up(), options).steps, 2U);
}

// Clipped tensor by tensor, every tensor moves by lr tau at most; as one vector, all do together.
TEST(Training, ClipsAllAsOneOrEveryTensorByItself) {
  for (const bool per_tensor : {false, true}) {
    const TemporaryFolder folder;
    TrainingOptions options = options_for("vclip:tau=0.001", path_of(folder));
    options.lr_schedule = {};
    options.steps = 1;
    options.per_tensor = per_tensor;
    train(made_up(), options);
    const Json line = lines_of(path_of(folder)).at(1);
    ASSERT_EQ(line.at("event"), "step");
    const double norm = line.at("increment_norm"), beta = line.at("effective_beta");
    const auto tensors = static_cast<double>(made_up().make_model(0)->parameters().size());
    // Of m = 0 and gradients that are longer than tau, all but those of biases without one.
    const double moved = (1 - beta) * norm / 0.001;
    if (per_tensor) {
      EXPECT_GT(moved, std::sqrt(tensors / 2));
      EXPECT_LE(moved, std::sqrt(tensors) * (1 + 1e-6));
      options.resume = true;
      options.per_tensor = false;
      EXPECT_THROW(train(made_up(), options), Error);
    } else {
      EXPECT_NEAR(moved, 1, 1e-6);
    }
  }
}

TEST(LanguageMethod, ReadsWords) {
  const Method plain = parse_method("vclip");
  EXPECT_EQ(plain.label, "VClip");
  EXPECT_EQ(plain.line, "vclip cold=0 tau=0.1");
  EXPECT_EQ(parse_method("vclip:tau=auto").line,
            "vclip cold=0 level=0.2 rate=0.1 tau=auto theta=0.1");
  const Method huber = parse_method("huber:mu=1.3:tau=0.5");
  EXPECT_EQ(huber.label, "Huber, mu = 1.3, tau = 0.5");
  EXPECT_EQ(parse_method("sgd-m").key, "sgd-m");
  EXPECT_EQ(parse_method("momentum").key, "sgd-m");
  const auto online = std::get<OnlineGradient>(parse_method("sgd-m").gradient);
  EXPECT_NEAR(1 / (1 + tau_of(online.method)), 0.9, 1e-15) << "beta of the paper";
  for (const std::string bad : {"", "vclop", "vclip:", "vclip:tau=1:", "vclip:tau", "vclip:tau=x",
                                "vclip:tau=-1", "vclip:q=1"})
    EXPECT_THROW((void)parse_method(bad), Error) << bad;
}

// The default of tau on language tasks is one number, for the table and for who makes a method.
TEST(LanguageMethod, TauIsSaidOnce) {
  for (const Entry<GradientMethod>& entry : optimizers()) {
    const Entry<GradientMethod>& ours = find_training_method(entry.name);
    ASSERT_EQ(ours.parameters.size(), entry.parameters.size()) << entry.name;
    for (const Parameter& parameter : entry.parameters) {
      const double fallback = ours.find(parameter.name)->fallback;
      if (parameter.name == "tau") {
        EXPECT_EQ(fallback, entry.name == "momentum" ? 1.0 / 9 : 0.1) << entry.name;
      } else if (!parameter.required()) {
        EXPECT_EQ(fallback, parameter.fallback) << entry.name;
      }
    }
  }
  EXPECT_EQ(find_training_method("sgd-m").name, "momentum");
  EXPECT_NE(training_tau_sentence().find("tau is 0.1"), std::string::npos);
}

}  // namespace
}  // namespace medgrad::language
