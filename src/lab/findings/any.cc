// Figures of an experiment that is not one of the paper's: every metric over the steps, and after
// the last step over every axis.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "lab/experiments.h"
#include "lab/findings/lookup.h"

namespace medgrad::lab {
namespace {

// "alpha = 1.1, n = 5", without one axis.
std::string place(const Axes& axes, std::string_view without = {}) {
  std::string text;
  for (const auto& [name, value] : axes)
    if (name != without)
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, to_text(value));
  return text;
}

std::string label(const Group& group, const std::string& where) {
  return where.empty() ? group.method : fmt::format("{} ({})", group.method, where);
}

Series point_series(const Group& group, const std::string& name) {
  return {.name = name, .key = group.key, .x = {}, .y = {}};
}

// One panel per metric and axis of numbers that has several.
void add_axis_panels(const Results& r, Figure& figure) {
  std::map<std::string, std::vector<double>> axes;
  for (const Group& group : r.groups)
    for (const auto& [name, value] : group.axes)
      if (std::holds_alternative<double>(value)) axes[name] = values_on(r, name);
  std::vector<std::string> metrics;
  for (const Group& group : r.groups) {
    if (group.steps.empty() && std::ranges::find(metrics, group.metric) == metrics.end())
      metrics.push_back(group.metric);
  }
  for (const std::string& metric : metrics) {
    for (const auto& [axis, values] : axes) {
      if (values.size() < 2) continue;
      std::vector<std::pair<std::string, Series>> series;
      for (const Group& group : r.groups) {
        const double x = number_on(group.axes, axis);
        if (group.metric != metric || x != x) continue;
        const std::string name = label(group, place(group.axes, axis));
        auto at = std::ranges::find(series, name, &std::pair<std::string, Series>::first);
        if (at == series.end()) at = series.insert(at, {name, point_series(group, name)});
        add_point(at->second, x, group.last());
      }
      Panel panel{.id = fmt::format("{}-{}", metric, axis),
                  .title = fmt::format("{} against {}", metric, axis),
                  .x = {.label = axis},
                  .y = {.label = metric, .log = true}};
      for (auto& [name, one] : series) panel.series.push_back(std::move(one));
      figure.panels.push_back(std::move(panel));
    }
  }
}

}  // namespace

void any_findings(const Experiment& experiment, Results& r) {
  const Statistic statistic = statistic_for(experiment);
  Figure steps{.id = "steps",
               .title = "Over the steps",
               .caption = "One panel per metric and point of the grid.",
               .statistic = statistic};
  std::vector<std::pair<std::string, Panel>> panels;
  for (const Group& group : r.groups) {
    if (group.steps.empty()) continue;
    const std::string where = place(group.axes);
    const std::string id = group.metric + (where.empty() ? "" : ", " + where);
    auto at = std::ranges::find(panels, id, &std::pair<std::string, Panel>::first);
    if (at == panels.end()) {
      at = panels.insert(at, {id, Panel{.id = "panel-" + std::to_string(panels.size() + 1),
                                        .title = id,
                                        .x = {.label = "step"},
                                        .y = {.label = group.metric, .log = true}}});
    }
    at->second.series.push_back(over_steps(group));
  }
  constexpr std::size_t kMostPanels = 24;  // a larger grid is for the table
  if (panels.size() > kMostPanels) {
    r.notes.push_back(
        fmt::format("Of {} figures over the steps the first {} are drawn; results.csv has all.",
                    panels.size(), kMostPanels));
    panels.resize(kMostPanels);
  }
  for (auto& [id, panel] : panels) steps.panels.push_back(std::move(panel));
  if (!steps.panels.empty()) r.figures.push_back(std::move(steps));
  Figure axes{.id = "axes",
              .title = "Against the axes of the grid",
              .caption = "Every metric after the last step.",
              .statistic = statistic};
  add_axis_panels(r, axes);
  if (!axes.panels.empty()) r.figures.push_back(std::move(axes));
}

}  // namespace medgrad::lab
