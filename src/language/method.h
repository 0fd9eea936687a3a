// A method with its parameters as one word, for lists and file names: vclip, vclip:tau=0.5,
// huber:mu=1.3:tau=0.1 (registry.h). Every optimiser of the registry by its name. What is not given
// is as in the registry, except for tau (training_tau in task_table.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "medgrad/optimize.h"

namespace medgrad::language {

struct Method {
  std::string word;   // as it was given
  std::string label;  // for people: "VClip", "Huber, mu = 1.3"
  std::string key;    // the registry's name: colours and the paper's table go by it
  std::string line;   // name and every parameter, for config.json
  GradientMethod gradient;
};

// Throws Error for an unknown name or parameter, and for values out of range.
[[nodiscard]] Method parse_method(std::string_view word);

// The optimiser of that name with the default that its tau has on language tasks. It lives as long
// as the program.
[[nodiscard]] const Entry<GradientMethod>& find_training_method(std::string_view name);

}  // namespace medgrad::language
