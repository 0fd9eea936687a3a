// Losses multiplied by 10^k, and steps with a wrong gradient: claims and figures. Not the paper's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "lab/experiments.h"
#include "lab/findings/best_rates.h"
#include "lab/findings/lookup.h"

namespace medgrad::lab {
namespace {

// A part of an experiment with the metric that it has.
struct Part {
  std::string name, metric;
};

std::vector<Part> parts_of(const Results& r) {
  std::vector<Part> parts;
  for (const Group& group : r.groups) {
    const auto part = std::ranges::find(group.axes, "part", &Axes::value_type::first);
    if (part == group.axes.end() || !group.metric.starts_with("final_")) continue;
    const std::string name = to_text(part->second);
    if (std::ranges::find(parts, name, &Part::name) == parts.end())
      parts.push_back({name, group.metric});
  }
  return parts;
}

bool is_automatic(const std::string& label) { return label.find("auto") != std::string::npos; }

// The methods of a part, in the order of the file.
std::vector<std::string> methods_in(const Results& r, const Part& part) {
  std::vector<std::string> methods;
  for (const Group& group : r.groups) {
    const auto in = std::ranges::find(group.axes, "part", &Axes::value_type::first);
    if (in == group.axes.end() || to_text(in->second) != part.name || group.metric != part.metric)
      continue;
    if (std::ranges::find(methods, group.method) == methods.end()) methods.push_back(group.method);
  }
  return methods;
}

// A method's groups of a part that lie at x on an axis.
std::vector<const Group*> groups_at(const Results& r, const Part& part, const std::string& method,
                                    std::string_view axis, double x) {
  std::vector<const Group*> found;
  for (const Group& group : r.groups) {
    const auto in = std::ranges::find(group.axes, "part", &Axes::value_type::first);
    if (in != group.axes.end() && to_text(in->second) == part.name && group.method == method &&
        group.metric == part.metric && number_on(group.axes, axis) == x)
      found.push_back(&group);
  }
  return found;
}

// The one whose median is smallest, diverged runs being the largest values.
const Group* best_of(const std::vector<const Group*>& groups) {
  const auto best = std::ranges::min_element(groups, {}, [](const Group* group) {
    const double median = group->last().quantiles.middle;
    return std::isnan(median) ? kInfinity : median;
  });
  return best == groups.end() ? nullptr : *best;
}

double median_at(const Results& r, const Part& part, const std::string& method,
                 std::string_view axis, double x) {
  const Group* const group = best_of(groups_at(r, part, method, axis, x));
  return group == nullptr ? std::nan("") : group->last().quantiles.middle;
}

// The largest ratio of medians over an axis to the one at `origin`; infinite where runs diverged.
double worst_ratio(const Results& r, const Part& part, const std::string& method,
                   std::string_view axis, const std::vector<double>& at, double origin) {
  const double base = median_at(r, part, method, axis, origin);
  double worst = 0;
  for (const double x : at) {
    const double ratio = median_at(r, part, method, axis, x) / base;
    worst = std::isnan(ratio) ? kInfinity : std::max(worst, ratio);
  }
  return worst;
}

Panel panel_of(const Results& r, const Part& part, std::string_view axis, const std::string& title,
               Axis x, bool automatic, bool all) {
  std::string id = part.name;
  std::erase(id, ',');
  std::ranges::replace(id, ' ', '-');
  Panel panel{.id = fmt::format("{}-{}", id,
                                all         ? "all"
                                : automatic ? "auto"
                                            : "fixed"),
              .title = title,
              .x = std::move(x),
              .y = {.label = part.metric == "final_relative_error" ? "relative error" : "objective",
                    .log = true}};
  for (const std::string& method : methods_in(r, part)) {
    if (!all && is_automatic(method) != automatic) continue;
    Series series{.name = method, .key = method};
    // Side by side, a fixed tau is paler than auto.
    if (all && method.find(',') != std::string::npos) series.shade = is_automatic(method) ? 1 : 0.3;
    for (const double at : values_on(r, axis)) {
      const Group* const best = best_of(groups_at(r, part, method, axis, at));
      if (best == nullptr) continue;
      series.key = best->key;
      add_point(series, at, best->last());
    }
    panel.series.push_back(std::move(series));
  }
  return panel;
}

// The median of the starts of a part; NaN where they were not recorded.
double start_of(const Results& r, const Part& part) {
  const std::string metric = part.metric.substr(std::string_view("final_").size());
  for (const Group& group : r.groups) {
    const auto in = std::ranges::find(group.axes, "part", &Axes::value_type::first);
    if (in != group.axes.end() && to_text(in->second) == part.name && group.metric == metric &&
        !group.steps.empty() && group.steps.front() == 0)
      return group.stats.front().quantiles.middle;
  }
  return std::nan("");
}

// Where no rate ends below the start, standing still is best: the points lie there, and do not
// stretch the axis to whatever the smallest rate of the grid has led to.
void stand_still(Panel& panel, double start) {
  for (Series& series : panel.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (series.median[i] < start || std::isnan(start)) continue;
      for (auto* of :
           {&series.y, &series.low, &series.high, &series.median, &series.lower, &series.upper})
        (*of)[i] = start;
      series.se[i] = 0;
    }
  }
}

// Every method of the part at its best rate for every share.
Claim rates_are_inside(const Results& r, const Part& part, const std::vector<double>& shares) {
  std::vector<Tuned> tuned;
  const auto rate = [](const Group* group) { return number_on(group->axes, "eta"); };
  for (const std::string& method : methods_in(r, part)) {
    for (const double share : shares) {
      const std::vector<const Group*> groups = groups_at(r, part, method, "share", share);
      const Group* const best = best_of(groups);
      if (best == nullptr) continue;
      const auto [low, high] = std::ranges::minmax(groups, {}, rate);
      tuned.push_back({.method = method,
                       .share = share,
                       .value = best->last().quantiles.middle,
                       .rate = rate(best),
                       .least = rate(low),
                       .largest = rate(high)});
    }
  }
  return lab::rates_are_inside(part.name, start_of(r, part), tuned);
}

}  // namespace

