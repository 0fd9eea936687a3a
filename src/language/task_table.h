// The language tasks by name, with what the paper did. Free of libtorch, for programs that only
// list them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
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
  std::string_view validation;  // the score that the paper's tables have beside the training loss
  // What the discussion says of VClip's final training loss beside another's.
  enum class Relation : std::uint8_t { better, worse, on_par };
  struct Statement {
    std::string_view claim, than;
    Relation vclip_is;
  };
  std::vector<Statement> statements;
};
[[nodiscard]] std::span<const TaskInfo> tasks();

// The default of an optimiser's tau on language tasks. tau lives on the scale of the gradients, and
// theirs are smaller than those of the synthetic problems, whose tau = 1 the registry has; momentum
// is to have beta = 0.9.
[[nodiscard]] double training_tau(std::string_view optimizer);
// The same for help and lists: "On language tasks …".
[[nodiscard]] std::string training_tau_sentence();

// Throws Error that names the nearest where there is none of that name.
[[nodiscard]] const TaskInfo& find_task(std::string_view name);

}  // namespace medgrad::language
