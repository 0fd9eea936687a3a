// Trajectories: against an independent program (golden/traces.json), against laws known exactly,
// and that what a method meets does not depend on its company.
#include "lab/trajectory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/studies.h"
#include "medgrad/stable.h"
#include "medgrad/theory.h"
#include "testing.h"

namespace medgrad::lab {
namespace {

using medgrad::testing::same_bits;
using medgrad::testing::view;
using nlohmann::json;
using testing::group;
using testing::run;
using testing::values_at;
using Vector = std::vector<double>;

const json& traces() {
  static const json all = json::parse(std::ifstream(medgrad::testing::golden("traces.json")));
  return all;
}

void expect_near(std::span<const double> got, const Vector& want, const std::string& where) {
  ASSERT_EQ(got.size(), want.size()) << where;
  for (std::size_t j = 0; j < want.size(); ++j)
    EXPECT_NEAR(got[j], want[j], 1e-12 * (1 + std::abs(want[j]))) << where << " component " << j;
}

// ---- The other program's trajectories -----------------------------------------------------------

// Beck's Huber function is the paper's over mu: its step with tau is the paper's with tau/mu.
OnlineMethod estimator_of(const std::string& name, double tau, double mu) {
  if (name == "momentum") return ProximalPoint{Squared{}, tau};
  if (name == "VClip") return ProximalPoint{L2{}, tau};
  if (name == "CClip") return ProximalPoint{L1{}, tau};
  if (name == "Huber") return ProximalPoint{Huber(mu), tau};
  if (name == "HuberBeck") return ProximalPoint{Huber(mu), tau / mu};
  if (name == "signSGD") return Subgradient{L1{}, tau};
  if (name == "l2sub") return Subgradient{L2{}, tau};
  if (name == "sqsub") return Subgradient{Squared{}, tau};
  throw Error("What is " + name + "?");
}

TEST(Traces, Toy) {
  const json& toy = traces()["toy"];
  const Vector target = toy["ghat"];
  int compared = 0;
  for (const auto& [key, trace] : toy["traces"].items()) {
    const std::size_t cut = key.find("_tau");
    const double tau = std::stod(key.substr(cut + 4));
    OnlineEstimator<double> estimator(estimator_of(key.substr(0, cut), tau, 1.345), target.size());
    estimator.reset(toy["m0"].get<Vector>());
    for (std::size_t t = 0; t < toy["xi"].size(); ++t) {
      Vector g = toy["xi"][t];
      for (std::size_t j = 0; j < g.size(); ++j) g[j] += target[j];
      estimator.update(g);
      expect_near(estimator.estimate(), trace["m"][t], key + " step " + std::to_string(t));
      ++compared;
    }
    double error = 0, size = 0;
    for (std::size_t j = 0; j < target.size(); ++j) {
      error = std::hypot(error, estimator.estimate()[j] - target[j]);
      size = std::hypot(size, target[j]);
    }
    EXPECT_NEAR(error / size, trace["final_rel_err"], 1e-12);
  }
  EXPECT_EQ(compared, 16 * 30);
}

TEST(Traces, LeastSquares) {
  int compared = 0;
  for (const auto& [setting, problem] : traces()["least_squares"].items()) {
    const double tau = problem["tau"], mu = problem["mu"], eta = problem["eta"];
    for (const auto& [name, trace] : problem["traces"].items()) {
      const GradientMethod method =
          name == "l1med"     ? find_optimizer("smgd-l1").make({{"n", 5}})
          : name == "l2med"   ? find_optimizer("smgd-l2").make({{"n", 5}})
          : name == "mean"    ? find_optimizer("smgd-mean").make({{"n", 5}})
          : name == "clipSGD" ? find_optimizer("clipped-sgd")
                                    .make({{"beta", problem["beta"]}, {"clip", problem["c"]}})
                              : GradientMethod(OnlineGradient{estimator_of(name, tau, mu)});
      Vector w = problem["w0"];
      const std::size_t d = w.size();
      Optimizer optimizer(method, d);
      const Objective f = Quadratic{Vector(d, 1)};
      for (std::size_t t = 0; t < problem["xi"].size(); ++t) {
        const double factor =
            setting == "S2" ? StateDependent::factor(std::span<const double>(w)) : 1;
        Vector rows(optimizer.samples() * d), g(d);
        gradient(f, w, g);
        for (std::size_t i = 0; i < optimizer.samples(); ++i)
          for (std::size_t j = 0; j < d; ++j)
            rows[i * d + j] = g[j] + factor * problem["xi"][t][i][j].get<double>();
        optimizer.step(w, eta, Rows<double>(rows.data(), optimizer.samples(), d));
        const std::string where = setting + " " + name + " step " + std::to_string(t);
        // The geometric median is a minimum: known to the root of what its objective is known to.
        if (name == "l2med") {
          for (std::size_t j = 0; j < d; ++j) {
            EXPECT_NEAR(optimizer.estimate()[j], trace["m"][t][j].get<double>(), 1e-8) << where;
            EXPECT_NEAR(w[j], trace["w"][t][j].get<double>(), 1e-9) << where;
          }
        } else {
          expect_near(optimizer.estimate(), trace["m"][t], where + " m");
          expect_near(w, trace["w"][t], where + " w");
        }
        ++compared;
      }
      EXPECT_NEAR(value(f, w), trace["final_objective"], name == "l2med" ? 1e-8 : 1e-12);
    }
  }
  EXPECT_EQ(compared, 2 * 9 * 25);
}

// w_s = s (by gradients of -1 and eta = 1 on a linear function): the averaged iterate is the mean
// of s under the weights.
TEST(Traces, WeightsOfTheAveragedIterate) {
  const json& reference = traces()["theta_weights"];
  const Vector weights = reference["normalised"];
  const std::size_t steps = reference["T"];
  double mean = 0;
  for (std::size_t s = 0; s < steps; ++s) mean += weights[s] * static_cast<double>(s);
  Problem problem{.objective = Regression{
                      .loss = Regression::Loss::absolute, .dimension = 1, .a = {1}, .b = {1e6}}};
  problem.start = 0;
  problem.steps = steps;
  problem.metrics = {Metric::averaged_objective, Metric::objective};
  problem.recorded = {0, steps};
  problem.methods = {{.label = "sgd",
                      .key = "sgd",
                      .axes = {},
                      .method = find_optimizer("sgd").make({}),
                      .eta = {},
                      .tau = {}}};
  const Problem* problems[] = {&problem};
  const Vector numbers = run_trajectories(problems, 1, 0);
  ASSERT_EQ(numbers.size(), 4U);
  EXPECT_EQ(numbers[0], 1e6);
  EXPECT_NEAR(numbers[1], 1e6 - mean, 1e-9);  // |w - 1e6|, rounded to 1e-10
  EXPECT_EQ(numbers[3], 1e6 - static_cast<double>(steps));
}

// ---- Recorded steps -----------------------------------------------------------------------------

TEST(RecordedSteps, AscendFromTheFirstToTheLast) {
  for (const std::size_t steps :
       {1U, 2U, 3U, 7U, 19U, 20U, 21U, 100U, 999U, 1000U, 2000U, 12345U, 100000000U}) {
    const std::vector<std::size_t> recorded = recorded_steps(steps);
    EXPECT_EQ(recorded.front(), 0U);
    EXPECT_EQ(recorded.back(), steps);
    EXPECT_TRUE(std::ranges::is_sorted(recorded, std::less_equal<>{})) << steps;  // no two alike
    EXPECT_LE(recorded.size(), 50U);
  }
  const auto recorded = recorded_steps(2000);
  for (const std::size_t step : {0U, 10U, 50U, 100U, 200U, 500U, 1000U, 1500U, 2000U})
    EXPECT_TRUE(std::ranges::binary_search(recorded, step)) << step;
}

// ---- Common random numbers ----------------------------------------------------------------------

const char* const kAlone = R"({"experiment": "x", "objective": {"name": "quadratic", "d": 4},
  "noise": {"name": "stable", "alpha": 1.3}, "methods": [METHODS], "eta": 0.02, "steps": 300,
  "seeds": 3, "seed": 9})";

