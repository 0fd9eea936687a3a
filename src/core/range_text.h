// Ranges in sentences, for everybody who checks one.
#pragma once

#include <string>
#include <string_view>

#include "medgrad/description.h"

namespace medgrad::internal {

// "it must satisfy 0 < tau < inf, or be auto", "it must be a whole number from 0 to 5, or auto".
// `automatic` is the word for what can be found from the data.
[[nodiscard]] std::string requirement(const Range& range, std::string_view name,
                                      std::string_view automatic = "auto");

}  // namespace medgrad::internal
