#include <fmt/core.h>

#include <array>
#include <set>
#include <string>
#include <string_view>

#include "base/text.h"
#include "medgrad/error.h"
#include "text/synthetic.h"
#include "text/uniforms.h"

namespace medgrad::text {
namespace {

constexpr std::array<std::string_view, 10> kRelations = {
    "color", "owner", "river", "home", "father", "leader", "song", "drink", "number", "secret"};
constexpr std::string_view kConsonants = "bdfgklmnprstvz", kVowels = "aeiou";

std::string syllable(Uniforms& uniforms) {
  const char first = kConsonants[uniforms.below(kConsonants.size())];
  return {first, kVowels[uniforms.below(kVowels.size())]};
}

std::string word(Uniforms& uniforms, std::size_t syllables) {
  std::string text;
  for (std::size_t i = 0; i < syllables; ++i) text += syllable(uniforms);
  return text;
}

std::string name(Uniforms& uniforms) {
  std::string text = word(uniforms, 2 + uniforms.below(2));
  text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

struct Fact {
  std::string subject;
  std::string_view relation;
  Answer value;
};

// Facts that can be told apart, and the text that states them.
std::vector<Fact> state_facts(Uniforms& uniforms, std::size_t count, std::string& context) {
  std::vector<Fact> facts;
  std::set<std::pair<std::string, std::string_view>> known;
  std::string subject = name(uniforms);
  while (facts.size() < count) {
    // Half of the facts are on the same one as before: names alone do not tell the answer.
    if (uniforms.next() < 0.5) subject = name(uniforms);
    const std::string_view relation = kRelations[uniforms.below(kRelations.size())];
    if (!known.emplace(subject, relation).second) continue;
    std::string value = word(uniforms, 2 + uniforms.below(2));
    if (uniforms.next() < 0.5) value += " " + word(uniforms, 2);
    context += fmt::format("{}{} of {} is ", context.empty() ? "The " : " The ", relation, subject);
    facts.push_back({subject, relation, {value, context.size()}});
    context += value + ".";
  }
  return facts;
}

QuestionSet make_set(const SyntheticQuestionOptions& options, std::size_t count,
                     std::uint64_t stream, const std::string& prefix) {
  Uniforms uniforms(options.seed, stream);
  QuestionSet set;
  while (set.questions.size() < count) {
    std::string context;
    std::vector<Fact> facts = state_facts(uniforms, options.facts, context);
    for (std::size_t i = 0; i < options.questions && set.questions.size() < count; ++i) {
      std::swap(facts[i], facts[i + uniforms.below(facts.size() - i)]);
      set.questions.push_back(
          {prefix + std::to_string(set.questions.size()),
           fmt::format("What is the {} of {}?", facts[i].relation, facts[i].subject),
           set.contexts.size(),
           {facts[i].value}});
    }
    set.contexts.push_back(std::move(context));
  }
  return set;
}

std::vector<std::string> make_pieces() {
  std::vector<std::string> pieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".",
                                     "?",     "the",   "of",    "is",    "what"};
  pieces.insert(pieces.end(), kRelations.begin(), kRelations.end());
  std::vector<std::string> parts;
  for (char c = 'a'; c <= 'z'; ++c) parts.push_back({c});
  for (const char consonant : kConsonants)
    for (const char vowel : kVowels) parts.push_back({consonant, vowel});
  for (const std::string& part : parts) {
    pieces.push_back(part);
    pieces.push_back("##" + part);
  }
  return pieces;
}

}  // namespace

SyntheticQuestions synthetic_questions(const SyntheticQuestionOptions& options) {
  if (options.train == 0 || options.dev == 0)
    throw Error("synthetic questions: every part must have 1 question or more.");
  if (options.facts == 0 || options.facts > 1000 || options.questions == 0 ||
      options.questions > options.facts) {
    throw Error(
        fmt::format("synthetic questions: there {} {} on {}; facts must be in [1, 1000], and "
                    "questions from 1 to as many.",
                    options.questions == 1 ? "is" : "are", counted(options.questions, "question"),
                    counted(options.facts, "fact")));
  }
  return {make_set(options, options.train, 3, "train-"), make_set(options, options.dev, 4, "dev-"),
          make_pieces()};
}

}  // namespace medgrad::text
