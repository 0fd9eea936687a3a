#include "language/training.h"

#include <torch/torch.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <optional>

#include "language/checkpoint.h"
#include "language/json.h"
#include "medgrad/error.h"
#include "medgrad/torch/optim.h"
#include "medgrad/torch/schedule.h"
#include "medgrad/version.h"

namespace medgrad::language {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Json json_of(const Schedule& schedule) {
  return {{"kind", static_cast<int>(schedule.kind)},
          {"value", schedule.value},
          {"factor", schedule.factor},
          {"every", schedule.every},
          {"warmup", schedule.warmup}};
}

// Does it matter how long the run is meant to be?
bool needs_length(const Schedule& schedule) {
  return schedule.kind == Schedule::Kind::cosine || schedule.kind == Schedule::Kind::horizon;
}

// Everything the numbers depend on. A run may be made longer, unless its schedule has an end.
Json config_of(const Task& task, const TrainingOptions& options, std::size_t total) {
  const TaskOptions& of = task.options();
  Json json = {{"version", kVersion},
               {"task", task.info().name},
               {"size", of.size == Size::paper ? "paper" : "small"},
               {"batch", of.batch},
               {"dropout", of.dropout.value_or(task.info().dropout)},
               {"drop_last", of.drop_last},
               {"limit", of.limit},
               {"evaluation_limit", of.evaluation_limit},
               {"data_seed", of.seed},
               {"method", options.method},
               {"lr", options.lr},
               {"lr_schedule", json_of(options.lr_schedule)},
               {"tau_schedule", json_of(options.tau_schedule)},
               {"accumulate", options.accumulate},
               {"seed", options.seed}};
  if (needs_length(options.lr_schedule) || needs_length(options.tau_schedule))
    json["steps"] = total;
  return json;
}

class Run {
 public:
  Run(const Task& task, TrainingOptions options,
      const std::function<void(const TrainingProgress&)>& report, const std::atomic<bool>* stop)
      : task_(task), options_(std::move(options)), report_(report), stop_(stop) {
    if (options_.accumulate == 0) options_.accumulate = task.info().accumulate;
    const auto* sample = std::get_if<SampleGradient>(&options_.gradient);
    samples_ = sample != nullptr ? sample->n : 1;
    per_epoch_ = task.batches() / (options_.accumulate * samples_);
    if (per_epoch_ == 0)
      throw Error(
          "an epoch has fewer batches than one step takes; use a smaller batch or accumulate.");
    total_ = options_.epochs * per_epoch_;
    if (options_.steps != 0) total_ = options_.steps;
    config_ = config_of(task, options_, total_).dump(2).append("\n");
    model_ = task.make_model(options_.seed);
    model_->train();
    optimizer_ = torch::make_optimizer(options_.gradient, model_->parameters(), options_.lr);
    optimizer_->name_parameters(*model_);
    scheduler_.emplace(*optimizer_,
                       torch::ScheduleOptions{options_.lr_schedule, options_.tau_schedule, total_});
    open_folder();
  }

  TrainingResult go() {
    while (!ended()) {
      if (position_.batch == 0 && !evaluated()) {
        if (!evaluate()) break;
        continue;
      }
      if (position_.step >= total_) break;
      if (!step()) break;
      if (position_.step % options_.checkpoint_every == 0) save();
    }
    // A run that ends within an epoch is looked at there.
    if (!ended() && position_.step >= total_ && !evaluated()) (void)evaluate();
    if (!result_.diverged) save();
    result_.interrupted = stopped();
    result_.evaluations = position_.evaluations;
    result_.steps = position_.step;
    result_.seconds = since(start_);
    result_.tokens_per_second = training_seconds_ > 0 ? tokens_ / training_seconds_ : 0;
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
    fs::create_directories(options_.folder, failed);
    if (failed)
      throw Error(options_.folder.string()
                      .append(" cannot be made: ")
                      .append(failed.message())
                      .append("."));
    const fs::path config = options_.folder / "config.json",
                   metrics = options_.folder / "metrics.jsonl";
    if (options_.resume) {
      position_ = load_checkpoint(checkpoint(), config_, *model_, *optimizer_, *scheduler_);
      model_->reseed(options_.seed, position_.dropout_step);
      if (!fs::exists(metrics) || fs::file_size(metrics) < position_.metrics_bytes)
        throw Error(metrics.string().append(" has lost lines that the checkpoint knows of."));
      fs::resize_file(metrics, position_.metrics_bytes);
    } else if (fs::exists(checkpoint())) {
      throw Error(options_.folder.string().append(
          " holds a run already; --resume goes on with it, another --out starts a new one."));
    } else {
      std::ofstream(config, std::ios::binary) << config_;
      fs::remove(metrics);
    }
    metrics_.open(metrics, std::ios::binary | std::ios::app);
    if (!metrics_) throw Error(metrics.string().append(" cannot be written."));
  }

