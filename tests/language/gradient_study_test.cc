// From a file to results: settings, claims and figures.
#include "language/gradient_study.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "io/temporary_folder.h"
#include "lab/experiments.h"
#include "lab/findings/lookup.h"
#include "lab/runner.h"
#include "language/experiments.h"
#include "language/noise_findings.h"
#include "language/tracking_findings.h"
#include "language/train_study.h"
#include "medgrad/error.h"
#include "medgrad/rng.h"
#include "testing.h"

namespace medgrad::language {
namespace {

using lab::Group;
using lab::Results;
using medgrad::testing::content;
using medgrad::testing::TemporaryFolder;

constexpr double kNever = std::numeric_limits<double>::infinity();

GradientSettings parse(const std::string& text) {
  return read_gradient_settings(parse_document(text, "x.json"), "x.json");
}

TEST(GradientSettings, BuiltInOnesReadBackTheSame) {
  for (const lab::BuiltIn& one : lab::built_in_experiments()) {
    if (!one.needs_libtorch) continue;
    for (const bool paper : {false, true}) {
      Node document = parse_document(one.text, "x.json");
      if (*document.find("kind")->text() != "gradients") continue;
      EXPECT_EQ(plain(*document.find("experiment")), one.name);
      if (paper) {
        document = at_paper_scale(document);
        EXPECT_EQ(document.find("paper_scale"), nullptr);
        EXPECT_EQ(scaled_down(document), "");
      }
      const Node complete = to_document(read_gradient_settings(document, "x.json"));
      EXPECT_EQ(to_text(complete),
                to_text(to_document(read_gradient_settings(complete, "x.json"))));
      EXPECT_EQ(scaled_down(complete), scaled_down(document));
    }
  }
  const Node ptb = parse_document(lab::find_built_in("fixed-ptb").text, "x.json");
  EXPECT_NE(scaled_down(ptb).find("batch 64, 256 instead of 64, 256, 1024"), std::string::npos);
}

TEST(GradientSettings, MistakesAreNamed) {
  const auto fails = [](const std::string& keys, const std::string& expected) {
    try {
      (void)parse(R"({"experiment": "x", "task": "synthetic", )" + keys + "}");
      ADD_FAILURE() << keys;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  };
  fails(R"("batch": [8, "a"])", "'batch' has text (a); it must be whole numbers");
  fails(R"("batch": 1.5)", "whole numbers");
  fails(R"("batch": [8, 8])", "twice");
  fails(R"("tau": [0])", "above 0");
  fails(R"("methods": ["vclib"])", "Did you mean 'vclip'");
  fails(R"("methods": ["clipped-mean"])", "tau");
  fails(R"("methods": ["vclip", "vclip"])", "named twice");
  fails(R"("methods": ["vclip", {"name": "vclip", "tau": 0.01}])", "named twice");
  fails(R"("methods": ["lp"])", "x.json:1: 'p' is missing; lp needs it (p >= 1, inf allowed)");
  fails(R"("methods": ["vclip:theta=0.2"])", "goes with tau = auto");
  fails(R"("methods": [{"name": "vclip", "tua": 1}])", "'tua' is not a key of a method");
  fails(R"("methods": [{"name": "vclip", "label": ""}])", "'label' is empty");
  fails(R"("methods": ["lp:p=3"], "tau": "auto")",
        "'lp:p=3' has no tau = auto; give it a tau of its own, as in lp:p=3:tau=0.1.");
  fails(R"("methods": [3])", "a method is a number; it must be an object");
  fails(R"("methods": [])", "there is nothing to do");
  fails(R"("tau": 2)", "0 < tau <= 1");
  fails(R"("steps": 0)", "whole number");
  fails(R"("order": "shuffled")", "order");
  fails(R"("dropout": 1)", "below 1");
  fails(R"("size": "tiny")", "size");
  fails(R"("bach": 3)", "Did you mean 'batch'");
  fails(R"("noise": true, "limit": 1)", "two batches");
  EXPECT_THROW((void)parse(R"({"experiment": "x", "task": "ptp"})"), Error);
  EXPECT_THROW((void)parse(R"({"experiment": "x/y", "task": "ptb"})"), Error);
  EXPECT_EQ(parse(R"({"experiment": "x", "task": "ptb"})").batch, std::vector<std::size_t>{256});
}

// Methods are written as everywhere, and have a tau of their own or those of the experiment.
TEST(GradientSettings, OneGrammar) {
  const GradientSettings settings = parse(R"({"experiment": "x", "task": "synthetic",
      "tau": [0.1, "auto"],
      "methods": ["vclip", "huber:mu=2:tau=0.5", {"name": "lp", "p": 3, "tau": 0.2},
                  {"name": "cclip", "label": "mine"}]})");
  std::vector<std::string> names;
  std::vector<double> taus;
  std::vector<std::string> lines;
  for (const TrackedMethod& one : tracked_methods(settings)) {
    names.push_back(one.name);
    taus.push_back(one.tau);
    lines.push_back(describe(one.method));
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"vclip", "huber:mu=2", "lp:p=3", "mine", "vclip", "mine"}));
  EXPECT_EQ(taus, (std::vector<double>{0.1, 0.5, 0.2, 0.1, kAutomaticNumber, kAutomaticNumber}));
  EXPECT_EQ(lines[1], describe(find_online_method("huber").make({{"mu", 2}, {"tau", 0.5}})));
  EXPECT_EQ(lines[2], describe(find_online_method("lp").make({{"p", 3}, {"tau", 0.2}})));
  const std::string document = to_text(to_document(settings));
  EXPECT_EQ(to_text(to_document(parse(document))), document);
}

