// A training run, step by step: of one process alone, and what workers that train together
// (joint_run.cc) do likewise.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "language/corrupted_steps.h"
#include "language/run_config.h"
#include "language/run_folder.h"
#include "language/training.h"
#include "medgrad/torch/optim.h"
#include "medgrad/torch/schedule.h"

namespace medgrad::language {

using Report = std::function<void(const TrainingProgress&)>;

class Run {
 public:
  Run(const Task& task, TrainingOptions options, const Report& report,
      const std::atomic<bool>* stop);
  virtual ~Run() = default;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  TrainingResult go();

 protected:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] static double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  // Begins, goes to the end, and ends.
  virtual void run();
  // One step. False where the run has diverged, and where it was stopped before the last batch: as
  // if the step had not begun.
  virtual bool step();
  // Does this process write the files?
  [[nodiscard]] virtual bool leads() const { return true; }
  // May files be written later where they cannot be now?
  [[nodiscard]] virtual bool is_patient() const { return false; }
  [[nodiscard]] virtual bool stopped() const { return wants_to_stop(); }
  virtual void evaluation_was_stopped() {}
  [[nodiscard]] virtual Trainee trainee() { return {*model_, *optimizer_, *scheduler_}; }
  // What the line of a step has beside the rest.
  virtual void add_to_line(Json& /*line*/) const {}
  [[nodiscard]] virtual std::size_t batches_of_step() const {
    return length_.samples * length_.accumulate;
  }

  void open_folder();
  void go_on_from(Position position);
  void go_to_the_end();
  // Steps along the gradient that there is, of this loss; `next` is the batch after those of it.
  bool advance(double loss, std::size_t next);
  enum class Labels : std::uint8_t { as_they_are, flipped, shuffled };
  // Adds the gradient of a batch's loss, and gives the loss.
  double backward(std::size_t i, Labels labels = Labels::as_they_are);
  [[nodiscard]] bool wants_to_stop() const { return stop_ != nullptr && stop_->load(); }
  // Where the run is now, as a checkpoint has it.
  [[nodiscard]] const Position& at_present();
  void save(bool last = false);
  void log(const Json& line);

  const Task& task_;
  TrainingOptions options_;
  RunLength length_;
  RunFolder folder_;
  std::shared_ptr<libtorch::Model> model_;
  Position position_;
  TrainingResult result_;

 private:
  [[nodiscard]] bool ended() const { return result_.diverged || stopped(); }
  [[nodiscard]] bool evaluated() const {
    return !position_.evaluations.empty() && position_.evaluations.back().step == position_.step;
  }
  [[nodiscard]] double first_loss() const {
    return score(position_.evaluations.front().scores, "training_loss");
  }
  bool evaluate();
  void log_step(double loss);
  [[nodiscard]] double seconds() const { return earlier_ + since(start_); }
  [[nodiscard]] double speed() const {
    return training_seconds_ > 0 ? tokens_ / training_seconds_ : 0;
  }
  void tell(std::optional<double> share = {}, double evaluation_left = 0);

  CorruptedSteps corrupted_;
  const Report& report_;
  const std::atomic<bool>* stop_;
  std::unique_ptr<libtorch::TrackingOptimizer> optimizer_;
  std::optional<libtorch::Scheduler> scheduler_;
  Clock::time_point start_ = Clock::now(), saved_ = start_;
  bool unsaved_ = true;  // there is something that the checkpoint does not have
  double earlier_ = 0;   // seconds before this call
  std::optional<double> loss_;
  double tokens_ = 0, batches_ = 0, training_seconds_ = 0;  // of this call
};

// Of workers that train together.
[[nodiscard]] std::unique_ptr<Run> make_joint_run(const Task& task, const TrainingOptions& options,
                                                  const Report& report,
                                                  const std::atomic<bool>* stop);

}  // namespace medgrad::language