std::string with_methods(std::string_view methods) {
  std::string text = kAlone;
  return text.replace(text.find("METHODS"), 7, methods);
}

void expect_same(const Group& a, const Group& b, std::string_view what) {
  EXPECT_TRUE(same_bits(view(a.values), view(b.values))) << what;
}

TEST(CommonRandomNumbers, OtherMethodsChangeNothing) {
  const char* const methods[] = {
      R"({"name": "vclip", "tau": 0.5})",
      R"({"name": "smgd-l1", "n": 3})",
      R"({"name": "smgd-l1", "n": 9, "label": "more"})",
      R"({"name": "smgd-mean", "n": 40})",  // diverges at times
      R"({"name": "adam", "eta": 0.1})",
      R"({"name": "cclip", "tau": {"schedule": "inverse-sqrt", "value": 1}})",
      R"({"name": "smgd-l2", "n": 5, "inexact": 2})"};
  const char* const labels[] = {"vclip", "smgd-l1", "more",   "smgd-mean",
                                "adam",  "cclip",   "smgd-l2"};
  std::string all, backwards;
  for (const char* one : methods) {
    all += (all.empty() ? "" : ", ") + std::string(one);
    backwards = one + (backwards.empty() ? "" : ", " + backwards);
  }
  const Results together = run(with_methods(all)), turned = run(with_methods(backwards));
  for (std::size_t i = 0; i < std::size(methods); ++i) {
    const Results alone = run(with_methods(methods[i]));
    expect_same(group(alone, labels[i], "objective"), group(together, labels[i], "objective"),
                labels[i]);
    expect_same(group(alone, labels[i], "objective"), group(turned, labels[i], "objective"),
                labels[i]);
  }
}