TEST(TrainSettings, OneGrammar) {
  const auto parse_training = [](const std::string& keys) {
    return read_train_settings(
        parse_document(R"({"experiment": "x", "task": "synthetic", )" + keys + "}", "x.json"),
        "x.json");
  };
  const TrainSettings settings = parse_training(
      R"("methods": ["vclip:tau=0.5", {"name": "huber", "mu": 2, "tau": "auto"}], "lr": [1, 1],
         "workers": 5, "aggregate": {"name": "nnm+krum", "f": 1})");
  EXPECT_EQ(settings.methods[1].line, parse_method("huber:mu=2:tau=auto").line);
  EXPECT_EQ(settings.methods[1].word, "huber:mu=2:tau=auto");
  EXPECT_EQ(describe(settings.workers->rule), describe(make_rule("nnm+krum:f=1")));
  const auto refusal = [&](const std::string& keys) {
    return medgrad::testing::message_of([&] { return parse_training(keys).seeds; });
  };
  EXPECT_EQ(refusal(R"("methods": [{"name": "vclip", "tau": true}])"),
            "x.json:1: 'tau' is true; it must be a number or auto.");
  EXPECT_EQ(refusal(R"("methods": ["vclip", {"name": "vclip"}])"),
            "x.json:1: 'vclip' is named twice.");
  EXPECT_EQ(refusal(R"("methods": ["vclip"], "tau_schedule": "cosine:value=0")"),
            "x.json:1: 'value' is 0; it must satisfy 0 < value < inf.");
  EXPECT_EQ(refusal(R"("methods": ["vclip"], "workers": 5, "aggregate": "krum:f=1", "f": 2)"),
            "x.json:1: 'f' is 2; 'krum:f=1' gives it too, and one of them is enough.");
}

TEST(Findings, StepsAndOvertaking) {
  const std::vector<double> falling = {0.9, 0.6, 0.45, 0.5, 0.2}, flat = {0.3, 0.3, 0.3, 0.3, 0.3};
  EXPECT_EQ(steps_below(falling, 0.5), 3);
  EXPECT_EQ(steps_below(falling, 0.1), kNever);
  EXPECT_EQ(overtakes(falling, flat), 5);
  EXPECT_EQ(overtakes(flat, falling), kNever);
  EXPECT_EQ(overtakes(flat, std::vector<double>(5, 1.0)), 1);
}

// Results with one number per method and batch size, as the claims look at them.
Results made_up(const std::vector<std::vector<double>>& half,
                const std::vector<std::vector<double>>& last,
                const std::vector<std::vector<double>>& early = {}) {
  Results r;
  const char* const names[] = {"momentum", "vclip", "cclip"};
  for (std::size_t b = 0; b < half.size(); ++b) {
    for (std::size_t i = 0; i < 3; ++i) {
      const auto add = [&](const char* metric, std::vector<double> values,
                           std::vector<std::size_t> steps) {
        Group group{
            .method = names[i],
            .key = names[i],
            .axes = {{"batch", 64.0 * std::pow(4.0, static_cast<double>(b))}, {"tau", 0.01}},
            .metric = metric,
            .steps = std::move(steps),
            .runs = 1,
            .values = std::move(values)};
        lab::summarise(group);
        r.groups.push_back(std::move(group));
      };
      add("relative_error", {1, last[b][i]}, {1, 400});
      add("final_relative_error", {last[b][i]}, {});
      add("steps_to_half", {half[b][i]}, {});
      if (!early.empty()) add("early_relative_error", {early[b][i]}, {});
      if (i == 0) add("overtakes_vclip", {last[b][0] < last[b][1] ? 300 : kNever}, {});
    }
  }
  return r;
}

