// Gradients of any scale, and steps with a wrong one: the keys, and the experiments made of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "lab/studies.h"
#include "medgrad/error.h"
#include "testing.h"

namespace medgrad::lab {
namespace {

using medgrad::testing::message_of;
using testing::built_in;
using testing::group;
using testing::run;
using testing::values_at;
using testing::with;

std::string document(const std::string& more) {
  return R"({"experiment": "x", "objective": {"name": "quadratic", "d": 3},
    "noise": {"name": "stable", "alpha": 1.3}, "steps": 50, "seeds": 4, )" +
         more + "}";
}

// A power of two on gradients, and its inverse on learning rates, is no change at all with
// tau = auto; with a fixed one it is.
TEST(Scale, PowersOfTwoAreTheSameRun) {
  const Results r = run(document(R"("eta": 0.02, "scale": [1, 64], "methods": [
      {"name": "vclip", "tau": "auto"}, {"name": "cclip", "tau": "auto"},
      {"name": "huber", "tau": "auto"}, {"name": "momentum", "tau": 0.1},
      {"name": "vclip", "label": "fixed", "tau": 1}])"));
  for (const char* const method : {"vclip", "cclip", "huber", "momentum"}) {
    const auto one = values_at(group(r, method, "objective", {{"scale", 1.0}}), 50);
    EXPECT_EQ(one, values_at(group(r, method, "objective", {{"scale", 64.0}}), 50)) << method;
  }
  EXPECT_NE(values_at(group(r, "fixed", "objective", {{"scale", 1.0}}), 50),
            values_at(group(r, "fixed", "objective", {{"scale", 64.0}}), 50));
}

// Relative errors are those of m in the unit of the gradients.
TEST(Scale, RelativeErrors) {
  const Results r = run(R"({"experiment": "x", "objective": {"name": "fixed-target", "d": 4},
    "noise": {"name": "cauchy"}, "steps": 40, "seeds": 3, "scale": [1, 0.25, 8],
    "methods": [{"name": "cclip", "tau": "auto"}]})");
  const auto one = values_at(group(r, "cclip", "relative_error", {{"scale", 1.0}}), 40);
  for (const double scale : {0.25, 8.0})
    EXPECT_EQ(one, values_at(group(r, "cclip", "relative_error", {{"scale", scale}}), 40));
}

// theta may have a schedule where tau is auto: a constant one is the number, and one that falls
// like 1/t remembers longer and longer, which is what a target that stands still asks for.
TEST(Scale, SchedulesOfTheta) {
  const auto errors = [](const std::string& more) {
    const Results r = run(R"({"experiment": "x", "objective": {"name": "fixed-target", "d": 4},
        "noise": {"name": "normal"}, "steps": 500, "seeds": 3, "methods": [{"name": "vclip", )" +
                          more + "}]}");
    return values_at(group(r, "vclip", "relative_error"), 500);
  };
  const auto plain = errors(R"("tau": "auto", "theta": 0.1)");
  EXPECT_EQ(errors(R"("tau": "auto", "theta": "constant:value=0.1")"), plain);
  const auto falling = errors(R"("tau": "auto", "theta": "inverse:value=10:warmup=9")");
  for (std::size_t k = 0; k < plain.size(); ++k) EXPECT_LT(falling[k], plain[k]);
  EXPECT_EQ(message_of([&] { return errors(R"("tau": 0.1, "theta": "inverse:value=1")"); }),
            "test.json:2: a schedule of 'theta' is for tau = auto.");
}

// All steps bad by a factor 2 is a loss of twice the size; none is no change.
TEST(Corrupted, SharesOfSteps) {
  const auto final_of = [](const std::string& more) {
    return values_at(
        group(run(document(more + R"(, "methods": [{"name": "sgd"}])")), "sgd", "objective"), 50);
  };
  const auto plain = final_of(R"("eta": 0.02)");
  EXPECT_EQ(plain, final_of(R"("eta": 0.02, "corrupted": {"share": 0})"));
  EXPECT_EQ(final_of(R"("corrupted": {"share": 1, "factor": 2}, "eta": 0.01)"), plain);
  EXPECT_NE(final_of(R"("eta": 0.02, "corrupted": {"share": 0.2, "factor": 2})"), plain);
  EXPECT_EQ(message_of([&] { return final_of(R"("corrupted": {"share": 2})"); }),
            "test.json:2: 'share' must be from 0 to 1, and 'factor' finite.");
  EXPECT_NE(message_of([&] { return final_of(R"("scale": 0)"); }).find("'scale' must be"),
            std::string::npos);
}

// How many steps are bad: sgd with a gradient of 1 and eta = 1 goes down by 1, or up by 1 where the
// factor is -1. Of 4000 steps at a share of 0.1, 400 are, give or take 6 standard deviations of 19.
TEST(Corrupted, AsOftenAsAsked) {
  const Results r = run(R"({"experiment": "x", "objective": {"name": "l1-norm", "d": 1},
    "w0": 5000, "steps": 4000, "seeds": 1, "eta": 1, "corrupted": {"share": 0.1, "factor": -1},
    "methods": [{"name": "sgd"}]})");
  const double end = values_at(group(r, "sgd", "objective"), 4000).front();
  EXPECT_NEAR((4000 - (5000 - end)) / 2, 400, 114);
}