TEST(CommonRandomNumbers, OtherProblemsChangeNothing) {
  const Node alone_document =
      parse_document(with_methods(R"({"name": "vclip"}, {"name": "smgd-l1", "n": 5})"), "x");
  const Results alone = run(alone_document);
  struct Case {
    const char* key;
    const char* list;
    Axes axes;
  };
  const Case cases[] = {
      {"steps", "[50, 300, 1000]", {{"steps", 300.0}}},
      {"noise", R"({"name": "stable", "alpha": [1.1, 1.3, 2]})", {{"alpha", 1.3}}},
      {"noise",
       R"([{"name": "cauchy"}, {"name": "stable", "alpha": 1.3}, {"name": "none"}])",
       {{"noise", std::string("stable")}}},
      {"noise",
       R"({"name": "stable", "alpha": 1.3, "state_dependent": [true, false]})",
       {{"state_dependent", std::string("false")}}},
      {"objective",
       R"([{"name": "l1-norm", "d": 7}, {"name": "l1-norm", "d": 4}, {"name": "quadratic", "d": 4}])",
       {{"objective", std::string("quadratic")}}},
      {"w0", "[0, 1, 5]", {{"w0", 1.0}}}};
  for (const Case& one : cases) {
    const Results together = run(testing::with(alone_document, {{one.key, one.list}}));
    for (const char* method : {"vclip", "smgd-l1"}) {
      const Group& among = group(together, method, "objective", one.axes);
      const Group& by_itself = group(alone, method, "objective");
      expect_same(by_itself, among, one.list);
    }
  }
  // More runs begin with the same runs, and another seed has none of them.
  const Results more = run(testing::with(alone_document, {{"seeds", "5"}}));
  const Results other = run(testing::with(alone_document, {{"seed", "10"}}));
  const Vector three = values_at(group(alone, "vclip", "objective"), 300),
               five = values_at(group(more, "vclip", "objective"), 300),
               others = values_at(group(other, "vclip", "objective"), 300);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(three[i], five[i]);
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NE(three[i], others[k]);
  }
}

// Batches are drawn in common too.
TEST(CommonRandomNumbers, Batches) {
  const auto text = [](std::string_view methods) {
    return R"({"experiment": "x", "objective": {"name": "least-squares", "d": 3, "rows": 30},
      "batch": 4, "eta": 0.05, "steps": 200, "seeds": 2, "methods": [)" +
           std::string(methods) + "]}";
  };
  const Results alone = run(text(R"({"name": "sgd"})")),
                both = run(text(R"({"name": "smgd-l1", "n": 7}, {"name": "sgd"})"));
  expect_same(group(alone, "sgd", "objective"), group(both, "sgd", "objective"), "sgd");
  EXPECT_LT(group(alone, "sgd", "objective").last().mean, 0.1);
}

