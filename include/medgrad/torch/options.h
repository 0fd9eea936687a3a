// Options of the libtorch optimisers: one plain value per parameter group.
//
// They chain as torch::optim's own do:  MedianSGDOptions(0.1).method(…).weight_decay(1e-4).
#pragma once

#include <torch/optim/optimizer.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "medgrad/estimator.h"
#include "medgrad/optimize.h"
#include "medgrad/sample.h"

namespace medgrad::libtorch {

// Which components form the vector whose increment is clipped.
enum class Scope : std::uint8_t {
  global,  // all parameters of all groups with this scope: the paper's R^d
  group,   // the parameters of the group
  tensor,  // every parameter by itself
};

// What a gradient with NaN or Inf in it does.
enum class BadGradient : std::uint8_t {
  robust,  // a NaN leaves its component of m as it was, +-Inf is clipped like any large value
  skip,    // the step of its scope is left out and counted; m and w stay as they were
  raise,   // an Error that names the parameter; m and w stay as they were
};

// What m is kept in.
enum class State : std::uint8_t {
  full,      // float, double where the parameter is
  bfloat16,  // half of a float, rounded at random (medgrad/bfloat16.h): for dense float parameters
             // on the CPU
};

// What every optimiser's groups have.
struct GroupSettings {
  static constexpr About about{"group", "", "what every optimiser's groups have"};
  static constexpr auto fields() {
    return std::tuple(
        field("lr", &GroupSettings::lr, range::non_negative, "learning rate"),
        field("weight_decay", &GroupSettings::weight_decay, range::non_negative, "of w, per step"),
        choice("decoupled", &GroupSettings::decoupled, {"false", "true"},
               "weight decay beside the gradient instead of inside it"),
        choice("maximize", &GroupSettings::maximize, {"false", "true"}, "ascend"),
        choice("scope", &GroupSettings::scope, {"global", "group", "tensor"},
               "which components form the vector whose increment is clipped"),
        choice("bad_gradient", &GroupSettings::bad_gradient, {"robust", "skip", "raise"},
               "what a gradient with NaN or Inf in it does"));
  }

  double lr = 1e-3;
  double weight_decay = 0;
  bool decoupled = false;  // weight decay beside the gradient, w <- (1 - lr decay) w - lr m (as
                           // AdamW does), instead of inside it, g + decay w
  bool maximize = false;   // ascend: m tracks the gradient as ever, w <- w + lr m
  Scope scope = Scope::global;
  BadGradient bad_gradient = BadGradient::robust;
};

// The options of a group as the optimisers see them.
class GroupOptions {
 public:
  virtual ~GroupOptions() = default;
  [[nodiscard]] const GroupSettings& settings() const { return settings_; }
  [[nodiscard]] GroupSettings& settings() { return settings_; }

  // tau of the estimator, which schedules may move; 0 where it has none.
  [[nodiscard]] virtual double tau() const { return 0; }
  virtual void set_tau(double) {}
  // Everything else about the method, in one line: states of equal lines are interchangeable.
  [[nodiscard]] virtual std::string method_line() const = 0;
  // Does a saved state with that line belong to this method? Earlier versions wrote some otherwise.
  [[nodiscard]] virtual bool is_line(std::string_view line) const { return line == method_line(); }
  // Throws Error where a value is out of range.
  virtual void validate() const;

 protected:
  GroupSettings settings_;
};

// The setters, so that they chain in the type of the options.
template <class Self>
class ChainedOptions : public ::torch::optim::OptimizerCloneableOptions<Self>, public GroupOptions {
 public:
  [[nodiscard]] double lr() const { return settings_.lr; }
  Self& lr(double value) { return set(settings_.lr, value); }
  [[nodiscard]] double weight_decay() const { return settings_.weight_decay; }
  Self& weight_decay(double value) { return set(settings_.weight_decay, value); }
  [[nodiscard]] bool decoupled() const { return settings_.decoupled; }
  Self& decoupled(bool value) { return set(settings_.decoupled, value); }
  [[nodiscard]] bool maximize() const { return settings_.maximize; }
  Self& maximize(bool value) { return set(settings_.maximize, value); }
  [[nodiscard]] Scope scope() const { return settings_.scope; }
  Self& scope(Scope value) { return set(settings_.scope, value); }
  [[nodiscard]] BadGradient bad_gradient() const { return settings_.bad_gradient; }
  Self& bad_gradient(BadGradient value) { return set(settings_.bad_gradient, value); }

