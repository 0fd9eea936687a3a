// Optimisers: an estimator of the gradient and a step along it.
//
//     m <- estimate of grad f(w) from noisy gradients,   w <- w - eta d(m)
//
// Four kinds of estimate compose with the same step: an online estimator (one gradient per step;
// paper, eq. online-update), a sample estimator (n gradients at the same w: SMGD, paper, eqn.
// approx-median-descent), a rule over what n workers make of their gradients (worker.h), and
// Adam's, whose first moment is an online estimator too. Nothing is written per pair: every online
// method and every sample estimator of the registry is an optimiser here, and so is every pair of a
// worker's method and a rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "medgrad/estimator.h"
#include "medgrad/export.h"
#include "medgrad/registry.h"
#include "medgrad/sample.h"
#include "medgrad/schedule.h"
#include "medgrad/worker.h"

#pragma GCC visibility push(default)
namespace medgrad {

// m <- online estimator(g), d(m) = m.
struct OnlineGradient {
  static constexpr About about{"online", "m <- online estimator(g)", "one gradient per step"};
  static constexpr auto fields() {
    return std::tuple(
        part(&OnlineGradient::method),
        choice("cold", &OnlineGradient::start, {"false", "true"}, "take m as 0 before every step"));
  }

  OnlineMethod method;
  Start start = Start::warm;
};

// m <- sample estimator of g_1 … g_n, d(m) = m; any rule, also one of several parts. Where the last
// m is the next centre (keeps_center), it is. With `inexact` > 0 the estimator's minimum is only
// approached: that many passes of the proximal point method (distance and tau given) over the n
// gradients, starting at the last m.
struct SampleGradient {
  static constexpr About about{"sample", "m = sample estimator of g_1 ... g_n",
                               "several gradients per step"};
  static constexpr auto fields() {
    return std::tuple(
        part(&SampleGradient::estimator),
        field("n", &SampleGradient::n, range::whole(1, 65000),
              "gradients per step, all at the same w"),
        field("inexact", &SampleGradient::inexact, range::whole(0, 1e6),
              "passes of a proximal point method instead of the exact estimate; 0 is exact"),
        part(&SampleGradient::approach));
  }

  Rule estimator = Median{};
  std::size_t n = 5;
  std::size_t inexact = 0;
  ProximalPoint approach = {L1{}, 1.0};
};

// v_i <- worker's method(v_i, g_i),  m <- rule(v_1 … v_n), d(m) = m: gradient i of every step is
// that of worker i, who follows its own gradients. With SendGradient it is SampleGradient. Where
// the last m is the next centre (keeps_center), it is.
struct WorkerGradient {
  static constexpr About about{"workers", "v_i <- worker's method(v_i, g_i), m = rule(v_1 ... v_n)",
                               "several gradients per step, each followed by its own worker"};
  static constexpr auto fields() {
    return std::tuple(part(&WorkerGradient::worker), part(&WorkerGradient::rule),
                      field("n", &WorkerGradient::n, range::whole(1, 65000),
                            "workers, each with one gradient per step"));
  }

  WorkerMethod worker;
  Rule rule = Median{};
  std::size_t n = 5;
};

// m <- online estimator(g),  v <- beta2 v + (1 - beta2) g^2,
// d(m) = (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon).
// With momentum (Squared, tau = 1/beta1 - 1) that is Adam. Two ways make it withstand outliers:
//
// - A median-type estimator as first moment; beta1 = 0 (it has no bias to correct). What tau means
//   depends on the step that follows: in Adam's, m is divided by the size of the gradient, so
//   cclip_adam() has a smaller one than the online methods (0.1 instead of 1). v is Adam's own: an
//   outlier makes it large, and the steps after it small.
// - A finite `cut`, with momentum: v itself says how large an increment may be. Before both moments
//   g becomes m + clamp(g - m, -b, b), b = cut sqrt(v / (1 - beta2^(t-1))), so
//
//       m <- m + (1 - beta1) clamp(g - m, -b, b),
//
//   which is a Huber increment in Adam's metric: Adam as cut goes to infinity, a step of cclip
//   where it is small. It has no scale of its own, as Adam has none. A component whose v is 0 is
//   not cut.
struct AdaptiveGradient {
  static constexpr About about{"adaptive", "m <- online estimator(g), step m / (sqrt v + epsilon)",
                               "Adam's step along any estimate"};
  static constexpr auto fields() {
    return std::tuple(
        part(&AdaptiveGradient::first),
        field("beta1", &AdaptiveGradient::beta1, range::decay, "decay of the first moment"),
        field("beta2", &AdaptiveGradient::beta2, range::decay, "decay of the second moment"),
        field("epsilon", &AdaptiveGradient::epsilon, range::positive,
              "added to the root of the second moment"),
        field("cut", &AdaptiveGradient::cut, Range{0, kInfinity, true},
              "most of an increment, in roots of the second moment; inf cuts nothing"));
  }

