// What claims are made of: diverged runs lose every comparison, and a claim on a rate can fail.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lab/experiments.h"
#include "lab/findings/lookup.h"
#include "lab/studies.h"

namespace medgrad::lab {
namespace {

using testing::built_in;
using testing::run;
using testing::with;
constexpr double kInf = std::numeric_limits<double>::infinity();

Group group(const std::string& method, std::vector<double> values) {
  Group made{.method = method, .key = method, .metric = "final_objective", .runs = values.size()};
  made.values = std::move(values);
  summarise(made);
  return made;
}

TEST(Comparisons, ADivergedRunIsInfinite) {
  Results results;
  results.groups = {group("good", {3, 3, 3, 3, 3}), group("lucky", {1, kDiverged, 1, 1, kFailed}),
                    group("lost", {1, kDiverged, kDiverged, kDiverged, 2})};
  EXPECT_EQ(mean_of(results, "good", "final_objective"), 3);
  EXPECT_EQ(mean_of(results, "lucky", "final_objective"), kInf);
  EXPECT_EQ(median_of(results, "lucky", "final_objective"), 1);
  EXPECT_EQ(median_of(results, "lost", "final_objective"), kInf);
  EXPECT_TRUE(std::isnan(mean_of(results, "none", "final_objective")));
  // What is drawn and written is about the runs there are.
  EXPECT_EQ(find(results, "lucky", "final_objective")->last().mean, 1);
}

const Claim* claim_of(const Results& results, const std::string& words) {
  for (const Claim& claim : results.claims)
    if (claim.claim.find(words) != std::string::npos) return &claim;
  return nullptr;
}

// A method that diverges in one run of five is not the best, however well the others went.
TEST(Comparisons, DivergenceDecidesAClaim) {
  const Experiment experiment = read_experiment(built_in("least-squares-s1"), "x.json");
  const auto judged = [&](std::vector<double> l2) {
    Results results;
    for (const char* name : {"smgd-mean", "vclip", "cclip", "huber", "clipped-mean"})
      results.groups.push_back(group(name, {5, 5, 5, 5, 5}));
    results.groups.push_back(group("smgd-l1", {1, 1, 1, 1, 1}));
    results.groups.push_back(group("smgd-l2", std::move(l2)));
    for (Group& one : std::vector<Group>(results.groups)) {
      one.metric = "objective";
      one.steps = {1};
      results.groups.push_back(one);
    }
    least_squares_s1_findings(experiment, results);
    return claim_of(results, "the sample medians attain")->holds;
  };
  EXPECT_EQ(judged({1, 1, 1, 1, 1}), true);
  EXPECT_EQ(judged({1, 1, kDiverged, 1, 1}), false);
}

// ---- Rates --------------------------------------------------------------------------------------

constexpr auto kFalls = "on a smooth function the mean of |grad f|^2 falls at least as fast";
constexpr auto kBelow = "on a smooth function the mean of |grad f|^2 stays below";

// The built-in experiment with means of its smooth part by T.
Results smooth_part(double (*mean)(double steps), const Node& document) {
  const Experiment experiment = read_experiment(document, "rates.json");
  Results results;
  for (const double steps : {300, 1000, 3000, 10000, 30000}) {
    Group one = group("smgd-l1", {mean(steps)});
    one.metric = "final_average_gradient_sq";
    one.axes = {{"part", "smooth"}, {"steps", steps}};
    results.groups.push_back(one);
  }
  rates_findings(experiment, results);
  return results;
}

TEST(Rates, TheClaimOnTheRateCanFail) {
  const auto holds = [](double (*mean)(double)) {
    const Results results = smooth_part(mean, built_in("rates"));
    return std::pair(claim_of(results, kBelow)->holds, claim_of(results, kFalls)->holds);
  };
  using Pair = std::pair<std::optional<bool>, std::optional<bool>>;
  EXPECT_EQ(holds([](double steps) { return 5 / std::sqrt(steps); }), Pair(true, true));
  EXPECT_EQ(holds([](double steps) { return 40 / steps; }), Pair(true, true));
  EXPECT_EQ(holds([](double) { return 0.1; }), Pair(true, false));  // below, and does not move
  EXPECT_EQ(holds([](double steps) { return 0.5 * std::pow(steps, -0.104); }), Pair(true, false));
  EXPECT_EQ(holds([](double steps) { return 500 / std::sqrt(steps); }), Pair(false, true));
  EXPECT_EQ(holds([](double) { return kDiverged; }).first, false);
}

// In ten dimensions the largest step allowed is so small that the bound is above the value at the
// start for every T here: standing still keeps it, and nothing is ticked.
TEST(Rates, ABoundAboveTheStartSaysNothing) {
  Node document = built_in("rates");
  Node& part = std::get<Node::List>(document.find("part")->value).front();
  *part.find("objective")->find("d") = Node{10.0, 1};
  *part.find("eta")->find("value") = Node{0.00613, 1};
  const Results results = smooth_part([](double) { return 9.0; }, document);
  EXPECT_EQ(claim_of(results, kFalls)->holds, std::nullopt);
  // Nor is there a bound for a step that the theorem does not allow.
  *part.find("eta")->find("value") = Node{50.0, 1};
  const Results beyond = smooth_part([](double) { return 9.0; }, document);
  EXPECT_EQ(claim_of(beyond, kBelow)->holds, std::nullopt);
  EXPECT_EQ(beyond.figures.front().panels.front().series.size(), 1U);
}

// The bound is that of the file's settings: with half the start it is less.
TEST(Rates, TheBoundFollowsTheFile) {
  const auto bound = [](const Node& document) {
    const Results results = smooth_part([](double) { return 0.1; }, document);
    return results.figures.front().panels.front().series.back().y;
  };
  const std::vector<double> whole = bound(built_in("rates")),
                            half = bound(with(built_in("rates"), {{"w0", "0.5"}}));
  ASSERT_EQ(whole.size(), 5U);
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_LT(half[i], whole[i] / 3);
}

}  // namespace
}  // namespace medgrad::lab
