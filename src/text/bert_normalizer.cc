#include "text/bert_normalizer.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/utf16.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "text/unicode.h"

namespace medgrad::text {
namespace {

UChar32 icu(char32_t c) { return static_cast<UChar32>(c); }

bool assigned_in(char32_t c, int version) {
  UVersionInfo age;
  u_charAge(icu(c), age);
  return age[0] != 0 && age[0] <= version;
}

// The mask of the general category in Unicode 8; 0 where nothing was assigned. Six characters have
// changed theirs since then, of those that matter here.
std::uint32_t category(char32_t c) {
  switch (c) {
    case 0x166D:
    case 0x111C9:
      return U_GC_PO_MASK;
    case 0x1734:
      return U_GC_MN_MASK;
    case 0x1885:
    case 0x1886:
      return U_GC_LO_MASK;
    case 0xA9BD:
      return U_GC_MC_MASK;
    default:
      return assigned_in(c, 8) ? U_GET_GC_MASK(icu(c)) : 0;
  }
}

// The reference's table of private use has the first and last characters of the ranges alone, as
// UnicodeData.txt lists them; what lies between counts as a letter.
bool is_listed_private_use(char32_t c) {
  return c == 0xE000 || c == 0xF8FF || c == 0xF0000 || c == 0xFFFFD || c == 0x100000 ||
         c == 0x10FFFD;
}

bool is_dropped(char32_t c) {
  return c == 0xFFFD || is_listed_private_use(c) ||
         (category(c) & (U_GC_CC_MASK | U_GC_CF_MASK)) != 0;
}

// Unicode's White_Space past ASCII, without U+0085, which is dropped before.
bool is_space(char32_t c) { return c > 0x85 && is_python_space(c); }

// The blocks that the reference lists; the sixth begins later than the block does.
bool is_ideograph(char32_t c) {
  const auto within = [c](char32_t low, char32_t high) { return c >= low && c <= high; };
  return within(0x4E00, 0x9FFF) || within(0x3400, 0x4DBF) || within(0xF900, 0xFAFF) ||
         within(0x20000, 0x2A6DF) || within(0x2A700, 0x2B73F) || within(0x2B740, 0x2B81F) ||
         within(0x2B920, 0x2CEAF) || within(0x2F800, 0x2FA1F);
}

// What ASCII characters become; 0 where they are dropped.
constexpr std::array<char32_t, 128> kAscii = [] {
  std::array<char32_t, 128> table{};
  for (char32_t c = ' '; c < 0x7F; ++c) table[c] = c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
  table['\t'] = table['\n'] = table['\r'] = ' ';
  return table;
}();

}  // namespace

bool is_bert_punctuation(char32_t c) {
  if (c < 0x80) {
    return (c >= 0x21 && c <= 0x2F) || (c >= 0x3A && c <= 0x40) || (c >= 0x5B && c <= 0x60) ||
           (c >= 0x7B && c <= 0x7E);
  }
  return (category(c) & U_GC_P_MASK) != 0;
}

BertNormalizer::BertNormalizer() : nfd_(nullptr) {
  UErrorCode code = U_ZERO_ERROR;
  nfd_ = unorm2_getNFDInstance(&code);
  if (U_FAILURE(code)) throw std::runtime_error("ICU's normalisation data cannot be loaded.");
}

std::uint32_t BertNormalizer::normalize(std::string_view text, std::uint32_t first,
                                        NormalText& out) {
  std::uint32_t index = first;
  for (std::size_t at = 0; at < text.size(); ++index) {
    if (is_ascii(text[at])) {
      const char32_t c = kAscii[static_cast<unsigned char>(text[at++])];
      if (c == 0) continue;
      flush(out);
      out.characters += c;
      out.origins.push_back(index);
      last_origin_ = index;
      continue;
    }
    const char32_t c = next_character(text, at);
    if (is_dropped(c)) continue;
    if (is_space(c)) {
      add(' ', index, out);
    } else if (is_ideograph(c)) {
      add(' ', index, out);
      decompose(c, index, out);
      add(' ', index, out);
    } else {
      decompose(c, index, out);
    }
  }
  flush(out);
  return index;
}

void BertNormalizer::decompose(char32_t c, std::uint32_t origin, NormalText& out) {
  std::array<UChar, 32> units;  // the longest decomposition has four characters
  UErrorCode code = U_ZERO_ERROR;
  const std::int32_t length =
      assigned_in(c, 9) ? unorm2_getDecomposition(static_cast<const UNormalizer2*>(nfd_), icu(c),
                                                  units.data(), units.size(), &code)
                        : -1;
  if (length < 0 || U_FAILURE(code)) {
    put(c, false, origin, out);
    return;
  }
  for (std::int32_t i = 0; i < length;) {
    const bool is_new = i > 0;
    UChar32 part = 0;
    U16_NEXT(units.data(), i, length, part);
    put(static_cast<char32_t>(part), is_new, origin, out);
  }
}

// Marks wait for the next character that is none, since NFD orders them by their class.
void BertNormalizer::put(char32_t c, bool is_new, std::uint32_t origin, NormalText& out) {
  const std::uint8_t combining_class = assigned_in(c, 9) ? u_getCombiningClass(icu(c)) : 0;
  if (combining_class == 0) {
    add(c, origin, out);
    return;
  }
  marks_.push_back({combining_class, is_new, c});
  if (!is_new) mark_origins_.push_back(origin);
}

// Ordering moves characters, not origins: those are dealt out in the order of the text, and what a
// decomposition has added shares that of the one before it.
void BertNormalizer::flush(NormalText& out) {
  if (marks_.empty()) return;
  std::ranges::stable_sort(marks_, {}, &Mark::combining_class);
  std::size_t used = 0;
  for (const Mark& mark : marks_) {
    if (!mark.is_new) last_origin_ = mark_origins_[used++];
    if (category(mark.character) == U_GC_MN_MASK) continue;
    out.characters += static_cast<char32_t>(u_tolower(icu(mark.character)));
    out.origins.push_back(last_origin_);
  }
  marks_.clear();
  mark_origins_.clear();
}

void BertNormalizer::add(char32_t c, std::uint32_t origin, NormalText& out) {
  flush(out);
  last_origin_ = origin;
  if (category(c) == U_GC_MN_MASK) return;  // some have no class
  // The one character with a lower case of two, U+0130, has been decomposed.
  out.characters += static_cast<char32_t>(u_tolower(icu(c)));
  out.origins.push_back(origin);
}

}  // namespace medgrad::text