std::vector<std::optional<bool>> judged(Results r) {
  tracking_findings({}, r);
  std::vector<std::optional<bool>> holds;
  for (const lab::Claim& claim : r.claims) holds.push_back(claim.holds);
  EXPECT_EQ(r.figures.size(), 1U);
  return holds;
}

TEST(Findings, ClaimsOnTracking) {
  using Holds = std::vector<std::optional<bool>>;
  const std::vector<std::vector<double>> half = {{69, 62, 3}, {69, 59, 2}};
  const std::vector<std::vector<double>> low = {{0.02, 0.03, 0.3}, {0.02, 0.03, 0.2}};
  const std::vector<std::vector<double>> early = {{0.37, 0.3, 0.3}, {0.37, 0.2, 0.15}};
  EXPECT_EQ(judged(made_up(half, low, early)), (Holds{true, true, true}));
  EXPECT_EQ(judged(made_up(half, low, {early[0], early[0]})), (Holds{true, true, false}));
  EXPECT_EQ(judged(made_up(half, low, {early[0], {0.37, 0.2, 0.35}})), (Holds{true, true, false}));
  EXPECT_EQ(judged(made_up(half, low, {early[0], {0.2, 0.2, 0.1}})), (Holds{true, true, false}));
  EXPECT_EQ(judged(made_up({{69, 62, 3}, {69, 70, 2}}, low, early)), (Holds{false, true, true}));
  EXPECT_EQ(judged(made_up(half, {{0.02, 0.03, 0.3}, {0.04, 0.03, 0.2}}, early)),
            (Holds{true, false, true}));
  // A run too short to tell, a method that never gets there, and a single batch size.
  EXPECT_EQ(judged(made_up({{kNever, kNever, 3}, {69, 59, 2}}, low)),
            (Holds{std::nullopt, true, std::nullopt}));
  EXPECT_EQ(judged(made_up({{kNever, 62, 3}}, {{0.9, 0.03, 0.3}}, {early[0]})),
            (Holds{true, false, std::nullopt}));
  // A violation at one batch size counts whatever the others show, before it or behind it.
  const std::vector<double> against = {50, 59, 2}, too_short = {kNever, kNever, 3};
  const std::vector<double> good = half[0];
  const auto falls = [&](const std::vector<std::vector<double>>& halves) {
    return judged(made_up(halves, std::vector(halves.size(), low[0]))).front();
  };
  EXPECT_EQ(falls({against, too_short}), false);
  EXPECT_EQ(falls({too_short, against}), false);
  EXPECT_EQ(falls({too_short, good, against}), false);
  EXPECT_EQ(falls({against, good}), false);
  EXPECT_EQ(falls({good, too_short}), std::nullopt);
  EXPECT_EQ(falls({too_short, good}), std::nullopt);
  EXPECT_EQ(falls({{kNever, kNever, kNever}}), std::nullopt);
  EXPECT_EQ(falls({{69, kNever, kNever}}), false) << "momentum is there first";
  EXPECT_EQ(falls({good, good}), true);
  Results lacking = made_up(half, low);
  std::erase_if(lacking.groups, [](const Group& group) { return group.key == "cclip"; });
  EXPECT_EQ(judged(lacking), (Holds{std::nullopt}));
}

TEST(Findings, HistogramCountsEverything) {
  const std::vector<double> values = {1, 1, 1.5, 2, 3};
  const Histogram h = histogram(values, 4);
  EXPECT_EQ(h.counts, (std::vector<std::size_t>{2, 1, 1, 1}));
  EXPECT_EQ(h.low, 1);
  EXPECT_EQ(h.width, 0.5);
  EXPECT_EQ(histogram(std::vector<double>{2, 2, 2}, 3).counts, (std::vector<std::size_t>{3, 0, 0}));
}

// A Gaussian sample stays below its own bound but for 1 % of all seeds; squares of Gaussians do
// not.
TEST(Findings, QuantilePlotTellsHeavyTails) {
  std::vector<double> sample(1000);
  Philox(7, 5000).fill_normal(sample);
  const QuantilePlot gaussian = quantile_plot(sample);
  EXPECT_FALSE(gaussian.heavier_than_gaussian());
  EXPECT_NEAR(gaussian.normal.front(), -3.2905, 1e-4);  // the quantile of 1/2000
  EXPECT_NEAR(gaussian.normal[500], 0.0012533, 1e-6);   // of 1001/2000
  EXPECT_TRUE(std::ranges::is_sorted(gaussian.values));
  for (double& x : sample) x = 5 + x * x;
  EXPECT_TRUE(quantile_plot(sample).heavier_than_gaussian());
  EXPECT_THROW((void)quantile_plot(std::vector<double>(20, 1.0)), Error);
  EXPECT_THROW((void)quantile_plot(std::vector<double>{1, 2}), Error);
}

