// The part of the command that needs libtorch, a program of its own: medgrad-torch.
//
// Loading libtorch takes longer than most commands run; so `medgrad` starts the other program only
// where it is needed, and hands the arguments on.
#pragma once

#include <string>
#include <vector>

#include "command.h"

namespace medgrad::app {

// Where it is: next to this program, or in ../libexec/medgrad. Empty where it is in neither.
[[nodiscard]] std::string torch_program();

// Runs it and gives what it prints on standard output; throws std::runtime_error where it fails.
[[nodiscard]] std::string output_of_torch_program(const std::vector<std::string>& arguments);

// Becomes it; `arguments` begin with the command. Throws Error where it is not there.
[[noreturn]] void start_torch_program(const std::vector<std::string>& arguments);

// A command of the other program.
[[nodiscard]] std::unique_ptr<Command> make_torch_command(std::string_view name,
                                                          std::string_view summary);

}  // namespace medgrad::app
