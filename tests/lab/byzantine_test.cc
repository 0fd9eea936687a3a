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
  problem.eta = ConstantSchedule{.value = 0.2};
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
  const Attack flip = SignFlip{};
  const ByzantineOutcome end = run_byzantine(problem, data, Mean{}, &flip, 2, 1);
  EXPECT_NEAR(end.loss, data.loss(0, honest, false, w), 1e-12);
  EXPECT_NEAR(end.worse, std::max(end.loss, data.loss(honest, 7, true, w)), 1e-12);
}

// An optimal strength is found against the rule in every step, and does more harm to the mean than
// any other: all liars are 256 times as long as the mean of the honest.
TEST(Byzantine, OptimalStrengths) {
  const ByzantineProblem problem = small();
  const ByzantineData data(problem, 3, 1);
  const auto loss = [&](const Rule& rule, const Attack& attack) {
    return run_byzantine(problem, data, rule, &attack, 2, 1).loss;
  };
  EXPECT_EQ(loss(Mean{}, Ipm{kOptimal}), loss(Mean{}, Ipm{256}));
  EXPECT_GT(loss(Mean{}, Ipm{kOptimal}), 1e3 * loss(Median{}, Ipm{kOptimal}));
}

// With f = 0, or with liars who are silent, there are the honest alone.
TEST(Byzantine, WithoutLiarsItIsTheirMean) {
  const ByzantineProblem problem = small();
  const ByzantineData data(problem, 3, 0);
  const double all = run_byzantine(problem, data, Mean{}, nullptr, 0, 0).loss;
  EXPECT_NEAR(run_byzantine(problem, data, make_rule("trimmed-mean:f=0"), nullptr, 0, 0).loss, all,
              1e-12);
  EXPECT_LT(all, data.loss(0, 7, false, data.start()) / 5);
  EXPECT_LT(run_byzantine(problem, data, Mean{}, nullptr, 3, 0).loss,
            data.loss(0, 4, false, data.start()) / 5);
  const Attack silent = Silent{};
  EXPECT_EQ(run_byzantine(problem, data, Median{}, &silent, 3, 0).loss,
            run_byzantine(problem, data, Median{}, nullptr, 3, 0).loss);
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
  "rules": ["mean", "median", "krum", {"name": "smea", "most_f": 1}, "trimmed-mean"], "f": [0, 1, 4],
  "attacks": ["sign-flip", "nan", "label-flip", {"name": "ipm", "strength": 20}, "silent", "bit-flip",
              "alie:strength=optimal"],
  "trade_off": {"d": 4, "trials": 60, "f": [0, 2]}})";

