// The commands of medgrad-torch.
#pragma once

#include <memory>

#include "command.h"

namespace medgrad::app {

[[nodiscard]] std::unique_ptr<Command> make_runtime();
// What the others are like, for the manual page and completions of `medgrad`.
[[nodiscard]] std::unique_ptr<Command> make_describe(Commands (*all)());
[[nodiscard]] std::unique_ptr<Command> make_launch();
[[nodiscard]] std::unique_ptr<Command> make_sweep();
[[nodiscard]] std::unique_ptr<Command> make_train();
[[nodiscard]] std::unique_ptr<Command> make_gradients();
// For experiments on language models.
[[nodiscard]] std::unique_ptr<Command> make_language_reproduce();
[[nodiscard]] std::unique_ptr<Command> make_language_run();

}  // namespace medgrad::app
