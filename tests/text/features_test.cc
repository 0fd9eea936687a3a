// Windows and labels against a plain reading of their rules; batches; the published figures.
#include "text/features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "text/data.h"
#include "text/letters.h"
#include "text/unicode.h"

namespace medgrad::text {
namespace {

using medgrad::testing::golden_json;
using medgrad::testing::kNeedsData;
using medgrad::testing::lacks;
using medgrad::testing::message_of;
using medgrad::testing::real_data;

// The rules as the published code walks through them: whole sequences with an offset for every
// token, special ones at (0, 0).
struct Walk {
  std::vector<std::size_t> first, start, end;

  Walk(const Tokens& context, std::size_t question, const Answer& answer,
       const FeatureSet::Options& options) {
    const std::size_t room = options.max_length - question - 3, n = context.ids.size();
    const std::size_t answer_end = answer.start + count_characters(answer.text);
    for (std::size_t begin = 0; begin == 0 || first.back() + room < n;
         begin += room - options.stride) {
      const std::size_t stop = std::min(begin + room, n);
      std::vector<Offset> offsets(question + 2, Offset{0, 0});
      offsets.insert(offsets.end(), context.offsets.begin() + static_cast<std::ptrdiff_t>(begin),
                     context.offsets.begin() + static_cast<std::ptrdiff_t>(stop));
      offsets.push_back({0, 0});
      std::size_t from = question + 2, to = offsets.size() - 2;
      first.push_back(begin);
      if (offsets[from].begin > answer.start || offsets[to].end < answer_end) {
        start.push_back(0);
        end.push_back(0);
        continue;
      }
      while (from < offsets.size() && offsets[from].begin <= answer.start) ++from;
      while (to >= question + 2 && offsets[to].end >= answer_end) --to;
      start.push_back(from - 1);
      end.push_back(to + 1);
    }
  }
};

void expect_walk(const QuestionSet& set, const FeatureSet& features, WordPiece& tokenizer,
                 const FeatureSet::Options& options) {
  std::size_t context = set.contexts.size();
  Tokens tokens;
  for (std::size_t q = 0; q < set.questions.size(); ++q) {
    const Question& question = set.questions[q];
    if (question.context != context) tokens = tokenizer.encode(set.contexts[question.context]);
    context = question.context;
    const Walk walk(tokens, tokenizer.encode(question.text).ids.size(), question.answers[0],
                    options);
    const auto [first, last] = features.of_question(q);
    ASSERT_EQ(last - first, walk.first.size());
    for (std::size_t i = 0; i < walk.first.size(); ++i) {
      ASSERT_EQ(features[first + i].first, walk.first[i]);
      ASSERT_EQ(features[first + i].start, walk.start[i]) << question.id;
      ASSERT_EQ(features[first + i].end, walk.end[i]) << question.id;
    }
  }
}

TEST(Features, WindowsAndLabelsFollowTheRules) {
  WordPiece tokenizer = letters();
  std::string context;
  for (std::size_t i = 0; i < 40; ++i)
    context += std::string(1 + i % 3, static_cast<char>('a' + i % 26)) + " ";
  QuestionSet set{{context}, {}};
  for (std::size_t start = 0; start < context.size(); ++start) {
    for (const std::size_t length : {0U, 1U, 5U, 11U}) {
      if (start + length > context.size()) continue;
      set.questions.push_back({std::to_string(start),
                               std::string(start % 4, 'q'),
                               0,
                               {{context.substr(start, length), start}}});
    }
  }
  for (const FeatureSet::Options options :
       {FeatureSet::Options{12, 3}, {16, 0}, {20, 8}, {512, 128}}) {
    const FeatureSet features(set, tokenizer, options);
    expect_walk(set, features, tokenizer, options);
    for (std::size_t i = 0; i < features.size(); ++i)
      ASSERT_LE(features.length(i), options.max_length);
  }
}

TEST(Features, AnAnswerInTheLastTokenStartsAtTheSeparator) {
  WordPiece tokenizer = letters();
  const QuestionSet set = one_question("ab cd e", "q", "e");
  const FeatureSet features(set, tokenizer);
  ASSERT_EQ(features.size(), 1U);
  EXPECT_EQ(features.length(0), 9U);  // [CLS] q [SEP] a b c d e [SEP]
  EXPECT_EQ(features[0].start, 8U);
  EXPECT_EQ(features[0].end, 7U);
}

TEST(Features, BatchesArePaddedToTheLongest) {
  WordPiece tokenizer = letters();
  QuestionSet set = one_question("ab c", "q", "c");
  set.questions.push_back({"2", "xyz", 0, {{"ab", 0}}});
  const FeatureSet features(set, tokenizer);
  const std::uint32_t both[] = {0, 1};
  const FeatureBatch batch = features.batch(both);
  EXPECT_EQ(batch.size, 2U);
  ASSERT_EQ(batch.length, 9U);
  const auto id = [&](const char* piece) { return std::int64_t{*tokenizer.find(piece)}; };
  const std::vector<std::int64_t> ids = {
      2, id("q"), 3,         id("a"),   id("##b"), id("c"), 3,         0,       0,
      2, id("x"), id("##y"), id("##z"), 3,         id("a"), id("##b"), id("c"), 3};
  EXPECT_EQ(batch.ids, ids);
  EXPECT_EQ(batch.types,
            (std::vector<std::int64_t>{0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(batch.mask,
            (std::vector<std::int64_t>{1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(batch.starts, (std::vector<std::int64_t>{6, 5}));
  EXPECT_EQ(batch.ends, (std::vector<std::int64_t>{5, 6}));
}

TEST(Features, TheChecksumIsThatOfAllBatches) {
  WordPiece tokenizer = letters();
  const auto checksum = [&](const std::string& context, const std::string& question,
                            const std::string& answer) {
    Checksum sum;
    FeatureSet(one_question(context, question, answer), tokenizer, {12, 4}).add_to(sum);
    return sum.value();
  };
  const std::uint64_t one = checksum("abc c", "q", "c");
  EXPECT_EQ(checksum("abc c", "q", "c"), one);
  EXPECT_NE(checksum("abc a", "q", "c"), one);
  EXPECT_NE(checksum("abc c", "x", "c"), one);
  EXPECT_NE(checksum("abc c", "q", "abc"), one);
}

TEST(Features, AQuestionMustLeaveRoomForTheContext) {
  WordPiece tokenizer = letters();
  const QuestionSet set = one_question(std::string(40, 'a'), "qqqqqq", "a");
  EXPECT_EQ(
      message_of([&] {
        return FeatureSet(set, tokenizer, {12, 4}).size();
      }),
      "question 'id' has 6 tokens; with a context of 40, sequences of 12 and a stride of 4 it "
      "may have 4 at most.");
  EXPECT_EQ(
      message_of([&] {
        return FeatureSet(set, tokenizer, {12, 8}).size();
      }),
      "a maximal length of 12 tokens with a stride of 8 leaves no room: the length must exceed "
      "the stride by 5 or more.");
  // A context that fits beside the question needs no windows.
  for (const auto& [context, most] : {std::pair("", 9), {"aaa", 6}, {"aaaaaa", 4}}) {
    const auto asked = [&](int tokens) {
      const QuestionSet one = one_question(context, std::string(std::size_t(tokens), 'q'), "");
      return message_of([&] { return FeatureSet(one, tokenizer, {12, 4}).size(); });
    };
    EXPECT_EQ(asked(most), "no error") << context;
    EXPECT_EQ(asked(most + 1), "question 'id' has " + std::to_string(most + 1) +
                                   " tokens; with a context of " +
                                   std::to_string(std::string(context).size()) +
                                   ", sequences of 12 and a stride of 4 it may have " +
                                   std::to_string(most) + " at most.");
  }
}

TEST(Features, TheOrderOfAnEpochIsAPermutationOfItsOwn) {
  const std::vector<std::uint32_t> order = epoch_order(1000, 7, 0);
  EXPECT_EQ(std::set(order.begin(), order.end()).size(), 1000U);
  EXPECT_EQ(*std::ranges::max_element(order), 999U);
  EXPECT_EQ(order, epoch_order(1000, 7, 0));
  EXPECT_NE(order, epoch_order(1000, 7, 1));
  EXPECT_NE(order, epoch_order(1000, 8, 0));
  EXPECT_TRUE(epoch_order(0, 7, 0).empty());
  // Each of 3! orders with probability 1/6: of 6000, 1000 each with standard deviation 29; 5 of
  // them.
  std::map<std::vector<std::uint32_t>, int> counts;
  for (std::uint64_t epoch = 0; epoch < 6000; ++epoch) ++counts[epoch_order(3, 1, epoch)];
  EXPECT_EQ(counts.size(), 6U);
  for (const auto& [one, count] : counts) EXPECT_NEAR(count, 1000, 145);
}

void expect_real(const std::string& file, std::size_t questions, std::size_t count,
                 std::size_t windowed) {
  const QuestionSet set = read_squad(real_data() / "squad" / file);
  ASSERT_EQ(set.questions.size(), questions);
  WordPiece tokenizer = WordPiece::read(real_data() / "minilm-l6" / "vocab.txt");
  const FeatureSet features(set, tokenizer);
  EXPECT_EQ(features.size(), count);
  expect_walk(set, features, tokenizer, {});
  std::size_t several = 0;
  for (std::size_t q = 0; q < questions; ++q) {
    const auto [first, last] = features.of_question(q);
    several += last - first > 1 ? 1 : 0;
    const Answer& answer = set.questions[q].answers[0];
    for (std::size_t i = first; i < last; ++i) {
      const Feature& feature = features[i];
      if (feature.end == 0 || feature.start + 1 == features.length(i)) continue;
      // The characters of the labelled tokens hold the answer.
      ASSERT_LE(features.offset(i, feature.start).begin, answer.start);
      ASSERT_GE(features.offset(i, feature.end).end, answer.start + count_characters(answer.text));
    }
  }
  EXPECT_EQ(several, windowed);
}

TEST(RealSquad, TrainHasThePublishedFigures) {
  if (lacks("squad") || lacks("minilm-l6")) GTEST_SKIP() << kNeedsData;
  expect_real("train-v1.1.json", 87599, golden_json("language.json")["squad"]["train_features"],
              115);
}

TEST(RealSquad, DevHasThePublishedFigures) {
  if (lacks("squad") || lacks("minilm-l6")) GTEST_SKIP() << kNeedsData;
  expect_real("dev-v1.1.json", 10570, golden_json("language.json")["squad"]["dev_features"], 56);
}

}  // namespace
}  // namespace medgrad::text
