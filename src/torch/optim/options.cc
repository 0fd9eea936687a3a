#include "medgrad/torch/options.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/text.h"
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

void GroupOptions::validate() const {
  if (!std::isfinite(settings_.lr) || settings_.lr < 0)
    throw Error(std::string("lr is ")
                    .append(number(settings_.lr))
                    .append("; it must be at least 0 and finite."));
  if (!std::isfinite(settings_.weight_decay) || settings_.weight_decay < 0)
    throw Error(std::string("weight_decay is ")
                    .append(number(settings_.weight_decay))
                    .append("; it must be at least 0 and finite."));
}

double MedianSGDOptions::tau() const { return tau_of(method_); }
void MedianSGDOptions::set_tau(double value) { medgrad::set_tau(method_, value); }
std::string MedianSGDOptions::method_line() const {
  return describe(method_).append(start_ == Start::cold ? " cold" : " warm");
}
void MedianSGDOptions::validate() const {
  GroupOptions::validate();
  validate_online(method_);
}

std::string ClippedSGDOptions::method_line() const { return describe(method_); }
void ClippedSGDOptions::validate() const {
  GroupOptions::validate();
  validate_online(method_);
}

std::string SignSGDOptions::method_line() const { return describe(online()).append(" cold"); }

double MedianAdamOptions::beta1() const {
  if (const auto* prox = std::get_if<ProximalPoint>(&method_);
      prox != nullptr && std::holds_alternative<Squared>(prox->distance.variant()))
    return 1 / (1 + prox->tau);
  if (const auto* sub = std::get_if<Subgradient>(&method_);
      sub != nullptr && std::holds_alternative<Squared>(sub->distance.variant()))
    return std::max(0.0, 1 - sub->tau);
  return 0;
}
double MedianAdamOptions::tau() const { return tau_of(method_); }
void MedianAdamOptions::set_tau(double value) { medgrad::set_tau(method_, value); }
std::string MedianAdamOptions::method_line() const {
  std::ostringstream out;
  out << std::hexfloat << "adam beta2=" << beta2_ << " eps=" << eps_ << " " << describe(method_);
  return out.str();
}
void MedianAdamOptions::validate() const {
  GroupOptions::validate();
  medgrad::validate(GradientMethod(AdaptiveGradient{method_, beta1(), beta2_, eps_}));
  validate_online(method_);
}

std::string SampleMedianSGDOptions::method_line() const {
  std::ostringstream out;
  out << std::hexfloat << "n=" << n_ << " kind=" << method_.index();
  if (const auto* lp = std::get_if<LpMedian>(&method_)) out << " p=" << lp->p;
  if (const auto* means = std::get_if<MedianOfMeans>(&method_))
    out << " blocks=" << means->blocks << " p=" << means->p;
  if (const auto* huber = std::get_if<HuberLocation>(&method_)) out << " mu=" << huber->mu;
  if (const auto* clip = std::get_if<SampleClippedMean>(&method_)) out << " clip=" << clip->clip;
  if (const auto* trim = std::get_if<TrimmedMean>(&method_)) out << " f=" << trim->f;
  return out.str();
}
void SampleMedianSGDOptions::validate() const {
  GroupOptions::validate();
  if (n_ == 0) throw Error("n is 0; a step needs at least one gradient.");
  medgrad::validate(method_, n_);
}

}  // namespace medgrad::libtorch
