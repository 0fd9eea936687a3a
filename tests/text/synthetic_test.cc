// Made-up data: the law of its words, its long-range structure, and that it serves as the real
// does.
#include "text/synthetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "text/answers.h"
#include "text/batches.h"
#include "text/data.h"
#include "text/features.h"
#include "text/unicode.h"

namespace medgrad::text {
namespace {

using medgrad::testing::message_of;

// How often the word of each rank occurs in the training part; ranks from 1.
std::vector<double> counts_by_rank(const Corpus& corpus, std::size_t words) {
  std::vector<double> counts(words + 1);
  for (const TokenId id : corpus.train) {
    const std::string& word = corpus.vocabulary.word(id);
    ++counts[id == 0 ? 0 : std::stoul(word.substr(1))];
  }
  return counts;
}

// Least squares of log count on log rank.
double slope(const std::vector<double>& counts, std::size_t first, std::size_t last) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t rank = first; rank <= last; ++rank) {
    const double u = std::log(static_cast<double>(rank)), v = std::log(counts[rank]);
    n += 1;
    x += u;
    y += v;
    xx += u * u;
    xy += u * v;
  }
  return (n * xy - x * y) / (n * xx - x * x);
}

TEST(SyntheticCorpus, WordsFollowZipfsLaw) {
  for (const double exponent : {0.7, 1.0, 1.3}) {
    SyntheticCorpusOptions options;
    options.train = 500'000;
    options.exponent = exponent;
    const Corpus corpus = synthetic_corpus(options);
    const std::vector<double> counts = counts_by_rank(corpus, options.words);
    // 2500 passages share out 10 topics: a word of one topic is in 250 of them, its count varies by
    // 6 % for that and by less for its own draws. Over 200 ranks that moves the slope by 0.01.
    EXPECT_NEAR(slope(counts, 1, 200), -exponent, 0.05);
    // <eos> ends sentences of 20 words on average: one token in 21, sd 0.0003.
    EXPECT_NEAR(counts[0] / 500'000, 1.0 / 21, 0.0015);
    double all = 0, expected = 0;
    for (std::size_t rank = 1; rank <= options.words; ++rank) {
      all += counts[rank];
      expected += std::pow(static_cast<double>(rank), -exponent);
    }
    // Copies carry the noise of what they copy; still the commonest word is where it should be.
    EXPECT_NEAR(counts[1] / all * expected, 1, 0.05);
  }
}

TEST(SyntheticCorpus, IsAFunctionOfItsOptions) {
  SyntheticCorpusOptions options;
  options.train = 3000;
  const Corpus one = synthetic_corpus(options), same = synthetic_corpus(options);
  EXPECT_EQ(one.train, same.train);
  EXPECT_EQ(one.train.size(), 3000U);
  EXPECT_EQ(one.valid.size(), 10'000U);
  EXPECT_EQ(one.test.size(), 10'000U);
  EXPECT_NE(one.valid, one.test);
  EXPECT_EQ(one.vocabulary.word(0), "<eos>");
  options.seed = 1;
  EXPECT_NE(synthetic_corpus(options).train, one.train);
  // More of it begins as less of it does, up to the numbering of its words.
  options.train = 6000;
  const Corpus longer = synthetic_corpus(options);
  options.train = 3000;
  const Corpus shorter = synthetic_corpus(options);
  for (std::size_t i = 0; i < 3000; ++i)
    ASSERT_EQ(longer.vocabulary.word(longer.train[i]), shorter.vocabulary.word(shorter.train[i]));
}

TEST(SyntheticCorpus, WordsComeBackAtThePassagesDistance) {
  SyntheticCorpusOptions options;
  options.words = 50'000;
  options.exponent = 0.5;  // so that words hardly repeat by chance
  options.common = 0;
  options.topics = 1;
  options.nearest = options.farthest = 17;
  const std::vector<TokenId> train = synthetic_corpus(options).train;
  const auto repeats = [&train](std::size_t distance) {
    double same = 0;
    for (std::size_t i = distance; i < train.size(); ++i)
      same += train[i] != 0 && train[i] == train[i - distance] ? 1 : 0;
    return same / static_cast<double>(train.size());
  };
  // Neither place may be <eos>: 0.2 (20/21)^2 = 0.181, sd 0.0013.
  EXPECT_NEAR(repeats(17), 0.181, 0.007);
  EXPECT_LT(repeats(16), 0.01);
}

TEST(SyntheticCorpus, PassagesKeepToTheirTopic) {
  SyntheticCorpusOptions options;
  options.copy = 0;
  options.common = 20;
  const Corpus corpus = synthetic_corpus(options);
  for (std::size_t begin = 0; begin < corpus.train.size(); begin += options.passage) {
    std::map<std::size_t, int> topics;
    for (std::size_t i = begin; i < begin + options.passage; ++i) {
      const TokenId id = corpus.train[i];
      const std::size_t rank = id == 0 ? 0 : std::stoul(corpus.vocabulary.word(id).substr(1));
      if (rank > options.common) ++topics[(rank - options.common - 1) % options.topics];
    }
    ASSERT_LE(topics.size(), 1U);
  }
}

TEST(SyntheticCorpus, RefusesNonsense) {
  const auto error_of = [](auto change) {
    SyntheticCorpusOptions options;
    change(options);
    return message_of([&] { return synthetic_corpus(options).train.size(); });
  };
  EXPECT_EQ(error_of([](auto& o) { o.exponent = -1; }),
            "a synthetic corpus: exponent is -1; it must be 0 or more.");
  EXPECT_EQ(error_of([](auto& o) { o.copy = 1; }),
            "a synthetic corpus: copy is 1; it must be in [0, 1).");
  EXPECT_EQ(
      error_of([](auto& o) { o.nearest = 31; }),
      "a synthetic corpus: copies come from 31 to 30 words before; the first must be 1 or more, "
      "and the second no less.");
  EXPECT_EQ(error_of([](auto& o) { o.words = 0; }),
            "a synthetic corpus: words is 0; it must be in [1, 100000000].");
  for (const auto& change : {+[](SyntheticCorpusOptions& o) { o.common = 5000; },
                             +[](SyntheticCorpusOptions& o) { o.common = 0, o.words = 1; },
                             +[](SyntheticCorpusOptions& o) { o.topics = 5000; }})
    EXPECT_EQ(error_of(change), "no error");
}

TEST(SyntheticQuestions, AnswersStandWhereTheySayAndAreTokensOfTheirOwn) {
  const SyntheticQuestions made = synthetic_questions({});
  EXPECT_EQ(made.train.questions.size(), 2000U);
  EXPECT_EQ(made.dev.questions.size(), 200U);
  WordPiece tokenizer(made.pieces);
  for (const QuestionSet* const set : {&made.train, &made.dev}) {
    const FeatureSet features(*set, tokenizer);
    ASSERT_EQ(features.size(), set->questions.size());
    AnswerFinder finder(*set, features);
    for (std::size_t i = 0; i < features.size(); ++i) {
      const Question& question = set->questions[i];
      const std::string& context = set->contexts[question.context];
      ASSERT_EQ(context.substr(question.answers[0].start, question.answers[0].text.size()),
                question.answers[0].text);
      // The question names the fact.
      const std::string fact = question.text.substr(12, question.text.size() - 13);
      ASSERT_NE(context.find(fact + " is " + question.answers[0].text + "."), std::string::npos);
      // Scores that point at the labels give the answer back.
      std::vector<float> start(features.length(i)), end(features.length(i));
      start[features[i].start] = end[features[i].end] = 1;
      finder.add(i, start, end);
    }
    const AnswerScore score = score_answers(*set, finder.answers());
    EXPECT_EQ(score.exact_match, 100);
    EXPECT_EQ(score.f1, 100);
    for (const std::string& context : set->contexts)
      for (const TokenId id : tokenizer.encode(context).ids) ASSERT_NE(id, tokenizer.unknown());
  }
}

TEST(SyntheticQuestions, AreAFunctionOfTheirOptions) {
  EXPECT_EQ(synthetic_questions({}).train.contexts, synthetic_questions({}).train.contexts);
  EXPECT_NE(synthetic_questions({.seed = 1}).train.contexts,
            synthetic_questions({}).train.contexts);
  EXPECT_EQ(
      message_of([] { return synthetic_questions({.facts = 2}).dev.contexts.size(); }),
      "synthetic questions: there are 3 questions on 2 facts; facts must be in [1, 1000], and "
      "questions from 1 to as many.");
}

}  // namespace
}  // namespace medgrad::text