  // torch::optim's schedulers go through these.
  [[nodiscard]] double get_lr() const override { return settings_.lr; }
  void set_lr(const double value) override { settings_.lr = value; }

 protected:
  template <class V>
  Self& set(V& field, const V& value) {
    field = value;
    return static_cast<Self&>(*this);
  }
};

// Options of an optimiser that follows an online estimator.
class OnlineOptions {
 public:
  virtual ~OnlineOptions() = default;
  [[nodiscard]] virtual OnlineMethod online() const = 0;
  [[nodiscard]] virtual Start start() const { return Start::warm; }
  [[nodiscard]] virtual State state() const { return State::full; }
};

// m <- online estimator(g), w <- w - lr m. The default is VClip.
class MedianSGDOptions : public ChainedOptions<MedianSGDOptions>, public OnlineOptions {
 public:
  MedianSGDOptions(double lr, OnlineMethod method = ProximalPoint{L2{}, 1.0})  // NOLINT: as torch
      : method_(std::move(method)) {
    settings_.lr = lr;
  }
  [[nodiscard]] const OnlineMethod& method() const { return method_; }
  MedianSGDOptions& method(OnlineMethod value) { return set(method_, value); }
  // m is carried from step to step (warm), or taken as 0 before every step (cold).
  [[nodiscard]] Start start() const override { return start_; }
  MedianSGDOptions& start(Start value) { return set(start_, value); }
  // m in bfloat16 takes half the memory. Its random bits are those of the step, of the parameter's
  // place and of nothing else: a step has the same bits on any number of threads.
  [[nodiscard]] State state() const override { return state_; }
  MedianSGDOptions& state(State value) { return set(state_, value); }

  [[nodiscard]] OnlineMethod online() const override { return method_; }
  [[nodiscard]] double tau() const override;
  void set_tau(double value) override;
  [[nodiscard]] std::string method_line() const override;
  void validate() const override;

 private:
  OnlineMethod method_;
  Start start_ = Start::warm;
  State state_ = State::full;
};

// m <- beta m + (1 - beta) min(1, c/|g|) g, w <- w - lr m (paper, eqn. clipped-sgdm).
class ClippedSGDOptions : public ChainedOptions<ClippedSGDOptions>, public OnlineOptions {
 public:
  ClippedSGDOptions(double lr) { settings_.lr = lr; }  // NOLINT: as torch
  [[nodiscard]] double beta() const { return method_.beta; }
  ClippedSGDOptions& beta(double value) { return set(method_.beta, value); }
  [[nodiscard]] double clip() const { return method_.clip; }
  ClippedSGDOptions& clip(double value) { return set(method_.clip, value); }

  [[nodiscard]] OnlineMethod online() const override { return method_; }
  [[nodiscard]] std::string method_line() const override;
  void validate() const override;

