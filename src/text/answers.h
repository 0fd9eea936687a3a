// From the scores of a model to answers, and how good these are.
//
// Of each window, the 20 highest start scores and the 20 highest end scores are paired; a pair
// counts if both lie in the context, the start is not behind the end, and the answer has at most 30
// tokens. The best sum over all windows of a question is its answer: the characters of the context
// from the first token's to the last one's. Where no pair counts, it is the word "empty".
//
// Exact match and F1 are those of SQuAD v1.1: both texts are lower-cased, lose ASCII punctuation
// and the articles a, an, the, and are compared as words; the best over the references counts.
// Where both texts become empty, exact match is 1 and F1 is 0, as in the official script.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/features.h"

namespace medgrad::text {

// Takes the scores of windows, in any order, and keeps the best answer of each question.
class AnswerFinder {
 public:
  struct Options {
    std::size_t best = 20;        // scores of either kind
    std::size_t max_tokens = 30;  // of an answer
  };
  // Both must outlive the finder.
  AnswerFinder(const QuestionSet& set, const FeatureSet& features, const Options& options);
  AnswerFinder(const QuestionSet& set, const FeatureSet& features)
      : AnswerFinder(set, features, Options()) {}

  // One score per position of the padded sequence; those of padding take part among the 20 highest
  // and are never an answer. Of equal scores the earlier position comes first; NaN counts as -inf.
  void add(std::size_t feature, std::span<const float> start, std::span<const float> end);
  // One text per question.
  [[nodiscard]] std::vector<std::string> answers() const;

 private:
  struct Best {
    bool found = false;
    float score = 0;
    Offset characters{0, 0};
  };
  void highest(std::span<const float> scores, std::vector<std::size_t>& positions) const;

  const QuestionSet& set_;
  const FeatureSet& features_;
  Options options_;
  std::vector<Best> best_;
  std::vector<std::size_t> starts_, ends_;
};

struct AnswerScore {
  double exact_match = 0, f1 = 0;
};

[[nodiscard]] std::string normalize_answer(std::string_view text);
// Each in [0, 1].
[[nodiscard]] AnswerScore score_answer(std::string_view answer, std::span<const Answer> references);
// The means over the questions that have an answer here, times 100: one each, from the first on.
[[nodiscard]] AnswerScore score_answers(const QuestionSet& set,
                                        std::span<const std::string> answers);

}  // namespace medgrad::text
