#include "medgrad/torch/schedule.h"

#include <fmt/core.h>
#include <torch/torch.h>

#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "medgrad/error.h"

namespace medgrad::libtorch {
namespace {

GroupOptions& options_of(::torch::optim::OptimizerParamGroup& group) {
  return dynamic_cast<GroupOptions&>(group.options());
}

}  // namespace

Scheduler::Scheduler(TrackingOptimizer& optimizer, ScheduleOptions options)
    : optimizer_(optimizer), options_(options) {
  validate(options_.lr);
  validate(options_.tau);
  // A tau of 0 cannot be.
  check("value", largest(options_.tau), range::positive);
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
  const double lr = value_at(options_.lr, t_, options_.steps),
               tau = value_at(options_.tau, t_, options_.steps);
  auto& groups = optimizer_.param_groups();
  for (std::size_t k = 0; k < groups.size() && k < lr_.size(); ++k) {
    GroupOptions& options = options_of(groups[k]);
    options.settings().lr = lr_[k] * lr;
    if (tau_[k] * tau > 0) options.set_tau(tau_[k] * tau);
  }
}

// The length is part of it where a schedule depends on it: a run may be made longer.
std::string Scheduler::description() const {
  std::string line = fmt::format("lr: {}, tau: {}", describe(options_.lr), describe(options_.tau));
  if (needs_length(options_.lr) || needs_length(options_.tau))
    line += fmt::format(", over {}", counted(options_.steps, "step"));
  return line;
}

std::string Scheduler::saved_state() const {
  Json json = {
      {"t", t_}, {"schedules", description()}, {"lr", Json::array()}, {"tau", Json::array()}};
  for (const double lr : lr_) json["lr"].push_back(json_number(lr));
  for (const double tau : tau_) json["tau"].push_back(json_number(tau));
  return json.dump();
}

void Scheduler::restore(const std::string& text) {
  std::uint64_t t = 0;
  std::string schedules;  // those of before did not say
  std::vector<double> lr, tau;
  try {
    const Json json = Json::parse(text);
    t = json.at("t").get<std::uint64_t>();
    if (json.contains("schedules")) schedules = json.at("schedules").get<std::string>();
    for (const Json& one : json.at("lr")) lr.push_back(number_of(one));
    for (const Json& one : json.at("tau")) tau.push_back(number_of(one));
  } catch (const Json::exception&) {
    throw Error("the saved scheduler is damaged.");
  }
  if (schedules.empty())
    throw Error(
        "the saved scheduler does not say which schedules it has, as those of earlier versions; it "
        "cannot be restored.");
  if (schedules != description())
    throw Error(fmt::format("the saved scheduler has other schedules ({}, and not {}).", schedules,
                            description()));
  if (lr.size() != lr_.size() || tau.size() != tau_.size())
    throw Error("the saved scheduler has a different number of parameter groups.");
  t_ = t;
  lr_ = std::move(lr);
  tau_ = std::move(tau);
  apply();
}

void Scheduler::save(::torch::serialize::OutputArchive& archive) const {
  archive.write("schedule", c10::IValue(saved_state()));
}

void Scheduler::load(::torch::serialize::InputArchive& archive) {
  c10::IValue json;
  if (!archive.try_read("schedule", json) || !json.isString())
    throw Error("the file has no saved scheduler of medgrad.");
  restore(json.toStringRef());
}

}  // namespace medgrad::libtorch
