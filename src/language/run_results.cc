// Training runs as results: groups, figures, and what the paper's discussion says about them.
#include "language/run_results.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>

#include "base/text.h"
#include "lab/findings/lookup.h"

namespace medgrad::language {
namespace {

std::string title_of(const std::string& score) {
  static const std::map<std::string, std::string> titles = {{"training_loss", "training loss"},
                                                            {"train_ppl", "training perplexity"},
                                                            {"valid_ppl", "validation perplexity"},
                                                            {"valid_loss", "validation loss"},
                                                            {"f1", "validation F1"},
                                                            {"accuracy", "validation accuracy"},
                                                            {"exact_match", "exact match"}};
  const auto found = titles.find(score);
  return found == titles.end() ? score : found->second;
}

// The evaluations of a run up to where it diverged, if it did.
std::span<const Evaluation> good_evaluations(const TrainingResult& result) {
  const std::vector<Evaluation>& all = result.evaluations;
  const bool ended_there = result.diverged && !all.empty() && !is_usable(all.back(), all.front());
  return {all.data(), all.size() - (ended_there ? 1 : 0)};
}

// The steps of the evaluations of some runs at one rate. Where all have diverged, the last one is
// where the longest of them had: there, nothing is left of any.
std::vector<std::size_t> steps_of(const std::vector<const FinishedRun*>& runs) {
  std::vector<std::size_t> steps;
  std::size_t end = 0;
  for (const FinishedRun* const run : runs) {
    const std::span<const Evaluation> good = good_evaluations(run->result);
    for (std::size_t k = steps.size(); k < good.size(); ++k) steps.push_back(good[k].step);
    end = std::max(end, run->result.steps);
  }
  if (std::ranges::all_of(runs, [](const FinishedRun* run) { return run->result.diverged; }))
    steps.push_back(steps.empty() ? end : std::max(end, steps.back() + 1));
  return steps;
}

// Scores of a method at one rate over the epochs, one column per seed. From where a run diverged,
// what it lacks is missing.
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
    group.steps = steps_of(runs);
    for (std::size_t k = 0; k < group.steps.size(); ++k) {
      for (const FinishedRun* run : runs) {
        const std::span<const Evaluation> good = good_evaluations(run->result);
        const bool lost = k >= good.size() || (run->result.diverged && k + 1 == group.steps.size());
        group.values.push_back(lost ? lab::kDiverged : score(good[k].scores, name));
      }
    }
    lab::summarise(group);
    groups.push_back(std::move(group));
  }
  return groups;
}

// Of F1 and exact matches more is better; of losses and perplexities less.
bool more_is_better(const std::string& name) {
  return name == "f1" || name == "exact_match" || name == "accuracy";
}

// A cross where the first of the runs had diverged.
void mark_diverged(lab::Series& series, const lab::Group& group) {
  const auto first =
      std::ranges::find_if(group.stats, [](const lab::Stats& s) { return s.diverged > 0; });
  if (first != group.stats.end())
    series.diverged.push_back(
        static_cast<double>(group.steps[static_cast<std::size_t>(first - group.stats.begin())]));
}

