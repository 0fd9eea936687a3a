// Estimating a fixed vector: claims and figures (paper, section 6.1, figs. toy-example and
// toy-example-ablation).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "lab/experiments.h"
#include "lab/findings/lookup.h"

namespace medgrad::lab {
namespace {

constexpr std::string_view kError = "final_relative_error";

// Lightest and heaviest tails measured, as 1/alpha.
struct Tails {
  double light, heavy;
};

Claim momentum_degrades(const Results& r, const Tails& range) {
  const double light = median_of(r, "momentum", kError, {{"inv_alpha", range.light}});
  const double heavy = median_of(r, "momentum", kError, {{"inv_alpha", range.heavy}});
  return {"momentum degrades as alpha falls", heavy > 10 * light,
          fmt::format("median final error {} at 1/alpha = {}, {} at {}.", show(light),
                      show(range.light), show(heavy), show(range.heavy))};
}

Claim clipping_is_robust(const Results& r, const std::vector<double>& axis) {
  double worst_v = 0, worst_c = 0;
  for (const double x : axis) {
    const Group* v = find(r, "vclip", kError, {{"inv_alpha", x}});
    const Group* c = find(r, "cclip", kError, {{"inv_alpha", x}});
    if (v == nullptr || c == nullptr) return undecided("VClip and CClip stay robust");
    worst_v = std::max(worst_v, v->last().max_of_all());
    worst_c = std::max(worst_c, c->last().max_of_all());
  }
  return {"VClip and CClip stay robust", worst_v < 1.5 && worst_c < 1.5,
          fmt::format("the largest final error of any run at any alpha is {} (vclip) and {} "
                      "(cclip); doing nothing has 1.",
                      show(worst_v), show(worst_c))};
}

Claim cclip_improves(const Results& r, const Tails& range) {
  const auto ratio = [&](double x) {
    return mean_of(r, "cclip", kError, {{"inv_alpha", x}}) /
           mean_of(r, "vclip", kError, {{"inv_alpha", x}});
  };
  const double light = ratio(range.light), heavy = ratio(range.heavy);
  return {"CClip improves (relatively) as alpha falls", heavy < light,
          fmt::format("its mean final error is {} of vclip's at 1/alpha = {} and {} at {}.",
                      show(light), show(range.light), show(heavy), show(range.heavy))};
}

Claim huber_inferior(const Results& r, const std::vector<double>& axis) {
  double least = 1e300, most = 0;
  for (const double x : axis) {
    const double ratio = mean_of(r, "huber", kError, {{"inv_alpha", x}}) /
                         mean_of(r, "vclip", kError, {{"inv_alpha", x}});
    least = std::min(least, ratio);
    most = std::max(most, ratio);
  }
  return {"Huber is very similar to VClip, but slightly inferior", least >= 1 && most < 1.5,
          fmt::format("its mean final error is {} to {} of vclip's over all alpha. From m = 0, "
                      "Huber is ahead while both still approach the target, and slightly behind at "
                      "the noise floor (2000 to 6000 steps).",
                      show(least), show(most))};
}

Claim momentum_best_for_gaussian(const Results& r, const Tails& range) {
  const double momentum = mean_of(r, "momentum", kError, {{"inv_alpha", range.light}});
  double best = 1e300;
  for (const char* other : {"vclip", "cclip", "huber"})
    best = std::min(best, mean_of(r, other, kError, {{"inv_alpha", range.light}}));
  return {"with a small tau, momentum is best for Gaussian noise", momentum < best,
          fmt::format("mean final error {} against {} of the best other, at 1/alpha = {}.",
                      show(momentum), show(best), show(range.light))};
}

Claim skewness_breaks_medians(const Results& r, const Tails& range) {
  std::string evidence;
  bool holds = true;
  for (const char* method : {"vclip", "cclip"}) {
    const double symmetric = mean_of(r, method, kError, {{"inv_alpha", range.light}});
    const double skewed = mean_of(r, method, kError, {{"inv_alpha", 0.8}});
    holds = holds && skewed > 2 * symmetric;
    evidence += fmt::format("{}{} {} at 1/alpha = {}, {} at 0.8", evidence.empty() ? "" : "; ",
                            method, show(symmetric), show(range.light), show(skewed));
  }
  return {"under skewed noise V/CClip fail, as its median is not zero", holds,
          fmt::format("mean final errors: {}.", evidence)};
}

Figure final_figure(const Results& r, Statistic statistic) {
  Panel panel{.id = "final-error",
              .title = "Final error",
              .x = {.label = "1/α"},
              .y = {.label = "relative error", .log = true}};
  for (const auto& [method, key] : methods_of(r, kError))
    panel.series.push_back(over_axis(r, method, kError, "inv_alpha"));
  return {.id = "final-error",
          .title = "Final error against 1/α",
          .caption = "After the last step. Tails grow heavier to the right.",
          .columns = 1,
          .statistic = statistic,
          .panels = {std::move(panel)}};
}

Figure convergence_figure(const Results& r, const std::vector<double>& axis, Statistic statistic) {
  Figure figure{.id = "convergence",
                .title = "Convergence",
                .caption = "One curve per 1/α: the stronger the colour, the heavier the tails.",
                .columns = 2,
                .statistic = statistic};
  for (const auto& [method, key] : methods_of(r, "relative_error")) {
    Panel panel{.id = "convergence-" + method,
                .title = method,
                .x = {.label = "step"},
                .y = {.label = "relative error", .log = true}};
    for (std::size_t i = 0; i < axis.size(); ++i) {
      const Group* group = find(r, method, "relative_error", {{"inv_alpha", axis[i]}});
      if (group == nullptr) continue;
      Series series = over_steps(*group);
      series.name = "1/α = " + show(axis[i]);
      // Bands of eleven curves would cover each other.
      for (auto* band : {&series.low, &series.high, &series.lower, &series.upper}) band->clear();
      if (axis.size() > 1)
        series.shade = static_cast<double>(i) / static_cast<double>(axis.size() - 1);
      panel.series.push_back(std::move(series));
    }
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

// Figures, and the claims on the four methods where all were run.
template <class Claims>
void add_toy(const Experiment& experiment, Results& r, Claims claims) {
  std::vector<double> axis = values_on(r, "inv_alpha");
  if (axis.empty()) return;
  std::ranges::sort(axis);
  r.figures.push_back(final_figure(r, statistic_for(experiment)));
  r.figures.push_back(convergence_figure(r, axis, statistic_for(experiment)));
  for (const char* needed : {"momentum", "vclip", "cclip", "huber"}) {
    if (find(r, needed, kError) != nullptr) continue;
    r.claims.push_back(undecided("the claims on momentum, VClip, CClip and Huber"));
    return;
  }
  claims(axis, Tails{axis.front(), axis.back()});
}

void add_symmetric_claims(Results& r, const std::vector<double>& axis, const Tails& range) {
  r.claims.push_back(momentum_degrades(r, range));
  r.claims.push_back(clipping_is_robust(r, axis));
  r.claims.push_back(cclip_improves(r, range));
  r.notes.emplace_back(
      "For α < 2 the error of momentum has no variance, and for α <= 1 no mean: its mean and "
      "standard "
      "error over the runs are those of this sample only; its median is meaningful.");
}

}  // namespace

void toy_findings(const Experiment& experiment, Results& r) {
  add_toy(experiment, r, [&](const std::vector<double>& axis, const Tails& range) {
    add_symmetric_claims(r, axis, range);
    r.claims.push_back(huber_inferior(r, axis));
  });
}

void toy_small_tau_findings(const Experiment& experiment, Results& r) {
  add_toy(experiment, r, [&](const std::vector<double>& axis, const Tails& range) {
    add_symmetric_claims(r, axis, range);
    r.claims.push_back(momentum_best_for_gaussian(r, range));
  });
}

void toy_skewed_findings(const Experiment& experiment, Results& r) {
  add_toy(experiment, r, [&](const std::vector<double>&, const Tails& range) {
    r.claims.push_back(skewness_breaks_medians(r, range));
    r.notes.emplace_back(
        "The S1 form of a skewed stable law jumps at alpha = 1 (1/α = 1): for α just above 1 its "
        "median runs off to −∞, just below to +∞. With \"form\": \"S0\" it is continuous.");
  });
}

}  // namespace medgrad::lab