TEST(CommonRandomNumbers, ThreadsChangeNothing) {
  ThreadPool pool(3);
  for (const char* name : {"toy", "rates", "moments"}) {
    const Node document =
        name == std::string("moments")
            ? testing::with(testing::built_in(name), {{"trials", "1500"}})
            : testing::with(testing::built_in(name), {{"steps", "[150, 200]"}, {"seeds", "3"}});
    const Results one = run(document), three = run(document, &pool);
    EXPECT_EQ(results_csv(one), results_csv(three));
    EXPECT_EQ(summary_json(one), summary_json(three));
  }
}

// ---- Exact laws ---------------------------------------------------------------------------------

// l1-SMGD on 1/2 |w|^2: E|w+|^2 = (1-eta)^2 E|w|^2 + eta^2 C_n d (1 + s E|w|^2), s = 1 where noise
// grows with w. |w|^2 has a variance where the median has four moments: alpha (n + 1)/2 > 4, and
// 1.1 * 8 is. 4.5 standard errors at 3 x 6 places: a false alarm once in 10^4 seeds.
TEST(ExactLaws, SecondMomentOfMedianDescent) {
  constexpr double kEta = 0.05, kAlpha = 1.1;
  constexpr std::size_t kRuns = 2000, kN = 15, kD = 3;
  const double c_n = theory::C_n(kAlpha, kN);
  for (const auto& [noise, s] :
       {std::pair{R"({"name": "stable", "alpha": 1.1})", 0.0},
        std::pair{R"({"name": "stable", "alpha": 1.1, "state_dependent": true})", 1.0},
        std::pair{R"({"name": "elliptical", "alpha": 1.1})", 0.0}}) {
    const Results results = run(R"({"experiment": "x", "objective": {"name": "quadratic", "d": 3},
        "methods": [{"name": "smgd-l1", "n": 15}], "eta": 0.05, "steps": 100, "seeds": 2000,
        "seed": 3, "noise": )" + std::string(noise) +
                                "}");
    const Group& measured = group(results, "smgd-l1", "objective");
    double square = kD;  // |w_0|^2
    std::size_t step = 0;
    for (const std::size_t recorded : {5U, 10U, 20U, 50U, 75U, 100U}) {
      for (; step < recorded; ++step)
        square = (1 - kEta) * (1 - kEta) * square + kEta * kEta * c_n * kD * (1 + s * square);
      Vector values = values_at(measured, recorded);
      ASSERT_EQ(values.size(), kRuns);
      const Stats found = stats_of(values);
      EXPECT_LT(std::abs(found.mean - square / 2) / found.se, 4.5)
          << noise << " step " << recorded << ": " << found.mean << " and " << square / 2;
    }
  }
}

// The largest distance between the empirical distribution of |location + scale X| and the exact
// one, times sqrt(n). Above 2.5 with probability 2 exp(-2 * 2.5^2) = 7e-6.
double kolmogorov(Vector sizes, double alpha, double location, double scale) {
  const Stable law({.alpha = alpha});
  std::ranges::sort(sizes);
  const double n = static_cast<double>(sizes.size());
  double largest = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double p =
        law.cdf((sizes[i] - location) / scale) - law.cdf((-sizes[i] - location) / scale);
    largest = std::max({largest, std::abs(p - static_cast<double>(i) / n),
                        std::abs(p - static_cast<double>(i + 1) / n)});
  }
  return largest * std::sqrt(n);
}

