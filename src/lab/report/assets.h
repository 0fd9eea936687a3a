// The files in assets/ and Chart.js, as part of the program. cmake/embed.cmake writes the
// functions.
#pragma once

#include <span>
#include <string_view>

namespace medgrad::lab::assets {

// Each in pieces, to be put one after the other.
[[nodiscard]] std::span<const std::string_view> page();    // report.html
[[nodiscard]] std::span<const std::string_view> style();   // report.css
[[nodiscard]] std::span<const std::string_view> script();  // all *.js
[[nodiscard]] std::span<const std::string_view> chart();   // Chart.js

}  // namespace medgrad::lab::assets
