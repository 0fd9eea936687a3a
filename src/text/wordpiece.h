// BERT's WordPiece tokenizer (uncased), with the place of every piece in the text.
//
// The text is normalised (bert_normalizer.h) and split at blanks; a punctuation character is a word
// of its own. A word is cut from the left into the longest pieces of the vocabulary, those after
// the first written "##…"; a word that cannot be cut, or has more than 100 characters after
// normalisation, is [UNK]. The literal texts [PAD], [UNK], [CLS], [SEP], [MASK] are those tokens,
// before anything else.
//
// Offsets count characters (Unicode code points) of the original text, as in the reference and in
// SQuAD: piece i comes from characters begin … end − 1. Both never fall from piece to piece. Pieces
// of one character (a Hangul syllable) share it. Dropped characters inside a piece belong to it,
// those at its ends do not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/bert_normalizer.h"
#include "text/corpus.h"

namespace medgrad::text {

struct Offset {
  std::uint32_t begin, end;
  friend bool operator==(const Offset&, const Offset&) = default;
};

struct Tokens {
  std::vector<TokenId> ids;
  std::vector<Offset> offsets;
};

// Remembers the pieces of the words it has met, so that a text costs one look-up a word. One object
// serves one thread.
class WordPiece {
 public:
  // The pieces in the order of their ids. Throws Error where one is empty, no UTF-8 or repeats, or
  // a special token but [MASK] is missing; `name` is what the message calls the list.
  explicit WordPiece(std::vector<std::string> pieces, const std::string& name = "the vocabulary");
  // A vocab.txt: one piece per line.
  [[nodiscard]] static WordPiece read(const std::filesystem::path& file);

  [[nodiscard]] std::size_t size() const { return pieces_.size(); }
  [[nodiscard]] const std::string& piece(TokenId id) const {
    return pieces_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] std::optional<TokenId> find(std::string_view piece) const;
  [[nodiscard]] TokenId pad() const { return pad_; }
  [[nodiscard]] TokenId unknown() const { return unknown_; }
  [[nodiscard]] TokenId cls() const { return cls_; }
  [[nodiscard]] TokenId sep() const { return sep_; }

  // The pieces of the text, without [CLS] and [SEP] around them. Bytes that are no UTF-8 count as
  // one dropped character each. Throws Error for texts past 2^32 - 2 bytes.
  [[nodiscard]] Tokens encode(std::string_view text);

 private:
  struct Special {
    std::string text;
    TokenId id;
  };
  struct Part {
    TokenId id;
    std::uint32_t characters;
  };
  struct Range {
    std::uint32_t first, count;  // in parts_
  };

  const Special* special_at(std::string_view text) const;
  void encode_plain(Tokens& tokens);
  void encode_word(std::size_t begin, std::size_t end, Tokens& tokens);
  Range cut(std::string_view word);

  std::vector<std::string> pieces_;
  StringIds ids_;
  std::vector<Special> specials_;
  TokenId pad_ = 0, unknown_ = 0, cls_ = 0, sep_ = 0;
  std::size_t longest_ = 0;  // piece, in bytes

  BertNormalizer normalizer_;
  NormalText normal_;
  std::string word_, piece_;
  std::unordered_map<std::string, Range, StringHash, std::equal_to<>> words_;
  std::vector<Part> parts_;
};

}  // namespace medgrad::text