TEST(Byzantine, HasACellForWhatEachRuleBears) {
  const Results r = testing::run(parse_document(kDocument, "test.json"));
  const auto cells = [&](std::string_view rule) {
    return std::ranges::count_if(
        r.groups, [&](const Group& g) { return g.method == rule && g.metric == "relative_loss"; });
  };
  EXPECT_EQ(cells("median"), 1 + 7 + 7);
  EXPECT_EQ(cells("krum"), 1 + 7);  // 2 f + 2 < 9
  EXPECT_EQ(cells("smea"), 1 + 7);
  // Rules that are told how many rows are missing have nothing to bear; the trimmed mean is the
  // mean.
  EXPECT_NEAR(
      group(r, "trimmed-mean", "relative_loss", {{"attack", "silent"}, {"f", 4.0}}).last().mean, 1,
      1e-12);
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

// The claims of the small document with other keys.
std::vector<Claim> claims_with(const std::vector<std::pair<std::string, std::string>>& keys) {
  return testing::run(testing::with(parse_document(kDocument, "test.json"), keys)).claims;
}
bool holds(const std::vector<Claim>& all, std::string_view part) {
  const auto found = std::ranges::find_if(
      all, [&](const Claim& one) { return one.claim.find(part) != std::string::npos; });
  EXPECT_NE(found, all.end()) << part;
  return found != all.end() && found->holds.value_or(false);
}

// The claims can fail: rules that are told of no liars do not bear any.
TEST(Byzantine, ClaimsFailWhereTheyMust) {
  const auto claims = [](const std::string& rules) {
    return claims_with({{"rules", rules}, {"part", R"([{"name": "regression"}])"}, {"seeds", "1"}});
  };
  EXPECT_TRUE(holds(claims(R"(["mean", "median"])"), "every robust rule that was tried converges"));
  const auto weak = claims(R"(["mean", {"name": "centered-clipping", "clip": 1e9}])");
  EXPECT_FALSE(holds(weak, "every robust rule that was tried converges"));
  EXPECT_TRUE(holds(weak, "ruin the mean"));
  // It says what was tried.
  const auto few = claims(R"(["mean", "median", {"name": "smea", "most_f": 1}])");
  EXPECT_TRUE(holds(few, "with f up to 4 (less where its bound is below) every robust rule"));
  EXPECT_TRUE(holds(few, "(tried: smea with f = 1)"));
  EXPECT_FALSE(holds(claims(R"([{"name": "median", "label": "mean"}, "krum"])"), "ruin the mean"));
}

TEST(Byzantine, ClaimsOnChosenStrengthsAndBrokenWorkers) {
  const auto claims = [](const std::string& rules) {
    return claims_with({{"rules", rules},
                        {"part", R"([{"name": "chosen strengths, broken workers"}])"},
                        {"f", "3"},
                        {"attacks", R"([
      {"name": "alie", "strength": "optimal", "label": "alie optimal"},
      {"name": "ipm", "strength": "optimal", "label": "ipm optimal"},
      "constant", "inf", "bit-flip", "silent"])"}});
  };
  const char *const chosen = "choose their strength", *const broken = "broken workers";
  const auto good = claims(R"(["mean", "median"])");
  EXPECT_TRUE(holds(good, chosen));
  EXPECT_TRUE(holds(good, broken));
  // A krum that is a median is not deceived; one who follows everybody is, and breaks.
  EXPECT_FALSE(holds(claims(R"(["mean", {"name": "median", "label": "krum"}])"), chosen));
  const auto weak = claims(R"(["mean", {"name": "centered-clipping", "clip": 1e9}])");
  EXPECT_FALSE(holds(weak, chosen));
  EXPECT_FALSE(holds(weak, broken));
  EXPECT_FALSE(holds(claims(R"([{"name": "median", "label": "mean"}, "krum"])"), broken));
}

TEST(Byzantine, SentencesThatHelp) {
  const auto error = [](const std::string& key, const std::string& value) {
    return message_of([&] {
      return testing::run(testing::with(parse_document(kDocument, "test.json"), {{key, value}}));
    });
  };
  EXPECT_NE(error("attacks", R"(["sign-flop"])").find("Did you mean 'sign-flip'?"),
            std::string::npos);
  EXPECT_NE(error("attacks", R"(["alie:strength=much"])").find("it must be a number or optimal"),
            std::string::npos);
  EXPECT_NE(error("attacks", R"(["nan:strength=1"])").find("strength"), std::string::npos);
  EXPECT_NE(error("attacks", R"(["ipm", "ipm:strength=2"])").find("are called 'ipm'"),
            std::string::npos);
  EXPECT_NE(error("rules", R"(["medain"])").find("Did you mean 'median'?"), std::string::npos);
  EXPECT_NE(error("rules", R"(["median", "median"])").find("two methods are called 'median'"),
            std::string::npos);
  EXPECT_NE(error("f", "9").find("it must be a whole number from 0 to 8"), std::string::npos);
  EXPECT_NE(error("worker", R"("emma")").find("is not a worker's method"), std::string::npos);
  EXPECT_NE(error("worker", R"({"name": "ema", "tau": 2})").find("'tau' is 2; it must satisfy"),
            std::string::npos);
  EXPECT_NE(error("eta", R"("cosine")").find("'value' is missing; cosine needs it"),
            std::string::npos);
  EXPECT_NE(error("rules", R"(["lp-median"])").find("'p' is missing; lp-median needs it"),
            std::string::npos);
  EXPECT_NE(error("rules", R"([{"name": "median", "label": ""}])").find("'label' is empty"),
            std::string::npos);
  EXPECT_NE(error("objective", R"("least-squares:rows=0")").find("'rows' is 0;"),
            std::string::npos);
  EXPECT_NE(error("objective", R"({"name": "quadratic"})").find("least-squares"),
            std::string::npos);
}

}  // namespace
}  // namespace medgrad::lab