 private:
  ClippedMean method_;
};

// w <- w - lr sign(g): a subgradient step of the l1 distance from m = 0.
class SignSGDOptions : public ChainedOptions<SignSGDOptions>, public OnlineOptions {
 public:
  SignSGDOptions(double lr) { settings_.lr = lr; }  // NOLINT: as torch
  [[nodiscard]] OnlineMethod online() const override { return Subgradient{L1{}, 1}; }
  [[nodiscard]] Start start() const override { return Start::cold; }
  [[nodiscard]] std::string method_line() const override;
};

// m <- online estimator(g), v <- beta2 v + (1 - beta2) g^2,
// w <- w - lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps).
//
// Ours, not the paper's, which leaves the gap between clipping and Adam open. The default is
// median_adam() of optimize.h: Adam whose increments are cut at 3 roots of v, where cut(k) changes
// the 3, and cut(inf) is Adam. Or method(…) makes the first moment track a median in Adam's
// preconditioner, without a cut; such estimators have no bias to correct (beta1 = 0 in the
// formula).
class MedianAdamOptions : public ChainedOptions<MedianAdamOptions>, public OnlineOptions {
 public:
  MedianAdamOptions(double lr = 1e-3)  // NOLINT: as torch
      : MedianAdamOptions(lr, median_adam()) {}
  MedianAdamOptions(double lr, AdaptiveGradient method) : method_(std::move(method)) {
    settings_.lr = lr;
  }
  // Another first moment, and no cut.
  MedianAdamOptions(double lr, OnlineMethod method)
      : MedianAdamOptions(lr, {.first = std::move(method), .beta1 = kAutomaticNumber}) {}
  [[nodiscard]] const OnlineMethod& method() const { return method_.first; }
  MedianAdamOptions& method(OnlineMethod value) {
    method_.cut = kInfinity;
    return set(method_.first, value);
  }
  [[nodiscard]] double cut() const { return method_.cut; }
  MedianAdamOptions& cut(double value) { return set(method_.cut, value); }
  [[nodiscard]] double beta2() const { return method_.beta2; }
  MedianAdamOptions& beta2(double value) { return set(method_.beta2, value); }
  [[nodiscard]] double eps() const { return method_.epsilon; }
  MedianAdamOptions& eps(double value) { return set(method_.epsilon, value); }
  // Where it is not set: 1/(1 + tau) for Squared, 0 for the others.
  [[nodiscard]] double beta1() const;
  MedianAdamOptions& beta1(double value) { return set(method_.beta1, value); }
  // All of that together.
  [[nodiscard]] AdaptiveGradient adaptive() const;

  [[nodiscard]] OnlineMethod online() const override { return method_.first; }
  [[nodiscard]] double tau() const override;
  void set_tau(double value) override;
  [[nodiscard]] std::string method_line() const override;
  [[nodiscard]] bool is_line(std::string_view line) const override;
  void validate() const override;

 private:
  AdaptiveGradient method_;  // beta1 is auto where it goes with tau
};

// m <- sample estimator of n gradients at the same w, w <- w - lr m (SMGD; paper, eqn.
// approx-median-descent). The default is the componentwise median of 5. With a worker's method
// (worker.h), gradient i of every step is that of worker i, who makes v_i of it, and m is the
// estimate from v_1 … v_n.
class SampleMedianSGDOptions : public ChainedOptions<SampleMedianSGDOptions> {
 public:
  SampleMedianSGDOptions(double lr, Rule method = Median{})  // NOLINT: as torch
      : method_(std::move(method)) {
    settings_.lr = lr;
  }
  [[nodiscard]] const Rule& method() const { return method_; }
  SampleMedianSGDOptions& method(Rule value) { return set(method_, std::move(value)); }
  // Gradients per step; the same in all groups.
  [[nodiscard]] std::size_t n() const { return n_; }
  SampleMedianSGDOptions& n(std::size_t value) { return set(n_, value); }
  // What the workers do with their gradients; nothing by default.
  [[nodiscard]] const WorkerMethod& worker() const { return worker_; }
  SampleMedianSGDOptions& worker(WorkerMethod value) { return set(worker_, value); }
  [[nodiscard]] bool has_workers() const { return !std::holds_alternative<SendGradient>(worker_); }

  [[nodiscard]] double tau() const override;
  void set_tau(double value) override;
  [[nodiscard]] std::string method_line() const override;
  void validate() const override;

 private:
  Rule method_;
  std::size_t n_ = 5;
  WorkerMethod worker_ = SendGradient{};
};

}  // namespace medgrad::libtorch
