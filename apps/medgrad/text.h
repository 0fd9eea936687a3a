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
// "medgrad train ptb --lr 1": the command as it was typed, to get the same numbers again; without
// the options that say where they go and how fast.
[[nodiscard]] std::string command_line(std::string_view name,
                                       const std::vector<std::string>& arguments);
// "Do this." of "do this".
[[nodiscard]] std::string sentence(std::string_view text);
// The parts, with commas between them, without the least important ones that do not fit into
// `width` characters.
struct Part {
  std::string text;
  int importance;
};
[[nodiscard]] std::string fitted(std::vector<Part> parts, std::size_t width);
// 42 s, 3 min, 1 h 5 min.
[[nodiscard]] std::string duration(double seconds);

}  // namespace medgrad::app
