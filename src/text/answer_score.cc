// Exact match and F1 of SQuAD v1.1.
#include <unicode/uchar.h>

#include <algorithm>
#include <string>
#include <vector>

#include "text/answers.h"
#include "text/unicode.h"

namespace medgrad::text {
namespace {

bool is_ascii_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

// What \w stands for in Python, the underscore aside, which is punctuation and gone by then.
bool is_word_character(char32_t c) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & (U_GC_L_MASK | U_GC_N_MASK)) != 0;
}

bool is_article(std::string_view word) { return word == "a" || word == "an" || word == "the"; }

// \b(a|an|the)\b becomes a blank. A word is a longest run of word characters.
std::string without_articles(std::string_view text) {
  std::string result;
  std::size_t begin = 0;  // of the run
  const auto end_run = [&](std::size_t end) {
    const std::string_view run = text.substr(begin, end - begin);
    result += is_article(run) ? " " : run;
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t here = at;
    if (is_word_character(next_character(text, at))) continue;
    end_run(here);
    result += text.substr(here, at - here);
    begin = at;
  }
  end_run(text.size());
  return result;
}

std::vector<std::string> sorted_words(std::string_view normal) {
  std::vector<std::string> words;
  for_each_word(normal, [&words](std::string_view word) { words.emplace_back(word); });
  std::ranges::sort(words);
  return words;
}

double f1_of(const std::vector<std::string>& answer, const std::vector<std::string>& reference) {
  std::vector<std::string> both;
  std::ranges::set_intersection(answer, reference, std::back_inserter(both));
  if (both.empty()) return 0;
  const auto common = static_cast<double>(both.size());
  const double precision = common / static_cast<double>(answer.size());
  const double recall = common / static_cast<double>(reference.size());
  return 2 * precision * recall / (precision + recall);
}

}  // namespace

std::string normalize_answer(std::string_view text) {
  std::string lower = lower_case(text);
  std::erase_if(lower, is_ascii_punctuation);
  std::string result;
  for_each_word(without_articles(lower), [&result](std::string_view word) {
    if (!result.empty()) result += ' ';
    result += word;
  });
  return result;
}

AnswerScore score_answer(std::string_view answer, std::span<const Answer> references) {
  const std::string normal = normalize_answer(answer);
  const std::vector<std::string> words = sorted_words(normal);
  AnswerScore best;
  for (const Answer& reference : references) {
    const std::string other = normalize_answer(reference.text);
    best.exact_match = std::max(best.exact_match, normal == other ? 1.0 : 0.0);
    best.f1 = std::max(best.f1, f1_of(words, sorted_words(other)));
  }
  return best;
}

}  // namespace medgrad::text