  OnlineMethod first = ProximalPoint{Squared{}, 1 / 0.9 - 1};
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double cut = kInfinity;

  [[nodiscard]] bool cuts() const { return cut < kInfinity; }
};

// Adam, with its usual decays; Adam whose increments are cut in its own metric; and Adam whose
// first moment tracks the componentwise median on the scale of the gradients (CClip).
[[nodiscard]] AdaptiveGradient adam(double beta1 = 0.9);
[[nodiscard]] AdaptiveGradient median_adam(double cut = 3, double beta1 = 0.9);
[[nodiscard]] AdaptiveGradient cclip_adam(const ProximalPoint& first = {L1{}, 0.1});

using GradientMethod =
    std::variant<OnlineGradient, SampleGradient, AdaptiveGradient, WorkerGradient>;

// How many gradients a step takes.
[[nodiscard]] std::size_t samples_of(const GradientMethod& method);

// Throws Error unless every parameter is in range.
void validate(const GradientMethod& method);

// Every optimiser by name: sgd, sgd-m, vclip, cclip, huber, clipped-sgd, sign-sgd, adam,
// median-adam, cclip-adam, …, and smgd-NAME for every sample estimator (smgd-l1, smgd-l2, smgd-mean
// for short); find_optimizer also knows rules of several parts, smgd-nnm+median, and every worker's
// method with every rule: workers-ema+nnm+median, or workers-ema:tau=0.1+nnm+median. What follows
// the last part goes to every part that has such a parameter, as in rules.
[[nodiscard]] std::span<const Entry<GradientMethod>> optimizers();
[[nodiscard]] const Entry<GradientMethod>& find_optimizer(std::string_view name);

// A piece of an adaptive step's vectors, all of the same length; g stands for g + decay w.
template <Real T>
struct AdaptiveBlock {
  std::span<const T> m;  // the first moment, already updated
  std::span<const T> g;
  std::span<T> v, w;
  double eta = 0, shrink = 1, decay = 0;
};

// The t-th step (counted from 1) of an adaptive method, after its first moment's:
//     v <- beta2 v + (1 - beta2) g^2,
//     w <- shrink w - eta (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon).
// A component of g that is NaN leaves its v as it was; one whose square overflows counts as the
// largest that does not. The bits depend on nothing but the numbers.
template <Real T>
MEDGRAD_EXPORT void adaptive_step(const AdaptiveGradient& method, std::uint64_t t,
                                  std::span<const AdaptiveBlock<T>> blocks,
                                  ThreadPool* pool = nullptr);

// A piece of the vectors of an adaptive step that cuts: first moment and all in one pass.
template <Real T>
struct CutBlock {
  std::span<T> m;
  std::span<const T> g;
  std::span<T> v, w;
  std::uint64_t t = 1;  // which step of its own it is, counted from 1
  double eta = 0, shrink = 1, decay = 0;
};

// A step of an adaptive method with a finite cut. A component of g that is NaN leaves its m
// and v as they were; under `reject` what is not finite throws NonFiniteInput before anything
// moves. After any input at all, m and v are finite. The bits do not depend on threads.
template <Real T>
MEDGRAD_EXPORT StepInfo cut_adaptive_step(const AdaptiveGradient& method,
                                          std::span<const CutBlock<T>> blocks,
                                          const StepOptions& options = {});

// An optimiser with its state.
class Optimizer {
 public:
  // Throws Error where the method is out of range. m starts at 0.
  Optimizer(GradientMethod method, std::size_t dimension);

  [[nodiscard]] std::size_t samples() const { return samples_of(method_); }
  // One step; `gradients` are samples() rows taken at w. Non-finite entries follow
  // NonFinite::robust.
  void step(std::span<double> w, double eta, const Rows<double>& gradients);
  // As many steps as there are rows, each with one of them and eta = 0; samples() must be 1.
  void track(const Rows<double>& gradients);
  // m after the last step.
  [[nodiscard]] std::span<const double> estimate() const;
  // tau of the next steps, where the method has one.
  void set_tau(double tau);

 private:
  void estimate(const SampleGradient& method, const Rows<double>& gradients);
  void approach(const SampleGradient& method, const Rows<double>& gradients);
  void adapt(const AdaptiveGradient& method, std::span<double> w, double eta,
             std::span<const double> g);

  GradientMethod method_;
  std::optional<OnlineEstimator<double>> online_;  // none for those that have no estimator
  std::optional<Workers<double>> workers_;         // of a WorkerGradient with a method of their own
  std::vector<double> m_, v_;
  std::uint64_t steps_ = 0;
};

}  // namespace medgrad
#pragma GCC visibility pop
