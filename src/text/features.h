// Questions and their contexts as the sequences that an encoder reads.
//
// A sequence is [CLS] question [SEP] context [SEP] with at most `max_length` tokens. Where the
// context does not fit it is read in windows: each has as many of its tokens as fit, and begins
// `stride` tokens before the one before it ends. A window is one feature; those of a question
// follow one another.
//
// The label is the place of the first answer, from its characters. A window that does not hold all
// of it has both labels at [CLS] (0). Otherwise `end` is the earliest context token that ends at or
// behind the answer's end, and `start` is one before the first token that begins behind the
// answer's start. With a quirk that the published results have and we keep: the closing [SEP]
// counts as beginning at 0, so that for an answer in the last context token `start` is the [SEP].
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "text/squad.h"
#include "text/wordpiece.h"

namespace medgrad::text {

struct Feature {
  std::uint32_t question;      // index in the set
  std::uint32_t first, count;  // tokens of the context
  std::uint32_t start, end;    // the label: positions in the sequence
};

// Features side by side, padded to the longest: (batch, length), row after row.
struct FeatureBatch {
  std::size_t size = 0, length = 0;
  std::vector<std::int64_t> ids, types, mask;  // types: 1 from the context on; mask: 0 at padding
  std::vector<std::int64_t> starts, ends;      // one per feature
};

class FeatureSet {
 public:
  struct Options {
    std::size_t max_length = 512, stride = 128;
  };
  // Each text is tokenized once. Throws Error where a question leaves no room for a context.
  FeatureSet(const QuestionSet& set, WordPiece& tokenizer, const Options& options);
  FeatureSet(const QuestionSet& set, WordPiece& tokenizer)
      : FeatureSet(set, tokenizer, Options()) {}

  [[nodiscard]] std::size_t size() const { return features_.size(); }
  [[nodiscard]] const Feature& operator[](std::size_t i) const { return features_[i]; }
  // The features of a question: from first to second - 1.
  [[nodiscard]] std::pair<std::size_t, std::size_t> of_question(std::size_t question) const {
    return {first_of_[question], first_of_[question + 1]};
  }
  // Tokens in the sequence, and where in it the context begins; it ends one before the end.
  [[nodiscard]] std::size_t length(std::size_t i) const;
  [[nodiscard]] std::size_t context_begin(std::size_t i) const;
  // The characters of the context that the token at a position of its part comes from.
  [[nodiscard]] Offset offset(std::size_t i, std::size_t position) const;

  [[nodiscard]] FeatureBatch batch(std::span<const std::uint32_t> features) const;

  // Adds all that batches are made of.
  void add_to(Checksum& sum) const;

 private:
  void add_windows(std::size_t question, const QuestionSet& set, const Options& options);
  void label(Feature& feature, const Question& question, std::size_t answer_length) const;

  std::vector<Tokens> contexts_;
  std::vector<std::vector<TokenId>> questions_;
  std::vector<std::uint32_t> context_of_;  // each question's
  std::vector<Feature> features_;
  std::vector<std::size_t> first_of_;
  TokenId cls_, sep_, pad_;
};

// 0 … n − 1 in an order that depends on (seed, epoch) and nothing else.
[[nodiscard]] std::vector<std::uint32_t> epoch_order(std::size_t n, std::uint64_t seed,
                                                     std::uint64_t epoch);

}  // namespace medgrad::text
