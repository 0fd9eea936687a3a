// Internal to the tasks: the two kinds there are, and what they share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "language/task.h"
#include "text/corpus.h"
#include "text/data_sets.h"

namespace medgrad::language {

[[nodiscard]] std::unique_ptr<Task> open_word_task(const TaskInfo& info,
                                                   const TaskOptions& options);
[[nodiscard]] std::unique_ptr<Task> open_question_task(const TaskInfo& info,
                                                       const TaskOptions& options);

[[nodiscard]] std::unique_ptr<Task> open_logistic_task(const TaskInfo& info,
                                                       const TaskOptions& options);

// A model of words, with weights drawn from the seed; `small` is one of the same kind for trying
// things out.
struct WordModelOptions {
  std::int64_t vocabulary = 0;
  double dropout = 0;
  std::uint64_t seed = 0;
  bool small = false;
};
[[nodiscard]] std::shared_ptr<libtorch::Model> make_encoder(const WordModelOptions& options);
[[nodiscard]] std::shared_ptr<libtorch::Model> make_transformer_xl(const WordModelOptions& options);

// What a task is made of; what the paper did with it is TaskInfo.
struct TaskParts {
  std::string_view task;
  std::string_view data_set;  // empty: made up on the spot
  std::unique_ptr<Task> (*open)(const TaskInfo& info, const TaskOptions& options);
  // Of tasks on words; those on questions read SQuAD, and their model comes with its encoder.
  text::Corpus (*read)(const std::filesystem::path& folder) = nullptr;
  std::shared_ptr<libtorch::Model> (*make_model)(const WordModelOptions& options) = nullptr;
  std::size_t length = 0;  // tokens of a chunk
};
[[nodiscard]] const TaskParts& parts_of(std::string_view task);

// The encoder that questions are answered with: the paper's where there is anything of it, else the
// small one.
[[nodiscard]] std::string_view encoder_name(const text::DataFolders& folders);

// At most `limit`; 0 is none.
[[nodiscard]] inline std::size_t limited(std::size_t count, std::size_t limit) {
  return limit == 0 ? count : std::min(count, limit);
}

}  // namespace medgrad::language
