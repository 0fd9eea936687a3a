// How noisy are the gradients of a model? Measured at fixed weights:
//
//     gbar = (1/K) sum_k g_k,   errors |g_k - gbar|_2,   and the index alpha of their tails.
//
// Two passes over the batches, as holding all gradients would take K times the model: a model with
// dropout draws it anew in each, and its noise is part of the errors.
#pragma once

#include <torch/types.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "medgrad/tail_summary.h"

namespace medgrad::libtorch {

struct GradientNoise {
  double gradient_norm = 0;    // |gbar|
  std::vector<double> errors;  // |g_k - gbar|, in the order of the batches
  // The tails of single components around their medians (heavy tails move a mean by more than the
  // noise itself), each divided by its scale; of evenly spaced ones where there are many. Nothing
  // but a sentence with fewer than 20 batches.
  TailSummary components;
  std::optional<TailIndex> norms;  // Hill's estimate for the errors themselves; none below 20

  [[nodiscard]] double quantile(double q) const;  // of the errors, 0 <= q <= 1
  // One sentence or two: how large the noise is beside the gradient, and what kind it is.
  [[nodiscard]] std::string verdict() const;
};

// Takes gradients in one by one, around a mean that is known already.
class NoiseMeter {
 public:
  // `mean` is used, not owned; `batches` gradients will come, at least 2 (else an Error).
  NoiseMeter(std::span<const double> mean, std::size_t batches);
  void add(std::span<const float> g);
  void add(std::span<const double> g);
  // After the last one.
  [[nodiscard]] GradientNoise finish() const;

  // What is in so far: errors and, one after the other, rows of columns() components. Another meter
  // of the same mean and number of batches goes on from there; Error where it cannot be of one.
  [[nodiscard]] std::span<const double> errors() const { return errors_; }
  [[nodiscard]] std::span<const double> rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return (mean_.size() + stride_ - 1) / stride_; }
  void restore(std::span<const double> errors, std::span<const double> rows);

 private:
  template <class T>
  void take(std::span<const T> g);

  std::span<const double> mean_;
  std::size_t batches_, stride_ = 1;
  std::vector<double> errors_, rows_;  // rows: of evenly spaced components
};

// `loss(k)` is the loss of batch k, 0 <= k < batches, with a graph to go back through. Gradients of
// `parameters` are overwritten and left undefined; parameters a loss does not reach count as 0.
// Throws Error for fewer than 2 batches, and where a gradient is not finite.
[[nodiscard]] GradientNoise probe_gradient_noise(
    const std::vector<::torch::Tensor>& parameters, std::size_t batches,
    const std::function<::torch::Tensor(std::size_t)>& loss);

}  // namespace medgrad::libtorch
