// Internal to the tasks: the two kinds there are, and what they share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include "language/task.h"
#include "text/data_sets.h"

namespace medgrad::language {

[[nodiscard]] std::unique_ptr<Task> open_word_task(const TaskInfo& info,
                                                   const TaskOptions& options);
[[nodiscard]] std::unique_ptr<Task> open_question_task(const TaskInfo& info,
                                                       const TaskOptions& options);

// The data set of a word-level task; empty where its text is made up.
[[nodiscard]] std::string_view corpus_name(const TaskInfo& info);
// The encoder that questions are answered with: the paper's where there is anything of it, else the
// small one.
[[nodiscard]] std::string_view encoder_name(const text::DataFolders& folders);

// At most `limit`; 0 is none.
[[nodiscard]] inline std::size_t limited(std::size_t count, std::size_t limit) {
  return limit == 0 ? count : std::min(count, limit);
}

}  // namespace medgrad::language
