#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace medgrad {

std::string one_of(std::span<const std::string_view> words, std::string_view last) {
  if (words.empty()) return {};
  if (words.size() == 1) return std::string(words[0]);
  return fmt::format("{} {} {}", fmt::join(words.first(words.size() - 1), ", "), last,
                     words.back());
}

}  // namespace medgrad

namespace medgrad::internal {
namespace {

constexpr auto byte_of(char c) { return static_cast<unsigned char>(c); }

// The bytes of the UTF-8 character that `text` begins with, where it can be shown; else 0. What is
// not shown are control characters and the ones that hide or change the direction of others.
std::size_t printable_length(std::string_view text) {
  const unsigned char first = byte_of(text.front());
  if (first < 0x80) return first >= ' ' && first != 0x7F ? 1 : 0;
  const std::size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (length == 0 || first > 0xF4 || text.size() < length) return 0;
  std::uint32_t code = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_of(text[i]) & 0xC0U) != 0x80) return 0;
    code = code << 6 | (byte_of(text[i]) & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> kShortest = {0, 0, 0xA0, 0x800, 0x10000};
  constexpr std::array<std::array<std::uint32_t, 2>, 6> kHidden = {{{0xAD, 0xAD},
                                                                    {0x200B, 0x200F},
                                                                    {0x2028, 0x202E},
                                                                    {0x2060, 0x206F},
                                                                    {0xD800, 0xF8FF},
                                                                    {0xFEFF, 0xFEFF}}};
  const bool hidden = std::ranges::any_of(
      kHidden, [code](const auto& range) { return code >= range[0] && code <= range[1]; });
  return code < kShortest[length] || code > 0x10FFFF || hidden ? 0 : length;
}

}  // namespace

std::string line_of(const std::string& name, std::size_t line) {
  return name + ":" + std::to_string(line);
}

std::string row_of(const std::string& name, std::size_t row) {
  return fmt::format("{}, row {}", name, row + 1);
}

std::string column_of(std::size_t column, std::span<const std::string> names) {
  std::string text = "column " + std::to_string(column + 1);
  if (column < names.size() && !names[column].empty())
    text += fmt::format(" ({})", internal::quoted(names[column]));
  return text;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kMost = 40;  // characters
  constexpr std::string_view hex = "0123456789abcdef";
  std::string result = "'";
  for (std::size_t shown = 0; !text.empty(); ++shown) {
    if (shown == kMost) return result + "...'";
    if (const std::size_t length = printable_length(text)) {
      result += text.substr(0, length);
      text.remove_prefix(length);
    } else {
      const unsigned char byte = byte_of(text.front());
      result += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
      text.remove_prefix(1);
    }
  }
  return result + "'";
}

}  // namespace medgrad::internal
