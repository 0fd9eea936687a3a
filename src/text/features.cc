#include "text/features.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <numeric>

#include "base/shuffle.h"
#include "base/text.h"
#include "medgrad/error.h"
#include "medgrad/rng.h"
#include "text/unicode.h"

namespace medgrad::text {

FeatureSet::FeatureSet(const QuestionSet& set, WordPiece& tokenizer, const Options& options)
    : cls_(tokenizer.cls()), sep_(tokenizer.sep()), pad_(tokenizer.pad()) {
  if (options.max_length < 5 || options.stride + 4 >= options.max_length) {
    throw Error(
        fmt::format("a maximal length of {} with a stride of {} leaves no room: the length must "
                    "exceed the stride by 5 or more.",
                    counted(options.max_length, "token"), options.stride));
  }
  contexts_.reserve(set.contexts.size());
  for (const std::string& context : set.contexts) contexts_.push_back(tokenizer.encode(context));
  questions_.reserve(set.questions.size());
  features_.reserve(set.questions.size());
  first_of_.reserve(set.questions.size() + 1);
  for (std::size_t q = 0; q < set.questions.size(); ++q) {
    questions_.push_back(tokenizer.encode(set.questions[q].text).ids);
    context_of_.push_back(static_cast<std::uint32_t>(set.questions[q].context));
    first_of_.push_back(features_.size());
    add_windows(q, set, options);
  }
  first_of_.push_back(features_.size());
}

void FeatureSet::add_windows(std::size_t q, const QuestionSet& set, const Options& options) {
  const Question& question = set.questions[q];
  const std::size_t question_length = questions_[q].size();
  const std::size_t total = contexts_[question.context].ids.size();
  const std::size_t room = options.max_length - std::min(options.max_length, question_length + 3);
  if (question_length + 3 > options.max_length || (total > room && room <= options.stride)) {
    // In windows, each of which must go on by a token; or beside all of the context.
    const std::size_t beside = options.max_length - std::min(options.max_length, total + 3);
    const std::size_t most = std::max(options.max_length - options.stride - 4, beside);
    throw Error(
        fmt::format("question '{}' has {}; with a context of {}, sequences of {} and a stride of "
                    "{} it may have {} at most.",
                    question.id, counted(question_length, "token"), total, options.max_length,
                    options.stride, most));
  }
  const std::size_t answer_length = count_characters(question.answers.front().text);
  for (std::size_t first = 0;; first += room - options.stride) {
    const std::size_t count = std::min(room, total - first);
    Feature feature{static_cast<std::uint32_t>(q), static_cast<std::uint32_t>(first),
                    static_cast<std::uint32_t>(count), 0, 0};
    label(feature, question, answer_length);
    features_.push_back(feature);
    if (first + count == total) break;
  }
}

void FeatureSet::label(Feature& feature, const Question& question, std::size_t length) const {
  const Answer& answer = question.answers.front();
  const std::size_t answer_end = answer.start + length;
  const std::span<const Offset> window =
      std::span(contexts_[question.context].offsets).subspan(feature.first, feature.count);
  if (window.empty() || window.front().begin > answer.start || window.back().end < answer_end)
    return;
  const std::size_t before = questions_[feature.question].size() + 2;  // [CLS] question [SEP]
  // Offsets never fall: both ends are found by bisection.
  const auto behind = std::ranges::upper_bound(window, answer.start, {}, &Offset::begin);
  const auto ends = std::ranges::lower_bound(window, answer_end, {}, &Offset::end);
  const std::size_t last = behind == window.end()
                               ? window.size()
                               : static_cast<std::size_t>(behind - window.begin()) - 1;
  feature.start = static_cast<std::uint32_t>(before + last);
  feature.end =
      static_cast<std::uint32_t>(before + static_cast<std::size_t>(ends - window.begin()));
}

std::size_t FeatureSet::context_begin(std::size_t i) const {
  return questions_[features_[i].question].size() + 2;
}

std::size_t FeatureSet::length(std::size_t i) const {
  return context_begin(i) + features_[i].count + 1;
}

Offset FeatureSet::offset(std::size_t i, std::size_t position) const {
  const Feature& feature = features_[i];
  assert(position >= context_begin(i) && position + 1 < length(i));
  return contexts_[context_of_[feature.question]]
      .offsets[feature.first + position - context_begin(i)];
}

FeatureBatch FeatureSet::batch(std::span<const std::uint32_t> features) const {
  FeatureBatch batch;
  batch.size = features.size();
  for (const std::uint32_t i : features) batch.length = std::max(batch.length, length(i));
  batch.ids.assign(batch.size * batch.length, pad_);
  batch.types.assign(batch.ids.size(), 0);
  batch.mask.assign(batch.ids.size(), 0);
  for (std::size_t row = 0; row < features.size(); ++row) {
    const std::uint32_t i = features[row];
    const Feature& feature = features_[i];
    const std::vector<TokenId>& question = questions_[feature.question];
    const TokenId* const context =
        contexts_[context_of_[feature.question]].ids.data() + feature.first;
    std::int64_t* const ids = batch.ids.data() + row * batch.length;
    const std::size_t begin = context_begin(i), end = length(i);
    ids[0] = cls_;
    std::ranges::copy(question, ids + 1);
    ids[begin - 1] = sep_;
    std::copy_n(context, feature.count, ids + begin);
    ids[end - 1] = sep_;
    std::fill_n(batch.mask.data() + row * batch.length, end, 1);
    std::fill_n(batch.types.data() + row * batch.length + begin, end - begin, 1);
    batch.starts.push_back(feature.start);
    batch.ends.push_back(feature.end);
  }
  return batch;
}

void FeatureSet::add_to(Checksum& sum) const {
  for (const std::vector<TokenId>& question : questions_) sum.add_all(std::span(question));
  for (const Tokens& context : contexts_) {
    sum.add_all(std::span(context.ids));
    sum.add_all(std::span(context.offsets));
  }
  sum.add_all(std::span(context_of_));
  sum.add_all(std::span(features_));
}

std::vector<std::uint32_t> epoch_order(std::size_t n, std::uint64_t seed, std::uint64_t epoch) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  shuffle(std::span(order), Philox(seed, epoch));
  return order;
}

}  // namespace medgrad::text
