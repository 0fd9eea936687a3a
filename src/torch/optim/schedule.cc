#include "medgrad/torch/schedule.h"

#include <torch/torch.h>

#include "medgrad/error.h"

namespace medgrad::libtorch {
namespace {

GroupOptions& options_of(::torch::optim::OptimizerParamGroup& group) {
  return dynamic_cast<GroupOptions&>(group.options());
}

}  // namespace

Scheduler::Scheduler(TrackingOptimizer& optimizer, ScheduleOptions options)
    : optimizer_(optimizer), options_(options) {
  for (auto& group : optimizer_.param_groups()) {
    lr_.push_back(options_of(group).settings().lr);
    tau_.push_back(options_of(group).tau());
  }
  apply();
}

void Scheduler::step() {
  ++t_;
  apply();
}

// A factor of 0, as at the end of a cosine, stops w but cannot be a tau: that one stays.
void Scheduler::apply() {
  const double lr = options_.lr.at(t_, options_.steps), tau = options_.tau.at(t_, options_.steps);
  auto& groups = optimizer_.param_groups();
  for (std::size_t k = 0; k < groups.size() && k < lr_.size(); ++k) {
    GroupOptions& options = options_of(groups[k]);
    options.settings().lr = lr_[k] * lr;
    if (tau_[k] * tau > 0) options.set_tau(tau_[k] * tau);
  }
}

void Scheduler::save(::torch::serialize::OutputArchive& archive) const {
  archive.write("t", c10::IValue(static_cast<std::int64_t>(t_)));
  archive.write("lr", at::tensor(lr_, at::kDouble), true);
  archive.write("tau", at::tensor(tau_, at::kDouble), true);
}

void Scheduler::load(::torch::serialize::InputArchive& archive) {
  c10::IValue t;
  Tensor lr, tau;
  if (!archive.try_read("t", t) || !archive.try_read("lr", lr) || !archive.try_read("tau", tau))
    throw Error("the file has no saved scheduler of medgrad.");
  const auto groups = static_cast<std::int64_t>(lr_.size());
  if (lr.numel() != groups || tau.numel() != groups)
    throw Error("the saved scheduler has a different number of parameter groups.");
  t_ = static_cast<std::uint64_t>(t.toInt());
  lr_.assign(lr.data_ptr<double>(), lr.data_ptr<double>() + groups);
  tau_.assign(tau.data_ptr<double>(), tau.data_ptr<double>() + groups);
  apply();
}

}  // namespace medgrad::libtorch
