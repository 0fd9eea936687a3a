#include "medgrad/description.h"

#include <fmt/core.h>

#include <charconv>

namespace medgrad {

std::string number(double x) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), x).ptr};
}

std::string Range::text(std::string_view name) const {
  const bool inf_allowed = std::isinf(max) && !max_open && std::isfinite(min);
  const std::string interval =
      inf_allowed ? fmt::format("{} {} {}, inf allowed", name, min_open ? ">" : ">=", number(min))
                  : fmt::format("{} {} {} {} {}", number(min), min_open ? "<" : "<=", name,
                                max_open ? "<" : "<=", number(max));
  return fmt::format("{}{}{}", interval, whole ? ", a whole number" : "",
                     automatic ? ", or auto" : "");
}

void check(std::string_view name, double value, const Range& range) {
  if (!range.contains(value))
    throw Error(std::string(name), number(value),
                fmt::format("it must satisfy {}", range.text(name)));
}

void internal::describe_number(std::string& line, std::string_view name, double value,
                               const Words& words) {
  line += ' ';
  line += name;
  line += '=';
  if (value == kAutomaticNumber) {  // which may have a word of its own
    line += words.size() == 1 ? *words.begin() : std::string_view("auto");
  } else if (words.size() > 1 && value >= 0 && value < static_cast<double>(words.size())) {
    line += words.begin()[static_cast<std::size_t>(value)];
  } else {
    line += number(value);
  }
}

void internal::describe_numbers(std::string& line, std::span<const double> values) {
  if (values.empty()) return;
  line += " [";
  for (const double x : values) line += (line.back() == '[' ? "" : " ") + number(x);
  line += ']';
}

}  // namespace medgrad
