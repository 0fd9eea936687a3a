// What a film shows: losses over the steps, with the blame underneath, and what can be said of it.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "lab/findings/lookup.h"
#include "language/events.h"
#include "language/film_study.h"

namespace medgrad::language {
namespace {

using lab::Group;
using lab::Results;

constexpr double kFar = 3;  // times the median distance, as in dist/blame.h

std::vector<Event> events_of(const lab::Experiment& experiment) {
  std::vector<Event> events;
  const Node* const node = experiment.document.find("events");
  if (node == nullptr || node->list() == nullptr) return events;
  for (const Node& one : *node->list()) events.push_back(parse_event(*one.text()));
  return events;
}

std::size_t steps_of(const lab::Experiment& experiment) {
  const Node* const node = experiment.document.find("steps");
  return node == nullptr || node->number() == nullptr ? 0
                                                      : static_cast<std::size_t>(*node->number());
}

// Those that are not the mean.
std::vector<std::string> robust_rules(const Results& r) {
  std::vector<std::string> rules;
  for (const auto& [method, key] : lab::methods_of(r, "training_loss"))
    if (key != "mean" && method != kNobodyFails) rules.push_back(method);
  return rules;
}

// "6 and 7"
std::string list_of(const std::set<int>& workers) {
  std::vector<std::string> names;
  for (const int one : workers) names.push_back(std::to_string(one));
  const std::vector<std::string_view> words(names.begin(), names.end());
  return words.empty() ? "nobody" : one_of(words, "and");
}

// ---- Claims -------------------------------------------------------------------------------------

// The loss at a step, or at the last one before it; NaN where there is none any more.
double loss_at(const Group& losses, std::uint64_t step) {
  double loss = lab::kDiverged;
  for (std::size_t k = 0; k < losses.steps.size() && losses.steps[k] <= step; ++k)
    loss = losses.stats[k].mean_of_all();
  return loss;
}

lab::Claim goes_on_falling(const Results& r, const std::string& rule,
                           const std::vector<Event>& events, std::size_t steps) {
  lab::Claim claim =
      lab::undecided(fmt::format("{}: the loss goes on falling from one event to the next", rule));
  const Group* const losses = lab::find(r, rule, "training_loss");
  if (losses == nullptr) return claim;
  std::set<std::uint64_t> moments = {0, steps};
  for (const Event& one : events) {
    for (const std::uint64_t step : {one.from, one.to})
      if (step < steps) moments.insert(step);
  }
  claim.holds = true;
  claim.evidence.clear();
  double before = std::numeric_limits<double>::infinity();
  for (const std::uint64_t step : moments) {
    const double loss = loss_at(*losses, step);
    if (!(loss < before)) claim.holds = false;
    claim.evidence +=
        fmt::format("{}{} at step {}", claim.evidence.empty() ? "" : ", ", lab::show(loss), step);
    before = loss;
  }
  claim.evidence += ".";
  return claim;
}

lab::Claim ends_near_the_calm(const Results& r, const std::string& rule) {
  lab::Claim claim = lab::undecided(
      fmt::format("{}: the final loss is within 5 % of that of the mean where nobody fails", rule));
  const double loss = lab::mean_of(r, rule, "training_loss"),
               calm = lab::mean_of(r, kNobodyFails, "training_loss");
  if (std::isnan(loss) || std::isnan(calm)) return claim;
  claim.holds = loss < 1.05 * calm;
  claim.evidence = fmt::format("{} and {}.", lab::show(loss), lab::show(calm));
  return claim;
}

lab::Claim mean_is_lost(const Results& r) {
  lab::Claim claim = lab::undecided("the mean is lost: it ends worse than it began");
  const Group* const losses = lab::find(r, "mean", "training_loss");
  if (losses == nullptr) return claim;
  const double first = losses->stats.front().mean, last = losses->last().mean_of_all();
  claim.holds = !(last < first);
  claim.evidence =
      std::isfinite(last)
          ? fmt::format("{} before training, {} at the end.", lab::show(first), lab::show(last))
          : fmt::format("it has diverged by step {}.", losses->steps.back());
  return claim;
}

lab::Claim blames_the_right_ones(const Results& r, const std::string& rule,
                                 const std::vector<Event>& events) {
  lab::Claim claim = lab::undecided(
      fmt::format("{}: the blame at the end names those to whom something happened, and nobody "
                  "else",
                  rule));
  std::set<int> hit, blamed;
  for (const Event& one : events) hit.insert(one.worker);
  bool any = false;
  for (const Group& group : r.groups) {
    if (group.method != rule || group.metric != "blamed") continue;
    any = true;
    if (group.last().mean > 0)
      blamed.insert(static_cast<int>(std::get<double>(group.axes.front().second)));
  }
  if (!any) return claim;
  claim.holds = blamed == hit;
  claim.evidence =
      fmt::format("blamed: {}; something happened to {}.", list_of(blamed), list_of(hit));
  return claim;
}

lab::Claim has_a_share_again(const Results& r, const std::string& rule,
                             const std::vector<Event>& events, std::size_t steps) {
  lab::Claim claim = lab::undecided(fmt::format(
      "{}: whoever comes back has at least half of an equal share in the results again", rule));
  for (const Event& one : events) {
    if (one.kind == Event::Kind::lies || one.to >= steps) continue;
    const Group* const weight =
        lab::find(r, rule, "weight", {{"worker", static_cast<double>(one.worker)}});
    if (weight == nullptr) continue;
    double sum = 0, count = 0;
    for (std::size_t k = 0; k < weight->steps.size(); ++k) {
      if (weight->steps[k] <= one.to) continue;
      sum += weight->stats[k].mean;
      count += 1;
    }
    if (count == 0) continue;
    if (!claim.holds) claim.evidence.clear();
    claim.holds = claim.holds.value_or(true) && sum / count >= 0.5;
    claim.evidence += fmt::format("{}worker {} has {} of one", claim.evidence.empty() ? "" : ", ",
                                  one.worker, lab::show(sum / count));
  }
  if (!claim.evidence.empty()) claim.evidence += ".";
  return claim;
}

// ---- The figure ---------------------------------------------------------------------------------

std::string words_of(Event::Kind kind, bool damages, bool back, bool many) {
  if (back) return many ? "are back" : "is back";
  if (kind == Event::Kind::killed) return many ? "are killed" : "is killed";
  if (kind == Event::Kind::stalled) return many ? "stall" : "stalls";
  if (damages) return "has bit flips";
  return many ? "lie" : "lies";
}

// One for every moment at which the same happens to some.
std::vector<lab::Mark> marks_of(const std::vector<Event>& events, std::size_t steps) {
  std::map<std::tuple<std::uint64_t, bool, Event::Kind, bool>, std::set<int>> moments;
  for (const Event& one : events) {
    moments[{one.from, false, one.kind, one.damages()}].insert(one.worker);
    if (one.to < steps) moments[{one.to, true, one.kind, one.damages()}].insert(one.worker);
  }
  std::vector<lab::Mark> marks;
  for (const auto& [what, workers] : moments) {
    const auto& [step, ends, kind, damages] = what;
    const bool many = workers.size() > 1;
    std::string words = words_of(kind, damages, ends, many);
    if (ends && kind == Event::Kind::lies) words = damages ? "is sound again" : "honest again";
    marks.push_back({static_cast<double>(step), fmt::format("{} {}", list_of(workers), words)});
  }
  return marks;
}

lab::Panel loss_panel(const Results& r, const std::vector<lab::Mark>& marks, std::size_t steps) {
  lab::Panel panel{.id = "loss", .title = "Training loss"};
  panel.x = {.label = "step", .min = 0, .max = static_cast<double>(steps)};
  panel.y = {.label = "training loss"};
  for (const Group& group : r.groups) {
    if (group.metric != "training_loss") continue;
    lab::Series series = lab::over_steps(group);
    if (group.last().diverged > 0) series.diverged = {static_cast<double>(group.steps.back())};
    if (group.method == kNobodyFails) {
      series.name = "mean, nobody fails";
      series.style = lab::SeriesStyle::dashed;
    }
    panel.series.push_back(std::move(series));
  }
  panel.marks = marks;
  return panel;
}

// Every worker that takes part has a point; its colour says what is known of it.
lab::Panel blame_panel(const Results& r, const std::string& rule,
                       const std::vector<lab::Mark>& marks, std::size_t steps) {
  lab::Series fine{.name = "takes part", .key = "fine", .style = lab::SeriesStyle::points};
  lab::Series far{.name = "far from the result", .key = "far", .style = lab::SeriesStyle::points};
  double most = 0;
  for (const Group& group : r.groups) {
    if (group.method != rule || group.metric != "distance") continue;
    const double worker = std::get<double>(group.axes.front().second);
    const Group* const lost = lab::find(r, rule, "not_finite", {{"worker", worker}});
    most = std::max(most, worker);
    for (std::size_t k = 0; k < group.steps.size(); ++k) {
      const bool suspicious =
          group.stats[k].mean > kFar || (lost != nullptr && lost->stats[k].mean > 0);
      lab::Series& series = suspicious ? far : fine;
      series.x.push_back(static_cast<double>(group.steps[k]));
      series.y.push_back(worker);
    }
  }
  lab::Panel panel{.id = "blame",
                   .title = fmt::format("Who takes part, and who is far away ({})", rule)};
  panel.x = {.label = "step", .min = 0, .max = static_cast<double>(steps)};
  panel.y = {.label = "worker", .min = -0.7, .max = most + 0.7};
  for (lab::Series* const one : {&fine, &far})
    if (!one->x.empty()) panel.series.push_back(std::move(*one));
  for (const lab::Mark& mark : marks) panel.marks.push_back({mark.x});
  return panel;
}

// Gaps where a worker is away.
lab::Panel distance_panel(const Results& r, const std::string& rule,
                          const std::vector<Event>& events, const std::vector<lab::Mark>& marks,
                          std::size_t steps) {
  constexpr double kMostDrawn = 1000;
  lab::Panel panel{.id = "distance",
                   .title = fmt::format("Distance of each gradient to the result ({})", rule)};
  panel.x = {.label = "step", .min = 0, .max = static_cast<double>(steps)};
  panel.y = {.label = "distance / median distance", .log = true};
  for (const Group& group : r.groups) {
    if (group.method != rule || group.metric != "distance") continue;
    const auto worker = static_cast<int>(std::get<double>(group.axes.front().second));
    const bool is_hit = std::ranges::count(events, worker, &Event::worker) > 0;
    lab::Series series{.name = is_hit ? fmt::format("worker {}", worker) : "takes part",
                       .key = is_hit ? fmt::format("worker-{}", worker) : "fine"};
    const std::size_t usual = group.steps.size() > 1 ? group.steps[1] - group.steps[0] : 1;
    for (std::size_t k = 0; k < group.steps.size(); ++k) {
      const auto step = static_cast<double>(group.steps[k]);
      if (k > 0 && group.steps[k] > group.steps[k - 1] + usual) {
        series.x.push_back(step - 0.5);
        series.y.push_back(lab::kDiverged);
      }
      series.x.push_back(step);
      series.y.push_back(std::min(group.stats[k].mean, kMostDrawn));
    }
    panel.series.push_back(std::move(series));
  }
  for (const lab::Mark& mark : marks) panel.marks.push_back({mark.x});
  return panel;
}

}  // namespace

void film_findings(const lab::Experiment& experiment, Results& r) {
  const std::vector<Event> events = events_of(experiment);
  const std::size_t steps = steps_of(experiment);
  const std::vector<std::string> robust = robust_rules(r);
  for (const std::string& rule : robust) {
    r.claims.push_back(goes_on_falling(r, rule, events, steps));
    r.claims.push_back(ends_near_the_calm(r, rule));
    r.claims.push_back(blames_the_right_ones(r, rule, events));
    r.claims.push_back(has_a_share_again(r, rule, events, steps));
  }
  r.claims.push_back(mean_is_lost(r));
  const std::vector<lab::Mark> marks = marks_of(events, steps);
  lab::Figure figure{
      .id = "film",
      .title = experiment.title,
      .caption =
          "One timeline for all. Above: the training loss over all data after every epoch; a cross "
          "at the top: the run has diverged. Below: every worker that takes part, over four steps "
          "each, in another colour where what it sent is over three times as far from the result "
          "as the median of the workers; and that distance, of which 1000 stands for all above.",
      .columns = 1,
      .panels = {loss_panel(r, marks, steps)}};
  for (const std::string& rule : robust) {
    figure.panels.push_back(blame_panel(r, rule, marks, steps));
    figure.panels.push_back(distance_panel(r, rule, events, marks, steps));
    if (robust.size() == 1) continue;
    for (std::size_t k = figure.panels.size() - 2; k < figure.panels.size(); ++k)
      figure.panels[k].id += "-" + std::to_string(k);
  }
  r.figures.push_back(std::move(figure));
}

}  // namespace medgrad::language
