#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/remedy.h"
#include "base/text.h"
#include "language/flat_gradient.h"
#include "language/run.h"
#include "language/team.h"
#include "medgrad/error.h"

namespace medgrad::language {
namespace {

class JointRun final : public Run {
 public:
  JointRun(const Task& task, const TrainingOptions& options, const Report& report,
           const std::atomic<bool>* stop)
      : Run(task, options, report, stop), how_(*options.workers) {
    make_team();
  }

 private:
  void run() override {
    if (!team_->has_others()) {
      Run::run();
    } else {
      try {
        come_together();
        if (team_->joined_late() || team_->members().size() < how_.workers) log_members();
        go_to_the_end();
      } catch (const TooFew& few) {
        throw ended_early(few);
      }
      team_->part();
    }
    result_.blame = team_->state.blame;
  }

  bool leads() const override { return team_->leads(); }
  // A full disk is no reason for all to stop.
  bool is_patient() const override { return team_->has_others(); }
  // Others are told, and all stop after the same step.
  bool stopped() const override { return team_->has_others() ? agreed_ : wants_to_stop(); }
  // The others are told where they expect this worker next: in a step, which nobody takes then.
  void evaluation_was_stopped() override {
    agreed_ = true;
    if (!team_->has_others() || position_.step >= length_.total) return;
    for (Contribution& one : mine_) {
      std::ranges::fill(one.gradient, 0.0F);
      one.loss = std::numeric_limits<float>::quiet_NaN();
    }
    try {
      (void)team_->combine(position_.step, mine_, Wish::stop_before, joint_);
    } catch (const dist::Lost&) {
      save_if_nobody_did();  // they have stopped already, or go on without it
    }
  }
  Trainee trainee() override {
    Trainee all = Run::trainee();
    all.team = &team_->state;
    return all;
  }
  void add_to_line(Json& line) const override {
    line["blame"] = json_of(team_->state.blame.records());
  }
  std::size_t batches_of_step() const override { return mine_.size() * length_.accumulate; }

  void make_team() {
    if (length_.samples > 1)
      throw Error("a method that looks at several gradients in a step cannot have workers.");
    team_ = options_.team;
    if (team_ == nullptr) {
      simulated_ = make_simulated_team(how_);
      team_ = simulated_.get();
    }
    const bool flips = (how_.byzantine > 0 && needs_data(how_.attack)) ||
                       std::ranges::any_of(how_.events, [](const Event& one) {
                         return one.kind == Event::Kind::lies && needs_data(one.attack);
                       });
    if (flips && !task_.flipped(task_.batch_in_order(0)))
      throw Error(fmt::format("{} has no labels to flip; choose another attack than label-flip.",
                              task_.info().name));
    parameters_ = model_->parameters();
    joint_.resize(dimension_of(parameters_));
    look_who_is_here();
  }

  void look_who_is_here() {
    const std::vector<int> here = team_->here();
    if (std::ranges::equal(here, mine_, {}, {}, &Contribution::worker)) return;
    mine_.clear();
    for (const int worker : here) mine_.push_back({worker, joint_});
  }

  // What the run depends on.
  [[nodiscard]] std::vector<dist::Setting> settings() const {
    std::vector<dist::Setting> all;
    for (const auto& [name, value] : folder_.config().items()) all.push_back({name, value.dump()});
    return all;
  }

  // Before the first step, and whenever somebody is gone or has come.
  void come_together() {
    was_let_in_ = false;
    while (true) {
      try {
        team_->gather();
        was_let_in_ = was_let_in_ || team_->was_let_in();
        team_->check_settings(settings());
        if (team_->leads() && !has_state_) {
          if (!team_->joined_late()) {
            open_folder();
            has_state_ = options_.resume;
          } else if (folder_.has_checkpoint()) {  // nobody else may be left who knows
            go_on_from(folder_.load(trainee()));
            has_state_ = true;
          }
        }
        team_->catch_up(
            has_state_ ? std::optional<std::uint64_t>(position_.step) : std::nullopt,
            [&] { return checkpoint_text(folder_.config(), at_present(), trainee()); },
            [&](const std::string& text) {
              go_on_from(
                  read_checkpoint(text, "what the other workers do", folder_.config(), trainee()));
            });
        break;
      } catch (const dist::Lost& lost) {
        // Again, without whoever is gone.
        if (options_.tell && !lost.ranks().empty()) options_.tell(lost.what());
      }
    }
    has_state_ = true;
    // Where others were at work without it, one of them has written since.
    if (!leads() || was_let_in_) folder_.leave();
    if (leads() && !folder_.is_open()) folder_.take_over(position_.step);
  }