lab::Figure figure_of(const lab::Results& results, const std::vector<std::string>& scores) {
  lab::Figure figure;
  figure.id = "training";
  figure.title = "Training";
  figure.caption =
      "After every epoch, in evaluation mode, at each method's learning rate. A cross at the top: "
      "from there on a seed had diverged.";
  for (const std::string& name : scores) {
    lab::Panel panel;
    panel.id = name;
    panel.title = title_of(name);
    panel.x.label = "step";
    panel.y.label = title_of(name);
    panel.y.log = name.ends_with("ppl");
    for (const lab::Group& group : results.groups) {
      if (group.metric != name) continue;
      lab::Series series = lab::over_steps(group);
      mark_diverged(series, group);
      lab::add_method(panel, std::move(series));
    }
    // A diverged run would count as the best of them.
    if (more_is_better(name))
      for (lab::Series& series : panel.series)
        for (auto* other : {&series.median, &series.lower, &series.upper}) other->clear();
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

// "final training loss 5.1 (vclip) and infinite (sgd-m, 1 of 5 seeds diverged)."
std::string both(const lab::Group& a, const lab::Group& b) {
  std::string text = "final training loss ";
  for (const lab::Group* const one : {&a, &b}) {
    const lab::Stats& last = one->last();
    text +=
        fmt::format("{}{} ({}", one == &a ? "" : " and ", lab::show(last.mean_of_all()), one->key);
    if (last.diverged > 0)
      text += fmt::format(", {} of {} diverged", last.diverged, counted(one->runs, "seed"));
    text += ")";
  }
  return text + ".";
}

bool is_so(TaskInfo::Relation relation, double a, double b) {
  switch (relation) {
    case TaskInfo::Relation::better:
      return a < b;
    case TaskInfo::Relation::worse:
      return b < a;
    case TaskInfo::Relation::on_par:
      return std::fabs(a / b - 1) < 0.05;
  }
  return false;
}

// Compares two methods by their final training losses, means over the seeds, of which a diverged
// one is infinite. Undecided where one was not run, or both have diverged.
lab::Claim compare(const lab::Results& results, std::string claim, std::string_view first,
                   std::string_view second, TaskInfo::Relation relation) {
  const lab::Group* const a = lab::find(results, first, "training_loss");
  const lab::Group* const b = lab::find(results, second, "training_loss");
  if (a == nullptr || b == nullptr) return lab::undecided(std::move(claim));
  lab::Claim made{std::move(claim), {}, both(*a, *b)};
  const double x = a->last().mean_of_all(), y = b->last().mean_of_all();
  if (std::isfinite(x) || std::isfinite(y)) made.holds = is_so(relation, x, y);
  return made;
}

// The methods of the runs, in the order of their first run.
std::vector<std::string> words_in(const std::vector<FinishedRun>& runs) {
  std::vector<std::string> words;
  for (const FinishedRun& run : runs)
    if (std::ranges::find(words, run.key.method.word) == words.end())
      words.push_back(run.key.method.word);
  return words;
}

// Scores of a method after the last step at one rate, and on what other axes there are.
void add_final_scores(lab::Results& results, const std::vector<const FinishedRun*>& runs,
                      const lab::Axes& other) {
  const RunKey& key = runs.front()->key;
  for (const auto& [name, ignored] : runs.front()->result.evaluations.front().scores) {
    lab::Group group{.method = key.method.label,
                     .key = key.method.key,
                     .axes = {{"lr", key.lr}},
                     .metric = fmt::format("final_{}", name),
                     .runs = runs.size()};
    group.axes.insert(group.axes.end(), other.begin(), other.end());
    for (const FinishedRun* const run : runs)
      group.values.push_back(run->result.diverged
                                 ? lab::kDiverged
                                 : score(run->result.evaluations.back().scores, name));
    lab::summarise(group);
    results.groups.push_back(std::move(group));
  }
}

}  // namespace

void add_statements(const TaskInfo& task, lab::Results& results) {
  for (const TaskInfo::Statement& one : task.statements)
    results.claims.push_back(
        compare(results, std::string(one.claim), "vclip", one.than, one.vclip_is));
}

void training_findings(const lab::Experiment& experiment, lab::Results& results) {
  const Node* const task = experiment.document.find("task");
  // A sweep compares rates, not methods, and the paper has no corrupted steps.
  if (task == nullptr || task->text() == nullptr || experiment.document.find("sweep") != nullptr ||
      experiment.document.find("corrupted") != nullptr)
    return;
  add_statements(find_task(*task->text()), results);
}

lab::Results results_of(const Task& task, const std::string& name,
                        const std::vector<FinishedRun>& runs) {
  lab::Results results;
  results.experiment = name;
  results.title = fmt::format("Training: {}", task.info().title);
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
    rates += fmt::format("{}{} {}", rates.empty() ? "" : ", ", chosen.front()->key.method.label,
                         number(best));
    const auto diverged =
        std::ranges::count_if(chosen, [](const FinishedRun* run) { return run->result.diverged; });
    if (diverged > 0) rates += fmt::format(" ({} diverged)", diverged);
  }
  results.notes.push_back(fmt::format("Learning rates: {}.", rates));
  results.figures.push_back(
      figure_of(results, {"training_loss", std::string(task.info().validation)}));
  return results;
}

