// How messages are put together: numbers, lists, commands, places in files, and what users wrote.
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "medgrad/description.h"  // number()

namespace medgrad {

// "1 row", "2 rows", "0 rows". `many` is the plural where it is more than an added "s".
[[nodiscard]] inline std::string counted(std::unsigned_integral auto n, std::string_view one,
                                         std::string_view many = {}) {
  if (n == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", n, one) : fmt::format("{} {}", n, many);
}

// "a, b or c"; `last` is the word before the last.
[[nodiscard]] std::string one_of(std::span<const std::string_view> words,
                                 std::string_view last = "or");

// One argument of a command as a shell wants it: in quotes where it has anything special.
[[nodiscard]] inline std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.,:=/+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(word);
  std::string text = "'";
  for (const char c : word) text.append(c == '\'' ? "'\\''" : std::string(1, c));
  return text.append("'");
}

}  // namespace medgrad

namespace medgrad::internal {

// How messages name a place in a file; lines and rows are counted from 1.
[[nodiscard]] std::string line_of(const std::string& name, std::size_t line);
[[nodiscard]] std::string row_of(const std::string& name, std::size_t row);
// "column 3 ('loss')", or "column 3" where it has no name; counted from 1.
[[nodiscard]] std::string column_of(std::size_t column, std::span<const std::string> names);
// The user's text in a message: in quotes, shortened, with what cannot be printed escaped.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace medgrad::internal
