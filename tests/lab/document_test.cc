// Documents: every mistake is told with file and line, and what is read can be written again.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "lab/experiments.h"
#include "lab/reader.h"
#include "lab/study.h"

namespace medgrad::lab {
namespace {

Node parse(std::string_view text) { return parse_document(text, "x.json"); }

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

std::string error_of(std::string_view text) {
  return error_of([&] { (void)parse(text); });
}

// One sentence, of the file and that line.
void expect_error(std::string_view text, std::size_t line, std::string_view part = "") {
  const std::string error = error_of(text);
  EXPECT_TRUE(error.starts_with("x.json:" + std::to_string(line) + ": ")) << error;
  EXPECT_TRUE(error.ends_with(".")) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  EXPECT_EQ(error.find("exception"), std::string::npos) << error;
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

bool equal(const Node& a, const Node& b) {
  if (a.value.index() != b.value.index()) return false;
  if (const Node::List* list = a.list()) {
    if (list->size() != b.list()->size()) return false;
    for (std::size_t i = 0; i < list->size(); ++i)
      if (!equal((*list)[i], (*b.list())[i])) return false;
    return true;
  }
  if (const Node::Object* object = a.object()) {
    if (object->size() != b.object()->size()) return false;
    for (std::size_t i = 0; i < object->size(); ++i) {
      if ((*object)[i].first != (*b.object())[i].first) return false;
      if (!equal((*object)[i].second, (*b.object())[i].second)) return false;
    }
    return true;
  }
  if (a.number() != nullptr) return *a.number() == *b.number();
  if (a.text() != nullptr) return *a.text() == *b.text();
  if (a.truth() != nullptr) return *a.truth() == *b.truth();
  return true;
}

// ---- Lines --------------------------------------------------------------------------------------

// Every value stands on the line it is written on, whatever ends that line.
TEST(Document, ValuesKnowTheirLines) {
  for (const std::string end : {"\n", "\r\n", " \n", "\t// a comment\n", " /* one */\n"}) {
    const std::string text = "{" + end + "\"a\": 1," + end + "\"b\": 2.5" + end + "," + end +
                             "\"c\": true," + end + "\"d\": \"text\"," + end + "\"e\": null," +
                             end + "\"f\": [" + end + "1," + end + "-2e3" + end + "]," + end +
                             "\"g\": {" + end + "\"h\":" + end + "7" + end + "}" + end + "}" + end;
    const Node root = parse(text);
    EXPECT_EQ(root.line, 1U);
    const auto line = [&](const char* key) { return root.find(key)->line; };
    EXPECT_EQ(line("a"), 2U) << text;
    EXPECT_EQ(line("b"), 3U) << text;
    EXPECT_EQ(line("c"), 5U) << text;
    EXPECT_EQ(line("d"), 6U) << text;
    EXPECT_EQ(line("e"), 7U) << text;
    EXPECT_EQ(line("f"), 8U) << text;
    EXPECT_EQ((*root.find("f")->list())[0].line, 9U) << text;
    EXPECT_EQ((*root.find("f")->list())[1].line, 10U) << text;
    EXPECT_EQ(line("g"), 12U) << text;
    EXPECT_EQ(root.find("g")->find("h")->line, 14U) << text;
  }
}

TEST(Document, CommentsCountLines) {
  const Node root = parse("// one\n/* two\nthree\n*/ {\n // five\n \"a\": /* six */ 1\n}");
  EXPECT_EQ(root.line, 4U);
  EXPECT_EQ(root.find("a")->line, 6U);
}

TEST(Document, MistakesHaveLines) {
  expect_error("", 1, "not JSON");
  expect_error("  \n\n", 2, "not JSON");
  expect_error("{\n\"a\": 1\n", 2);           // cut off
  expect_error("{\n\"a\": [1,\n2", 3);        // cut off
  expect_error("{\n\"a\": \"te", 2);          // cut off in a text
  expect_error("{\n\"a\": tru", 2);           // cut off in a word
  expect_error("{\n\"a\": 1 /* ...\n\n", 3);  // cut off in a comment
  expect_error("{\n}\n}\n", 3);               // something after the end
  expect_error("{}\n{}", 2);                  // two documents
  expect_error("{\n\"a\": 1,\n}", 3);         // trailing comma
  expect_error("{\n\"a\": 1\n\"b\": 2}", 3);  // missing comma
  expect_error("{\n\"a\" 1}", 2);             // missing colon
  expect_error("{\n\"a\": .5}", 2);           // no number of JSON
  expect_error("{\n\"a\": 01}", 2);           //
  expect_error("{\n\"a\": NaN}", 2);          //
  expect_error("{\n\"a\": -\n}", 2);          //
  expect_error("{\n'a': 1}", 2);              // other quotes
  expect_error("{\n\"a\": \"line\nbreak\"}", 2);
  expect_error("{\n\"a\": \"\\q\"}", 2);      // no escape of JSON
  expect_error("{\n\"a\": \"\\ud800\"}", 2);  // half a surrogate pair
  expect_error("{\n\"a\": 1e999}", 2, "1e999");
  expect_error("{\n\"a\": 1,\n\"b\": 2,\n\"a\": 3}", 4, "'a' is given twice");
  expect_error("{\n\"a\": {\"b\": 1,\n\n\"b\": 3}}", 4, "'b' is given twice");
}

TEST(Document, BytesThatAreNoUtf8AreAMistake) {
  for (const char* bad : {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"})
    expect_error("{\n\"a\": \"" + std::string(bad) + "\"}", 2);
  expect_error("{\n\xff\n}", 2);
  expect_error(std::string_view("{\n\"a\": \"\0\"}", 11), 2);
  expect_error(std::string_view("{\n\0}", 4), 2);
  // A byte order mark is none.
  EXPECT_NE(parse("\xef\xbb\xbf{\"a\": 1}").find("a"), nullptr);
}

// Neither reading, nor copying, nor throwing away what is nested too deeply may end the program.
TEST(Document, DeepNesting) {
  const auto nested = [](std::size_t depth, std::string_view open, std::string_view close) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += open;
    text += "1";
    for (std::size_t i = 0; i < depth; ++i) text += close;
    return text;
  };
  const Node fine = parse(nested(50, "[", "]"));
  EXPECT_TRUE(equal(fine, parse(to_text(fine))));
  expect_error(nested(1'000'000, "[", "]"), 1, "nested");
  expect_error(nested(1'000'000, "{\"a\": ", "}"), 1, "nested");
  expect_error("{\n\"a\":\n" + std::string(1'000'000, '[') + "}", 3, "nested");
}

// ---- Round trips --------------------------------------------------------------------------------

TEST(Document, EveryBuiltInExperimentReadsBack) {
  for (const BuiltIn& one : built_in_experiments()) {
    const Node node = parse(one.text);
    const std::string text = to_text(node);
    EXPECT_TRUE(equal(node, parse(text))) << one.name;
    EXPECT_EQ(to_text(parse(text)), text) << one.name;
  }
}

Node random_node(std::mt19937_64& rng, int depth) {
  const std::vector<std::string> texts = {"", "a", "\"", "\\", "\n\t\r", "ü∇½", "\x01", "a/b", "😀"};
  const std::vector<double> numbers = {0,
                                       1,
                                       -1,
                                       0.1,
                                       1e15,
                                       1e15 - 1,
                                       -1e15,
                                       1e16,
                                       1e300,
                                       5e-324,
                                       0.3,
                                       1.0 / 3,
                                       1e-7,
                                       123456789.125,
                                       9007199254740993.0,
                                       -1.7976931348623157e308};
  switch (rng() % (depth > 0 ? 6 : 4)) {
    case 0:
      return {std::monostate{}, 1};
    case 1:
      return {rng() % 2 == 0, 1};
    case 2:
      return {numbers[rng() % numbers.size()], 1};
    case 3:
      return {texts[rng() % texts.size()], 1};
    case 4: {
      Node::List list;
      for (std::size_t i = rng() % 4; i > 0; --i) list.push_back(random_node(rng, depth - 1));
      return {std::move(list), 1};
    }
    default: {
      Node::Object object;
      for (std::size_t i = rng() % 4; i > 0; --i)
        object.emplace_back(texts[rng() % texts.size()] + std::to_string(i),
                            random_node(rng, depth - 1));
      return {std::move(object), 1};
    }
  }
}

TEST(Document, WhateverIsWrittenReadsBack) {
  std::mt19937_64 rng(1);
  for (int i = 0; i < 500; ++i) {
    const Node node = random_node(rng, 4);
    const std::string text = to_text(node);
    EXPECT_TRUE(equal(node, parse(text))) << text;
  }
}

// Any prefix, and any single byte replaced: an Error of one sentence, or a document that reads
// back.
TEST(Document, DamagedTextNeverBreaksTheReader) {
  const std::string text(find_built_in("rates").text);
  std::mt19937_64 rng(2);
  const auto attempt = [](const std::string& damaged) {
    try {
      const Node node = parse(damaged);
      EXPECT_TRUE(equal(node, parse(to_text(node))));
    } catch (const Error& error) {
      const std::string sentence = error.what();
      EXPECT_TRUE(sentence.starts_with("x.json:"));
      EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
    }
  };
  for (std::size_t i = 0; i < text.size(); i += 7) attempt(text.substr(0, i));
  for (int i = 0; i < 1000; ++i) {
    std::string damaged = text;
    damaged[rng() % text.size()] = static_cast<char>(rng() % 256);
    attempt(damaged);
  }
}

TEST(Document, PlainScalars) {
  EXPECT_EQ(plain({3.0, 1}), "3");
  EXPECT_EQ(plain({0.1, 1}), "0.1");
  EXPECT_EQ(plain({std::string("abc"), 1}), "abc");
  EXPECT_EQ(plain({true, 1}), "true");
  EXPECT_EQ(plain({{}, 1}), "null");
}

// ---- Reader -------------------------------------------------------------------------------------

// What a file leaves out is as in the registry: also the form of a stable law.
TEST(Reader, NoisesHaveTheDefaultsOfTheRegistry) {
  for (const Entry<NoiseModel>& entry : noises()) {
    ParameterValues needed;
    std::string text = "{\"name\": \"" + std::string(entry.name) + "\"";
    for (const Parameter& parameter : entry.parameters) {
      if (!parameter.required()) continue;
      needed.emplace(parameter.name, 1.5);
      text += ", \"" + std::string(parameter.name) + "\": 1.5";
    }
    const Node node = parse(text + "}");
    Reader reader(node, "x.json", "the noise");
    EXPECT_EQ(describe(read_noise(reader)), describe(entry.make(needed))) << entry.name;
  }
}

TEST(Reader, TellsWhatIsWrong) {
  const Node root = parse(
      "{\n\"number\": 2.5,\n\"text\": \"abc\",\n\"truth\": true,\n\"negative\": -3,\n"
      "\"inf\": \"inf\",\n\"large\": 1e30,\n\"numbr\": 1}");
  Reader reader(root, "x.json", "the thing");
  EXPECT_EQ(reader.number("number"), 2.5);
  EXPECT_EQ(reader.number("missing", 7), 7);
  EXPECT_EQ(reader.number("inf"), kInfinity);
  EXPECT_EQ(reader.text("text"), "abc");
  EXPECT_EQ(reader.truth("truth", false), true);
  EXPECT_EQ(reader.word("text", {"abc", "def"}, "def"), "abc");
  EXPECT_EQ(reader.whole("missing", 5, 1, 10), 5U);

  const auto fails = [&](std::string_view want, auto call) {
    EXPECT_EQ(error_of([&] { (void)call(); }), want);
  };
  fails("x.json:3: 'text' is text; it must be a number.", [&] { return reader.number("text"); });
  fails("x.json:4: 'truth' is true; it must be a number.", [&] { return reader.number("truth"); });
  fails("x.json:1: the thing has no 'nothing'.", [&] { return reader.number("nothing"); });
  fails("x.json:2: 'number' is 2.5; it must be a whole number from 0 to 9.",
        [&] { return reader.whole("number", {}, 0, 9); });
  fails("x.json:5: 'negative' is -3; it must be a whole number from 0 to 9.",
        [&] { return reader.whole("negative", {}, 0, 9); });
  fails("x.json:6: 'inf' is inf; it must be a whole number from 0 to 9.",
        [&] { return reader.whole("inf", {}, 0, 9); });
  EXPECT_TRUE(error_of([&] {
                (void)reader.whole("large", {}, 0, 9);
              }).starts_with("x.json:7: 'large' is 1e+30;"));
  fails("x.json:2: 'number' is a number; it must be text.", [&] { return reader.text("number"); });
  fails("x.json:3: 'text' is text; it must be true or false.",
        [&] { return reader.truth("text", true); });
  fails("x.json:3: 'text' is 'abc'. Did you mean 'abd'?", [&] {
    return reader.word("text", {"xyz", "abd"}, "xyz");
  });
  const Parameter tau{"negative", "a step size", range::positive, 1};
  EXPECT_TRUE(error_of([&] {
                (void)reader.number(tau);
              }).starts_with("x.json:5: 'negative' is -3; it must satisfy 0 < negative"));
  // The place is said once, whatever is wrong with a parameter.
  const auto parameter = [&](std::string_view name, Range range = range::positive,
                             Words words = {}) {
    return error_of([&] { (void)reader.number(Parameter{name, "", range, 1, words}); });
  };
  EXPECT_EQ(parameter("truth"), "x.json:4: 'truth' is true; it must be a number.");
  EXPECT_EQ(parameter("truth", range::or_auto(range::positive)),
            "x.json:4: 'truth' is true; it must be a number or auto.");
  EXPECT_EQ(parameter("truth", range::whole(0, 1), {"S0", "S1"}),
            "x.json:4: 'truth' is 'true'; it must be S0 or S1.");
  EXPECT_EQ(parameter("text"), "x.json:3: 'text' is 'abc'; it must be a number.");
  // `negative`, `large` and `inf` were asked for: only one key is left that nobody knows.
  fails("x.json:8: 'numbr' is not a key of the thing. Did you mean 'number'?", [&]() -> int {
    reader.finish();
    return 0;
  });
  fails("x.json:2: the item is a number; it must be an object.",
        [&] { return Reader(*root.find("number"), "x.json", "the item").file(); });
}

}  // namespace
}  // namespace medgrad::lab
