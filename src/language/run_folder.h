// The folder of a run: settings, metrics and the checkpoint, for the one process that writes them.
#pragma once

#include <filesystem>
#include <optional>

#include "language/checkpoint.h"
#include "language/run_files.h"
#include "language/run_log.h"

namespace medgrad::language {

class RunFolder {
 public:
  // An empty folder: nothing is written.
  RunFolder(std::filesystem::path folder, Json config)
      : folder_(std::move(folder)), config_(std::move(config)) {}

  [[nodiscard]] const Json& config() const { return config_; }
  [[nodiscard]] bool has_checkpoint() const;
  // Where the checkpoint is that is there; empty where there is none that can be read.
  [[nodiscard]] std::optional<std::size_t> saved_step() const;

  // For a new run. Throws Error where there is one already, and where another process has the
  // folder.
  void begin();
  // Goes on with the run that is there, and gives where it is. Throws Error where there is none, or
  // one with other settings.
  [[nodiscard]] Position resume(const Trainee& trainee);
  // Goes on with what another process of the same run wrote, which is at `step`.
  void take_over(std::size_t step);
  // Where it is, without writing from now on.
  [[nodiscard]] Position load(const Trainee& trainee) const;
  // Leaves it to another process.
  void leave();
  [[nodiscard]] bool is_open() const { return open_; }

  void log(const Json& line, bool patient = false);
  // Throws std::system_error where a file cannot be written.
  void save(Position& position, const Trainee& trainee);

 private:
  [[nodiscard]] std::filesystem::path file(const char* name) const { return folder_ / name; }
  void create() const;

  std::filesystem::path folder_;
  Json config_;
  std::optional<FolderLock> lock_;
  RunLog log_;
  bool open_ = false;
};

}  // namespace medgrad::language