// The gradient of w^2/2 at w = 1 is 1, whose exponent has its ten lower bits set: one flipped makes
// it 2^-(2^b), the eleventh makes it infinite. So sgd with eta = 1 ends at w = 1 - 2^-(2^b), or, as
// it leaves out what is not finite, stays.
TEST(Corrupted, FlipsOneBitOfAnExponent) {
  const Results r = run(R"({"experiment": "x", "objective": {"name": "quadratic", "d": 1},
    "w0": 1, "steps": 1, "seeds": 200, "eta": 1, "corrupted": {"share": 1, "kind": "bit-flip"},
    "methods": [{"name": "sgd"}]})");
  std::set<double> expected = {0.5}, found;
  for (int bit = 0; bit < 10; ++bit)
    expected.insert(std::pow(1 - std::pow(2.0, -std::pow(2.0, bit)), 2) / 2);
  for (const double f : values_at(group(r, "sgd", "objective"), 1)) found.insert(f);
  EXPECT_EQ(found, expected);
}

// Labels in another order are the same ones: of one row nothing changes, of many the gradients do.
TEST(Corrupted, ShufflesLabels) {
  const auto final_of = [](const std::string& rows, const std::string& corrupted) {
    return values_at(group(run(R"({"experiment": "x", "objective": {"name": "least-squares", "d": 3,
        "rows": )" + rows + R"(}, "steps": 20, "seeds": 4, "eta": 0.1, "batch": 2, )" +
                               corrupted + R"("methods": [{"name": "sgd"}]})"),
                           "sgd", "objective"),
                     20);
  };
  const std::string all = R"("corrupted": {"share": 1, "kind": "shuffled-labels"}, )";
  EXPECT_EQ(final_of("1", all), final_of("1", ""));
  EXPECT_NE(final_of("30", all), final_of("30", ""));
  EXPECT_EQ(
      message_of([&] {
        return run(document(
            R"("corrupted": {"share": 1, "kind": "shuffled-labels"}, "methods": [{"name": "sgd"}])"));
      }),
      "test.json:2: 'shuffled-labels' needs an objective that has data.");
}

