// Experiments in memory, for tests: documents changed a little, and their results by name.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/experiments.h"
#include "lab/runner.h"

namespace medgrad::lab::testing {

// The document with some keys replaced or added; values are JSON.
inline Node with(Node document, const std::vector<std::pair<std::string, std::string>>& changes) {
  for (const auto& [key, text] : changes) {
    Node value = parse_document(text, "change.json");
    if (Node* there = document.find(key)) {
      *there = std::move(value);
    } else {
      std::get<Node::Object>(document.value).emplace_back(key, std::move(value));
    }
  }
  return document;
}

inline Node built_in(std::string_view name) {
  return parse_document(find_built_in(name).text, std::string(name) + ".json");
}

inline Results run(Node document, ThreadPool* pool = nullptr) {
  return run_experiment(read_experiment(std::move(document), "test.json"), {.pool = pool}).results;
}
// The study of a kind that is made of tasks.
inline std::size_t tasks_of(const Experiment& experiment) {
  return dynamic_cast<const TaskStudy&>(*experiment.study).tasks();
}
inline Results run(std::string_view text) { return run(parse_document(text, "test.json")); }

// The one group of that method, metric and these axes (all of them, where some are given).
inline const Group& group(const Results& results, std::string_view method, std::string_view metric,
                          const Axes& axes = {}) {
  const Group* found = nullptr;
  for (const Group& one : results.groups) {
    if (one.method != method || one.metric != metric) continue;
    if (!axes.empty() && one.axes != axes) continue;
    EXPECT_EQ(found, nullptr) << method << " " << metric << " is there twice";
    found = &one;
  }
  if (found == nullptr)
    throw Error("There is no " + std::string(metric) + " of " + std::string(method) + ".");
  return *found;
}

// What all runs had at that step.
inline std::vector<double> values_at(const Group& group, std::size_t step) {
  const auto at = std::ranges::find(group.steps, step);
  if (at == group.steps.end()) throw Error("Step " + std::to_string(step) + " is not recorded.");
  const auto begin =
      group.values.begin() + (at - group.steps.begin()) * static_cast<std::ptrdiff_t>(group.runs);
  return {begin, begin + static_cast<std::ptrdiff_t>(group.runs)};
}

}  // namespace medgrad::lab::testing
