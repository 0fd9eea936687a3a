// Completion for shells, made from what the commands say about themselves: commands, options, and
// the words an argument or option takes (methods, experiments, tasks, formats).
#pragma once

#include <string>
#include <vector>

#include "description.h"

namespace medgrad::app {

[[nodiscard]] std::string bash_completion(const std::vector<Description>& commands);
[[nodiscard]] std::string zsh_completion(const std::vector<Description>& commands);

}  // namespace medgrad::app
