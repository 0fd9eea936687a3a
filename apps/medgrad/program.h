// What a program made of commands does with its arguments.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "command.h"

namespace medgrad::app {

inline constexpr std::string_view kTagline =
    "Robust estimates of noisy gradients: medians instead of means. In files, every row is a "
    "vector.";

// What `medgrad` without arguments prints.
[[nodiscard]] std::string overview(const Commands& commands);
// Throws Error where there is no such command.
[[nodiscard]] Command& find_command(const Commands& commands, std::string_view name);

// Runs the command that the first argument names, or prints the list of commands. Returns the exit
// code: 0 done, 2 a user's mistake (one sentence on standard error), 1 anything else. `explain`
// turns what a library threw into a sentence; without it, that is what the exception says itself.
[[nodiscard]] int run_program(const Commands& commands, std::vector<std::string> arguments,
                              std::string (*explain)(const std::exception&) = nullptr);

}  // namespace medgrad::app
