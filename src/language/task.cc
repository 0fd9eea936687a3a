#include "language/task.h"

#include <algorithm>
#include <limits>

#include "language/parts.h"
#include "medgrad/error.h"

namespace medgrad::language {

double score(const Scores& scores, std::string_view name) {
  const auto found = std::ranges::find(scores, name, &Scores::value_type::first);
  return found == scores.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

std::string_view corpus_name(const TaskInfo& info) {
  if (info.questions || info.name == "synthetic") return {};
  return info.name == "ptb" ? "ptb" : "wikitext-2";
}

std::string_view encoder_name(const text::DataFolders& folders) {
  const bool any = !folders.look(text::data_set("distilbert")).folder.empty();
  return any ? "distilbert" : "minilm-l6";
}

void require_data(std::string_view name) {
  const TaskInfo& info = find_task(name);
  const auto folders = text::DataFolders::from_environment();
  if (const std::string_view corpus = corpus_name(info); !corpus.empty())
    (void)folders.require(corpus);
  if (info.name == "squad") {
    (void)folders.require("squad");
    (void)folders.require(encoder_name(folders));
  }
}

std::unique_ptr<Task> open_task(std::string_view name, const TaskOptions& options) {
  const TaskInfo& info = find_task(name);
  if (options.dropout && !(*options.dropout >= 0 && *options.dropout < 1))
    throw Error("dropout must be at least 0 and below 1.");
  return info.questions ? open_question_task(info, options) : open_word_task(info, options);
}

}  // namespace medgrad::language
