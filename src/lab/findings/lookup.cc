#include "lab/findings/lookup.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace medgrad::lab {

const Group* find(const Results& results, std::string_view method, std::string_view metric,
                  Where where) {
  for (const Group& group : results.groups) {
    if ((group.key != method && group.method != method) || group.metric != metric) continue;
    const bool there = std::ranges::all_of(where, [&](const auto& place) {
      return number_on(group.axes, place.first) == place.second;
    });
    if (there) return &group;
  }
  return nullptr;
}

double mean_of(const Results& results, std::string_view method, std::string_view metric,
               Where where) {
  const Group* group = find(results, method, metric, where);
  return group == nullptr ? std::numeric_limits<double>::quiet_NaN() : group->last().mean_of_all();
}
double median_of(const Results& results, std::string_view method, std::string_view metric,
                 Where where) {
  const Group* group = find(results, method, metric, where);
  return group == nullptr ? std::numeric_limits<double>::quiet_NaN()
                          : group->last().quantiles.middle;
}

std::vector<double> values_on(const Results& results, std::string_view axis) {
  std::vector<double> values;
  for (const Group& group : results.groups) {
    const double x = number_on(group.axes, axis);
    if (!std::isnan(x) && std::ranges::find(values, x) == values.end()) values.push_back(x);
  }
  return values;
}

std::vector<std::pair<std::string, std::string>> methods_of(const Results& results,
                                                            std::string_view metric) {
  std::vector<std::pair<std::string, std::string>> methods;
  for (const Group& group : results.groups) {
    const std::pair one(group.method, group.key);
    if (group.metric == metric && std::ranges::find(methods, one) == methods.end())
      methods.push_back(one);
  }
  return methods;
}

std::string show(double x) {
  if (std::isnan(x)) return "none";
  if (std::isinf(x)) return "infinite";
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

void add_point(Series& series, double x, const Stats& stats) {
  series.x.push_back(x);
  series.y.push_back(stats.mean);
  series.low.push_back(stats.min);
  series.high.push_back(stats.max);
  series.se.push_back(stats.se);
  series.median.push_back(stats.quantiles.middle);
  series.lower.push_back(stats.quantiles.low);
  series.upper.push_back(stats.quantiles.high);
}

Series over_steps(const Group& group) {
  Series series{.name = group.method, .key = group.key};
  for (std::size_t i = 0; i < group.steps.size(); ++i)
    add_point(series, static_cast<double>(group.steps[i]), group.stats[i]);
  return series;
}

void add_method(Panel& panel, Series series) {
  if (std::ranges::any_of(panel.series, [&](const Series& other) {
        return other.key == series.key && other.name != series.name;
      }))
    series.key = series.name;
  panel.series.push_back(std::move(series));
}

Series over_axis(const Results& results, std::string_view method, std::string_view metric,
                 std::string_view axis, Where where) {
  Series series;
  for (const Group& group : results.groups) {
    if (group.method != method || group.metric != metric) continue;
    const double x = number_on(group.axes, axis);
    const bool there = std::ranges::all_of(where, [&](const auto& place) {
      return number_on(group.axes, place.first) == place.second;
    });
    if (std::isnan(x) || !there) continue;
    series.name = group.method;
    series.key = group.key;
    add_point(series, x, group.last());
  }
  return series;
}

Statistic statistic_for(const Experiment& experiment) {
  return experiment.study->has_heavy_tails() ? Statistic::median : Statistic::mean;
}

Claim undecided(std::string claim) {
  return {std::move(claim), {}, "The experiment, as it was configured, does not tell."};
}

}  // namespace medgrad::lab
