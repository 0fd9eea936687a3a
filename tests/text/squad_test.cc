// The file format of SQuAD: what is read, and the sentence for each way a file can be wrong.
#include "text/squad.h"

#include <gtest/gtest.h>

#include "text/data.h"

namespace medgrad::text {
namespace {

using medgrad::testing::message_of;

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
    {"", "x.json:1: this is not JSON: it ends too early."},
    {"{\"data\":\n [}",
     "x.json:2: this is not JSON: unexpected '}'; expected '[', '{', or a literal."},
    {"{\"data\": [1e999]}", "x.json:1: this is not JSON: the number '1e999' is out of range."},
    {"[]", "x.json: the document is a list; it must be an object."},
    {"{}", "x.json: the document has no 'data'."},
    {"{\"data\": [], \"data\": []}", "x.json:1: 'data' is given twice."},
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
     "x.json: data[0].paragraphs[0].qas[0].answers[0].answer_start is '1.8446744073709552e+19'; it "
     "must be at most 9007199254740992."},
};

TEST(Squad, SaysWhatIsWrongAndWhere) {
  for (const Bad& bad : kBad) {
    EXPECT_EQ(message_of([&] { return parse_squad(bad.text, "x.json").questions.size(); }),
              bad.sentence);
  }
  const std::string deep(100000, '[');
  EXPECT_EQ(message_of([&] { return parse_squad(deep, "x.json").questions.size(); }),
            "x.json:1: this is nested more than 100 values deep.");
}

}  // namespace
}  // namespace medgrad::text
