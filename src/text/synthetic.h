// Data made up on the spot, for running every task without downloading anything.
//
// The corpus has what makes language hard for plain gradient steps, and what a model can learn:
// - Words follow Zipf's law: the word of rank r has probability proportional to r^-exponent, so
//   that most words are rare.
// - Passages have topics: the most frequent words are in all of them, the others are dealt out to
//   topics in turn. A passage's topic is drawn so that each word keeps its overall probability.
// - Words come back: with probability `copy`, a word repeats the one a certain distance before it.
//   The distance is the passage's own.
//
// The questions ask for one of several facts that a short context states, as in SQuAD: "What is the
// color of Tavo?" Names and values are made of syllables, which are the pieces of their vocabulary.
//
// Everything is a function of the options, the seed among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "text/corpus.h"
#include "text/squad.h"

namespace medgrad::text {

struct SyntheticCorpusOptions {
  std::uint64_t seed = 0;
  std::size_t train = 100'000, valid = 10'000, test = 10'000;  // tokens, <eos> included
  std::size_t words = 2'000;  // ranks; those that occur are the vocabulary
  double exponent = 1;
  std::size_t sentence = 20;  // words, on average
  std::size_t topics = 10, common = 50, passage = 200;
  double copy = 0.2;
  std::size_t nearest = 10, farthest = 30;  // of a copy
};

// Words are called w1, w2, … by rank. Throws Error where an option makes no sense.
[[nodiscard]] Corpus synthetic_corpus(const SyntheticCorpusOptions& options);

struct SyntheticQuestionOptions {
  std::uint64_t seed = 0;
  std::size_t train = 2'000, dev = 200;  // questions
  std::size_t facts = 6;                 // in a context
  std::size_t questions = 3;             // on a context, at most one per fact
};

struct SyntheticQuestions {
  QuestionSet train, dev;
  std::vector<std::string> pieces;  // for WordPiece
};

[[nodiscard]] SyntheticQuestions synthetic_questions(const SyntheticQuestionOptions& options);

}  // namespace medgrad::text