// A network starts from other weights in every run, learns the pictures, and does not learn them
// from labels in another order.
TEST(Corrupted, Pictures) {
  const auto losses = [](const std::string& corrupted) {
    return values_at(group(run(R"({"experiment": "x", "objective": {"name": "pictures", "side": 3,
        "hidden": 4, "rows": 50}, "steps": 1500, "seeds": 3, "eta": 0.2, "batch": 10, )" +
                               corrupted + R"("methods": [{"name": "sgd"}]})"),
                           "sgd", "objective"),
                     1500);
  };
  const auto learned = losses(""), shuffled = losses(R"("corrupted": {"share": 1,
      "kind": "shuffled-labels"}, )");
  EXPECT_NE(learned[0], learned[1]);
  for (std::size_t run = 0; run < 3; ++run) {
    EXPECT_LT(learned[run], 0.1);
    EXPECT_GT(shuffled[run], 0.4);  // +-1 told by chance: 1/2
  }
}

TEST(Scale, ClaimsOfTheBuiltInExperiment) {
  const Results r = run(with(built_in("scale"), {{"scale", "[0.001, 1, 1000]"}, {"seeds", "6"}}));
  ASSERT_EQ(r.claims.size(), 4U);
  for (const Claim& claim : r.claims) EXPECT_EQ(claim.holds, true) << claim.claim << claim.evidence;
  ASSERT_EQ(r.figures.size(), 1U);
  EXPECT_EQ(r.figures[0].panels.size(), 4U);
}

// A best rate at the edge of its grid is told, unless nothing is better than to stand still, which
// is so of momentum with bad steps: on average, 5 % times -100 and 95 % times 1 point uphill.
TEST(Corrupted, BestRatesAtTheEdgeOfTheGrid) {
  const Results r = run(R"({"experiment": "x", "findings": "corrupted",
    "objective": {"name": "quadratic", "d": 3}, "noise": {"name": "normal"}, "steps": 300,
    "seeds": 3, "record": "ends", "corrupted": {"share": [0, 0.05]},
    "part": [{"name": "wide", "eta": [0.001, 0.01, 0.1, 1]}, {"name": "narrow", "eta": [0.001, 0.002]}],
    "methods": [{"name": "sgd-m", "label": "SGD-M", "tau": 0.1}, {"name": "vclip", "tau": 0.1}]})");
  const auto claim = [&](const std::string& part) {
    const std::string text = "no best learning rate lies at an edge of the grid (" + part + ")";
    return *std::ranges::find(r.claims, text, &Claim::claim);
  };
  EXPECT_EQ(claim("wide").holds, true) << claim("wide").evidence;
  EXPECT_EQ(claim("narrow").holds, false);
  for (const char* const part : {"wide", "narrow"})
    EXPECT_NE(
        claim(part).evidence.find("Left out, as no rate ends below the start (1.5): SGD-M at 5 %."),
        std::string::npos)
        << claim(part).evidence;
  EXPECT_EQ(claim("narrow").evidence.substr(0, 11), "at an edge:");
  EXPECT_NE(claim("narrow").evidence.find("vclip at 5 % (0.002)"), std::string::npos);
  ASSERT_EQ(r.figures.size(), 1U);
  for (const Panel& panel : r.figures[0].panels) {
    const auto momentum = std::ranges::find(panel.series, "SGD-M", &Series::name);
    EXPECT_LT(momentum->median[0], 1.5);
    EXPECT_EQ(momentum->median[1], 1.5);
  }
}

// What is recorded is a choice of steps: the values there are the same ones.
TEST(Record, EndsOrSteps) {
  const std::string methods = R"("eta": 0.02, "methods": [{"name": "sgd"}])";
  const Group all = group(run(document(methods)), "sgd", "objective");
  const Group ends = group(run(document(R"("record": "ends", )" + methods)), "sgd", "objective");
  EXPECT_EQ(ends.steps, (std::vector<std::size_t>{0, 50}));
  EXPECT_GT(all.steps.size(), 10U);
  for (const std::size_t step : ends.steps) EXPECT_EQ(values_at(ends, step), values_at(all, step));
  EXPECT_NE(
      message_of([&] { return run(document(R"("record": "last", )" + methods)); }).find("'record'"),
      std::string::npos);
}

}  // namespace
}  // namespace medgrad::lab
