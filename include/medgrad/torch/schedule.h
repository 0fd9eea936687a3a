// Learning rates that change over a run, and tau with them.
//
//     Scheduler scheduler(optimizer, {.lr = CosineSchedule{.warmup = 100},
//                                     .tau = CosineSchedule{}, .steps = 10'000});
//     for (…) { …; optimizer.step(); scheduler.step(); }
//
// A schedule is a factor here: lr and tau of every group, as they were when the scheduler was made,
// are multiplied by its value. torch::optim's own schedulers work too, for lr alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "medgrad/optimize.h"
#include "medgrad/torch/optim.h"

namespace medgrad::libtorch {

struct ScheduleOptions {
  Schedule lr = {};       // constant, step, cosine, … and a linear warm-up (schedule.h)
  Schedule tau = {};      // the same for tau; leave it out and tau stays
  std::size_t steps = 1;  // T, for the kinds that need it
};

class Scheduler {
 public:
  // Sets lr and tau for the first step. The optimiser must outlive the scheduler. Throws Error
  // where a parameter of a schedule is out of its range, and where tau would be 0 all the time.
  Scheduler(TrackingOptimizer& optimizer, ScheduleOptions options);

  // Sets them for the next step.
  void step();
  [[nodiscard]] std::uint64_t steps() const { return t_; }

  // What the schedule needs to go on bit for bit, as JSON: t, what the schedules are, and lr and
  // tau at its start. Restore the optimiser first. Throws Error, and changes nothing, where the
  // state is that of other schedules, or does not say of which (as those of earlier versions).
  [[nodiscard]] std::string saved_state() const;
  void restore(const std::string& json);
  // The same in an archive of libtorch.
  void save(::torch::serialize::OutputArchive& archive) const;
  void load(::torch::serialize::InputArchive& archive);

 private:
  void apply();
  [[nodiscard]] std::string description() const;

  TrackingOptimizer& optimizer_;
  ScheduleOptions options_;
  std::vector<double> lr_, tau_;  // of the groups, at the start
  std::uint64_t t_ = 0;
};

}  // namespace medgrad::libtorch
