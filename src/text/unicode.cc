#include "text/unicode.h"

#include <unicode/ustring.h>
#include <unicode/utf16.h>

#include <algorithm>
#include <new>
#include <string>

namespace medgrad::text {
namespace {

bool all_ascii(std::string_view text) { return std::all_of(text.begin(), text.end(), is_ascii); }

void check(UErrorCode code) {
  // What can fail here is memory only: the text is valid and the buffers are large enough.
  if (U_FAILURE(code)) throw std::bad_alloc();
}

}  // namespace

char32_t next_character(std::string_view text, std::size_t& at, bool& good) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(at++);
  if (lead < 0x80) return lead;
  // What follows, and which second bytes a first one allows: no overlong forms, no surrogates,
  // nothing past U+10FFFF.
  const std::size_t more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  bool whole = lead >= 0xC2 && lead <= 0xF4;
  char32_t c = lead & (0x3FU >> more);
  for (std::size_t i = 0; whole && i < more; ++i) {
    whole = at < text.size() && byte(at) >= low && byte(at) <= high;
    if (whole) c = c << 6 | (byte(at++) & 0x3FU);
    low = 0x80;
    high = 0xBF;
  }
  if (whole) return c;
  good = false;
  return 0xFFFD;
}

char32_t next_character(std::string_view text, std::size_t& at) {
  bool ignored = true;
  return next_character(text, at, ignored);
}

bool is_utf8(std::string_view text) {
  bool good = true;
  for (std::size_t at = 0; good && at < text.size();) {
    if (is_ascii(text[at])) {
      ++at;
    } else {
      (void)next_character(text, at, good);
    }
  }
  return good;
}

void append_utf8(std::string& text, char32_t character) {
  if (character < 0x80) {
    text += static_cast<char>(character);
    return;
  }
  const int more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
  text += static_cast<char>((0xFF80U >> more & 0xFFU) | character >> 6 * more);
  for (int i = more - 1; i >= 0; --i)
    text += static_cast<char>(0x80U | (character >> 6 * i & 0x3FU));
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  if (all_ascii(text)) {
    for (char& c : result)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return result;
  }
  std::u16string wide;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c >= 0x10000) wide += {U16_LEAD(c), U16_TRAIL(c)};
    if (c < 0x10000) wide += static_cast<char16_t>(c);
  }
  // No mapping makes more than three units of one.
  std::u16string lowered(3 * wide.size(), u'\0');
  UErrorCode code = U_ZERO_ERROR;
  const std::int32_t length =
      u_strToLower(lowered.data(), static_cast<std::int32_t>(lowered.size()), wide.data(),
                   static_cast<std::int32_t>(wide.size()), "", &code);
  check(code);
  result.clear();
  for (std::int32_t i = 0; i < length;) {
    UChar32 c = 0;
    U16_NEXT(lowered.data(), i, length, c);
    append_utf8(result, static_cast<char32_t>(c));
  }
  return result;
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) {
    if (is_ascii(text[at])) {
      ++at;
    } else {
      (void)next_character(text, at);
    }
  }
  return count;
}

std::string_view characters(std::string_view text, std::size_t begin, std::size_t end) {
  std::size_t at = 0, from = text.size(), to = text.size();
  for (std::size_t i = 0; at < text.size(); ++i) {
    if (i == begin) from = at;
    if (i == end) {
      to = at;
      break;
    }
    (void)next_character(text, at);
  }
  return from < to ? text.substr(from, to - from) : std::string_view();
}

}  // namespace medgrad::text