  [[nodiscard]] fs::path checkpoint() const { return options_.folder / "checkpoint.pt"; }

  void save() {
    if (options_.folder.empty()) return;
    metrics_.flush();
    position_.metrics_bytes = fs::file_size(options_.folder / "metrics.jsonl");
    position_.dropout_step = model_->step();
    save_checkpoint(checkpoint(), config_, position_, *model_, *optimizer_, *scheduler_);
  }

  void log(const Json& line) {
    if (metrics_.is_open()) metrics_ << line.dump() << "\n" << std::flush;
  }

  // False where it was stopped.
  bool evaluate() {
    const auto goes_on = [&](double) {
      tell(true);
      return !stopped();
    };
    Scores scores = task_.evaluate(*model_, goes_on);
    if (scores.empty()) return false;
    const double loss = score(scores, "training_loss");
    const double first = position_.evaluations.empty()
                             ? loss
                             : score(position_.evaluations.front().scores, "training_loss");
    Json line = {{"event", "evaluation"}, {"epoch", position_.epoch}, {"step", position_.step}};
    for (const auto& [name, value] : scores) line[name] = language::json_of(value);
    line["seconds"] = since(start_);
    log(line);
    position_.evaluations.push_back({position_.epoch, position_.step, std::move(scores)});
    result_.diverged = !std::isfinite(loss) || loss > 2 * first;
    return true;
  }

  // One step. False where the loss was not finite.
  bool step() {
    const auto begin = Clock::now();
    auto* const sampler = dynamic_cast<torch::SampleMedianSGD*>(optimizer_.get());
    double sum = 0;
    for (std::size_t s = 0; s < samples_; ++s) {
      model_->zero_grad(true);
      for (std::size_t k = 0; k < options_.accumulate; ++k) {
        const torch::Batch batch = task_.batch(position_.epoch, position_.batch++);
        const at::Tensor loss = model_->loss(batch);
        (options_.accumulate == 1 ? loss : loss / static_cast<double>(options_.accumulate))
            .backward();
        sum += loss.item<double>();
        tokens_ += static_cast<double>(batch.tokens.numel());
      }
      if (sampler != nullptr) sampler->observe();
    }
    loss_ = sum / static_cast<double>(samples_ * options_.accumulate);
    if (!std::isfinite(loss_)) {
      result_.diverged = true;
      log({{"event", "diverged"}, {"step", position_.step}});
      return false;
    }
    optimizer_->step();
    scheduler_->step();
    ++position_.step;
    training_seconds_ += since(begin);
    if (position_.step % options_.log_every == 0) log_step();
    // What is left of an epoch and makes no step is left out.
    if (position_.step % per_epoch_ == 0) {
      ++position_.epoch;
      position_.batch = 0;
    }
    tell(false);
    return true;
  }

  void log_step() {
    const auto& options =
        dynamic_cast<const torch::GroupOptions&>(optimizer_->param_groups()[0].options());
    const StepInfo& info = optimizer_->last_step().front().info;
    log({{"event", "step"},
         {"step", position_.step},
         {"epoch", position_.epoch},
         {"loss", loss_},
         {"lr", options.settings().lr},
         {"tau", options.tau()},
         {"increment_norm", language::json_of(info.increment_norm)},
         {"effective_beta", info.effective_beta},
         {"clipped_share", info.clipped_share},
         {"non_finite", info.non_finite},
         {"seconds", since(start_)}});
  }

  void tell(bool evaluating) {
    if (!report_) return;
    const double speed = training_seconds_ > 0 ? tokens_ / training_seconds_ : 0;
    const auto done = static_cast<double>(position_.step), all = static_cast<double>(total_);
    const double fresh = done - static_cast<double>(first_step_);
    const double left = fresh > 0 ? since(start_) / fresh * (all - done) : 0;
    report_({position_.step, total_, loss_, speed, left, evaluating});
  }

  const Task& task_;
  TrainingOptions options_;
  const std::function<void(const TrainingProgress&)>& report_;
  const std::atomic<bool>* stop_;
  std::size_t samples_ = 1, per_epoch_ = 0, total_ = 0, first_step_ = 0;
  std::string config_;
  std::shared_ptr<torch::Model> model_;
  std::unique_ptr<torch::TrackingOptimizer> optimizer_;
  std::optional<torch::Scheduler> scheduler_;
  Position position_;
  std::ofstream metrics_;
  TrainingResult result_;
  Clock::time_point start_ = Clock::now();
  double loss_ = 0, tokens_ = 0, training_seconds_ = 0;
};

}  // namespace

TrainingResult train(const Task& task, const TrainingOptions& options,
                     const std::function<void(const TrainingProgress&)>& report,
                     const std::atomic<bool>* stop) {
  return Run(task, options, report, stop).go();
}

}  // namespace medgrad::language
