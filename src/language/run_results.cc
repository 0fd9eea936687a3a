// Training runs as results: groups, figures, and what the paper's discussion says about them.
#include "language/run_results.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/text.h"
#include "lab/findings/lookup.h"

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

// Of F1 and exact matches more is better; of losses and perplexities less.
bool more_is_better(const std::string& name) { return name == "f1" || name == "exact_match"; }

lab::Figure figure_of(const lab::Results& results, const std::vector<std::string>& scores) {
  lab::Figure figure;
  figure.id = "training";
  figure.title = "Training";
  figure.caption = "After every epoch, in evaluation mode, at each method's learning rate.";
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
    // A diverged run would count as the best of them.
    if (more_is_better(name))
      for (lab::Series& series : panel.series)
        for (auto* other : {&series.median, &series.lower, &series.upper}) other->clear();
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

// "final training loss 5.1 (vclip) and diverged (sgd-m)."
std::string both(const lab::Group& a, const lab::Group& b) {
  std::string text = "final training loss ";
  for (const lab::Group* const one : {&a, &b}) {
    const double mean = one->last().mean;
    text.append(one == &a ? "" : " and ")
        .append(std::isnan(mean) ? "diverged" : lab::show(mean))
        .append(" (")
        .append(one->key)
        .append(")");
  }
  return text.append(".");
}

// Compares two methods by their final training losses, means over the seeds; NaN where a method has
// diverged. Undecided where one was not run, or both have diverged.
lab::Claim compare(const lab::Results& results, std::string claim, std::string_view first,
                   std::string_view second, bool (*holds)(double, double)) {
  const lab::Group* const a = lab::find(results, first, "training_loss");
  const lab::Group* const b = lab::find(results, second, "training_loss");
  if (a == nullptr || b == nullptr) return lab::undecided(std::move(claim));
  lab::Claim made{std::move(claim), {}, both(*a, *b)};
  const double x = a->last().mean, y = b->last().mean;
  if (!std::isnan(x) || !std::isnan(y)) made.holds = holds(x, y);
  return made;
}

bool is_better(double a, double b) { return !std::isnan(a) && !(b <= a); }
bool is_worse(double a, double b) { return is_better(b, a); }
bool is_on_par(double a, double b) { return std::fabs(a / b - 1) < 0.05; }

void add_claims(const Task& task, lab::Results& results) {
  const auto add = [&](const char* claim, std::string_view than, bool (*holds)(double, double)) {
    results.claims.push_back(compare(results, claim, "vclip", than, holds));
  };
  if (task.info().questions) {
    add("VClip is on par with SGD-M (within 5 %)", "sgd-m", is_on_par);
  } else {
    add("VClip improves over SGD-M", "sgd-m", is_better);
  }
  add("CClip performs worse than VClip", "cclip", is_better);
  add("VClip does not close the gap to Adam", "adam", is_worse);
  if (task.info().name.starts_with("wikitext2"))
    add("VClip performs worse than clipped-SGD", "clipped-sgd", is_worse);
}

// The methods of the runs, in the order of their first run.
std::vector<std::string> words_in(const std::vector<FinishedRun>& runs) {
  std::vector<std::string> words;
  for (const FinishedRun& run : runs)
    if (std::ranges::find(words, run.key.method.word) == words.end())
      words.push_back(run.key.method.word);
  return words;
}

// Scores of a method after the last step at one rate.
void add_final_scores(lab::Results& results, const std::vector<const FinishedRun*>& runs) {
  const RunKey& key = runs.front()->key;
  for (const auto& [name, ignored] : runs.front()->result.evaluations.front().scores) {
    lab::Group group{.method = key.method.label,
                     .key = key.method.key,
                     .axes = {{"lr", key.lr}},
                     .metric = std::string("final_").append(name),
                     .runs = runs.size()};
    for (const FinishedRun* const run : runs)
      group.values.push_back(run->result.diverged
                                 ? lab::kDiverged
                                 : score(run->result.evaluations.back().scores, name));
    lab::summarise(group);
    results.groups.push_back(std::move(group));
  }
}

}  // namespace

std::string validation_score(const TaskInfo& info) { return info.questions ? "f1" : "valid_ppl"; }

lab::Results results_of(const Task& task, const std::string& name,
                        const std::vector<FinishedRun>& runs, bool claims) {
  lab::Results results;
  results.experiment = name;
  results.title = std::string("Training: ").append(task.info().title);
  results.description = task.description();
  std::string rates;
  for (const std::string& word : words_in(runs)) {
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
  results.figures.push_back(figure_of(results, {"training_loss", validation_score(task.info())}));
  return results;
}

lab::Results sweep_results(const Task& task, const std::string& name,
                           const std::vector<FinishedRun>& runs) {
  lab::Results results = results_of(task, name, runs, false);
  results.title = std::string("Learning rates: ").append(task.info().title);
  lab::Panel panel{.id = "rates",
                   .title = "final training loss",
                   .x = {.label = "learning rate", .log = true},
                   .y = {.label = "training loss"}};
  for (const std::string& word : words_in(runs)) {
    std::map<double, std::vector<const FinishedRun*>> by_rate;
    for (const FinishedRun& run : runs)
      if (run.key.method.word == word && !run.result.evaluations.empty())
        by_rate[run.key.lr].push_back(&run);
    if (by_rate.empty()) continue;
    for (const auto& [lr, of_rate] : by_rate) add_final_scores(results, of_rate);
    panel.series.push_back(lab::over_axis(
        results, by_rate.begin()->second.front()->key.method.label, "final_training_loss", "lr"));
  }
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const lab::Series& series : panel.series) {
    for (const double y : series.y) {
      if (std::isnan(y)) continue;
      least = std::min(least, y);
      most = std::max(most, y);
    }
  }
  panel.y.log = most > 10 * least;  // within a decade a logarithmic axis has no numbers on it
  results.figures.insert(results.figures.begin(),
                         lab::Figure{.id = "rates",
                                     .title = "Final training loss against the learning rate",
                                     .caption = "Mean over the seeds that did not diverge, after "
                                                "the last step; the band goes from the "
                                                "smallest to the largest of them.",
                                     .columns = 1,
                                     .panels = {std::move(panel)}});
  return results;
}

}  // namespace medgrad::language
