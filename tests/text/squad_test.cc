// Questions: the file format, windows and labels against a plain reading of their rules, answers
// from scores, and the official metric.
#include "text/squad.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "text/answers.h"
#include "text/data.h"
#include "text/features.h"
#include "text/unicode.h"

namespace medgrad::text {
namespace {

using medgrad::testing::golden_json;
using medgrad::testing::message_of;
using medgrad::testing::real_data;

TEST(Squad, ReadsArticlesInOrder) {
  const QuestionSet set = parse_squad(R"({"version": "1.1", "data": [
    {"title": "t", "paragraphs": [{"context": "caf\u00e9 x", "qas": [
      {"id": "1", "question": "what?", "answers": [{"text": "x", "answer_start": 5}]},
      {"id": "2", "question": "who?", "answers": [{"text": "caf\u00e9", "answer_start": 0},
                                                   {"text": "", "answer_start": 6}]}]}]},
    {"title": "u", "paragraphs": [{"context": "y", "qas": [
      {"id": "3", "question": "", "answers": [{"text": "y", "answer_start": 0}]}]}]}]})",
                                      "x.json");
  ASSERT_EQ(set.contexts, (std::vector<std::string>{"caf\u00e9 x", "y"}));
  ASSERT_EQ(set.questions.size(), 3U);
  EXPECT_EQ(set.questions[1].answers.size(), 2U);
  EXPECT_EQ(set.questions[2].context, 1U);
  EXPECT_EQ(set.questions[0].answers[0].start, 5U);
}

struct Bad {
  std::string_view text, sentence;
};

const Bad kBad[] = {
    {"", "x.json is no JSON: it ends in the middle."},
    {"{\"data\":\n [}", "x.json:2: this is no JSON, from byte 11 of the file on."},
    {"{\"data\": [1e999]}", "x.json is no JSON that can be read: a number is out of range."},
    {"[]", "x.json: the document is a list; it must be an object."},
    {"{}", "x.json: the document has no 'data'."},
    {"{\"data\": [], \"data\": []}", "x.json: the key 'data' is given twice in one object."},
    {"{\"data\": []}", "x.json has no questions."},
    {"{\"data\": 3}", "x.json: data is '3'; it must be a list."},
    {"{\"data\": [7]}", "x.json: data[0] is '7'; it must be an object."},
    {R"({"data": [{"paragraphs": [{"context": 1, "qas": []}]}]})",
     "x.json: data[0].paragraphs[0].context is '1'; it must be text."},
    {R"({"data": [{"paragraphs": [{"context": "", "qas": [{"id": "", "question": "",
        "answers": []}]}]}]})",
     "x.json: data[0].paragraphs[0].qas[0].answers is empty; SQuAD v1.1 is needed, where every "
     "question has an answer."},
    {R"({"data": [{"paragraphs": [{"context": "", "qas": [{"id": "", "question": "",
        "answers": [{"text": "", "answer_start": -1}]}]}]}]})",
     "x.json: data[0].paragraphs[0].qas[0].answers[0].answer_start is '-1'; it must be a whole "
     "number, 0 or more."},
    {R"({"data": [{"paragraphs": [{"context": "abc", "qas": [{"id": "", "question": "",
        "answers": [{"text": "bc", "answer_start": 2}]}]}]}]})",
     "x.json: data[0].paragraphs[0].qas[0].answers[0] starts at character 2 and has 2, where the "
     "context has 3."},
    {R"({"data": [{"paragraphs": [{"context": "abc", "qas": [{"id": "", "question": "",
        "answers": [{"text": "", "answer_start": 18446744073709551615}]}]}]}]})",
     "x.json: data[0].paragraphs[0].qas[0].answers[0] starts at character 18446744073709551615 and "
     "has 0, where the context has 3."},
};

TEST(Squad, SaysWhatIsWrongAndWhere) {
  for (const Bad& bad : kBad) {
    EXPECT_EQ(message_of([&] { return parse_squad(bad.text, "x.json").questions.size(); }),
              bad.sentence);
  }
  const std::string deep(100000, '[');
  EXPECT_EQ(message_of([&] { return parse_squad(deep, "x.json").questions.size(); }),
            "x.json is nested more than 100 values deep.");
}

// Letters and continuation letters: every letter of a word is a token.
WordPiece letters() {
  std::vector<std::string> pieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]"};
  for (char c = 'a'; c <= 'z'; ++c) {
    pieces.push_back({c});
    pieces.push_back({'#', '#', c});
  }
  return WordPiece(std::move(pieces));
}

QuestionSet one_question(const std::string& context, const std::string& question,
                         const std::string& answer) {
  return {{context}, {{"id", question, 0, {{answer, context.find(answer)}}}}};
}

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
  const QuestionSet long_question = one_question("", "qqqqqqqqqqqq", "");
  EXPECT_NE(message_of([&] {
              return FeatureSet(long_question, tokenizer, {12, 4}).size();
            }),
            "no error");
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

