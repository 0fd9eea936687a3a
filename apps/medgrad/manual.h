// The manual page medgrad(1), made from what the commands say about themselves.
#pragma once

#include <string>
#include <vector>

#include "description.h"

namespace medgrad::app {

// In the language of man(7).
[[nodiscard]] std::string manual_page(const std::vector<Description>& commands);

}  // namespace medgrad::app
