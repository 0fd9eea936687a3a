#include "medgrad/description.h"

#include <fmt/core.h>

#include <charconv>

#include "core/range_text.h"

namespace medgrad {
namespace {

// Of a range of whole numbers: "1e9" for the largest ones, which number() has as 1e+09.
std::string bound(double x) {
  std::string text = number(x);
  const std::size_t e = text.find("e+");
  if (e != std::string::npos) text.erase(e + 1, text[e + 2] == '0' ? 2 : 1);
  return text;
}

}  // namespace

std::string number(double x) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), x).ptr};
}

std::string Range::text(std::string_view name) const {
  const bool inf_allowed = std::isinf(max) && !max_open && std::isfinite(min);
  const std::string interval =
      whole         ? fmt::format("a whole number from {} to {}", bound(min), bound(max))
      : inf_allowed ? fmt::format("{} {} {}, inf allowed", name, min_open ? ">" : ">=", number(min))
                    : fmt::format("{} {} {} {} {}", number(min), min_open ? "<" : "<=", name,
                                  max_open ? "<" : "<=", number(max));
  return interval + (automatic ? ", or auto" : "");
}

std::string internal::requirement(const Range& range, std::string_view name,
                                  std::string_view automatic) {
  Range numbers = range;
  numbers.automatic = false;
  return fmt::format(
      "it must {} {}{}", range.whole ? "be" : "satisfy", numbers.text(name),
      !range.automatic ? "" : fmt::format(", or {}{}", range.whole ? "" : "be ", automatic));
}

void check(std::string_view name, double value, const Range& range) {
  if (!range.contains(value))
    throw Error(std::string(name), number(value), internal::requirement(range, name));
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
