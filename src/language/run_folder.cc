#include "language/run_folder.h"

#include <fmt/core.h>

#include <system_error>

#include "base/remedy.h"
#include "medgrad/error.h"
#include "medgrad/io.h"

namespace medgrad::language {
namespace {

namespace fs = std::filesystem;
constexpr auto kConfig = "config.json", kMetrics = "metrics.jsonl";

}  // namespace

bool RunFolder::has_checkpoint() const {
  return !folder_.empty() && language::has_checkpoint(folder_);
}

std::optional<std::size_t> RunFolder::saved_step() const {
  if (!has_checkpoint()) return {};
  try {
    return step_of_checkpoint(file(kCheckpointName));
  } catch (const Error&) {
    return {};
  }
}

void RunFolder::create() const {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  if (failed)
    throw Error(fmt::format("{} cannot be created: {}.", folder_.string(), failed.message()));
}

void RunFolder::begin() {
  open_ = true;
  if (folder_.empty()) return;
  create();
  lock_.emplace(folder_);
  if (has_checkpoint())
    throw WithRemedy<Error>([folder = folder_.string()](const auto& name) {
      return fmt::format(
          "{} already has a run; rerun with {} to continue it, or choose another {}.", folder,
          name("resume"), name("out"));
    });
  write_file(file(kConfig).string(), config_.dump(2) + "\n");
  fs::remove(file(kMetrics));
  log_.open(file(kMetrics));
}

Position RunFolder::load(const Trainee& trainee) const {
  return load_checkpoint(file(kCheckpointName), config_, trainee);
}

Position RunFolder::resume(const Trainee& trainee) {
  open_ = true;
  lock_.emplace(folder_);
  Position position = load(trainee);
  const fs::path metrics = file(kMetrics);
  if (!fs::exists(metrics) || fs::file_size(metrics) < position.metrics_bytes)
    throw Error(fmt::format("{} has fewer lines than its checkpoint recorded.", metrics.string()));
  fs::resize_file(metrics, position.metrics_bytes);
  log_.open(metrics);
  return position;
}

void RunFolder::take_over(std::size_t step) {
  open_ = true;
  if (folder_.empty()) return;
  create();
  try {
    lock_.emplace(folder_);
  } catch (const Error&) {
    // One that stands still may have it yet; the workers have agreed on who goes on.
  }
  if (!fs::exists(file(kConfig))) write_file(file(kConfig).string(), config_.dump(2) + "\n");
  log_.take_over(file(kMetrics), step);
}

void RunFolder::leave() {
  log_.leave();
  lock_.reset();
  open_ = false;
}

void RunFolder::log(const Json& line, bool patient) { log_.write(line, patient); }

void RunFolder::save(Position& position, const Trainee& trainee) {
  if (folder_.empty()) return;
  log_.finish();
  position.metrics_bytes = fs::file_size(file(kMetrics));
  save_checkpoint(file(kCheckpointName), config_, position, trainee);
}

}  // namespace medgrad::language
