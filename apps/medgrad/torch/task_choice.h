// The options that all commands on a task have.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "command.h"
#include "language/task.h"
#include "language/training.h"

namespace medgrad::app {

class TaskChoice {
 public:
  void declare(Options& options);
  // Reads the data, and warns where libtorch will be slow; --seed is that of the run.
  [[nodiscard]] std::unique_ptr<language::Task> open(const Common& common) const;
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string help() const;  // all tasks

 private:
  std::string name_, size_ = "paper", batch_, dropout_, limit_, evaluation_limit_;
};

[[nodiscard]] std::vector<std::string> task_names();

// How a run goes: epochs, schedules, checkpoints.
class RunChoice {
 public:
  void declare(Options& options, const std::string& epochs);
  void put(language::TrainingOptions& options) const;

 private:
  void put_corruption(lab::Corruption& corrupted) const;

  std::string epochs_, steps_, accumulate_,
      state_ = "float", schedule_ = "constant", warmup_, tau_schedule_ = "constant", factor_,
      decay_every_, corrupted_, corrupted_kind_, corrupted_factor_, corrupted_flips_,
      checkpoint_every_ = "100", log_every_ = "10";
  bool per_tensor_ = false;
};

}  // namespace medgrad::app
