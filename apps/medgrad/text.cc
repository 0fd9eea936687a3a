#include "text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace medgrad::app {

std::string wrapped(std::string_view text, std::size_t indent) {
  constexpr std::size_t kWidth = 88;
  std::string result;
  std::size_t column = indent;
  bool new_line = false;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find_first_of(" \n"));
    const bool was_new_line = std::exchange(new_line, text.substr(word.size()).starts_with('\n'));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (was_new_line || (column > indent && column + 1 + word.size() > kWidth)) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

std::string columns(const std::vector<TextRow>& rows) {
  constexpr std::size_t kWidestLeft = 24;
  std::size_t width = 0;
  for (const auto& [left, right] : rows)
    if (left.size() <= kWidestLeft) width = std::max(width, left.size());
  const std::size_t indent = width + 4;
  std::string text;
  for (const auto& [left, right] : rows) {
    text += "  " + left;
    if (left.size() > width) {
      text += "\n" + std::string(indent, ' ');
    } else {
      text += std::string(indent - 2 - left.size(), ' ');
    }
    text += wrapped(right, indent) + "\n";
  }
  return text;
}

std::string command_line(std::string_view name, const std::vector<std::string>& arguments) {
  constexpr std::string_view kWithValue[] = {"--out", "--threads", "--jobs", "--memory"};
  constexpr std::string_view kFlags[] = {"--quiet", "--pdf", "--no-svg", "--resume"};
  std::string text = "medgrad ";
  text.append(name);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const std::string_view option = std::string_view(argument).substr(0, argument.find('='));
    if (std::ranges::count(kFlags, option) > 0) continue;
    if (std::ranges::count(kWithValue, option) > 0) {
      i += option.size() == argument.size() ? 1 : 0;
      continue;
    }
    text += " " + shell_word(argument);
  }
  return text;
}

std::string sentence(std::string_view text) {
  std::string result(text);
  if (!result.empty() && result[0] >= 'a' && result[0] <= 'z')
    result[0] = static_cast<char>(result[0] - 'a' + 'A');
  return result.append(".");
}

std::string fitted(std::vector<Part> parts, std::size_t width) {
  for (;;) {
    std::string text;
    for (const Part& part : parts) text += (text.empty() ? "" : ", ") + part.text;
    if (text.size() <= width || parts.size() < 2) return text;
    parts.erase(std::ranges::min_element(parts, {}, &Part::importance));
  }
}

std::string duration(double seconds) {
  const auto whole = static_cast<long>(std::lround(std::max(0.0, seconds)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min", whole / 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace medgrad::app
