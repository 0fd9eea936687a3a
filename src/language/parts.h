// Internal to the tasks: the two kinds there are.
#pragma once

#include <memory>

#include "language/task.h"

namespace medgrad::language {

[[nodiscard]] std::unique_ptr<Task> open_word_task(const TaskInfo& info,
                                                   const TaskOptions& options);
[[nodiscard]] std::unique_ptr<Task> open_question_task(const TaskInfo& info,
                                                       const TaskOptions& options);

}  // namespace medgrad::language
