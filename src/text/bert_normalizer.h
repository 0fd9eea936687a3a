// Text as an uncased BERT model sees it, before it is cut into pieces.
//
// In this order: control, format and private-use characters, U+0000 and U+FFFD are dropped (so are
// VT, FF and U+0085), white space becomes a blank; a CJK ideograph gets a blank on either side;
// canonical decomposition (NFD); nonspacing marks are dropped; each character becomes its
// lower-case one, whatever stands beside it (Σ is always σ).
//
// "Exact" means: as the reference tokenizer of the field, to the Unicode version of its tables.
// Categories are those of Unicode 8, decompositions those of Unicode 9, and what was assigned later
// counts as unassigned, which is kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace medgrad::text {

// Normal characters, and for each the index of the character (code point) it was made from. Indices
// never fall; one character may become several (a Hangul syllable) or none.
struct NormalText {
  std::u32string characters;
  std::vector<std::uint32_t> origins;

  void clear() {
    characters.clear();
    origins.clear();
  }
};

class BertNormalizer {
 public:
  BertNormalizer();
  // Appends the normal form of `text`, whose first character has the index `first`. Returns the
  // index behind its last one.
  std::uint32_t normalize(std::string_view text, std::uint32_t first, NormalText& out);

 private:
  struct Mark {
    std::uint8_t combining_class;
    bool is_new;  // made by a decomposition, not the first of it
    char32_t character;
  };
  void add(char32_t character, std::uint32_t origin, NormalText& out);
  void decompose(char32_t character, std::uint32_t origin, NormalText& out);
  void put(char32_t character, bool is_new, std::uint32_t origin, NormalText& out);
  void flush(NormalText& out);

  const void* nfd_;  // ICU's, which lives as long as the program
  std::vector<Mark> marks_;
  std::vector<std::uint32_t> mark_origins_;
  std::uint32_t last_origin_ = 0;
};

// Each of these is a word by itself: ASCII punctuation and symbols, and Unicode's punctuation.
[[nodiscard]] bool is_bert_punctuation(char32_t character);

}  // namespace medgrad::text
