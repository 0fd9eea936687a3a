// Characters of UTF-8 text, as the published experiments saw them.
//
// A character is a Unicode code point here, as in Python: offsets and lengths count code points,
// not bytes. White space is what Python's str.split() splits at, which is more than the Unicode
// property White_Space (U+001C to U+001F) and less than "looks blank" (U+200B is none).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace medgrad::text {

// The code point that begins at `at`, which moves behind it. Bytes that are no UTF-8 give U+FFFD,
// one for each longest sequence that could have begun a character, and `good` becomes false.
[[nodiscard]] char32_t next_character(std::string_view text, std::size_t& at, bool& good);
[[nodiscard]] char32_t next_character(std::string_view text, std::size_t& at);

[[nodiscard]] bool is_utf8(std::string_view text);
void append_utf8(std::string& text, char32_t character);

[[nodiscard]] constexpr bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

// What str.isspace() holds for.
[[nodiscard]] constexpr bool is_python_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

// Calls word(std::string_view) for each word of str.split().
template <class Word>
void for_each_word(std::string_view text, const Word& word) {
  std::size_t at = 0, begin = 0;
  while (at < text.size()) {
    const std::size_t here = at;
    const char c = text[at];
    const bool space = is_ascii(c) ? is_python_space(static_cast<char32_t>(text[at++]))
                                   : is_python_space(next_character(text, at));
    if (!space) continue;
    if (begin < here) word(text.substr(begin, here - begin));
    begin = at;
  }
  if (begin < text.size()) word(text.substr(begin));
}

// str.lower(): full case mapping, a capital sigma at the end of a word included.
[[nodiscard]] std::string lower_case(std::string_view text);

// The number of code points, and those from `begin` to `end`.
[[nodiscard]] std::size_t count_characters(std::string_view text);
[[nodiscard]] std::string_view characters(std::string_view text, std::size_t begin,
                                          std::size_t end);

}  // namespace medgrad::text
