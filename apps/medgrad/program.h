// What a program made of commands does with its arguments.
#pragma once

#include <string>
#include <vector>

#include "command.h"

namespace medgrad::app {

// Runs the command that the first argument names, or prints the list of them. Returns the exit
// code: 0 done, 2 a mistake of the user's (one sentence on standard error), 1 anything else.
[[nodiscard]] int run_program(const Commands& commands, std::vector<std::string> arguments);

}  // namespace medgrad::app