class Finder : public ::testing::Test {
 protected:
  // [CLS] q [SEP] a b c d e [SEP]: the context is at positions 3 to 7.
  WordPiece tokenizer_ = letters();
  QuestionSet set_ = one_question("a b\u00e9 c d e", "q", "c");
  FeatureSet features_{set_, tokenizer_};

  std::string answer(std::vector<float> start, std::vector<float> end,
                     AnswerFinder::Options options = {}) {
    AnswerFinder finder(set_, features_, options);
    finder.add(0, start, end);
    return finder.answers()[0];
  }
};

TEST_F(Finder, TakesTheBestPairInTheContext) {
  ASSERT_EQ(features_.length(0), 10U);
  EXPECT_EQ(answer({0, 0, 0, 1, 5, 1, 1, 1, 1, 9}, {0, 0, 0, 1, 1, 5, 1, 1, 1, 9}), "b\u00e9");
  EXPECT_EQ(answer({9, 9, 9, 1, 0, 0, 0, 0, 0, 9}, {9, 9, 9, 0, 0, 0, 0, 0, 1, 9}),
            "a b\u00e9 c d e");
  // The end is not before the start, whatever the scores.
  EXPECT_EQ(answer({0, 0, 0, 0, 0, 0, 0, 9, 0, 0}, {0, 0, 0, 9, 0, 0, 0, 0, 1, 0}), "d e");
  // Padding behind the sequence is never an answer.
  EXPECT_EQ(answer({0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 99}, {0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 99}), "c");
}

TEST_F(Finder, KeepsToItsLimits) {
  const std::vector<float> start = {0, 0, 0, 5, 0, 0, 0, 0, 4, 0};
  const std::vector<float> end = {0, 0, 0, 0, 0, 0, 0, 0, 5, 0};
  EXPECT_EQ(answer(start, end), "a b\u00e9 c d e");
  EXPECT_EQ(answer(start, end, {.max_tokens = 5}), "e");
  // With the two highest of each only: both starts are special tokens.
  EXPECT_EQ(answer({9, 8, 0, 5, 0, 0, 0, 0, 4, 0}, end, {.best = 2}), "empty");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(answer(std::vector<float>(10, nan), std::vector<float>(10, nan)), "empty");
  EXPECT_EQ(answer({nan, nan, nan, nan, nan, nan, 1, nan, nan, nan}, end), "c d e");
}

TEST(AnswerScore, EqualsTheReference) {
  const auto squad = golden_json("language.json")["squad"];
  for (const auto& test : squad["metric"]) {
    const std::string answer = test["pred"];
    const Answer gold{test["gold"], 0};
    const AnswerScore score = score_answer(answer, {&gold, 1});
    EXPECT_EQ(score.exact_match, test["em"].get<double>()) << test;
    EXPECT_DOUBLE_EQ(score.f1, test["f1"].get<double>()) << test;
    EXPECT_EQ(normalize_answer(answer), test["norm_pred"].get<std::string>());
    EXPECT_EQ(normalize_answer(gold.text), test["norm_gold"].get<std::string>());
  }
  for (const auto& test : squad["metric_multi"]) {
    std::vector<Answer> golds;
    for (const auto& gold : test["golds"]) golds.push_back({gold, 0});
    const AnswerScore score = score_answer(test["pred"].get<std::string>(), golds);
    EXPECT_EQ(score.exact_match, test["em"].get<double>());
    EXPECT_DOUBLE_EQ(score.f1, test["f1"].get<double>());
  }
}

TEST(AnswerScore, CountsRepeatedWordsAsOftenAsBothHaveThem) {
  const Answer gold{"x x y", 0};
  // Two words in common; precision 2/4, recall 2/3.
  EXPECT_DOUBLE_EQ(score_answer("x x x z", {&gold, 1}).f1, 4.0 / 7);
  QuestionSet set = one_question("x y", "q", "x");
  set.questions.push_back(set.questions[0]);
  const std::vector<std::string> answers = {"the X.", "y"};
  EXPECT_EQ(score_answers(set, answers).exact_match, 50);
  EXPECT_EQ(score_answers(set, answers).f1, 50);
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
  MEDGRAD_NEED_DATA("squad");
  MEDGRAD_NEED_DATA("minilm-l6");
  expect_real("train-v1.1.json", 87599, golden_json("language.json")["squad"]["train_features"],
              115);
}

TEST(RealSquad, DevHasThePublishedFiguresAndItsOwnAnswersScoreFull) {
  MEDGRAD_NEED_DATA("squad");
  MEDGRAD_NEED_DATA("minilm-l6");
  expect_real("dev-v1.1.json", 10570, golden_json("language.json")["squad"]["dev_features"], 56);
  const QuestionSet set = read_squad(real_data() / "squad" / "dev-v1.1.json");
  std::vector<std::string> answers;
  for (const Question& question : set.questions) answers.push_back(question.answers.back().text);
  EXPECT_EQ(score_answers(set, answers).exact_match, 100);
  EXPECT_GT(score_answers(set, answers).f1, 99.9);
}

}  // namespace
}  // namespace medgrad::text
