#include "language/task.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "language/parts.h"
#include "medgrad/description.h"

namespace medgrad::language {

double score(const Scores& scores, std::string_view name) {
  const auto found = std::ranges::find(scores, name, &Scores::value_type::first);
  return found == scores.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

const TaskParts& parts_of(std::string_view task) {
  // What every task is made of. A model of words takes chunks of so many tokens.
  static constexpr std::size_t kEncoderLength = 35, kTransformerXLLength = 128;
  static const std::vector<TaskParts> all = {
      {"ptb", "ptb", open_word_task, text::read_ptb, make_encoder, kEncoderLength},
      {"wikitext2", "wikitext-2", open_word_task, text::read_wikitext2, make_transformer_xl,
       kTransformerXLLength},
      {"wikitext2-encoder", "wikitext-2", open_word_task, text::read_wikitext2, make_encoder,
       kEncoderLength},
      {"squad", "squad", open_question_task},
      {"synthetic", "", open_word_task, nullptr, make_encoder, kEncoderLength},
      {"synthetic-questions", "", open_question_task},
      {"logistic", "", open_logistic_task}};
  const auto found = std::ranges::find(all, task, &TaskParts::task);
  assert(found != all.end());  // tasks() has no others
  return *found;
}

std::string_view encoder_name(const text::DataFolders& folders) {
  const bool any = !folders.look(text::data_set("distilbert")).folder.empty();
  return any ? "distilbert" : "minilm-l6";
}

void require_data(std::string_view name) {
  const TaskParts& parts = parts_of(find_task(name).name);
  if (parts.data_set.empty()) return;
  const auto folders = text::DataFolders::from_environment();
  (void)folders.require(parts.data_set);
  // Questions are answered by a published encoder.
  if (parts.make_model == nullptr) (void)folders.require(encoder_name(folders));
}

std::unique_ptr<Task> open_task(std::string_view name, const TaskOptions& options) {
  const TaskInfo& info = find_task(name);
  if (options.dropout) check("dropout", *options.dropout, range::decay);
  return parts_of(info.name).open(info, options);
}

}  // namespace medgrad::language
