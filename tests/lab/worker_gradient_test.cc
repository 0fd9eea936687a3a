// Optimisers of n workers: their grammar, and what they are by formula.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "lab/studies.h"
#include "medgrad/error.h"
#include "medgrad/optimize.h"
#include "testing.h"

namespace medgrad {
namespace {

using testing::message_of;
using testing::random_vector;
using testing::same_bits;
using testing::view;

GradientMethod make(std::string_view text) {
  const MethodText given = parse_method_text(text);
  const auto& entry = find_optimizer(given.name);
  return entry.make(read_parameters(entry.name, entry.parameters, given.parameters));
}

TEST(WorkerGradient, TextsAreWorkersAndRules) {
  const auto made = std::get<WorkerGradient>(make("workers-ema:tau=0.1+nnm+trimmed-mean:f=2:n=20"));
  EXPECT_EQ(describe(made.worker), describe(make_worker_method("ema:tau=0.1")));
  EXPECT_EQ(describe(made.rule), describe(make_rule("nnm+trimmed-mean:f=2")));
  EXPECT_EQ(made.n, 20U);
  EXPECT_EQ(samples_of(made), 20U);
  // What the worker's part leaves open may follow the last part.
  const auto open = std::get<WorkerGradient>(make("workers-ef21-top-k+median:k=3"));
  EXPECT_EQ(describe(open.worker), "ef21 top-k k=3");
  // A parameter of both goes to both, unless the worker has its own.
  const auto both = std::get<WorkerGradient>(make("workers-huber+huber-location:mu=3")),
             own = std::get<WorkerGradient>(make("workers-huber:mu=2+huber-location:mu=3"));
  EXPECT_EQ(describe(both.worker), describe(make_worker_method("huber:mu=3")));
  EXPECT_EQ(describe(own.worker), describe(make_worker_method("huber:mu=2")));
  EXPECT_EQ(describe(own.rule), describe(make_rule("huber-location:mu=3")));
  EXPECT_EQ(&find_optimizer("workers-ema+median"), &find_optimizer("workers-ema+median"));
}

TEST(WorkerGradient, SentencesThatHelp) {
  EXPECT_EQ(message_of([] { return make("workers-ema"); }),
            "'workers-ema' has no rule; write one after it, as in 'workers-ema+median'.");
  for (const std::string name : {"workers-+median", "workers-"})
    EXPECT_EQ(message_of([&] { return find_optimizer(name).name; }),
              "'" + name +
                  "' has no worker's method; write one after 'workers-', as in "
                  "'workers-ema+median'.");
  EXPECT_EQ(message_of([] { return make("workers-nothing+median"); }).find("'nothing' is not a "),
            0U);
  EXPECT_EQ(message_of([] { return make("workers-ema+nothing"); }).find("'nothing' is not an agg"),
            0U);
  EXPECT_EQ(message_of([] { return make("workers-ema:tau=2+median"); }),
            "tau is 2; it must satisfy 0 < tau <= 1.");
  EXPECT_THROW(validate(make("workers-ema+krum:f=2:n=4")), Error);
}

// Workers that send what they get are a sample estimator, bit for bit.
TEST(WorkerGradient, WithoutAMethodOfTheirOwnIsASample) {
  for (const char* rule : {"median", "nnm+trimmed-mean:f=2", "bucketing+geometric-median",
                           "centered-clipping:clip=0.5"}) {
    Optimizer workers(make(std::string("workers-gradient+").append(rule).append(":n=7")), 6),
        sample(make(std::string("smgd-").append(rule).append(":n=7")), 6);
    std::mt19937_64 rng(1);
    std::vector<double> w(6, 1), u(6, 1);
    for (int t = 0; t < 20; ++t) {
      std::vector<double> g = random_vector<double>(rng, 42, t);
      if (t == 10) g[3] = std::numeric_limits<double>::quiet_NaN();
      workers.step(w, 0.1, Rows<double>(g, 7, 6));
      sample.step(u, 0.1, Rows<double>(g, 7, 6));
    }
    EXPECT_TRUE(same_bits(view(w), view(u))) << rule;
  }
}

// Worker momentum and a trimmed mean, and error feedback and a mean, by hand.
TEST(WorkerGradient, IsItsFormula) {
  constexpr std::size_t kN = 5, kD = 3;
  Optimizer momentum(make("workers-ema:tau=0.25+trimmed-mean:f=1:n=5"), kD),
      feedback(make("workers-ef21-top-k:k=1+mean:n=5"), kD);
  std::mt19937_64 rng(2);
  std::vector<double> w(kD, 1), u(kD, 1), by_hand(kD, 1), fed(kD, 1);
  std::vector<std::vector<double>> v(kN, std::vector<double>(kD)), e = v;
  for (int t = 0; t < 25; ++t) {
    const std::vector<double> g = random_vector<double>(rng, kN * kD, 0);
    momentum.step(w, 0.1, Rows<double>(g, kN, kD));
    feedback.step(u, 0.1, Rows<double>(g, kN, kD));
    for (std::size_t i = 0; i < kN; ++i) {
      std::size_t most = 0;
      for (std::size_t j = 0; j < kD; ++j) {
        const double x = g[i * kD + j];
        v[i][j] = 0.75 * v[i][j] + 0.25 * x;
        if (std::abs(x - e[i][j]) > std::abs(g[i * kD + most] - e[i][most])) most = j;
      }
      e[i][most] = g[i * kD + most];
    }
    for (std::size_t j = 0; j < kD; ++j) {
      std::vector<double> column;
      double sum = 0;
      for (std::size_t i = 0; i < kN; ++i) {
        column.push_back(v[i][j]);
        sum += e[i][j];
      }
      std::ranges::sort(column);
      by_hand[j] -= 0.1 * (column[1] + column[2] + column[3]) / 3;
      fed[j] -= 0.1 * sum / kN;
    }
    for (std::size_t j = 0; j < kD; ++j) {
      EXPECT_NEAR(w[j], by_hand[j], 1e-12);
      EXPECT_NEAR(u[j], fed[j], 1e-12);
    }
  }
}

// A worker whose gradients are NaN from now on keeps what it had; the others go on.
TEST(WorkerGradient, OutlivesNaN) {
  Optimizer optimizer(make("workers-ema:tau=0.5+median:n=3"), 2);
  std::vector<double> w = {0, 0};
  optimizer.step(w, 0, Rows<double>(std::vector<double>{1, 1, 2, 2, 3, 3}, 3, 2));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int t = 0; t < 60; ++t)
    optimizer.step(w, 0, Rows<double>(std::vector<double>{nan, nan, 2, nan, 3, 3}, 3, 2));
  EXPECT_NEAR(optimizer.estimate()[0], 2, 1e-12);  // of 0.5, 2, 3
  EXPECT_NEAR(optimizer.estimate()[1], 1, 1e-12);  // of 0.5, 1, 3
}

// In an experiment's file, beside the others, and tau may change there.
TEST(WorkerGradient, IsAMethodOfExperiments) {
  const auto document = parse_document(R"({
    "experiment": "workers", "title": "t", "objective": {"name": "quadratic", "d": 4},
    "noise": {"name": "stable", "alpha": 1.1}, "eta": 0.05, "steps": 300, "seeds": 6,
    "methods": [
      "smgd-mean:n=7",
      {"name": "workers-ema+nnm+median", "f": 2, "n": 7, "tau": [0.1, 0.5]},
      {"name": "workers-clip21+mean", "label": "Clip21", "tau": "cosine:value=0.1", "n": 7}]})",
                                       "test.json");
  ThreadPool pool(3);
  const lab::Results alone = lab::testing::run(document), many = lab::testing::run(document, &pool);
  EXPECT_EQ(lab::results_csv(alone), lab::results_csv(many));
  const double mean = lab::testing::group(alone, "smgd-mean", "final_objective").last().median;
  EXPECT_LT(lab::testing::group(alone, "Clip21", "final_objective").last().median, mean / 2);
}

}  // namespace
}  // namespace medgrad
