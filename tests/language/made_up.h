// Small tasks on made-up data and runs of them, for the tests of training.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "io/temporary_folder.h"
#include "language/method.h"
#include "language/training.h"

namespace medgrad::language::testing {

using medgrad::testing::TemporaryFolder;

inline std::filesystem::path path_of(const TemporaryFolder& folder) { return folder / ""; }

inline std::string bytes_of(const std::filesystem::path& file) {
  return medgrad::testing::content(file.string());
}

// The lines of metrics.jsonl without what depends on the clock.
inline std::vector<nlohmann::json> lines_of(const std::filesystem::path& folder) {
  std::vector<nlohmann::json> lines;
  std::istringstream in(bytes_of(folder / "metrics.jsonl"));
  for (std::string line; std::getline(in, line);) {
    lines.push_back(nlohmann::json::parse(line));
    lines.back().erase("seconds");
  }
  return lines;
}

inline const Task& made_up(bool questions = false) {
  static const std::unique_ptr<Task> words =
      open_task("synthetic", {.size = Size::small, .batch = 8, .limit = 7, .evaluation_limit = 2});
  static const std::unique_ptr<Task> asked = open_task(
      "synthetic-questions", {.size = Size::small, .batch = 4, .limit = 7, .evaluation_limit = 2});
  return questions ? *asked : *words;
}

inline TrainingOptions options_for(const std::string& word, const std::filesystem::path& folder) {
  const Method method = parse_method(word);
  TrainingOptions options;
  options.method = method.line;
  options.gradient = method.gradient;
  options.lr = 0.05;
  options.epochs = 2;
  options.log_every = 1;
  options.checkpoint_every = 2;
  options.folder = folder;
  options.lr_schedule = CosineSchedule{.factor = 0.1, .warmup = 2};
  return options;
}

}  // namespace medgrad::language::testing
