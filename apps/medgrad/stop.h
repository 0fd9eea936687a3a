// Being asked to stop, by Ctrl-C or by whoever ends programs.
#pragma once

#include <atomic>

namespace medgrad::app {

// Ctrl-C, SIGTERM and SIGHUP from now on set this, once; a second one ends the program as usual.
[[nodiscard]] const std::atomic<bool>& stop_requested();

}  // namespace medgrad::app
