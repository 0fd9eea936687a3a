// What `medgrad data` is called in every build.
#pragma once

#include <string_view>

namespace medgrad::app {

inline constexpr std::string_view kDataName = "data";
inline constexpr std::string_view kDataSummary =
    "the data of the language tasks: where it is, whether it is right, and putting it there";

}  // namespace medgrad::app
