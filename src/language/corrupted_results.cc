#include "language/corrupted_results.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "lab/findings/lookup.h"
#include "language/run_results.h"

namespace medgrad::language {
namespace {

constexpr const char* kLoss = "final_training_loss";

// A method at its best rate for a share, by the mean over the seeds; a diverged seed is infinite.
struct Best {
  const lab::Group* group = nullptr;
  double loss = std::nan("");  // NaN where it was not run
  double lr = std::nan("");
};

Best best_at(const lab::Results& results, const std::string& method, double share) {
  Best best;
  for (const double lr : lab::values_on(results, "lr")) {
    const lab::Group* const group =
        lab::find(results, method, kLoss, {{"share", share}, {"lr", lr}});
    // A name of the registry would find another method's label.
    if (group == nullptr || group->method != method) continue;
    const double loss = group->last().mean_of_all();
    if (best.group == nullptr || loss < best.loss) best = {group, loss, lr};
  }
  return best;
}

std::string words_on(double share) {
  return share == 0 ? "no bad steps" : fmt::format("{} % bad steps", number(100 * share));
}

// "Adam 5.6 (lr 0.001), MedianAdam 5.7 (lr 0.001)"
std::string table_at(const lab::Results& results, double share) {
  std::string text;
  for (const auto& [method, key] : lab::methods_of(results, kLoss)) {
    const Best best = best_at(results, method, share);
    if (best.group == nullptr) continue;
    text += fmt::format("{}{} {} (lr {})", text.empty() ? "" : "; ", method, lab::show(best.loss),
                        number(best.lr));
  }
  return text;
}

lab::Panel panel_of(const lab::Results& results) {
  lab::Panel panel{.id = "corrupted",
                   .title = "final training loss",
                   .x = {.label = "share of bad steps"},
                   .y = {.label = "training loss"}};
  for (const auto& [method, key] : lab::methods_of(results, kLoss)) {
    lab::Series series{.name = method, .key = key};
    for (const double share : lab::values_on(results, "share")) {
      const Best best = best_at(results, method, share);
      if (best.group == nullptr) continue;
      lab::add_point(series, share, best.group->last());
      if (best.group->last().diverged > 0) series.diverged.push_back(share);
    }
    lab::add_method(panel, std::move(series));
  }
  return panel;
}

// One method's loss against another's, at their best rates.
lab::Claim ahead(const lab::Results& results, const std::string& one, const std::string& other,
                 double share) {
  const Best a = best_at(results, one, share), b = best_at(results, other, share);
  lab::Claim made{fmt::format("{} ends ahead of {} with {}", one, other, words_on(share)), {}, ""};
  if (a.group == nullptr || b.group == nullptr) return lab::undecided(std::move(made.claim));
  made.evidence =
      fmt::format("final training loss {} and {}.", lab::show(a.loss), lab::show(b.loss));
  if (std::isfinite(a.loss) || std::isfinite(b.loss)) made.holds = a.loss < b.loss;
  return made;
}

constexpr double kNear = 0.02;

}  // namespace

lab::Results corrupted_results(const Task& task, const std::string& name,
                               const std::vector<RunsAtShare>& runs) {
  lab::Results results;
  results.experiment = name;
  results.title = fmt::format("Corrupted steps: {}", task.info().title);
  results.description = task.description();
  std::vector<lab::Panel> panels;
  for (const RunsAtShare& at : runs) panels.push_back(add_rates(results, at.runs, at.share));
  for (const RunsAtShare& at : runs)
    results.notes.push_back(
        fmt::format("Best with {}: {}.", words_on(at.share), table_at(results, at.share)));
  results.figures.push_back({.id = "corrupted",
                             .title = "Final training loss against the share of bad steps",
                             .caption = "Every method at its best learning rate for that share. A "
                                        "cross at the top: a seed diverged there at every rate.",
                             .columns = 1,
                             .panels = {panel_of(results)}});
  results.figures.push_back(rates_figure(std::move(panels)));
  return results;
}

void corrupted_training_findings(const lab::Experiment&, lab::Results& results) {
  for (const double share : lab::values_on(results, "share")) {
    if (share == 0) {
      const Best ours = best_at(results, "MedianAdam", 0), adams = best_at(results, "Adam", 0);
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
      results.claims.push_back(ahead(results, "MedianAdam", other, share));
    results.claims.push_back(ahead(results, "VClip, tau = auto", "SGD-M", share));
  }
}

}  // namespace medgrad::language
