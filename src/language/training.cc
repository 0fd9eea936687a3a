#include "language/training.h"

#include <fmt/core.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <system_error>

#include "base/json.h"
#include "language/checkpoint.h"
#include "language/run_config.h"
#include "language/run_files.h"
#include "medgrad/error.h"
#include "medgrad/io.h"
#include "medgrad/torch/optim.h"
#include "medgrad/torch/schedule.h"

namespace medgrad::language {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Of losses beside that before training, where a run has diverged.
constexpr double kTooLarge = 2;

// A step as one of all its scopes: what they moved together.
StepInfo info_of(const std::vector<libtorch::ScopeReport>& scopes) {
  if (scopes.size() == 1) return scopes.front().info;
  StepInfo all;
  double moved = 0;
  for (const libtorch::ScopeReport& one : scopes) {
    const double norm = one.info.increment_norm;
    all.increment_norm = std::hypot(all.increment_norm, norm);
    moved = std::hypot(moved, (1 - one.info.effective_beta) * norm);
    all.clipped_share += one.info.clipped_share / static_cast<double>(scopes.size());
    all.non_finite += one.info.non_finite;
    all.tau = std::max(all.tau, one.info.tau);
  }
  all.effective_beta = all.increment_norm > 0 ? 1 - moved / all.increment_norm : 0;
  return all;
}

class Run {
 public:
  Run(const Task& task, TrainingOptions options,
      const std::function<void(const TrainingProgress&)>& report, const std::atomic<bool>* stop)
      : task_(task),
        options_(std::move(options)),
        report_(report),
        stop_(stop),
        length_(length_of(task, options_)),
        config_(config_of(task, options_)) {
    model_ = task.make_model(options_.seed);
    model_->train();
    optimizer_ = libtorch::make_optimizer(options_.gradient, model_->parameters(), options_.lr);
    optimizer_->name_parameters(*model_);
    if (options_.per_tensor)
      for (auto& group : optimizer_->param_groups())
        dynamic_cast<libtorch::GroupOptions&>(group.options()).settings().scope =
            libtorch::Scope::tensor;
    scheduler_.emplace(
        *optimizer_,
        libtorch::ScheduleOptions{options_.lr_schedule, options_.tau_schedule, length_.total});
    open_folder();
  }

  TrainingResult go() {
    result_.first_step = position_.step;
    tell();
    while (!ended()) {
      if (position_.batch == 0 && !evaluated()) {
        if (!evaluate()) break;
        if (!result_.diverged) save();
        continue;
      }
      if (position_.step >= length_.total) break;
      if (!step()) break;
      if (position_.step % options_.checkpoint_every == 0 || since(saved_) > kSaveSeconds) save();
    }
    // A run that ends within an epoch is looked at there.
    if (!ended() && position_.step >= length_.total && !evaluated()) (void)evaluate();
    if (!result_.diverged && unsaved_) save();
    result_.interrupted = stopped();
    result_.evaluations = position_.evaluations;
    result_.steps = position_.step;
    result_.seconds = seconds();
    result_.tokens_per_second = speed();
    return result_;
  }

 private:
  [[nodiscard]] bool stopped() const { return stop_ != nullptr && stop_->load(); }
  [[nodiscard]] bool ended() const { return result_.diverged || stopped(); }
  [[nodiscard]] bool evaluated() const {
    return !position_.evaluations.empty() && position_.evaluations.back().step == position_.step;
  }

