#include "lab/results.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "medgrad/io.h"
#include "medgrad/version.h"

namespace medgrad::lab {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The names of all axes, in the order of their first appearance.
std::vector<std::string> axis_names(const Results& results) {
  std::vector<std::string> names;
  for (const Group& group : results.groups)
    for (const auto& [name, value] : group.axes)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

// Text in a CSV field; quoted where it has to be.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// JSON has no NaN and no infinities: null where there is no number, "inf" where it is infinite.
void append_json(std::string& text, double x) {
  if (std::isnan(x)) {
    text += "null";
  } else if (std::isinf(x)) {
    text += x > 0 ? "\"inf\"" : "\"-inf\"";
  } else {
    append_number(text, x);
  }
}

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

// What is the same in every row of a group: {"method": …, axes.
std::string row_head(const Group& group) {
  std::string head = "    {";
  if (!group.method.empty()) head += "\"method\": " + quoted(group.method) + ", ";
  for (const auto& [name, value] : group.axes) {
    head += quoted(name) + ": ";
    if (const double* x = std::get_if<double>(&value)) {
      append_json(head, *x);
    } else {
      head += quoted(std::get<std::string>(value));
    }
    head += ", ";
  }
  return head;
}

// `count` is how the number of runs is called.
void append_rows(std::string& text, const Group& group, const std::string& count) {
  const std::string head = row_head(group);
  const std::string metric = "\"metric\": " + quoted(group.metric);
  for (std::size_t i = 0; i < group.rows(); ++i) {
    const Stats& s = group.stats[i];
    text += head;
    if (!group.steps.empty()) text += "\"step\": " + std::to_string(group.steps[i]) + ", ";
    text += metric;
    const std::pair<const char*, double> numbers[] = {{", \"mean\": ", s.mean},
                                                      {", \"median\": ", s.median},
                                                      {", \"min\": ", s.min},
                                                      {", \"max\": ", s.max},
                                                      {", \"se\": ", s.se}};
    for (const auto& [name, value] : numbers) {
      text += name;
      append_json(text, value);
    }
    text += ", \"" + count + "\": " + std::to_string(s.n) +
            ", \"diverged\": " + std::to_string(s.diverged) + "},\n";
  }
}

// Of n runs, of which those in `finite` are there; the others are infinitely large. Reorders
// `finite`: to select a few is faster than to sort all.
Quantiles quantiles_of(std::span<double> finite, std::size_t n) {
  auto known = finite.begin();  // what comes before is not larger
  const auto at = [&](std::size_t i) {
    if (i >= finite.size()) return std::numeric_limits<double>::infinity();
    const auto place = finite.begin() + static_cast<std::ptrdiff_t>(i);
    std::nth_element(known, place, finite.end());
    known = place;
    return *place;
  };
  const auto quantile = [&](double share) {
    const double place = share * static_cast<double>(n - 1), part = place - std::floor(place);
    const auto below = static_cast<std::size_t>(place);
    const double lower = at(below);
    return part == 0 ? lower : (1 - part) * lower + part * at(below + 1);
  };
  return {quantile(0.1), quantile(0.5), quantile(0.9)};
}

// All but the quantiles; those that are not NaN come first.
Stats moments_of(std::span<double> values) {
  Stats s{kNaN, kNaN, kNaN, kNaN, kNaN, 0, 0, {kNaN, kNaN, kNaN}};
  const auto gone =
      std::remove_if(values.begin(), values.end(), [](double x) { return std::isnan(x); });
  const std::span<double> finite(values.begin(), gone);
  s.n = finite.size();
  s.diverged = values.size() - s.n;
  if (s.n == 0) return s;
  const double n = static_cast<double>(s.n);
  // Divided first: values may be of any size.
  s.mean = 0;
  for (const double x : finite) s.mean += x / n;
  const auto middle = finite.begin() + static_cast<std::ptrdiff_t>(s.n / 2);
  std::ranges::nth_element(finite, middle);
  const double below = s.n % 2 == 1 ? *middle : *std::max_element(finite.begin(), middle);
  s.median = std::midpoint(below, *middle);
  s.min = *std::min_element(finite.begin(), middle + 1);
  s.max = *std::max_element(middle, finite.end());
  s.mean = std::clamp(s.mean, s.min, s.max);  // rounding does not take it out of the range
  if (s.n == 1) return s;
  // Squares may neither overflow nor vanish, so very large or small values are moved to the middle.
  const double largest = std::max(std::abs(s.min), std::abs(s.max));
  const double unit = largest > 0x1p500 ? 0x1p-600 : largest < 0x1p-500 ? 0x1p600 : 1;
  double square = 0;
  for (const double x : finite) {
    const double deviation = x * unit - s.mean * unit;
    square += deviation / n * deviation;
  }
  s.se = std::sqrt(square / (n - 1)) / unit;
  return s;
}

}  // namespace

Stats stats_of(std::span<double> values) {
  Stats s = moments_of(values);
  // Last: selecting changes the order of summation, and with it the last digits of means.
  if (!values.empty()) s.quantiles = quantiles_of(values.first(s.n), values.size());
  return s;
}

void summarise(Group& group) {
  std::vector<double> row(group.runs);
  group.stats.clear();
  for (std::size_t i = 0; i < group.rows(); ++i) {
    std::copy_n(group.values.begin() + static_cast<std::ptrdiff_t>(i * group.runs), group.runs,
                row.begin());
    group.stats.push_back(stats_of(row));
  }
}

std::string results_csv(const Results& results) {
  const std::vector<std::string> names = axis_names(results);
  std::string text = "method,";
  for (const std::string& name : names) text += field(name) + ",";
  text += "run,step,metric,value\n";
  std::size_t count = 0;
  for (const Group& group : results.groups) count += group.values.size();
  text.reserve(text.size() + 64 * count);
  for (const Group& group : results.groups) {
    std::string head = field(group.method) + ",";
    for (const std::string& name : names) {
      const auto at = std::ranges::find(group.axes, name, &Axes::value_type::first);
      if (at != group.axes.end()) head += field(to_text(at->second));
      head += ",";
    }
    for (std::size_t i = 0; i < group.rows(); ++i) {
      const std::string tail =
          "," + (group.steps.empty() ? std::string() : std::to_string(group.steps[i])) + "," +
          field(group.metric) + ",";
      for (std::size_t run = 0; run < group.runs; ++run) {
        const double value = group.values[i * group.runs + run];
        text += head;
        text += std::to_string(run);
        text += tail;
        if (is_failed(value)) {
          text += "failed";
        } else if (std::isnan(value)) {
          text += "diverged";
        } else {
          append_number(text, value);
        }
        text += '\n';
      }
    }
  }
  return text;
}

std::string summary_json(const Results& results) {
  std::string text = "{\n  \"experiment\": " + quoted(results.experiment) +
                     ",\n  \"title\": " + quoted(results.title) +
                     ",\n  \"description\": " + quoted(results.description) +
                     ",\n  \"version\": " + quoted(kVersion) + ",\n  \"claims\": [\n";
  const auto close = [&text] {  // the last comma of a list goes
    if (text.ends_with(",\n")) text.replace(text.size() - 2, 1, "");
  };
  for (const Claim& claim : results.claims) {
    text += "    {\"claim\": " + quoted(claim.claim) + ", \"holds\": " +
            (!claim.holds   ? "null"
             : *claim.holds ? "true"
                            : "false") +
            ", \"evidence\": " + quoted(claim.evidence) + "},\n";
  }
  close();
  text += "  ],\n  \"notes\": [\n";
  for (const std::string& note : results.notes) text += "    " + quoted(note) + ",\n";
  close();
  text += "  ],\n  \"rows\": [\n";
  // The paper's sample size is called n too; where it is an axis, runs are counted as "runs".
  const std::vector<std::string> axes = axis_names(results);
  const std::string count = std::ranges::find(axes, "n") == axes.end() ? "n" : "runs";
  for (const Group& group : results.groups) append_rows(text, group, count);
  close();
  return text + "  ]\n}\n";
}

}  // namespace medgrad::lab