void scale_findings(const Experiment& experiment, Results& r) {
  const std::vector<double> scales = values_on(r, "scale");
  const std::vector<Part> parts = parts_of(r);
  if (scales.size() < 2 || parts.empty() || std::ranges::find(scales, 1.0) == scales.end()) return;
  Figure figure{.id = "scale",
                .title = "Final value against the scale of the loss",
                .caption = "Left: a fixed τ. Right: τ = auto.",
                .columns = 2,
                .statistic = statistic_for(experiment)};
  for (const Part& part : parts) {
    double auto_worst = 0, fixed_least = kInfinity;
    std::string auto_evidence, fixed_evidence, home;
    for (const std::string& method : methods_in(r, part)) {
      const double worst = worst_ratio(r, part, method, "scale", scales, 1);
      std::string& evidence = is_automatic(method) ? auto_evidence : fixed_evidence;
      evidence += fmt::format("{}{} {}", evidence.empty() ? "" : ", ", method, show(worst));
      home += fmt::format("{}{} {}", home.empty() ? "" : ", ", method,
                          show(median_at(r, part, method, "scale", 1)));
      if (is_automatic(method)) {
        auto_worst = std::max(auto_worst, worst);
      } else {
        fixed_least = std::min(fixed_least, worst);
      }
    }
    r.claims.push_back({fmt::format("tau = auto does not notice the scale ({})", part.name),
                        auto_worst < 1.01,
                        fmt::format("worst ratio to scale 1: {}.", auto_evidence)});
    r.claims.push_back({fmt::format("a fixed tau fits one scale ({})", part.name), fixed_least > 3,
                        fmt::format("worst ratio to scale 1: {}.", fixed_evidence)});
    r.notes.push_back(fmt::format("{}, medians at scale 1: {}.", part.name, home));
    for (const bool automatic : {false, true})
      figure.panels.push_back(panel_of(
          r, part, "scale", fmt::format("{}, {}", part.name, automatic ? "τ = auto" : "fixed τ"),
          {.label = "scale of the loss", .log = true}, automatic, false));
  }
  r.figures.push_back(std::move(figure));
}

void corrupted_findings(const Experiment& experiment, Results& r) {
  const std::vector<double> shares = values_on(r, "share");
  const std::vector<Part> parts = parts_of(r);
  constexpr double kAsked = 0.05;
  if (shares.size() < 2 || parts.empty()) return;
  Figure figure{.id = "corrupted",
                .title = "Final objective against the share of bad steps",
                .caption =
                    "Every method at its best learning rate for that share; at the start where "
                    "no rate ends below it.",
                .columns = 2,
                .statistic = Statistic::median};
  (void)experiment;
  std::vector<std::string> enough, short_of;  // where clipping the gradient is, and where not
  for (const Part& part : parts) {
    figure.panels.push_back(
        panel_of(r, part, "share", part.name, {.label = "share of bad steps"}, false, true));
    stand_still(figure.panels.back(), start_of(r, part));
    r.claims.push_back(rates_are_inside(r, part, shares));
    const std::vector<std::string> methods = methods_in(r, part);
    const bool all = std::ranges::all_of(
        std::vector<std::string>{"SGD-M", "Adam", "MedianAdam", "clipped-SGD", "VClip, auto"},
        [&](const std::string& one) {
          return std::ranges::find(methods, one) != methods.end() &&
                 !std::isnan(median_at(r, part, one, "share", kAsked));
        });
    if (!all) {
      r.claims.push_back(undecided(fmt::format("the claims on {}", part.name)));
      continue;
    }
    const auto bad = [&](const char* method) {
      return median_at(r, part, method, "share", kAsked);
    };
    std::string evidence;
    for (const std::string& method : methods)
      evidence += fmt::format("{}{} {} (clean {})", evidence.empty() ? "" : ", ", method,
                              show(median_at(r, part, method, "share", kAsked)),
                              show(median_at(r, part, method, "share", 0)));
    evidence = fmt::format("medians at 5 % bad steps: {}.", evidence);
    r.claims.push_back({fmt::format("VClip with tau = auto ends ahead of SGD-M ({})", part.name),
                        bad("VClip, auto") < bad("SGD-M"), evidence});
    r.claims.push_back({fmt::format("MedianAdam ends ahead of Adam ({})", part.name),
                        bad("MedianAdam") < bad("Adam"), evidence});
    (bad("clipped-SGD") < 1.1 * bad("VClip, auto") ? enough : short_of).push_back(part.name);
  }
  if (!enough.empty())
    r.notes.push_back(
        fmt::format("Clipping the gradient is enough (clipped-SGD within 10 % of VClip, "
                    "auto, at 5 % bad steps): {}.",
                    fmt::join(enough, "; ")));
  if (!short_of.empty())
    r.notes.push_back(
        fmt::format("Clipping the gradient is not enough: {}.", fmt::join(short_of, "; ")));
  r.figures.push_back(std::move(figure));
}

}  // namespace medgrad::lab
