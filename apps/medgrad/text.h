// Text for people: columns wrapped at the width of a terminal, commands, times.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace medgrad::app {

using TextRow = std::pair<std::string, std::string>;

// The words of `text` in lines of at most 88 characters, a new one where it has a newline; lines
// after the first are indented.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t indent);
// "  left   right", the right column aligned and wrapped.
[[nodiscard]] std::string columns(const std::vector<TextRow>& rows);
// "medgrad train ptb --lr 1": the command as it was typed, for whoever wants the same numbers
// again; without options that say where they go and how fast.
[[nodiscard]] std::string command_line(std::string_view name,
                                       const std::vector<std::string>& arguments);
// 42 s, 3 min, 1 h 5 min.
[[nodiscard]] std::string duration(double seconds);

}  // namespace medgrad::app
