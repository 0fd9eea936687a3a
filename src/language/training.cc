#include "language/training.h"

#include <fmt/core.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <system_error>

#include "base/json.h"
#include "base/remedy.h"
#include "language/run.h"
#include "medgrad/error.h"

namespace medgrad::language {
namespace {

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

constexpr double kRunningSteps = 50;
constexpr double kSaveSeconds = 600;

}  // namespace

Run::Run(const Task& task, TrainingOptions options, const Report& report,
         const std::atomic<bool>* stop)
    : task_(task),
      options_(std::move(options)),
      length_(length_of(task, options_)),
      folder_(options_.folder, config_of(task, options_)),
      corrupted_(options_.corrupted, options_.seed, task),
      report_(report),
      stop_(stop) {
  if (options_.bfloat16 && !std::holds_alternative<OnlineGradient>(options_.gradient))
    throw Error(
        fmt::format("bfloat16 is for the state of methods that track one estimate and keep nothing "
                    "else, such as vclip; {} is none.",
                    options_.method.substr(0, options_.method.find(' '))));
  model_ = task.make_model(options_.seed);
  model_->train();
  optimizer_ = libtorch::make_optimizer(options_.gradient, model_->parameters(), options_.lr);
  optimizer_->name_parameters(*model_);
  if (options_.bfloat16)
    for (auto& group : optimizer_->param_groups())
      dynamic_cast<libtorch::MedianSGDOptions&>(group.options()).state(libtorch::State::bfloat16);
  if (options_.per_tensor)
    for (auto& group : optimizer_->param_groups())
      dynamic_cast<libtorch::GroupOptions&>(group.options()).settings().scope =
          libtorch::Scope::tensor;
  scheduler_.emplace(*optimizer_, libtorch::ScheduleOptions{options_.lr_schedule,
                                                            options_.tau_schedule, length_.total});
}

TrainingResult Run::go() {
  run();
  result_.interrupted = stopped();
  result_.evaluations = position_.evaluations;
  result_.steps = position_.step;
  result_.seconds = seconds();
  result_.tokens_per_second = speed();
  result_.leads = leads();
  return result_;
}

void Run::run() {
  open_folder();
  go_to_the_end();
}

void Run::go_to_the_end() {
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
  if (!result_.diverged && unsaved_) save(true);
}

void Run::open_folder() {
  if (!options_.resume || options_.folder.empty()) {
    folder_.begin();
    return;
  }
  go_on_from(folder_.resume(trainee()));
  if (position_.step > length_.total)
    throw WithRemedy<Error>([folder = options_.folder.string(), step = position_.step,
                             total = length_.total](const auto& name) {
      return fmt::format(
          "{} is at step {} already, of {} requested; choose another {} for a shorter run.", folder,
          step, total, name("out"));
    });
  unsaved_ = false;
}

void Run::go_on_from(Position position) {
  position_ = std::move(position);
  model_->reseed(options_.seed, position_.dropout_step);
  earlier_ = position_.seconds;
  start_ = Clock::now();
}

const Position& Run::at_present() {
  position_.dropout_step = model_->step();
  position_.seconds = seconds();
  return position_;
}

void Run::save(bool last) {
  saved_ = Clock::now();
  if (options_.folder.empty() || !leads() || !folder_.is_open()) return;
  (void)at_present();
  try {
    folder_.save(position_, trainee());
    unsaved_ = false;
  } catch (const std::system_error& error) {
    if (last || !is_patient()) throw;
    if (options_.tell)
      options_.tell(fmt::format("{}; the run goes on without a checkpoint.", error.what()));
  }
}

void Run::log(const Json& line) {
  if (!options_.folder.empty()) folder_.log(line, is_patient());
}

// False where it was stopped.
bool Run::evaluate() {
  const auto begin = Clock::now();
  const auto goes_on = [&](double share) {
    tell(share, since(begin) * (1 - share) / share);
    return !wants_to_stop();
  };
  Scores scores = task_.evaluate(*model_, goes_on);
  if (scores.empty()) {
    evaluation_was_stopped();
    return false;
  }
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

bool Run::step() {
  const std::uint64_t dropout_step = model_->step();
  auto* const sampler = dynamic_cast<libtorch::SampleMedianSGD*>(optimizer_.get());
  std::size_t next = position_.batch;
  const bool bad = corrupted_.contains(position_.step);
  const Labels labels =
      bad && corrupted_.shuffles_labels() ? Labels::shuffled : Labels::as_they_are;
  double sum = 0;
  for (std::size_t s = 0; s < length_.samples; ++s) {
    model_->zero_grad(true);
    for (std::size_t k = 0; k < length_.accumulate; ++k) {
      if (stopped()) {
        model_->reseed(options_.seed, dropout_step);
        return false;
      }
      sum += backward(next++, labels);
    }
    if (bad) corrupted_.corrupt(model_->parameters(), position_.step * length_.samples + s);
    if (sampler != nullptr) sampler->observe();
  }
  return advance(sum / static_cast<double>(length_.samples * length_.accumulate), next);
}

bool Run::advance(double loss, std::size_t next) {
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

double Run::backward(std::size_t i, Labels labels) {
  const auto begin = Clock::now();
  libtorch::Batch batch = task_.batch({options_.seed, position_.epoch}, i);
  if (labels == Labels::flipped) batch = *task_.flipped(std::move(batch));
  if (labels == Labels::shuffled)
    batch = corrupted_.shuffled(
        std::move(batch),
        position_.step * length_.samples * length_.accumulate + (i - position_.batch));
  const at::Tensor loss = model_->loss(batch);
  (length_.accumulate == 1 ? loss : loss / static_cast<double>(length_.accumulate)).backward();
  loss_ = loss.item<double>();
  tokens_ += static_cast<double>(batch.tokens.numel());
  batches_ += 1;
  training_seconds_ += since(begin);
  tell();
  return *loss_;
}

void Run::log_step(double loss) {
  const auto& options =
      dynamic_cast<const libtorch::GroupOptions&>(optimizer_->param_groups()[0].options());
  const StepInfo info = info_of(optimizer_->last_step());
  Json line = {{"event", "step"},
               {"step", position_.step},
               {"epoch", position_.epoch},
               {"loss", loss},
               {"lr", options.settings().lr},
               {"tau", info.tau},
               {"increment_norm", json_number(info.increment_norm)},
               {"effective_beta", info.effective_beta},
               {"clipped_share", info.clipped_share},
               {"non_finite", info.non_finite},
               {"seconds", seconds()}};
  add_to_line(line);
  log(line);
}

// `share` of an evaluation is done, and so many seconds of it are left.
void Run::tell(std::optional<double> share, double evaluation_left) {
  if (!report_ || !leads()) return;
  std::optional<double> left;
  if (batches_ > 0) {
    const std::size_t steps = length_.total - std::min(position_.step, length_.total);
    const auto batches = static_cast<double>(steps * batches_of_step());
    const auto evaluations =
        static_cast<double>((steps + length_.per_epoch - 1) / length_.per_epoch);
    left = training_seconds_ / batches_ * batches + evaluation_left +
           position_.evaluation_seconds * evaluations;
  }
  report_({position_.step, length_.total, loss_, speed(), left, share});
}

bool is_usable(const Evaluation& one, const Evaluation& before_training) {
  const double loss = score(one.scores, "training_loss");
  return std::isfinite(loss) &&
         !(loss > kTooLarge * score(before_training.scores, "training_loss"));
}

TrainingResult train(const Task& task, const TrainingOptions& options, const Report& report,
                     const std::atomic<bool>* stop) {
  if (options.workers) return make_joint_run(task, options, report, stop)->go();
  return Run(task, options, report, stop).go();
}

}  // namespace medgrad::language
