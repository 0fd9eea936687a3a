// What a program made of commands does with its arguments.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "command.h"

namespace medgrad::app {

// Runs the command that the first argument names, or prints the list of them. Returns the exit
// code: 0 done, 2 a mistake of the user's (one sentence on standard error), 1 anything else.
// `explain` makes a sentence of what a library threw; without it, that is what it says itself.
[[nodiscard]] int run_program(const Commands& commands, std::vector<std::string> arguments,
                              std::string (*explain)(const std::exception&) = nullptr);

}  // namespace medgrad::app
