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

std::unique_ptr<Task> open_task(std::string_view name, const TaskOptions& options) {
  const TaskInfo& info = find_task(name);
  if (options.dropout && !(*options.dropout >= 0 && *options.dropout < 1))
    throw Error("dropout must be at least 0 and below 1.");
  return info.questions ? open_question_task(info, options) : open_word_task(info, options);
}

}  // namespace medgrad::language
