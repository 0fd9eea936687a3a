// The commands of medgrad-torch.
#pragma once

#include <memory>

#include "command.h"

namespace medgrad::app {

[[nodiscard]] std::unique_ptr<Command> make_runtime();

}  // namespace medgrad::app
