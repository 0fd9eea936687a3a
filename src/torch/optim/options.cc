#include "medgrad/torch/options.h"

#include <fmt/core.h>

#include <algorithm>

#include "medgrad/error.h"
#include "medgrad/optimize.h"

namespace medgrad::libtorch {
namespace {

// Ranges; a user's distance may have its operations in one element type only, which one is the
// model's business.
void validate_online(const OnlineMethod& method) {
  try {
    medgrad::validate<double>(method);
  } catch (const Error&) {
    medgrad::validate<float>(method);
  }
}

}  // namespace

void GroupOptions::validate() const { check_fields(settings_); }

double MedianSGDOptions::tau() const { return tau_of(method_); }
void MedianSGDOptions::set_tau(double value) { medgrad::set_tau(method_, value); }
std::string MedianSGDOptions::method_line() const {
  return fmt::format("{}{}{}", state_line(method_), start_ == Start::cold ? " cold" : " warm",
                     state_ == State::bfloat16 ? " bfloat16" : "");
}
void MedianSGDOptions::validate() const {
  GroupOptions::validate();
  validate_online(method_);
}

std::string ClippedSGDOptions::method_line() const { return state_line(method_); }
void ClippedSGDOptions::validate() const {
  GroupOptions::validate();
  validate_online(method_);
}

std::string SignSGDOptions::method_line() const {
  return fmt::format("{} cold", state_line(online()));
}

double MedianAdamOptions::beta1() const {
  if (method_.beta1 != kAutomaticNumber) return method_.beta1;
  if (const auto* prox = std::get_if<ProximalPoint>(&method_.first);
      prox != nullptr && std::holds_alternative<Squared>(prox->distance.variant()))
    return 1 / (1 + prox->tau);
  if (const auto* sub = std::get_if<Subgradient>(&method_.first);
      sub != nullptr && std::holds_alternative<Squared>(sub->distance.variant()))
    return std::max(0.0, 1 - sub->tau);
  return 0;
}
AdaptiveGradient MedianAdamOptions::adaptive() const {
  AdaptiveGradient method = method_;
  method.beta1 = beta1();
  return method;
}
double MedianAdamOptions::tau() const { return method_.cuts() ? 0 : tau_of(method_.first); }
void MedianAdamOptions::set_tau(double value) {
  if (tau() > 0) medgrad::set_tau(method_.first, value);
}
std::string MedianAdamOptions::method_line() const {
  (void)state_line(method_.first);  // throws where its distance has no name
  return describe(method_, "tau");
}
// Earlier versions wrote no name, eps for epsilon, and beta1 and cut only where they were set.
bool MedianAdamOptions::is_line(std::string_view line) const {
  if (line == method_line()) return true;
  std::string earlier = fmt::format("{} beta2={} eps={}", state_line(method_.first),
                                    number(method_.beta2), number(method_.epsilon));
  if (method_.beta1 != kAutomaticNumber) earlier += fmt::format(" beta1={}", number(method_.beta1));
  if (method_.cuts()) earlier += fmt::format(" cut={}", number(method_.cut));
  return line == earlier;
}
void MedianAdamOptions::validate() const {
  GroupOptions::validate();
  medgrad::validate(GradientMethod(adaptive()));
  validate_online(method_.first);
}

double SampleMedianSGDOptions::tau() const { return worker_tau(worker_); }
void SampleMedianSGDOptions::set_tau(double value) { set_worker_tau(worker_, value); }
std::string SampleMedianSGDOptions::method_line() const {
  std::string line = fmt::format("{} n={}", describe(method_), n_);
  if (const auto* online = std::get_if<OnlineMethod>(&worker_)) {
    line += fmt::format(" of {}", state_line(*online));
  } else if (has_workers()) {
    line += fmt::format(" of {}", describe(worker_, "tau"));
  }
  return line;
}
void SampleMedianSGDOptions::validate() const {
  GroupOptions::validate();
  medgrad::validate(GradientMethod(SampleGradient{method_, n_}));
  if (const auto* online = std::get_if<OnlineMethod>(&worker_)) {
    validate_online(*online);
  } else {
    validate_worker<double>(worker_);
  }
}

}  // namespace medgrad::libtorch