// Mean descent on 1/2 w^2: w_T = (1-eta)^T w_0 plus a stable variable of scale
// eta n^(1/alpha - 1) (sum_k (1-eta)^(k alpha))^(1/alpha).
TEST(ExactLaws, MeanDescent) {
  constexpr double kEta = 0.05, kAlpha = 1.4;
  for (const char* noise : {"stable", "elliptical"}) {
    const Results results = run(R"({"experiment": "x", "objective": {"name": "quadratic", "d": 1},
        "methods": [{"name": "smgd-mean", "n": 5}], "eta": 0.05, "steps": 40, "seeds": 2000, "w0": 3,
        "noise": {"alpha": 1.4, "name": ")" +
                                std::string(noise) + "\"}}");
    for (const std::size_t steps : {5U, 40U}) {
      Vector sizes = values_at(group(results, "smgd-mean", "objective"), steps);
      for (double& x : sizes) x = std::sqrt(2 * x);
      double sum = 0;
      for (std::size_t k = 0; k < steps; ++k)
        sum += std::pow(1 - kEta, static_cast<double>(k) * kAlpha);
      const double scale = kEta * std::pow(5, 1 / kAlpha - 1) * std::pow(sum, 1 / kAlpha);
      const double location = 3 * std::pow(1 - kEta, static_cast<double>(steps));
      EXPECT_LT(kolmogorov(sizes, kAlpha, location, scale), 2.5) << noise << " " << steps;
      // The test can tell: twice the scale is found out.
      EXPECT_GT(kolmogorov(sizes, kAlpha, location, 2 * scale), 2.5);
    }
  }
}

// Momentum at a fixed gradient: m_T - g = -(1+tau)^-T g plus a stable variable of scale
// (1-beta) (sum_k beta^(k alpha))^(1/alpha), beta = 1/(1+tau).
TEST(ExactLaws, Momentum) {
  constexpr double kTau = 0.1, kAlpha = 0.8, kTarget = 2;
  const double beta = 1 / (1 + kTau);
  const Results results = run(R"({"experiment": "x", "objective": {"name": "quadratic", "d": 1},
      "methods": [{"name": "momentum", "tau": 0.1}], "metrics": "relative_error", "steps": 50,
      "seeds": 2000, "w0": 2, "noise": {"name": "stable", "alpha": 0.8}})");
  for (const std::size_t steps : {1U, 10U, 50U}) {
    Vector sizes = values_at(group(results, "momentum", "relative_error"), steps);
    for (double& x : sizes) x *= kTarget;
    double sum = 0;
    for (std::size_t k = 0; k < steps; ++k) sum += std::pow(beta, static_cast<double>(k) * kAlpha);
    const double scale = (1 - beta) * std::pow(sum, 1 / kAlpha);
    const double location = -kTarget * std::pow(beta, static_cast<double>(steps));
    EXPECT_LT(kolmogorov(sizes, kAlpha, location, scale), 2.5) << steps;
    EXPECT_GT(kolmogorov(sizes, kAlpha, location, 2 * scale), 2.5);
  }
}

// ---- Metrics ------------------------------------------------------------------------------------

// Without noise everything can be worked out by hand: w_t = 0.9^t, m_t = w_{t-1}.
TEST(Metrics, WithoutNoise) {
  const Results results = run(R"({"experiment": "x", "objective": {"name": "quadratic", "d": 2},
      "methods": [{"name": "sgd"}], "eta": 0.1, "steps": 20, "seeds": 1,
      "metrics": "objective gradient_sq average_gradient_sq averaged_objective relative_error"})");
  const double theta = 20.0 / 22;
  for (const std::size_t step : {1U, 5U, 20U}) {
    const auto at = [&](const char* metric) {
      return values_at(group(results, "sgd", metric), step)[0];
    };
    const double t = static_cast<double>(step), w = std::pow(0.9, t);
    double sum = 0, weighted = 0, weights = 0;
    for (std::size_t s = 0; s < step; ++s) {
      const double at_s = std::pow(0.9, static_cast<double>(s)),
                   weight = std::pow(theta, static_cast<double>(s));
      sum += 2 * at_s * at_s;
      weighted += weight * at_s;
      weights += weight;
    }
    EXPECT_NEAR(at("objective"), w * w, 1e-14);
    EXPECT_NEAR(at("gradient_sq"), 2 * w * w, 1e-14);
    EXPECT_NEAR(at("average_gradient_sq"), sum / t, 1e-13);
    EXPECT_NEAR(at("averaged_objective"), std::pow(weighted / weights, 2), 1e-13);
    EXPECT_NEAR(at("relative_error"), 1 / 0.9 - 1, 1e-13);
  }
}

