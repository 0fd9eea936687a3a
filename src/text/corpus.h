// Word-level corpora for language models: Penn Treebank and WikiText-2.
//
// A line is split at white space, and an `<eos>` follows its words; a blank line is an `<eos>` too.
// Penn Treebank is lower-cased (which only turns its `N` into `n`), WikiText-2 is not. Of the words
// of all three parts, id 0 is `<eos>`; the others follow by decreasing count, words of equal count
// in the order of their first appearance (train, then valid, then test). Nothing is left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace medgrad::text {

using TokenId = std::int32_t;

inline constexpr std::string_view kEndOfSentence = "<eos>";

// Lets a map of strings be asked with a view.
struct StringHash {
  using is_transparent = void;
  [[nodiscard]] std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};
using StringIds = std::unordered_map<std::string, TokenId, StringHash, std::equal_to<>>;

class Vocabulary {
 public:
  Vocabulary() = default;
  explicit Vocabulary(std::vector<std::string> words);  // all different

  [[nodiscard]] std::size_t size() const { return words_.size(); }
  [[nodiscard]] const std::string& word(TokenId id) const {
    return words_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] std::optional<TokenId> find(std::string_view word) const;

 private:
  std::vector<std::string> words_;
  StringIds ids_;
};

struct Corpus {
  std::vector<TokenId> train, valid, test;
  Vocabulary vocabulary;
};

// Reads the three parts in the folder. Throws Error where a file is missing, has no words, or has a
// line that is no UTF-8 ("ptb.train.txt:3: …").
[[nodiscard]] Corpus read_ptb(const std::filesystem::path& folder);
[[nodiscard]] Corpus read_wikitext2(const std::filesystem::path& folder);

// The same from any three files.
struct CorpusFiles {
  std::filesystem::path train, valid, test;
  bool lower_case = false;
};
[[nodiscard]] Corpus read_corpus(const CorpusFiles& files);

// Numbers the words of a corpus in the making: first in order of appearance, at the end by count.
class CorpusBuilder {
 public:
  void add(std::string_view word);
  void end_line();
  // What follows belongs to the next part: train, valid, test.
  void next_part();
  [[nodiscard]] Corpus finish();

 private:
  StringIds ids_ = {{std::string(kEndOfSentence), 0}};
  std::vector<std::string> words_ = {std::string(kEndOfSentence)};
  std::vector<std::size_t> counts_ = {0};
  std::vector<TokenId> parts_[3];
  std::size_t part_ = 0;
};

}  // namespace medgrad::text
