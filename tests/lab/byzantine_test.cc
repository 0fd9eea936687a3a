// Rules against liars: the runs by hand, the study's grid, and its claims where they must fail.
#include "lab/byzantine.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lab/studies.h"
#include "medgrad/registry.h"
#include "medgrad/sample.h"
#include "testing.h"

namespace medgrad::lab {
namespace {

using medgrad::testing::message_of;
using testing::group;

ByzantineProblem small() {
  ByzantineProblem problem;
  problem.d = 3;
  problem.workers = 7;
  problem.rows = 16;
  problem.batch = 4;
  problem.steps = 12;
  problem.eta = {.value = 0.2};
  problem.worker = make_worker_method("ema:tau=0.5");
  return problem;
}

TEST(Byzantine, IsItsFormula) {
  const ByzantineProblem problem = small();
  const ByzantineData data(problem, 3, 1);
  const std::size_t honest = 5;
  std::vector<double> w = data.start(), g(3);
  std::vector<std::vector<double>> v(7, std::vector<double>(3));
  for (std::size_t t = 0; t < problem.steps; ++t) {
    std::vector<double> sum(3);
    for (std::size_t i = 0; i < honest; ++i) {
      data.gradient(i, t, false, w, g);
      for (std::size_t j = 0; j < 3; ++j) {
        v[i][j] = 0.5 * v[i][j] + 0.5 * g[j];
        sum[j] += v[i][j];
      }
    }
    // The mean of seven, two of which send minus the mean of the others.
    for (std::size_t j = 0; j < 3; ++j) w[j] -= 0.2 * (sum[j] - 2 * sum[j] / honest) / 7;
  }
  const Lie flip{Lie::Kind::sign_flip};
  const ByzantineOutcome end = run_byzantine(problem, data, Mean{}, &flip, 2, 3, 1);
  EXPECT_NEAR(end.loss, data.loss(0, honest, false, w), 1e-12);
  EXPECT_NEAR(end.worse, std::max(end.loss, data.loss(honest, 7, true, w)), 1e-12);
}

// With f = 0, or with liars who are silent, there are the honest alone.
TEST(Byzantine, WithoutLiarsItIsTheirMean) {
  const ByzantineProblem problem = small();
  const ByzantineData data(problem, 3, 0);
  const double all = run_byzantine(problem, data, Mean{}, nullptr, 0, 3, 0).loss;
  EXPECT_NEAR(run_byzantine(problem, data, make_rule("trimmed-mean:f=0"), nullptr, 0, 3, 0).loss,
              all, 1e-12);
  EXPECT_LT(all, data.loss(0, 7, false, data.start()) / 5);
  EXPECT_LT(run_byzantine(problem, data, Mean{}, nullptr, 3, 3, 0).loss,
            data.loss(0, 4, false, data.start()) / 5);
}

TEST(Byzantine, SharesAreAlikeUnlessSkewed) {
  ByzantineProblem problem = small();
  problem.rows = 400;
  // The losses of all shares at the start have a relative standard deviation of sqrt(2/400) = 7 %.
  const auto spread = [&] {
    const ByzantineData data(problem, 5, 0);
    double least = 1e300, most = 0;
    for (std::size_t i = 0; i < problem.workers; ++i) {
      least = std::min(least, data.loss(i, i + 1, false, data.start()));
      most = std::max(most, data.loss(i, i + 1, false, data.start()));
      EXPECT_EQ(data.loss(i, i + 1, false, data.start()), data.loss(i, i + 1, true, data.start()));
    }
    return most / least;
  };
  EXPECT_LT(spread(), 1.5);
  problem.skew = 1;
  EXPECT_GT(spread(), 2);
}

constexpr std::string_view kDocument = R"({
  "experiment": "small", "kind": "byzantine", "workers": 9, "steps": 25, "seeds": 2,
  "eta": 0.3, "worker": "ema:tau=0.3", "objective": {"name": "least-squares", "d": 3},
  "rules": ["mean", "median", "krum", {"name": "smea", "most_f": 1}], "f": [0, 1, 4],
  "attacks": ["sign-flip", "nan", "label-flip", {"name": "ipm", "strength": 20}],
  "trade_off": {"d": 4, "trials": 60, "f": [0, 2]}})";

