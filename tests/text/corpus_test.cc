// Word-level corpora: the rules on small files, and the published figures on the real ones.
#include "text/corpus.h"

#include <gtest/gtest.h>

#include "io/temporary_folder.h"
#include "text/data.h"
#include "text/unicode.h"

namespace medgrad::text {
namespace {

using medgrad::testing::golden_json;
using medgrad::testing::kNeedsData;
using medgrad::testing::lacks;
using medgrad::testing::message_about;
using medgrad::testing::message_of;
using medgrad::testing::real_data;
using medgrad::testing::TemporaryFolder;

Corpus corpus_of(const std::string& train, const std::string& valid, const std::string& test,
                 bool lower = false) {
  const TemporaryFolder folder;
  return read_corpus(
      {folder.file("train", train), folder.file("valid", valid), folder.file("test", test), lower});
}

std::string words_of(const Corpus& corpus, const std::vector<TokenId>& ids) {
  std::string text;
  for (const TokenId id : ids) text += corpus.vocabulary.word(id) + " ";
  return text;
}

TEST(Corpus, EveryLineEndsInEosAndBlankLinesAreOne) {
  const Corpus corpus = corpus_of(" a b \n\n c\n", "a", "b\r\nc\rd");
  EXPECT_EQ(words_of(corpus, corpus.train), "a b <eos> <eos> c <eos> ");
  EXPECT_EQ(words_of(corpus, corpus.valid), "a <eos> ");
  EXPECT_EQ(words_of(corpus, corpus.test), "b <eos> c <eos> d <eos> ");
}

TEST(Corpus, IdsFollowCountsOfAllPartsAndTiesTheFirstAppearance) {
  const Corpus corpus = corpus_of("x y z\n", "w z\n", "w v z <eos>\n");
  const std::vector<std::string> expected = {"<eos>", "z", "w", "x", "y", "v"};
  ASSERT_EQ(corpus.vocabulary.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(corpus.vocabulary.word(static_cast<TokenId>(i)), expected[i]);
    EXPECT_EQ(corpus.vocabulary.find(expected[i]), static_cast<TokenId>(i));
  }
  EXPECT_FALSE(corpus.vocabulary.find("u"));
  EXPECT_EQ(corpus.test, (std::vector<TokenId>{2, 5, 1, 0, 0}));
}

TEST(Corpus, SplitsAtWhatPythonSplitsAt) {
  const Corpus corpus = corpus_of(
      "a\u00a0b\u2003c\u3000d\x1c"
      "e\u0085f\u200bg\u00e9\n",
      "a", "a");
  EXPECT_EQ(words_of(corpus, corpus.train), "a b c d e f\u200bg\u00e9 <eos> ");
}

TEST(Corpus, LowerCaseIsPythons) {
  const Corpus corpus = corpus_of("N \u00c9T\u00c9 \u039f\u03a3 \u0130\n", "n", "N", true);
  EXPECT_EQ(words_of(corpus, corpus.train), "n \u00e9t\u00e9 \u03bf\u03c2 i\u0307 <eos> ");
  EXPECT_EQ(corpus.test, corpus.valid);
}

TEST(Corpus, DamagedFilesAreToldWithTheirLine) {
  const TemporaryFolder folder;
  const std::string good = folder.file("good", "a\n"), none = folder / "none";
  const auto error_of = [&](const std::string& bytes) {
    const std::string bad = folder.file("bad.txt", bytes);
    return message_about("bad.txt", [&] {
      return read_corpus({good, bad, good, false}).train.size();
    });
  };
  EXPECT_EQ(error_of("a\nb \xc3( c\n"), "bad.txt:2: the line is not UTF-8 text.");
  EXPECT_EQ(error_of("a\n\n\xed\xa0\x80"), "bad.txt:3: the line is not UTF-8 text.");
  EXPECT_EQ(error_of(std::string("a\n\0\n", 4)),
            "bad.txt:2: the line contains a zero byte; this is not text.");
  EXPECT_EQ(error_of(""), "bad.txt is empty: there are no words.");
  EXPECT_EQ(error_of(" \n\n"), "bad.txt is empty: there are no words.");
  EXPECT_EQ(message_of([&] {
              return read_corpus({none, good, good, false}).train.size();
            }),
            none + " does not exist.");
  EXPECT_EQ(message_of([&] {
              return read_corpus({folder / "", good, good, false}).train.size();
            }),
            (folder / "") + " is a folder; it must be a file.");
}

void expect_figures(const Corpus& corpus, const nlohmann::json& golden) {
  EXPECT_EQ(corpus.vocabulary.size(), golden["vocab"].get<std::size_t>());
  EXPECT_EQ(corpus.train.size(), golden["tokens"]["train"].get<std::size_t>());
  EXPECT_EQ(corpus.valid.size(), golden["tokens"]["valid"].get<std::size_t>());
  EXPECT_EQ(corpus.test.size(), golden["tokens"]["test"].get<std::size_t>());
  const auto first = golden["first20_train_ids"].get<std::vector<TokenId>>();
  EXPECT_EQ(std::vector(corpus.train.begin(), corpus.train.begin() + 20), first);
}

TEST(RealCorpus, PennTreebankHasThePublishedFigures) {
  if (lacks("ptb")) GTEST_SKIP() << kNeedsData;
  expect_figures(read_ptb(real_data() / "ptb"), golden_json("language.json")["ptb"]);
}

TEST(RealCorpus, WikiTextHasThePublishedFigures) {
  if (lacks("wikitext-2")) GTEST_SKIP() << kNeedsData;
  expect_figures(read_wikitext2(real_data() / "wikitext-2"), golden_json("language.json")["wt2"]);
}

TEST(Characters, CountAndCutByCodePoints) {
  const std::string text = "a\u00e9\U0001F600b";
  EXPECT_EQ(count_characters(text), 4U);
  EXPECT_EQ(characters(text, 1, 3), "\u00e9\U0001F600");
  EXPECT_EQ(characters(text, 0, 4), text);
  EXPECT_EQ(characters(text, 3, 9), "b");
  EXPECT_EQ(characters(text, 4, 9), "");
  EXPECT_EQ(characters(text, 2, 2), "");
  // An ill-formed sequence counts once for each longest beginning of a character.
  EXPECT_EQ(count_characters("\xf0\x9f\x98x\xff"), 3U);
}

TEST(Characters, EveryOneReadsBackAsItWasWritten) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append_utf8(text, c);
    bool good = true;
    std::size_t at = 0;
    ASSERT_EQ(next_character(text, at, good), c);
    ASSERT_TRUE(good && at == text.size());
  }
}

}  // namespace
}  // namespace medgrad::text
