#include "text/squad.h"

#include <fmt/core.h>

#include "base/file.h"
#include "base/place.h"
#include "medgrad/error.h"
#include "text/unicode.h"

namespace medgrad::text {
namespace {

Answer answer_of(const Node& value, std::size_t context_length, const Place& place) {
  Answer answer{
      text_of(member(value, "text", place), Place(place, "text")),
      whole_number_of(member(value, "answer_start", place), Place(place, "answer_start"))};
  const std::size_t length = count_characters(answer.text);
  if (answer.start > context_length || length > context_length - answer.start) {
    place.fail(fmt::format("starts at character {} and has {}, where the context has {}.",
                           answer.start, length, context_length));
  }
  return answer;
}

void add_paragraph(const Node& paragraph, const Place& place, QuestionSet& set) {
  set.contexts.push_back(text_of(member(paragraph, "context", place), Place(place, "context")));
  const std::size_t length = count_characters(set.contexts.back());
  const Place questions_at(place, "qas");
  const Node::List& questions = list_of(member(paragraph, "qas", place), questions_at);
  for (std::size_t q = 0; q < questions.size(); ++q) {
    const Place at(questions_at, q), answers_at(at, "answers");
    Question question{.id = text_of(member(questions[q], "id", at), Place(at, "id")),
                      .text = text_of(member(questions[q], "question", at), Place(at, "question")),
                      .context = set.contexts.size() - 1,
                      .answers = {}};
    const Node::List& answers = list_of(member(questions[q], "answers", at), answers_at);
    for (std::size_t a = 0; a < answers.size(); ++a)
      question.answers.push_back(answer_of(answers[a], length, Place(answers_at, a)));
    if (answers.empty())
      answers_at.fail("is empty; SQuAD v1.1 is needed, where every question has an answer.");
    set.questions.push_back(std::move(question));
  }
}

}  // namespace

QuestionSet parse_squad(std::string_view text, const std::string& name) {
  const Node document = parse_document(text, name);
  QuestionSet set;
  const Place root(name), data_at(root, "data");
  const Node::List& articles = list_of(member(document, "data", root), data_at);
  for (std::size_t a = 0; a < articles.size(); ++a) {
    const Place article_at(data_at, a), paragraphs_at(article_at, "paragraphs");
    const Node::List& paragraphs =
        list_of(member(articles[a], "paragraphs", article_at), paragraphs_at);
    for (std::size_t p = 0; p < paragraphs.size(); ++p)
      add_paragraph(paragraphs[p], Place(paragraphs_at, p), set);
  }
  if (set.questions.empty()) throw Error(fmt::format("{} has no questions.", name));
  return set;
}

QuestionSet read_squad(const std::filesystem::path& file) {
  return parse_squad(read_whole(file), file.string());
}

}  // namespace medgrad::text