TEST(Byzantine, HasACellForWhatEachRuleBears) {
  const Results r = testing::run(parse_document(kDocument, "test.json"));
  const auto cells = [&](std::string_view rule) {
    return std::ranges::count_if(
        r.groups, [&](const Group& g) { return g.method == rule && g.metric == "relative_loss"; });
  };
  EXPECT_EQ(cells("median"), 1 + 4 + 4);
  EXPECT_EQ(cells("krum"), 1 + 4);  // 2 f + 2 < 9
  EXPECT_EQ(cells("smea"), 1 + 4);
  EXPECT_NEAR(group(r, "mean", "relative_loss", {{"attack", "none"}, {"f", 0.0}}).last().mean, 1,
              1e-12);
  EXPECT_GT(group(r, "mean", "relative_loss", {{"attack", "ipm"}, {"f", 1.0}}).last().mean_of_all(),
            10);
  EXPECT_LT(group(r, "median", "relative_loss", {{"attack", "ipm"}, {"f", 1.0}}).last().mean, 2);
  EXPECT_EQ(group(r, "median", "relative_variance", {{"f", 2.0}}).runs, 20U);
}

TEST(Byzantine, SameForAnyThreads) {
  ThreadPool pool(3);
  const Node document = testing::with(parse_document(kDocument, "test.json"),
                                      {{"objective", R"([{"name": "least-squares", "d": 2},
                                                         {"name": "network", "d": 2, "hidden": 2}])"},
                                       {"skew", "[0, 1]"}});
  EXPECT_EQ(results_csv(testing::run(document)), results_csv(testing::run(document, &pool)));
}

// The claims can fail: rules that are told of no liars do not bear any.
TEST(Byzantine, ClaimsFailWhereTheyMust) {
  const auto claims = [](const std::string& rules) {
    return testing::run(
               testing::with(
                   parse_document(kDocument, "test.json"),
                   {{"rules", rules}, {"part", R"([{"name": "regression"}])"}, {"seeds", "1"}}))
        .claims;
  };
  const auto holds = [](const std::vector<Claim>& all, std::string_view part) {
    const auto found = std::ranges::find_if(
        all, [&](const Claim& one) { return one.claim.find(part) != std::string::npos; });
    EXPECT_NE(found, all.end()) << part;
    return found != all.end() && found->holds.value_or(false);
  };
  EXPECT_TRUE(holds(claims(R"(["mean", "median"])"), "every robust rule converges"));
  const auto weak = claims(R"(["mean", {"name": "centered-clipping", "clip": 1e9}])");
  EXPECT_FALSE(holds(weak, "every robust rule converges"));
  EXPECT_TRUE(holds(weak, "ruin the mean"));
  EXPECT_FALSE(holds(claims(R"([{"name": "median", "label": "mean"}, "krum"])"), "ruin the mean"));
}

TEST(Byzantine, SentencesThatHelp) {
  const auto error = [](const std::string& key, const std::string& value) {
    return message_of([&] {
      return testing::run(testing::with(parse_document(kDocument, "test.json"), {{key, value}}));
    });
  };
  EXPECT_NE(error("attacks", R"(["sign-flop"])").find("Did you mean 'sign-flip'?"),
            std::string::npos);
  EXPECT_NE(error("rules", R"(["medain"])").find("Did you mean 'median'?"), std::string::npos);
  EXPECT_NE(error("rules", R"(["median", "median"])").find("two methods are called 'median'"),
            std::string::npos);
  EXPECT_NE(error("f", "9").find("it must be a whole number from 0 to 8"), std::string::npos);
  EXPECT_NE(error("worker", R"("emma")").find("is not a worker's method"), std::string::npos);
  EXPECT_NE(error("objective", R"({"name": "quadratic"})").find("least-squares"),
            std::string::npos);
}

}  // namespace
}  // namespace medgrad::lab