// The tail indices of the verdicts are numbers of the results too.
TEST(Findings, TailIndicesAreMetrics) {
  constexpr std::size_t kBatches = 60, kDimension = 40;
  const std::vector<double> mean(kDimension);
  libtorch::NoiseMeter meter(mean, kBatches);
  std::vector<double> g(kDimension);
  for (std::size_t k = 0; k < kBatches; ++k) {
    Philox(3, k).fill_normal(g);
    for (double& x : g) x *= std::exp(std::fabs(g[0]));  // rows of different size: heavier tails
    meter.add(std::span<const double>(g));
  }
  const libtorch::GradientNoise noise = meter.finish();
  Results r;
  add_noise_findings(r, noise, 8, false);
  const auto value = [&](const char* metric) {
    return lab::mean_of(r, "", metric, {{"batch", 8.0}});
  };
  ASSERT_TRUE(noise.norms && noise.components.quantiles);
  EXPECT_EQ(value("tail_index_norms"), noise.norms->alpha);
  EXPECT_EQ(value("tail_index_norms_low"), noise.norms->interval.low);
  ASSERT_EQ(r.figures.size(), 1U);
  const std::vector<lab::Panel>& panels = r.figures[0].panels;
  ASSERT_EQ(panels.size(), 6U) << "with Hill plot, mean excess and quantiles against the law";
  EXPECT_EQ(panels[3].id, "hill");
  EXPECT_EQ(panels[5].id, "law-quantiles");
  // Where the law has a mean, its mean excess is drawn, too.
  const Peaks peaks =
      peaks_over_threshold(noise.errors, {.tail = Tail::right, .centre = Centre::none});
  EXPECT_EQ(panels[4].series.size(), peaks.pareto.xi < 1 ? 2U : 1U);
  EXPECT_EQ(value("tail_index_norms_high"), noise.norms->interval.high);
  ASSERT_TRUE(noise.components.judged && noise.components.judged->stable_fits());
  EXPECT_EQ(value("tail_index_components"), noise.components.quantiles->parameters.alpha);
  EXPECT_LE(value("tail_index_components_low"), value("tail_index_components"));
  EXPECT_GE(value("tail_index_components_high"), value("tail_index_components"));

  Results few;  // too few to say anything of their norms
  libtorch::GradientNoise of_few = noise;
  of_few.norms.reset();
  add_noise_findings(few, of_few, 8, false);
  EXPECT_EQ(lab::find(few, "", "tail_index_norms"), nullptr);
  EXPECT_NE(lab::find(few, "", "tail_index_components"), nullptr);

  // No stable law, no tail index of one.
  Results other;
  libtorch::GradientNoise of_others = noise;
  of_others.components.judged->stable->p_value = 0.001;
  add_noise_findings(other, of_others, 8, false);
  EXPECT_EQ(lab::find(other, "", "tail_index_components"), nullptr);
  EXPECT_NE(other.claims.back().evidence.find("is no tail index"), std::string::npos);
}

// Gaussian components of all sizes, from few batches and from too few; and heavy-tailed ones.
TEST(Findings, TheClaimOnComponentsCanFail) {
  constexpr std::size_t kDimension = 1000;
  const auto claim_on = [](std::size_t batches, bool heavy) {
    const std::vector<double> mean(kDimension);
    libtorch::NoiseMeter meter(mean, batches);
    std::vector<double> g(kDimension);
    for (std::size_t k = 0; k < batches; ++k) {
      Philox(4, k).fill_normal(g);
      for (std::size_t i = 0; i < kDimension; ++i) {
        if (heavy) g[i] *= std::exp(g[i] * g[i] / 4);
        g[i] *= std::pow(10, static_cast<double>(i % 7));
      }
      meter.add(std::span<const double>(g));
    }
    Results r;
    const libtorch::GradientNoise noise = meter.finish();
    add_noise_findings(r, noise, 8, false);
    const bool stable = noise.components.judged && noise.components.judged->stable_fits();
    EXPECT_EQ(lab::find(r, "", "tail_index_components") != nullptr, batches >= 20 && stable);
    EXPECT_TRUE(heavy || batches < 20 || stable);
    return *std::ranges::find_if(r.claims, [](const lab::Claim& claim) {
      return claim.claim.find("single components") != std::string::npos;
    });
  };
  EXPECT_EQ(claim_on(24, false).holds, std::optional(false));
  EXPECT_EQ(claim_on(24, true).holds, std::optional(true));
  EXPECT_EQ(claim_on(12, false).holds, std::nullopt);
  EXPECT_NE(claim_on(12, false).evidence.find("there are 12 rows"), std::string::npos);
}

