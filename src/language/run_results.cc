// Training runs as results: groups, figures, and what the paper's discussion says about them.
#include <algorithm>
#include <cmath>
#include <map>

#include "core/text.h"
#include "lab/findings/lookup.h"
#include "language/runs.h"

namespace medgrad::language {
namespace {

std::string title_of(const std::string& score) {
  static const std::map<std::string, std::string> titles = {{"training_loss", "training loss"},
                                                            {"train_ppl", "training perplexity"},
                                                            {"valid_ppl", "validation perplexity"},
                                                            {"valid_loss", "validation loss"},
                                                            {"f1", "validation F1"},
                                                            {"exact_match", "exact match"}};
  const auto found = titles.find(score);
  return found == titles.end() ? score : found->second;
}

// Scores of a method at one rate over the epochs, one column per seed. Runs that end early have
// diverged: what they lack is missing.
std::vector<lab::Group> groups_of(const std::vector<const FinishedRun*>& runs) {
  const FinishedRun* longest = *std::ranges::max_element(
      runs, {}, [](const FinishedRun* run) { return run->result.evaluations.size(); });
  std::vector<lab::Group> groups;
  if (longest->result.evaluations.empty()) return groups;
  for (const auto& [name, ignored] : longest->result.evaluations.front().scores) {
    lab::Group group;
    group.method = longest->key.method.label;
    group.key = longest->key.method.key;
    group.axes = {{"lr", longest->key.lr}};
    group.metric = name;
    group.runs = runs.size();
    for (const Evaluation& one : longest->result.evaluations) group.steps.push_back(one.step);
    for (std::size_t k = 0; k < group.steps.size(); ++k) {
      for (const FinishedRun* run : runs) {
        const auto& evaluations = run->result.evaluations;
        const bool there =
            k < evaluations.size() && !(run->result.diverged && k + 1 == evaluations.size());
        group.values.push_back(there ? score(evaluations[k].scores, name) : lab::kDiverged);
      }
    }
    lab::summarise(group);
    groups.push_back(std::move(group));
  }
  return groups;
}

lab::Figure figure_of(const lab::Results& results, const std::vector<std::string>& scores) {
  lab::Figure figure;
  figure.id = "training";
  figure.title = "Training";
  figure.caption =
      "Mean over seeds after every epoch, in evaluation mode, at each method's learning rate; the "
      "band goes from the smallest to the largest seed.";
  for (const std::string& name : scores) {
    lab::Panel panel;
    panel.id = name;
    panel.title = title_of(name);
    panel.x.label = "step";
    panel.y.label = title_of(name);
    panel.y.log = name.ends_with("ppl");
    for (const lab::Group& group : results.groups)
      if (group.metric == name && group.last().n > 0)
        panel.series.push_back(lab::over_steps(group));
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

// "VClip improves over SGD-M": smaller final training loss, by the means over the seeds.
lab::Claim compare(const lab::Results& results, std::string claim, std::string_view better,
                   std::string_view worse) {
  const double a = lab::mean_of(results, better, "training_loss"),
               b = lab::mean_of(results, worse, "training_loss");
  if (std::isnan(a) && std::isnan(b)) return lab::undecided(std::move(claim));
  lab::Claim made{std::move(claim), !std::isnan(a) && !(b < a), {}};
  made.evidence.append("final training loss ")
      .append(lab::show(a))
      .append(" (")
      .append(better)
      .append(") and ")
      .append(lab::show(b))
      .append(" (")
      .append(worse)
      .append(")");
  return made;
}

void add_claims(const Task& task, lab::Results& results) {
  const std::string_view name = task.info().name;
  const bool on_squad = task.info().questions;
  if (on_squad) {
    const double a = lab::mean_of(results, "vclip", "training_loss"),
                 b = lab::mean_of(results, "sgd-m", "training_loss");
    lab::Claim claim{"VClip is on par with SGD-M (within 5 %)", {}, {}};
    if (!std::isnan(a) && !std::isnan(b)) {
      claim.holds = std::fabs(a / b - 1) < 0.05;
      claim.evidence.append("final training loss ")
          .append(lab::show(a))
          .append(" and ")
          .append(lab::show(b));
    }
    results.claims.push_back(std::move(claim));
  } else {
    results.claims.push_back(compare(results, "VClip improves over SGD-M", "vclip", "sgd-m"));
  }
  results.claims.push_back(compare(results, "CClip performs worse than VClip", "vclip", "cclip"));
  results.claims.push_back(
      compare(results, "VClip does not close the gap to Adam", "adam", "vclip"));
  if (name.starts_with("wikitext2"))
    results.claims.push_back(
        compare(results, "VClip performs worse than clipped-SGD", "clipped-sgd", "vclip"));
}

}  // namespace

lab::Results results_of(const Task& task, const std::string& name,
                        const std::vector<FinishedRun>& runs, bool claims) {
  lab::Results results;
  results.experiment = name;
  results.title = std::string("Training: ").append(task.info().title);
  results.description = task.description();
  std::vector<std::string> words;
  for (const FinishedRun& run : runs)
    if (std::ranges::find(words, run.key.method.word) == words.end())
      words.push_back(run.key.method.word);
  std::string rates;
  for (const std::string& word : words) {
    double best = best_rate(runs, word);
    std::vector<const FinishedRun*> chosen;
    for (const FinishedRun& run : runs) {
      if (run.key.method.word != word) continue;
      if (std::isnan(best)) best = run.key.lr;  // all diverged: show that
      if (run.key.lr == best) chosen.push_back(&run);
    }
    for (lab::Group& group : groups_of(chosen)) results.groups.push_back(std::move(group));
    rates.append(rates.empty() ? "" : ", ")
        .append(chosen.front()->key.method.label)
        .append(" ")
        .append(number(best));
    const auto diverged =
        std::ranges::count_if(chosen, [](const FinishedRun* run) { return run->result.diverged; });
    if (diverged > 0) rates.append(" (").append(std::to_string(diverged)).append(" diverged)");
  }
  results.notes.push_back(std::string("Learning rates: ").append(rates).append("."));
  if (claims) add_claims(task, results);
  const bool questions = task.info().questions;
  results.figures.push_back(figure_of(results, {"training_loss", questions ? "f1" : "valid_ppl"}));
  return results;
}

}  // namespace medgrad::language
