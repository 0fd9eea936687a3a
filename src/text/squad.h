// Questions on a text whose answer stands in the text: SQuAD v1.1.
//
// The file holds articles, these hold paragraphs with a context each, and these hold questions. The
// first answer is what training uses; a development set has several per question, any of which
// counts.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace medgrad::text {

struct Answer {
  std::string text;
  std::size_t start;  // in the context, in characters (code points)
};

struct Question {
  std::string id, text;
  std::size_t context;  // index
  std::vector<Answer> answers;
};

struct QuestionSet {
  std::vector<std::string> contexts;
  std::vector<Question> questions;
};

// Throws Error where the file is no JSON ("dev-v1.1.json:1: …"), is not in the schema of SQuAD
// ("dev-v1.1.json: data[3].paragraphs[0] has no 'context'."), an answer ends behind its context, or
// a question has no answer, as in SQuAD 2.
[[nodiscard]] QuestionSet read_squad(const std::filesystem::path& file);
[[nodiscard]] QuestionSet parse_squad(std::string_view text, const std::string& name);

}  // namespace medgrad::text