  // After somebody was lost or has come. One that was away does not know what has changed.
  void come_together_again() {
    const std::vector<int> before = team_->members();
    come_together();
    if (was_let_in_ || team_->members() != before) log_members();
  }

  void log_members() {
    const std::vector<int> now = team_->members();
    const Json line = {{"event", "workers"}, {"step", position_.step}, {"workers", now}};
    log(line);
    if (options_.tell && leads())
      options_.tell(fmt::format("After step {}: {} together.", position_.step,
                                counted(now.size(), "worker is", "workers are")));
  }

  // The one that writes may be dead: then the next one does at the end, where it is farther than
  // what there is.
  void save_if_nobody_did() {
    if (!leads() || folder_.is_open() || !has_state_) return;
    if (const auto saved = folder_.saved_step(); !saved || *saved < position_.step)
      folder_.take_over(position_.step);
  }

  // What is left of a run with too few workers.
  [[nodiscard]] WithRemedy<std::runtime_error> ended_early(const TooFew& few) {
    const bool saves = leads() && has_state_ && !options_.folder.empty();
    if (saves) {
      if (!folder_.is_open()) folder_.take_over(position_.step);
      save(true);
    }
    team_->part();
    return WithRemedy<std::runtime_error>(
        [saves, what = std::string(few.what()), step = position_.step](const auto& name) {
          if (!saves) return what;
          return fmt::format("{} The run is saved at step {}; rerun with {} to continue.", what,
                             step, name("resume"));
        });
  }

  bool step() override {
    const std::size_t first = position_.batch, each = length_.accumulate;
    const bool changed = team_->begin(position_.step);
    look_who_is_here();
    for (Contribution& one : mine_) {
      const auto worker = static_cast<std::size_t>(one.worker);
      const auto begin = Clock::now();
      if (!contribute(one, first + worker * each)) return false;
      one.seconds = since(begin);
    }
    Joint joint;
    try {
      joint = team_->combine(position_.step, mine_,
                             wants_to_stop() ? Wish::stop_after : Wish::go_on, joint_);
    } catch (const dist::Lost& lost) {
      if (!team_->has_others()) throw;
      if (wants_to_stop()) {
        agreed_ = true;
        save_if_nobody_did();
        return false;
      }
      if (options_.tell) options_.tell(lost.what());
      come_together_again();
      return true;
    }
    agreed_ = team_->has_others() && joint.wish != Wish::go_on;
    if (joint.wish == Wish::stop_before) return false;
    if (changed) log_members();
    put_gradient(joint_, parameters_);
    const bool goes_on = advance(joint.loss, first + how_.workers * each);
    if (goes_on && joint.waits && !agreed_) come_together_again();
    return goes_on;
  }

  // A worker's gradient: the mean over its batches. Dropout is a function of the number of the
  // batch. False where the run was stopped.
  bool contribute(Contribution& one, std::size_t batch) {
    const Attack* const lie = how_.lie_of(one.worker, position_.step);
    const bool lies = lie != nullptr, counts = !lies || needs_data(*lie);
    const std::uint64_t drawn =
        (position_.step * how_.workers + static_cast<std::size_t>(one.worker)) * length_.accumulate;
    double sum = 0;
    model_->zero_grad(true);
    for (std::size_t k = 0; k < length_.accumulate && counts; ++k) {
      if (stopped()) return false;
      model_->reseed(options_.seed, drawn + k);
      sum += backward(batch + k, lies ? Labels::flipped : Labels::as_they_are);
    }
    if (counts) copy_gradient(parameters_, one.gradient);
    one.loss = lies ? std::numeric_limits<float>::quiet_NaN()
                    : static_cast<float>(sum / static_cast<double>(length_.accumulate));
    return true;
  }

  TeamOptions how_;
  std::unique_ptr<Team> simulated_;
  Team* team_ = nullptr;
  std::vector<Contribution> mine_;  // of those that this process is
  std::vector<at::Tensor> parameters_;
  LargeVector<float> joint_;  // the gradient of all
  bool has_state_ = false;    // it is part of a run
  bool was_let_in_ = false;   // when they came together, others were at work without it
  bool agreed_ = false;       // to stop
};

}  // namespace

std::unique_ptr<Run> make_joint_run(const Task& task, const TrainingOptions& options,
                                    const Report& report, const std::atomic<bool>* stop) {
  return std::make_unique<JointRun>(task, options, report, stop);
}

}  // namespace medgrad::language
