// Gradients of a task at fixed weights: the full one, how methods follow it, and its noise.
//
//     full gradient   ∇ = (1/K) Σ_k g_k over one pass of the batches, every batch alike
//     following       m_0 = 0, m_t from m_{t-1} and the gradient of one batch; |m_t - ∇| / |∇|
//     noise           the distances |g_k - ∇| over a second pass
//
// With dropout, passes draw it anew, and its noise is part of both, as in the published experiments
// (Kunstner et al., ICLR 2023). Sums and norms are in double precision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "language/batch_gradients.h"
#include "medgrad/estimator.h"
#include "medgrad/thread_pool.h"
#include "medgrad/torch/probe.h"

namespace medgrad::language {

using GradientDone = std::function<void()>;  // called after every gradient that was asked for

struct FullGradient {
  std::vector<double> mean;
  double norm = 0, largest = 0;  // |∇|_2 and max |∇_i|
};
[[nodiscard]] FullGradient full_gradient(BatchGradients& gradients, const GradientDone& done = {});

// The online method of that name in the registry with that tau. Throws Error for a method without
// tau. The paper's momentum in this experiment, m <- (1 - tau) m + tau g, is "ema".
[[nodiscard]] OnlineMethod tracking_method(std::string_view name, double tau);

struct TrackingOptions {
  std::vector<OnlineMethod> methods;  // all on the same gradients
  std::size_t steps = 400;
  bool random_order = false;  // of the batches, anew in every pass; else as the task has them
  std::uint64_t seed = 0;     // of that order
  ThreadPool* pool = nullptr;
};

struct Tracking {
  std::vector<std::vector<double>> errors;  // per method: |m_t - ∇| / |∇| after step t = 1, 2, …
  std::vector<double> distances;            // |g - ∇| of the gradients seen, at most one pass
};
[[nodiscard]] Tracking track(BatchGradients& gradients, const FullGradient& full,
                             const TrackingOptions& options, const GradientDone& done = {});

// Errors and tails around the full gradient; one pass.
[[nodiscard]] libtorch::GradientNoise gradient_noise(BatchGradients& gradients,
                                                     const FullGradient& full,
                                                     const GradientDone& done = {});

}  // namespace medgrad::language
