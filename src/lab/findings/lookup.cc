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
  return group == nullptr ? std::numeric_limits<double>::quiet_NaN() : group->last().mean;
}
double median_of(const Results& results, std::string_view method, std::string_view metric,
                 Where where) {
  const Group* group = find(results, method, metric, where);
  return group == nullptr ? std::numeric_limits<double>::quiet_NaN() : group->last().median;
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

Series over_steps(const Group& group) {
  Series series{.name = group.method, .key = group.key};
  for (std::size_t i = 0; i < group.steps.size(); ++i) {
    const Stats& s = group.stats[i];
    series.x.push_back(static_cast<double>(group.steps[i]));
    series.y.push_back(s.mean);
    series.low.push_back(s.min);
    series.high.push_back(s.max);
    series.se.push_back(s.se);
  }
  return series;
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
    const Stats& s = group.last();
    series.x.push_back(x);
    series.y.push_back(s.mean);
    series.low.push_back(s.min);
    series.high.push_back(s.max);
    series.se.push_back(s.se);
  }
  return series;
}

Claim undecided(std::string claim) {
  return {std::move(claim), {}, "The experiment, as it was configured, does not tell."};
}

}  // namespace medgrad::lab