lab::Panel add_rates(lab::Results& results, const std::vector<FinishedRun>& runs,
                     const std::optional<lab::Corruption>& bad_steps) {
  lab::Panel panel{.id = "rates",
                   .title = "final training loss",
                   .x = {.label = "learning rate", .log = true},
                   .y = {.label = "training loss"}};
  lab::Axes other;
  if (bad_steps) {
    const double share = bad_steps->share;
    const std::string kind = share == 0 ? kNoBadSteps : std::string(lab::name(bad_steps->kind));
    panel.id = fmt::format("rates-{}-{}", number(share), kind);
    panel.title = bad_steps_in_words(share, kind);
    other = {{"share", share}, {"kind", kind}};
  }
  for (const std::string& word : words_in(runs)) {
    std::map<double, std::vector<const FinishedRun*>> by_rate;
    for (const FinishedRun& run : runs)
      if (run.key.method.word == word && !run.result.evaluations.empty())
        by_rate[run.key.lr].push_back(&run);
    if (by_rate.empty()) continue;
    const std::size_t before = results.groups.size();
    for (const auto& [lr, of_rate] : by_rate) add_final_scores(results, of_rate, other);
    const Method& method = by_rate.begin()->second.front()->key.method;
    lab::Series series{.name = method.label, .key = method.key};
    for (const lab::Group& group : std::span(results.groups).subspan(before))
      if (group.metric == "final_training_loss")
        lab::add_point(series, lab::number_on(group.axes, "lr"), group.last());
    std::string diverged;
    for (const auto& [lr, of_rate] : by_rate) {
      const auto lost = std::ranges::count_if(
          of_rate, [](const FinishedRun* run) { return run->result.diverged; });
      if (lost == 0) continue;
      series.diverged.push_back(lr);
      diverged += (diverged.empty() ? "" : ", ") + number(lr);
    }
    if (!diverged.empty())
      results.notes.push_back(fmt::format("{} diverged at learning rate {}{}.", series.name,
                                          diverged, bad_steps ? ", " + panel.title : ""));
    lab::add_method(panel, std::move(series));
  }
  choose_scale(panel);
  return panel;
}

void choose_scale(lab::Panel& panel) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const lab::Series& series : panel.series) {
    for (const double y : series.y) {
      if (std::isnan(y)) continue;
      least = std::min(least, y);
      most = std::max(most, y);
    }
  }
  panel.y.log = most > 10 * least;
}

std::string bad_steps_in_words(double share, const std::string& kind) {
  return share == 0 ? "no bad steps"
                    : fmt::format("{} % bad steps ({})", number(100 * share), kind);
}

lab::Figure rates_figure(std::vector<lab::Panel> panels) {
  return {.id = "rates",
          .title = "Final training loss against the learning rate",
          .caption =
              "Mean over the seeds that did not diverge, after the last step; the band goes "
              "from the smallest to the largest of them. A cross at the top: a seed "
              "diverged at that rate, and the others were left out.",
          .columns = panels.size() > 1 ? 2 : 1,
          .panels = std::move(panels)};
}

lab::Results sweep_results(const Task& task, const std::string& name,
                           const std::vector<FinishedRun>& runs) {
  lab::Results results = results_of(task, name, runs);
  results.title = fmt::format("Learning rates: {}", task.info().title);
  lab::Panel panel = add_rates(results, runs, {});
  results.figures.insert(results.figures.begin(), rates_figure({std::move(panel)}));
  return results;
}

}  // namespace medgrad::language
