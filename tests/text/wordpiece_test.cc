// The tokenizer against the reference, piece by piece, and the properties of its offsets.
#include "text/wordpiece.h"

#include <gtest/gtest.h>

#include <random>

#include "io/temporary_folder.h"
#include "text/data.h"
#include "text/unicode.h"

namespace medgrad::text {
namespace {

using medgrad::testing::golden_json;
using medgrad::testing::kNeedsData;
using medgrad::testing::lacks;
using medgrad::testing::message_about;
using medgrad::testing::real_data;
using medgrad::testing::TemporaryFolder;

WordPiece small(std::vector<std::string> more = {}) {
  std::vector<std::string> pieces = {"[PAD]", "[UNK]", "[CLS]",  "[SEP]",   "[MASK]",
                                     "un",    "##aff", "##able", "a",       "!",
                                     "b",     "##b",   "\u03c3", "##\u03c3"};
  pieces.insert(pieces.end(), more.begin(), more.end());
  return WordPiece(std::move(pieces));
}

std::string pieces_of(WordPiece& tokenizer, std::string_view text) {
  std::string pieces;
  const Tokens tokens = tokenizer.encode(text);
  for (std::size_t i = 0; i < tokens.ids.size(); ++i) {
    pieces += tokenizer.piece(tokens.ids[i]) + "@" + std::to_string(tokens.offsets[i].begin) + "-" +
              std::to_string(tokens.offsets[i].end) + " ";
  }
  return pieces;
}

TEST(WordPiece, CutsTheLongestPieceFirst) {
  WordPiece tokenizer = small();
  EXPECT_EQ(pieces_of(tokenizer, "Unaffable  a!"), "un@0-2 ##aff@2-5 ##able@5-9 a@11-12 !@12-13 ");
  EXPECT_EQ(pieces_of(tokenizer, "unaffc ab"), "[UNK]@0-6 a@7-8 ##b@8-9 ");
  EXPECT_EQ(pieces_of(tokenizer, "unaffc ab"), "[UNK]@0-6 a@7-8 ##b@8-9 ");  // remembered
  EXPECT_EQ(pieces_of(tokenizer, ""), "");
  EXPECT_EQ(pieces_of(tokenizer, " \t\r\n\u3000"), "");
}

TEST(WordPiece, TheQuirksOfTheReference) {
  WordPiece tokenizer = small();
  // Sigma is never final; VT, FF, NEL and the ends of the private-use ranges vanish, what lies
  // between them or is unassigned stays.
  EXPECT_EQ(pieces_of(tokenizer, "\u03a3\u03a3 \u03c3"), "\u03c3@0-1 ##\u03c3@1-2 \u03c3@3-4 ");
  EXPECT_EQ(pieces_of(tokenizer, "a\v\f\u0085\ue000b"), "a@0-1 ##b@5-6 ");
  EXPECT_EQ(pieces_of(tokenizer, "a\uf8ff\U000f0000\U000ffffd\U00100000\U0010fffdb"),
            "a@0-1 ##b@6-7 ");
  EXPECT_EQ(pieces_of(tokenizer, "a\ue001 b"), "[UNK]@0-2 b@3-4 ");
  EXPECT_EQ(pieces_of(tokenizer, "a\u0378"), "[UNK]@0-2 ");
  // U+111C9 and U+166D are punctuation, as they were in Unicode 8; today one is a mark, which would
  // vanish, the other a symbol, which would be part of a word.
  EXPECT_EQ(pieces_of(tokenizer, "a\U000111c9b\u166db"), "a@0-1 [UNK]@1-2 b@2-3 [UNK]@3-4 b@4-5 ");
  // Special tokens are found in the raw text, in the right case only, wherever they stand.
  EXPECT_EQ(pieces_of(tokenizer, "a[SEP]b [[CLS]"), "a@0-1 [SEP]@1-6 b@6-7 [UNK]@8-9 [CLS]@9-14 ");
  EXPECT_EQ(pieces_of(tokenizer, "\u00e9[MASK]"), "[UNK]@0-1 [MASK]@1-7 ");
  // A hundred characters are a word, one more is not; accents do not count.
  const std::string hundred = "a" + std::string(99, 'b');
  EXPECT_EQ(tokenizer.encode(hundred).ids.size(), 100U);
  EXPECT_EQ(tokenizer.encode(hundred + "\u0301\u0301").ids.size(), 100U);
  EXPECT_EQ(pieces_of(tokenizer, hundred + "b"), "[UNK]@0-101 ");
  // Bytes that are no UTF-8 are dropped, and count.
  EXPECT_EQ(pieces_of(tokenizer, "a\xff\xc3 b"), "a@0-1 b@4-5 ");
}

TEST(WordPiece, MarksAreOrderedBeforeTheyAreDropped) {
  // U+302E is a spacing mark of class 224 and stays; U+0316 (class 220) would come before it.
  WordPiece tokenizer = small({"##\u302e"});
  EXPECT_EQ(pieces_of(tokenizer, "a\u302e\u0316 b"), "a@0-1 ##\u302e@2-3 b@4-5 ");
}

TEST(WordPiece, ADamagedVocabularyIsToldWithItsLine) {
  const TemporaryFolder folder;
  const auto error_of = [&](const std::string& bytes) {
    const std::string file = folder.file("vocab.txt", bytes);
    return message_about("vocab.txt", [&] { return WordPiece::read(file).size(); });
  };
  const std::string good = "[PAD]\r\n[UNK]\n[CLS]\n[SEP]\n";
  EXPECT_EQ(error_of(good), "no error");
  EXPECT_EQ(error_of(good + "a\nb\na\n"), "vocab.txt:7: 'a' is given twice.");
  EXPECT_EQ(error_of(good + "\nb\n"), "vocab.txt:5: the line is empty; it must be a piece.");
  EXPECT_EQ(error_of(good + "\xff\n"), "vocab.txt:5: the line is not UTF-8 text.");
  EXPECT_EQ(error_of("[PAD]\n[UNK]\n[SEP]\n"),
            "vocab.txt has no [CLS]; it is not a WordPiece vocabulary.");
  EXPECT_EQ(error_of(""), "vocab.txt has no [PAD]; it is not a WordPiece vocabulary.");
}

TEST(WordPiece, OffsetsNeverFallAndStayInTheText) {
  std::vector<std::string> letters;
  for (char c = 'c'; c <= 'z'; ++c) {
    letters.push_back({c});
    letters.push_back({'#', '#', c});
  }
  WordPiece tokenizer = small(letters);
  std::mt19937 rng(1);
  const char32_t blocks[] = {0x20,   0x61,   0xC0,   0x300,  0x1100,
                             0x3000, 0x4E00, 0xAC00, 0xE000, 0x1D160};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (auto i = rng() % 40; i > 0; --i)
      append_utf8(text, blocks[rng() % std::size(blocks)] + static_cast<char32_t>(rng() % 64));
    const std::size_t length = count_characters(text);
    const Tokens tokens = tokenizer.encode(text);
    Offset before{0, 0};
    for (const Offset& offset : tokens.offsets) {
      ASSERT_LT(offset.begin, offset.end) << text;
      ASSERT_LE(offset.end, length) << text;
      ASSERT_LE(before.begin, offset.begin) << text;
      ASSERT_LE(before.end, offset.end) << text;
      before = offset;
    }
  }
}

TEST(RealWordPiece, EqualsTheReference) {
  if (lacks("minilm-l6")) GTEST_SKIP() << kNeedsData;
  WordPiece tokenizer = WordPiece::read(real_data() / "minilm-l6" / "vocab.txt");
  EXPECT_EQ(tokenizer.size(), 30522U);
  EXPECT_EQ(tokenizer.pad(), 0);
  EXPECT_EQ(tokenizer.unknown(), 100);
  EXPECT_EQ(tokenizer.cls(), 101);
  EXPECT_EQ(tokenizer.sep(), 102);
  const nlohmann::json golden = golden_json("wordpiece.json");
  EXPECT_EQ(golden["cases"].size(), 34U);
  for (int round = 0; round < 2; ++round) {  // words that are new, and words that are remembered
    for (const auto& test : golden["cases"]) {
      const Tokens tokens = tokenizer.encode(test["text"].get<std::string>());
      EXPECT_EQ(tokens.ids, test["ids"].get<std::vector<TokenId>>()) << test["text"];
      std::vector<Offset> expected;
      for (const auto& pair : test["offsets"]) expected.push_back({pair[0], pair[1]});
      EXPECT_EQ(tokens.offsets, expected) << test["text"];
    }
  }
  const nlohmann::json language = golden_json("language.json");
  EXPECT_EQ(language["minilm"].size(), 4U);
  for (const auto& test : language["minilm"]) {
    auto ids = test["ids"].get<std::vector<TokenId>>();
    ids.erase(ids.begin());
    ids.pop_back();
    EXPECT_EQ(tokenizer.encode(test["text"].get<std::string>()).ids, ids);
  }
}

}  // namespace
}  // namespace medgrad::text