// Where the gradient is 0 an error in relation to it is 0 or infinite, but nothing has diverged.
TEST(Metrics, RelativeErrorOfNothing) {
  const Results results =
      run(R"({"experiment": "x", "objective": {"name": "l1-norm", "d": 2}, "w0": 0,
      "methods": [{"name": "cclip"}], "eta": 0, "steps": 3, "seeds": 2, "metrics": "relative_error"})");
  EXPECT_EQ(group(results, "cclip", "relative_error").last().diverged, 0U);
  EXPECT_EQ(group(results, "cclip", "relative_error").last().max, 0);
}

// E|delta - X|_1 - E|X|_1 by sampling differences, which have a variance where X has none.
TEST(Metrics, ExcessAgreesForCauchyAndStable) {
  const auto excess = [](const char* noise) {
    const Results results =
        run(R"({"experiment": "x", "objective": {"name": "fixed-target", "d": 3},
        "methods": [{"name": "cclip", "tau": 0.1}], "steps": 50, "seeds": 2, "metrics": "l1_excess",
        "noise": )" +
            std::string(noise) + "}");
    return group(results, "cclip", "l1_excess").values;
  };
  // At step 0 the two differ in nothing but how the integral is done: the target is the same.
  const Vector cauchy = excess(R"({"name": "cauchy"})"),
               stable = excess(R"({"name": "stable", "alpha": 1})");
  for (std::size_t run = 0; run < 2; ++run)
    EXPECT_NEAR(cauchy[run], stable[run], 1e-7 * cauchy[run]);
  for (const double x : cauchy) EXPECT_GE(x, 0);
}

// ---- Divergence ---------------------------------------------------------------------------------

TEST(Divergence, IsRecordedAndLeavesOthersAlone) {
  const Results results = run(R"({"experiment": "x", "objective": {"name": "quadratic", "d": 2},
      "methods": [{"name": "sgd", "eta": 3, "label": "wild"}, {"name": "sgd", "eta": 0.1, "label": "tame"}],
      "steps": 3000, "seeds": 2})");
  const Group& wild = group(results, "wild", "objective");
  EXPECT_EQ(wild.last().diverged, 2U);
  EXPECT_EQ(wild.last().n, 0U);
  EXPECT_EQ(wild.stats.front().diverged, 0U);
  bool gone = false;  // once diverged, always diverged
  for (std::size_t s = 0; s < wild.steps.size(); ++s) {
    const bool now = std::isnan(wild.values[s * 2]);
    EXPECT_FALSE(gone && !now);
    gone = now;
  }
  EXPECT_EQ(group(results, "tame", "objective").last().diverged, 0U);
  EXPECT_EQ(group(results, "wild", "final_objective").last().diverged, 2U);
}

// Data so large that residuals overflow: no Error, no NaN among the values, just a diverged run.
TEST(Divergence, OfRegressions) {
  for (const char* method : {"sgd", "smgd-l1", "smgd-l2", "vclip", "adam"}) {
    Problem problem{.objective = Regression{.loss = Regression::Loss::squared,
                                            .dimension = 2,
                                            .a = {1e200, -1e200, 1, 2},
                                            .b = {1, 1}}};
    problem.steps = 30;
    problem.metrics = {Metric::objective, Metric::gradient_sq};
    problem.recorded = recorded_steps(30);
    problem.methods = {{.label = method,
                        .key = method,
                        .axes = {},
                        .method = find_optimizer(method).make({}),
                        .eta = ConstantSchedule{.value = 1e-3},
                        .tau = {}}};
    const Problem* problems[] = {&problem};
    EXPECT_NO_THROW((void)run_trajectories(problems, 1, 0)) << method;
  }
}

// tau that runs off to 0 is a small tau, not an Error in the middle of a run.
TEST(Schedules, TauMayVanish) {
  const Results results = run(R"({"experiment": "x", "objective": {"name": "fixed-target", "d": 2},
      "noise": {"name": "cauchy"}, "steps": 2000, "seeds": 1, "methods": [
        {"name": "cclip", "tau": {"schedule": "step", "value": 1, "factor": 0.1, "every": 1}},
        {"name": "vclip", "tau": {"schedule": "cosine", "value": 1}}]})");
  EXPECT_TRUE(std::isfinite(group(results, "cclip", "relative_error").last().mean));
}

}  // namespace
}  // namespace medgrad::lab
