// The language tasks by name, with what the paper did. Free of libtorch, for programs that only
// list them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace medgrad::language {

// What the paper did, where it says so.
struct TaskInfo {
  std::string_view name, title;
  std::size_t batch;       // sequences side by side in one backward pass
  std::size_t accumulate;  // backward passes per step
  std::size_t epochs;      // of a run of the paper's length
  double dropout;
  // Learning rates of the paper's table, by name of the optimiser.
  std::vector<std::pair<std::string_view, double>> rates;
  bool questions = false;
};
[[nodiscard]] std::span<const TaskInfo> tasks();
// Throws Error that names the nearest where there is none of that name.
[[nodiscard]] const TaskInfo& find_task(std::string_view name);

}  // namespace medgrad::language
