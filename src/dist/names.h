// How messages name workers.
#pragma once

#include <fmt/core.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace medgrad::dist {

// "Worker 2", "Workers 0, 2 and 5".
[[nodiscard]] inline std::string workers(const std::vector<int>& ranks) {
  std::vector<std::string> names;
  names.reserve(ranks.size());
  for (const int rank : ranks) names.push_back(std::to_string(rank));
  const std::vector<std::string_view> words(names.begin(), names.end());
  return fmt::format("{} {}", ranks.size() == 1 ? "Worker" : "Workers", one_of(words, "and"));
}

// "Worker 2 did not answer within 0.5 seconds."
[[nodiscard]] inline std::string late(const std::vector<int>& ranks,
                                      std::chrono::milliseconds deadline) {
  const double seconds = static_cast<double>(deadline.count()) / 1000;
  return fmt::format("{} did not answer within {} {}.", workers(ranks), number(seconds),
                     seconds == 1 ? "second" : "seconds");
}

}  // namespace medgrad::dist
