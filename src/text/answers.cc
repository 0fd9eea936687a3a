#include "text/answers.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "text/unicode.h"

namespace medgrad::text {

AnswerFinder::AnswerFinder(const QuestionSet& set, const FeatureSet& features,
                           const Options& options)
    : set_(set), features_(features), options_(options), best_(set.questions.size()) {}

void AnswerFinder::highest(std::span<const float> scores,
                           std::vector<std::size_t>& positions) const {
  const auto score = [scores](std::size_t i) {
    return std::isnan(scores[i]) ? -std::numeric_limits<float>::infinity() : scores[i];
  };
  positions.resize(scores.size());
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  const std::size_t count = std::min(options_.best, scores.size());
  std::partial_sort(positions.begin(), positions.begin() + static_cast<std::ptrdiff_t>(count),
                    positions.end(), [score](std::size_t a, std::size_t b) {
                      return score(a) != score(b) ? score(a) > score(b) : a < b;
                    });
  positions.resize(count);
}

void AnswerFinder::add(std::size_t feature, std::span<const float> start,
                       std::span<const float> end) {
  assert(start.size() == end.size() && start.size() >= features_.length(feature));
  highest(start, starts_);
  highest(end, ends_);
  const std::size_t begin = features_.context_begin(feature), stop = features_.length(feature) - 1;
  Best& best = best_[features_[feature].question];
  for (const std::size_t s : starts_) {
    for (const std::size_t e : ends_) {
      if (s < begin || e >= stop || s > e || e - s >= options_.max_tokens) continue;
      const float score = start[s] + end[e];
      if (std::isnan(score) || (best.found && score <= best.score)) continue;
      best = {true, score, {features_.offset(feature, s).begin, features_.offset(feature, e).end}};
    }
  }
}

std::vector<std::string> AnswerFinder::answers() const {
  std::vector<std::string> texts;
  texts.reserve(best_.size());
  for (std::size_t q = 0; q < best_.size(); ++q) {
    const Best& best = best_[q];
    const std::string& context = set_.contexts[set_.questions[q].context];
    texts.emplace_back(best.found ? characters(context, best.characters.begin, best.characters.end)
                                  : "empty");
  }
  return texts;
}

AnswerScore score_answers(const QuestionSet& set, std::span<const std::string> answers) {
  assert(answers.size() <= set.questions.size());
  AnswerScore sum;
  for (std::size_t q = 0; q < answers.size(); ++q) {
    const AnswerScore one = score_answer(answers[q], set.questions[q].answers);
    sum.exact_match += one.exact_match;
    sum.f1 += one.f1;
  }
  const auto n = static_cast<double>(std::max<std::size_t>(answers.size(), 1));
  return {100 * sum.exact_match / n, 100 * sum.f1 / n};
}

}  // namespace medgrad::text