constexpr auto kSmall = R"({"experiment": "mine", "kind": "gradients", "task": "synthetic",
  "size": "small", "batch": [8, 16], "tau": [0.01, 0.1], "steps": 30, "limit": 10, "noise": true,
  "paper_scale": {"limit": 0}})";

// What a run gives does not depend on memory, and running its config.json again gives the same.
TEST(GradientStudy, IsReproducible) {
  const auto read = [](std::string_view text) {
    return lab::read_experiment(parse_document(text, "x.json"), "x.json", catalogue());
  };
  const lab::Experiment experiment = read(kSmall);
  EXPECT_EQ(experiment.name, "mine");
  double share = 0;
  std::size_t calls = 0;
  const lab::Finished finished = lab::run_experiment(experiment, {.progress = [&](double now) {
                                                       EXPECT_GE(now, share);
                                                       share = now;
                                                       ++calls;
                                                     }});
  EXPECT_EQ(share, 1);
  EXPECT_EQ(calls, 20U);
  const lab::Finished again = lab::run_experiment(read(finished.config), {.memory = 0});
  EXPECT_EQ(again.config, finished.config);
  EXPECT_NE(finished.config.find("\"data\": ["), std::string::npos) << finished.config;
  EXPECT_EQ(lab::results_csv(again.results), lab::results_csv(finished.results));
  EXPECT_EQ(lab::summary_json(again.results), lab::summary_json(finished.results));

  const Results& r = finished.results;
  const Group* curve = lab::find(r, "vclip", "relative_error", {{"batch", 16.0}, {"tau", 0.1}});
  ASSERT_NE(curve, nullptr);
  EXPECT_EQ(curve->steps.size(), 22U);  // 1 … 20, 25, 30
  EXPECT_EQ(curve->last().mean,
            lab::mean_of(r, "vclip", "final_relative_error", {{"batch", 16.0}, {"tau", 0.1}}));
  const Group* errors = lab::find(r, "", "gradient_error", {{"batch", 8.0}});
  ASSERT_NE(errors, nullptr);
  EXPECT_EQ(errors->runs, 10U);
  EXPECT_GT(lab::mean_of(r, "", "gradient_norm", {{"batch", 8.0}}), 0);
  EXPECT_EQ(r.figures.size(), 3U);  // noise of either size, tracking
  EXPECT_EQ(r.claims.size(), 7U);
  ASSERT_FALSE(r.notes.empty());
  EXPECT_NE(r.notes.front().find("limit 10 instead of none"), std::string::npos) << r.notes.front();

  const TemporaryFolder out;
  lab::write_results({finished}, {.out = out / "results"});
  const auto summary = nlohmann::json::parse(content(out / "results/mine/summary.json"));
  EXPECT_EQ(summary["experiment"], "mine");
  EXPECT_EQ(content(out / "results/mine/config.json"), finished.config);
  EXPECT_FALSE(content(out / "results/index.html").empty());
}

TEST(GradientStudy, TooLargeABatchIsAnError) {
  GradientSettings settings = parse(kSmall);
  settings.batch = {1000000};
  EXPECT_THROW((void)measure_gradients(settings), Error);
  EXPECT_THROW((void)lab::read_experiment(
                   parse_document(R"({"experiment": "x", "kind": "gradient"})", "x.json"), "x.json",
                   catalogue()),
               Error);
}

// Questions are a task like any other, with dropout.
TEST(GradientStudy, QuestionsWithDropout) {
  const lab::Finished finished = lab::run_experiment(lab::read_experiment(
      parse_document(R"({"experiment": "q", "kind": "gradients", "batch": 4, "size": "small",
                              "task": "synthetic-questions", "dropout": 0.1, "limit": 3, "steps": 4,
                              "methods": ["momentum", "huber"]})",
                     "x.json"),
      "x.json", catalogue()));
  EXPECT_NE(lab::find(finished.results, "huber", "final_relative_error"), nullptr);
  EXPECT_EQ(finished.results.claims.size(), 1U);
  EXPECT_FALSE(finished.results.claims[0].holds.has_value());
}

}  // namespace
}  // namespace medgrad::language
