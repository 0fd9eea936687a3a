// Gradients of a task at fixed weights: the full one, how methods follow it, and its noise.
//
//     full gradient   ∇ = (1/K) Σ_k g_k over one pass of the batches, every batch alike
//     noise           the distances |g_k - ∇| over a second pass
//     following       m_0 = 0, m_t from m_{t-1} and the gradient of one batch; |m_t - ∇| / |∇|
//
// With dropout, passes draw it anew, and its noise is part of both, as in the published experiments
// (Kunstner et al., ICLR 2023). Sums and norms are in double precision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "language/batch_gradients.h"
#include "medgrad/estimator.h"
#include "medgrad/registry.h"
#include "medgrad/thread_pool.h"
#include "medgrad/torch/probe.h"

namespace medgrad::language {

struct FullGradient {
  std::vector<double> mean;
  double norm = 0, largest = 0;  // |∇|_2 and max |∇_i|
};

// The online method of that name in the registry with that tau and these other parameters. Throws
// Error for a method without tau. The paper's momentum in this experiment, m <- (1 - tau) m + tau
// g, is "ema".
[[nodiscard]] OnlineMethod tracking_method(std::string_view name, double tau,
                                           ParameterValues others = {});

struct TrackingOptions {
  std::vector<OnlineMethod> methods = {};  // all on the same gradients
  std::size_t steps = 400;
  bool random_order = false;  // of the batches, anew in every pass; else as the task has them
  std::uint64_t seed = 0;     // of that order
  ThreadPool* pool = nullptr;
};

struct Tracking {
  std::vector<std::vector<double>> errors;  // per method: |m_t - ∇| / |∇| after step t = 1, 2, …
  std::vector<double> distances;            // |g - ∇| of the gradients seen, at most one pass
};

struct MeasurementPlan {
  bool noise = false;             // errors and tails around the full gradient
  TrackingOptions tracking = {};  // without methods, nothing is followed
};

// All of it, one gradient at a time. Between any two it can be written down and gone on from, with
// the same bits; of the gradients themselves, `gradients` has to give the next ones.
class Measurement {
 public:
  // `gradients` are used, not owned. Throws Error where there are no batches.
  Measurement(BatchGradients& gradients, MeasurementPlan plan);
  Measurement(Measurement&&) = default;
  Measurement& operator=(Measurement&&) = default;

  // How many gradients are in, and how many that is to be.
  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] std::size_t total() const { return total_; }
  [[nodiscard]] bool finished() const { return position_ == total_; }
  // Whether the full gradient, the noise or the following has just come to its end.
  [[nodiscard]] bool between_stages() const;
  // Takes in the next gradient. Throws Error where it is not finite, and for noise of one batch.
  void advance();

  // Each once its gradients are in.
  [[nodiscard]] const FullGradient& full() const { return full_; }
  [[nodiscard]] libtorch::GradientNoise noise() const { return meter_->finish(); }
  [[nodiscard]] const Tracking& tracking() const { return tracking_; }

  // What has been measured so far, as bytes that save() writes and load() reads. load() throws
  // Error, and changes nothing, where they cannot be of a measurement with this plan.
  void save(std::ostream& out) const;
  void load(std::istream& in);

 private:
  void measure_full();
  void make_followers();
  void follow(std::size_t t);

  BatchGradients* gradients_;
  MeasurementPlan plan_;
  std::size_t position_ = 0, noise_end_ = 0, total_ = 0;
  FullGradient full_;  // its mean is a sum until all are in
  std::optional<libtorch::NoiseMeter> meter_;
  std::vector<OnlineEstimator<float>> followers_;  // while they follow
  std::vector<std::uint32_t> order_;               // of this pass, where it is random
  Tracking tracking_;
};

}  // namespace medgrad::language
