// What `medgrad data` is called in every build.
#pragma once

#include <string_view>

namespace medgrad::app {

inline constexpr std::string_view kDataName = "data";
inline constexpr std::string_view kDataSummary =
    "find, check and install the data of the language tasks";

}  // namespace medgrad::app
