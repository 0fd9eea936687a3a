// The commands of medgrad-torch.
#pragma once

#include <memory>

#include "command.h"

namespace medgrad::app {

[[nodiscard]] std::unique_ptr<Command> make_runtime();
[[nodiscard]] std::unique_ptr<Command> make_sweep();
[[nodiscard]] std::unique_ptr<Command> make_train();

}  // namespace medgrad::app
