#include "language/corrupted_results.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "lab/findings/best_rates.h"
#include "lab/findings/lookup.h"
#include "language/run_results.h"

namespace medgrad::language {
namespace {

constexpr const char* kLoss = "final_training_loss";

// The steps that are bad in some runs: their share, and what is wrong with them.
struct BadSteps {
  double share = 0;
  std::string kind = kNoBadSteps;
  bool operator==(const BadSteps&) const = default;

  [[nodiscard]] std::string words() const { return bad_steps_in_words(share, kind); }
};

BadSteps bad_steps_of(const lab::Group& group) {
  const auto kind = std::ranges::find(group.axes, "kind", &lab::Axes::value_type::first);
  return {lab::number_on(group.axes, "share"),
          kind == group.axes.end() ? "" : lab::to_text(kind->second)};
}

// In the order of the file.
std::vector<BadSteps> bad_steps_in(const lab::Results& results) {
  std::vector<BadSteps> all;
  for (const lab::Group& group : results.groups) {
    const BadSteps of_group = bad_steps_of(group);
    if (group.metric == kLoss && std::ranges::find(all, of_group) == all.end())
      all.push_back(of_group);
  }
  return all;
}

// A method at its best rate, by the mean over the seeds; a diverged seed is infinite.
struct Best {
  const lab::Group* group = nullptr;
  double loss = std::nan("");  // NaN where it was not run
  double lr = std::nan("");
  double least = std::nan(""), largest = std::nan("");  // of the rates
};

Best best_at(const lab::Results& results, const std::string& method, const BadSteps& bad) {
  Best best;
  for (const lab::Group& group : results.groups) {
    if (group.method != method || group.metric != kLoss || bad_steps_of(group) != bad) continue;
    const double lr = lab::number_on(group.axes, "lr"), loss = group.last().mean_of_all();
    best.least = std::fmin(best.least, lr);
    best.largest = std::fmax(best.largest, lr);
    if (best.group != nullptr && !(loss < best.loss)) continue;
    best.group = &group;
    best.loss = loss;
    best.lr = lr;
  }
  return best;
}

// "Adam 5.6 (lr 0.001), MedianAdam 5.7 (lr 0.001)"
std::string table_at(const lab::Results& results, const BadSteps& bad) {
  std::string text;
  for (const auto& [method, key] : lab::methods_of(results, kLoss)) {
    const Best best = best_at(results, method, bad);
    if (best.group == nullptr) continue;
    text += fmt::format("{}{} {} (lr {})", text.empty() ? "" : "; ", method, lab::show(best.loss),
                        number(best.lr));
  }
  return text;
}

// The loss against the shares of one kind, and without bad steps.
lab::Panel panel_of(const lab::Results& results, const std::string& kind) {
  lab::Panel panel{.id = "corrupted-" + kind,
                   .title = kind,
                   .x = {.label = "share of bad steps"},
                   .y = {.label = "training loss"}};
  std::vector<BadSteps> shown = bad_steps_in(results);
  std::erase_if(shown, [&](const BadSteps& bad) { return bad.share != 0 && bad.kind != kind; });
  std::ranges::sort(shown, {}, &BadSteps::share);
  for (const auto& [method, key] : lab::methods_of(results, kLoss)) {
    lab::Series series{.name = method, .key = key};
    for (const BadSteps& bad : shown) {
      const Best best = best_at(results, method, bad);
      if (best.group == nullptr) continue;
      lab::add_point(series, bad.share, best.group->last());
      if (best.group->last().diverged > 0) series.diverged.push_back(bad.share);
    }
    lab::add_method(panel, std::move(series));
  }
  choose_scale(panel);
  return panel;
}

// The mean training loss before the first step.
double start_of(const std::vector<CorruptedRuns>& all) {
  double sum = 0, count = 0;
  for (const CorruptedRuns& one : all) {
    for (const FinishedRun& run : one.runs) {
      if (run.result.evaluations.empty()) continue;
      sum += score(run.result.evaluations.front().scores, "training_loss");
      count += 1;
    }
  }
  return sum / count;
}

// Whether more rates should have been tried with bad steps of that kind.
lab::Claim rates_are_inside(const lab::Results& results, const std::string& kind, double start) {
  std::vector<lab::Tuned> tuned;
  for (const auto& [method, key] : lab::methods_of(results, kLoss)) {
    for (const BadSteps& bad : bad_steps_in(results)) {
      const Best best = best_at(results, method, bad);
      if (bad.kind == kind && best.group != nullptr)
        tuned.push_back({method, bad.share, best.loss, best.lr, best.least, best.largest});
    }
  }
  return lab::rates_are_inside(kind == kNoBadSteps ? "no bad steps" : kind, start, tuned);
}

// One method's loss against another's, at their best rates.
lab::Claim ahead(const lab::Results& results, const std::string& one, const std::string& other,
                 const BadSteps& bad) {
  const Best a = best_at(results, one, bad), b = best_at(results, other, bad);
  lab::Claim made{fmt::format("{} ends ahead of {} with {}", one, other, bad.words()), {}, ""};
  if (a.group == nullptr || b.group == nullptr) return lab::undecided(std::move(made.claim));
  made.evidence =
      fmt::format("final training loss {} and {}.", lab::show(a.loss), lab::show(b.loss));
  if (std::isfinite(a.loss) || std::isfinite(b.loss)) made.holds = a.loss < b.loss;
  return made;
}

constexpr double kNear = 0.02;

}  // namespace

lab::Results corrupted_results(const Task& task, const std::string& name,
                               const std::vector<CorruptedRuns>& runs) {
  lab::Results results;
  results.experiment = name;
  results.title = fmt::format("Corrupted steps: {}", task.info().title);
  results.description = task.description();
  std::vector<lab::Panel> rates, shares;
  for (const CorruptedRuns& one : runs)
    rates.push_back(add_rates(results, one.runs, one.corrupted));
  std::vector<std::string> kinds;
  for (const BadSteps& bad : bad_steps_in(results)) {
    results.notes.push_back(fmt::format("Best with {}: {}.", bad.words(), table_at(results, bad)));
    if (std::ranges::find(kinds, bad.kind) == kinds.end()) kinds.push_back(bad.kind);
  }
  for (const std::string& kind : kinds) {
    if (kind != kNoBadSteps) shares.push_back(panel_of(results, kind));
    results.claims.push_back(rates_are_inside(results, kind, start_of(runs)));
  }
  results.figures.push_back({.id = "corrupted",
                             .title = "Final training loss against the share of bad steps",
                             .caption = "Every method at its best learning rate for that share. A "
                                        "cross at the top: a seed diverged there at every rate.",
                             .columns = shares.size() > 1 ? 2 : 1,
                             .panels = std::move(shares)});
  results.figures.push_back(rates_figure(std::move(rates)));
  return results;
}

void corrupted_training_findings(const lab::Experiment&, lab::Results& results) {
  for (const BadSteps& bad : bad_steps_in(results)) {
    if (bad.share == 0) {
      const Best ours = best_at(results, "MedianAdam", bad), adams = best_at(results, "Adam", bad);
      std::string claim = "without bad steps MedianAdam is within 2 % of Adam";
      if (ours.group == nullptr || adams.group == nullptr) {
        results.claims.push_back(lab::undecided(std::move(claim)));
        continue;
      }
      results.claims.push_back({std::move(claim), ours.loss <= (1 + kNear) * adams.loss,
                                fmt::format("final training loss {} and {}.", lab::show(ours.loss),
                                            lab::show(adams.loss))});
      continue;
    }
    for (const char* const other : {"Adam", "SGD-M"})
      results.claims.push_back(ahead(results, "MedianAdam", other, bad));
    results.claims.push_back(ahead(results, "VClip, tau = auto", "SGD-M", bad));
  }
}

}  // namespace medgrad::language
