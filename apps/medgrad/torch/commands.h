// The commands of medgrad-torch.
#pragma once

#include <memory>

#include "command.h"

namespace medgrad::app {

[[nodiscard]] std::unique_ptr<Command> make_runtime();
[[nodiscard]] std::unique_ptr<Command> make_sweep();
[[nodiscard]] std::unique_ptr<Command> make_train();
[[nodiscard]] std::unique_ptr<Command> make_gradients();
// For experiments on language models.
[[nodiscard]] std::unique_ptr<Command> make_language_reproduce();
[[nodiscard]] std::unique_ptr<Command> make_language_run();

}  // namespace medgrad::app