  void open_folder() {
    if (options_.folder.empty()) return;
    std::error_code failed;
    if (!options_.resume) fs::create_directories(options_.folder, failed);
    if (failed)
      throw Error(
          fmt::format("{} cannot be created: {}.", options_.folder.string(), failed.message()));
    lock_.emplace(options_.folder);
    const fs::path config = options_.folder / "config.json",
                   metrics = options_.folder / "metrics.jsonl";
    if (options_.resume) {
      position_ = load_checkpoint(checkpoint(), config_, *model_, *optimizer_, *scheduler_);
      if (position_.step > length_.total)
        throw Error(fmt::format(
            "{} is at step {} already, of {} requested; choose another --out for a shorter run.",
            options_.folder.string(), position_.step, length_.total));
      model_->reseed(options_.seed, position_.dropout_step);
      earlier_ = position_.seconds;
      unsaved_ = false;
      if (!fs::exists(metrics) || fs::file_size(metrics) < position_.metrics_bytes)
        throw Error(
            fmt::format("{} has fewer lines than its checkpoint recorded.", metrics.string()));
      fs::resize_file(metrics, position_.metrics_bytes);
    } else if (has_checkpoint(options_.folder)) {
      throw Error(fmt::format(
          "{} already has a run; rerun with --resume to continue it, or choose another --out.",
          options_.folder.string()));
    } else {
      write_file(config.string(), config_.dump(2) + "\n");
      fs::remove(metrics);
    }
    metrics_.open(metrics);
  }

  [[nodiscard]] fs::path checkpoint() const { return options_.folder / kCheckpointName; }

  void save() {
    if (options_.folder.empty()) return;
    position_.metrics_bytes = fs::file_size(options_.folder / "metrics.jsonl");
    position_.dropout_step = model_->step();
    position_.seconds = seconds();
    save_checkpoint(checkpoint(), config_, position_, *model_, *optimizer_, *scheduler_);
    saved_ = Clock::now();
    unsaved_ = false;
  }

  void log(const Json& line) {
    if (metrics_.is_open()) metrics_.write(line.dump() + "\n");
  }

  [[nodiscard]] double first_loss() const {
    return score(position_.evaluations.front().scores, "training_loss");
  }

  // False where it was stopped.
  bool evaluate() {
    const auto begin = Clock::now();
    const auto goes_on = [&](double share) {
      tell(share, since(begin) * (1 - share) / share);
      return !stopped();
    };
    Scores scores = task_.evaluate(*model_, goes_on);
    if (scores.empty()) return false;
    position_.evaluation_seconds = since(begin);
    Json line = {{"event", "evaluation"}, {"epoch", position_.epoch}, {"step", position_.step}};
    for (const auto& [name, value] : scores) line[name] = json_number(value);
    line["seconds"] = seconds();
    log(line);
    position_.evaluations.push_back({position_.epoch, position_.step, std::move(scores)});
    if (position_.evaluations.size() == 1) position_.running_loss = first_loss();
    result_.diverged = !is_usable(position_.evaluations.back(), position_.evaluations.front());
    unsaved_ = true;
    return true;
  }

  // One step. False where the run has diverged, and where it was stopped before the last batch: as
  // if the step had not begun.
  bool step() {
    const std::uint64_t dropout_step = model_->step();
    auto* const sampler = dynamic_cast<libtorch::SampleMedianSGD*>(optimizer_.get());
    std::size_t next = position_.batch;
    double sum = 0;
    for (std::size_t s = 0; s < length_.samples; ++s) {
      model_->zero_grad(true);
      for (std::size_t k = 0; k < length_.accumulate; ++k) {
        if (stopped()) {
          model_->reseed(options_.seed, dropout_step);
          return false;
        }
        sum += backward(next++);
      }
      if (sampler != nullptr) sampler->observe();
    }
    const double loss = sum / static_cast<double>(length_.samples * length_.accumulate);
    position_.running_loss += (loss - position_.running_loss) / kRunningSteps;
    if (!std::isfinite(loss) || position_.running_loss > kTooLarge * first_loss()) {
      result_.diverged = true;
      log({{"event", "diverged"}, {"step", position_.step}, {"loss", json_number(loss)}});
      return false;
    }
    const auto begin = Clock::now();
    optimizer_->step();
    scheduler_->step();
    training_seconds_ += since(begin);
    ++position_.step;
    if (position_.step % options_.log_every == 0) log_step(loss);
    // What is left of an epoch and makes no step is left out.
    const bool epoch_ends = position_.step % length_.per_epoch == 0;
    position_.batch = epoch_ends ? 0 : next;
    if (epoch_ends) ++position_.epoch;
    unsaved_ = true;
    return true;
  }

