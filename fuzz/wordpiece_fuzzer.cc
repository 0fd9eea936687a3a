// Any bytes as text: every piece comes from characters of it, in order, and words that are
// remembered give what they gave before.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "text/unicode.h"
#include "text/wordpiece.h"

namespace {

medgrad::text::WordPiece make() {
  std::vector<std::string> pieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "##ing"};
  // Letters, and what decomposes into several characters: Hangul and its parts.
  for (char32_t c = 0x21; c < 0x7F; ++c) pieces.push_back({static_cast<char>(c)});
  for (char c = 'a'; c <= 'z'; ++c) pieces.push_back({'#', '#', c});
  for (char32_t c = 0x1100; c < 0x1200; ++c) {
    std::string text;
    medgrad::text::append_utf8(text, c);
    pieces.push_back(text);
    pieces.push_back("##" + text);
  }
  return medgrad::text::WordPiece(std::move(pieces));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace medgrad::text;
  static WordPiece tokenizer = make();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Tokens tokens = tokenizer.encode(text);
  const std::size_t length = count_characters(text);
  if (tokens.ids.size() != tokens.offsets.size()) std::abort();
  Offset before{0, 0};
  for (const Offset& offset : tokens.offsets) {
    if (offset.begin >= offset.end || offset.end > length) std::abort();
    if (offset.begin < before.begin || offset.end < before.end) std::abort();
    before = offset;
  }
  const Tokens again = tokenizer.encode(text);
  if (again.ids != tokens.ids || again.offsets != tokens.offsets) std::abort();
  return 0;
}
