// Least squares with heavy-tailed noise: claims and figures (paper, section 6.2, figs.
// least-squares-example and huber-mu-ablation).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/text.h"
#include "lab/experiments.h"
#include "lab/findings/lookup.h"

namespace medgrad::lab {
namespace {

constexpr std::string_view kObjective = "final_objective";
constexpr std::string_view kOnline[] = {"vclip", "cclip", "huber", "clipped-mean"};

std::string list_of_means(const Results& r) {
  std::string text;
  for (const auto& [method, key] : methods_of(r, kObjective)) {
    const Stats& s = find(r, method, kObjective)->last();
    text += fmt::format(
        "{}{} {}", text.empty() ? "" : ", ", method,
        s.n == 0 ? "diverged" : show(s.mean) + (s.diverged > 0 ? " (some diverged)" : ""));
  }
  return text;
}

Claim medians_best(const Results& r) {
  const double l1 = mean_of(r, "smgd-l1", kObjective), l2 = mean_of(r, "smgd-l2", kObjective);
  double best = 1e300;
  for (const std::string_view other : kOnline) best = std::min(best, mean_of(r, other, kObjective));
  return {"the sample medians attain the smallest objective", std::max(l1, l2) < best,
          fmt::format("mean final objective: {}.", list_of_means(r))};
}

Claim mean_fails(const Results& r, bool at_once) {
  const Group* mean = find(r, "smgd-mean", "objective");
  const Stats& last = mean->stats.back();
  const double start = mean->stats.front().mean, median = median_of(r, "smgd-l1", kObjective);
  if (!at_once) {
    return {"the sample mean does not converge", last.quantiles.middle > 5 * median,
            fmt::format("median final objective {}, of the l1 median {}.",
                        show(last.quantiles.middle), show(median))};
  }
  // The first recorded step at which the median over all runs, diverged ones being infinite, is ten
  // times the start.
  std::size_t step = 0;
  for (std::size_t i = 0; i < mean->steps.size() && step == 0; ++i) {
    std::size_t above = mean->stats[i].diverged;
    for (std::size_t run = 0; run < mean->runs; ++run)
      above += mean->values[i * mean->runs + run] > 10 * start ? 1 : 0;
    if (2 * above > mean->runs) step = mean->steps[i];
  }
  return {"the sample mean diverges at once",
          step > 0 && step <= 200 && last.diverged == mean->runs,
          fmt::format("{} of {} diverged; half of them are at ten times the start by step {}.",
                      last.diverged, counted(mean->runs, "run"), step)};
}

Claim best_online(const Results& r, bool independent) {
  const double v = mean_of(r, "vclip", kObjective), c = mean_of(r, "cclip", kObjective),
               h = mean_of(r, "huber", kObjective);
  const std::string evidence =
      fmt::format("mean final objective: cclip {}, vclip {}, huber {}.", show(c), show(v), show(h));
  if (independent)
    return {"CClip is the best online method under independent noise", c < std::min(v, h),
            evidence};
  return {"VClip and Huber are better than CClip under dependent noise", std::max(v, h) < c,
          evidence};
}

Claim huber_like_vclip(const Results& r) {
  const double ratio = mean_of(r, "huber", kObjective) / mean_of(r, "vclip", kObjective);
  return {"Huber and VClip behave very similarly", ratio > 0.8 && ratio < 1.25,
          fmt::format("Huber's mean final objective is {} of vclip's.", show(ratio))};
}

Claim increments_beat_gradients(const Results& r) {
  const double ours = std::max(mean_of(r, "vclip", kObjective), mean_of(r, "cclip", kObjective));
  const double theirs = mean_of(r, "clipped-mean", kObjective);
  return {"V/CClip reach a much smaller loss than clipped-SGD", 2 * ours < theirs,
          fmt::format("mean final objective {} (the worse of vclip and cclip) against {}.",
                      show(ours), show(theirs))};
}

Claim l1_withstands_state(const Results& r) {
  const Group* l1 = find(r, "smgd-l1", "objective");
  const double start = l1->stats.front().mean, end = l1->last().mean_of_all();
  const std::size_t diverged = l1->last().diverged;
  return {"the l1 sample median withstands state-dependent noise", end < start / 5,
          fmt::format("mean objective from {} to {}, {} diverged.", show(start), show(end),
                      diverged == 0 ? "no run"
                                    : fmt::format("{} of {}", diverged, counted(l1->runs, "run")))};
}

Figure objective_figure(const Results& r, const std::string& title, Statistic statistic) {
  Panel panel{.id = "objective",
              .title = title,
              .x = {.label = "step"},
              .y = {.label = "objective", .log = true}};
  for (const auto& [method, key] : methods_of(r, "objective")) {
    const Group& group = *find(r, method, "objective");
    if (group.last().n > 0) {
      panel.series.push_back(over_steps(group));
    } else {  // its last numbers before the end would leave no room for the others
      panel.note += method + " diverges in every run and is not drawn. ";
    }
  }
  return {.id = "objective",
          .title = "Objective over the steps",
          .caption = "smgd takes n gradients per step, the others one.",
          .columns = 1,
          .statistic = statistic,
          .panels = {std::move(panel)}};
}

// The paper's settings S1, S2 and S3.
enum class Noise : std::uint8_t { independent, state_dependent, dependent };

void least_squares_findings(const Experiment& experiment, Results& r, Noise noise) {
  const bool several =
      std::ranges::any_of(r.groups, [](const Group& g) { return !g.axes.empty(); });
  if (several || find(r, "smgd-l1", "objective") == nullptr) return;
  r.figures.push_back(objective_figure(r, experiment.title, statistic_for(experiment)));
  for (const char* needed : {"smgd-l2", "smgd-mean", "vclip", "cclip", "huber", "clipped-mean"}) {
    if (find(r, needed, kObjective) != nullptr) continue;
    r.claims.push_back(undecided("the claims on the seven methods"));
    return;
  }
  const bool of_state = noise == Noise::state_dependent;
  r.claims.push_back(medians_best(r));
  r.claims.push_back(mean_fails(r, of_state));
  if (of_state) {
    r.claims.push_back(l1_withstands_state(r));
  } else {
    r.claims.push_back(best_online(r, noise == Noise::independent));
  }
  r.claims.push_back(huber_like_vclip(r));
  r.claims.push_back(increments_beat_gradients(r));
  r.notes.emplace_back(
      "The paper's footnote on the threshold of clipped-SGD reads the other way round: a small one "
      "is "
      "slow, a large one unstable. With clip = 5 instead of 50, clipped-SGD does as well as "
      "V/CClip.");
  if (of_state) {
    r.notes.emplace_back(
        "That the mean diverges at once needs at least three dimensions; that both medians are "
        "best needs "
        "at most ten or so (at d = 100 the l2 median diverges).");
  }
}

}  // namespace

void least_squares_s1_findings(const Experiment& experiment, Results& r) {
  least_squares_findings(experiment, r, Noise::independent);
}
void least_squares_s2_findings(const Experiment& experiment, Results& r) {
  least_squares_findings(experiment, r, Noise::state_dependent);
}
void least_squares_s3_findings(const Experiment& experiment, Results& r) {
  least_squares_findings(experiment, r, Noise::dependent);
}

void huber_findings(const Experiment& experiment, Results& r) {
  const Statistic statistic = statistic_for(experiment);
  const std::vector<double> mus = values_on(r, "mu"), taus = values_on(r, "tau");
  if (mus.empty() || taus.empty() || find(r, "huber", kObjective) == nullptr) return;
  HeatMap heat{.log = true, .label = "final objective"};
  for (const double tau : taus) heat.x.push_back("τ = " + to_text(tau));
  // How much worse than the best tau, at worst over mu.
  std::vector<double> worst(taus.size(), 0);
  for (const double mu : mus) {
    heat.y.push_back("μ = " + to_text(mu));
    double best = 1e300;
    for (const double tau : taus) {
      heat.z.push_back(mean_of(r, "huber", kObjective, {{"mu", mu}, {"tau", tau}}));
      const Group* group = find(r, "huber", kObjective, {{"mu", mu}, {"tau", tau}});
      heat.median.push_back(group == nullptr ? heat.z.back() : group->last().quantiles.middle);
      best = std::min(best, heat.z.back());
    }
    for (std::size_t i = 0; i < taus.size(); ++i)
      worst[i] = std::max(worst[i], heat.z[heat.z.size() - taus.size() + i] / best);
  }
  Panel map{.id = "final-objective", .title = "Final objective"};
  map.heat = std::move(heat);
  r.figures.push_back({.id = "final-objective",
                       .title = "Final objective for every μ and τ",
                       .caption = "After the last step.",
                       .columns = 1,
                       .statistic = statistic,
                       .panels = {std::move(map)}});
  Figure curves{.id = "curves",
                .title = "Objective over the steps",
                .caption = "The stronger the colour, the larger τ.",
                .columns = 4,
                .statistic = statistic};
  for (const double mu : mus) {
    Panel panel{.id = "mu-" + to_text(mu),
                .title = "μ = " + to_text(mu),
                .x = {.label = "step"},
                .y = {.label = "objective", .log = true}};
    for (std::size_t i = 0; i < taus.size(); ++i) {
      const Group* group = find(r, "huber", "objective", {{"mu", mu}, {"tau", taus[i]}});
      if (group == nullptr) continue;
      Series series = over_steps(*group);
      series.name = "τ = " + to_text(taus[i]);
      if (taus.size() > 1)
        series.shade = static_cast<double>(i) / static_cast<double>(taus.size() - 1);
      panel.series.push_back(std::move(series));
    }
    curves.panels.push_back(std::move(panel));
  }
  r.figures.push_back(std::move(curves));
  const auto one = std::ranges::find(taus, 1.0);
  const std::string claim = "tau = 1 performs relatively well across mu";
  if (one == taus.end()) {
    r.claims.push_back(undecided(claim));
    return;
  }
  std::string evidence = "worst ratio over mu to the best tau:";
  for (std::size_t i = 0; i < taus.size(); ++i)
    evidence +=
        fmt::format("{}{} for tau = {}", i == 0 ? " " : ", ", show(worst[i]), show(taus[i]));
  const double at_one = worst[static_cast<std::size_t>(one - taus.begin())];
  r.claims.push_back({claim, at_one <= 1.2 * *std::ranges::min_element(worst), evidence + "."});
}

}  // namespace medgrad::lab
