// Answers from scores, and the official metric.
#include "text/answers.h"

#include <gtest/gtest.h>

#include <limits>

#include "text/data.h"
#include "text/letters.h"

namespace medgrad::text {
namespace {

using medgrad::testing::golden_json;
using medgrad::testing::kNeedsData;
using medgrad::testing::lacks;
using medgrad::testing::real_data;

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

TEST(RealSquad, AnswersOfTheDevelopmentSetScoreFull) {
  if (lacks("squad")) GTEST_SKIP() << kNeedsData;
  const QuestionSet set = read_squad(real_data() / "squad" / "dev-v1.1.json");
  std::vector<std::string> answers;
  for (const Question& question : set.questions) answers.push_back(question.answers.back().text);
  EXPECT_EQ(score_answers(set, answers).exact_match, 100);
  EXPECT_GT(score_answers(set, answers).f1, 99.9);
}

}  // namespace
}  // namespace medgrad::text