  // Adds the gradient of a batch's loss, and gives the loss.
  double backward(std::size_t i) {
    const auto begin = Clock::now();
    const libtorch::Batch batch = task_.batch({options_.seed, position_.epoch}, i);
    const at::Tensor loss = model_->loss(batch);
    (length_.accumulate == 1 ? loss : loss / static_cast<double>(length_.accumulate)).backward();
    loss_ = loss.item<double>();
    tokens_ += static_cast<double>(batch.tokens.numel());
    batches_ += 1;
    training_seconds_ += since(begin);
    tell();
    return *loss_;
  }

  void log_step(double loss) {
    const auto& options =
        dynamic_cast<const libtorch::GroupOptions&>(optimizer_->param_groups()[0].options());
    const StepInfo info = info_of(optimizer_->last_step());
    log({{"event", "step"},
         {"step", position_.step},
         {"epoch", position_.epoch},
         {"loss", loss},
         {"lr", options.settings().lr},
         {"tau", info.tau},
         {"increment_norm", json_number(info.increment_norm)},
         {"effective_beta", info.effective_beta},
         {"clipped_share", info.clipped_share},
         {"non_finite", info.non_finite},
         {"seconds", seconds()}});
  }

  [[nodiscard]] double seconds() const { return earlier_ + since(start_); }
  [[nodiscard]] double speed() const {
    return training_seconds_ > 0 ? tokens_ / training_seconds_ : 0;
  }

  // `share` of an evaluation is done, and so many seconds of it are left.
  void tell(std::optional<double> share = {}, double evaluation_left = 0) {
    if (!report_) return;
    std::optional<double> left;
    if (batches_ > 0) {
      const std::size_t steps = length_.total - std::min(position_.step, length_.total);
      const auto batches = static_cast<double>(steps * length_.samples * length_.accumulate);
      const auto evaluations =
          static_cast<double>((steps + length_.per_epoch - 1) / length_.per_epoch);
      left = training_seconds_ / batches_ * batches + evaluation_left +
             position_.evaluation_seconds * evaluations;
    }
    report_({position_.step, length_.total, loss_, speed(), left, share});
  }

  static constexpr double kRunningSteps = 50;
  static constexpr double kSaveSeconds = 600;

  const Task& task_;
  TrainingOptions options_;
  const std::function<void(const TrainingProgress&)>& report_;
  const std::atomic<bool>* stop_;
  RunLength length_;
  Json config_;
  std::optional<FolderLock> lock_;
  std::shared_ptr<libtorch::Model> model_;
  std::unique_ptr<libtorch::TrackingOptimizer> optimizer_;
  std::optional<libtorch::Scheduler> scheduler_;
  Position position_;
  LineFile metrics_;
  TrainingResult result_;
  Clock::time_point start_ = Clock::now(), saved_ = start_;
  bool unsaved_ = true;  // there is something that the checkpoint does not have
  double earlier_ = 0;   // seconds before this call
  std::optional<double> loss_;
  double tokens_ = 0, batches_ = 0, training_seconds_ = 0;  // of this call
};

}  // namespace

bool is_usable(const Evaluation& one, const Evaluation& before_training) {
  const double loss = score(one.scores, "training_loss");
  return std::isfinite(loss) &&
         !(loss > kTooLarge * score(before_training.scores, "training_loss"));
}

TrainingResult train(const Task& task, const TrainingOptions& options,
                     const std::function<void(const TrainingProgress&)>& report,
                     const std::atomic<bool>* stop) {
  return Run(task, options, report, stop).go();
}

}  // namespace medgrad::language
