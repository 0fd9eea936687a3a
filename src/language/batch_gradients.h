// The gradients of a task's batches at the weights a model has now, each as one long vector.
//
// Without dropout the gradient of a batch is the same every time: where all of them fit into
// `memory` bytes they are kept, and the model runs over the data once. With dropout every call
// draws anew, and nothing is kept. Kept or not, the numbers are the same.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "language/task.h"
#include "medgrad/large_vector.h"

namespace medgrad::language {

inline constexpr std::size_t kGradientMemory = std::size_t{5} << 29;  // 2.5 GiB

class BatchGradients {
 public:
  // Both are used, not owned. `repeatable`: the model has no dropout.
  BatchGradients(const Task& task, libtorch::Model& model, bool repeatable,
                 std::size_t memory = kGradientMemory);

  [[nodiscard]] std::size_t batches() const { return batches_; }
  [[nodiscard]] std::size_t dimension() const { return dimension_; }
  [[nodiscard]] bool kept() const { return !kept_.empty(); }
  // How often the model has run, and will at most have to from the start on for so many gradients.
  [[nodiscard]] std::size_t runs() const { return runs_; }
  [[nodiscard]] std::size_t runs_for(std::size_t gradients) const;

  // The gradient of batch k, in training mode; parameters the loss does not reach count as 0. Valid
  // until the next call. Throws Error where a component is not finite.
  [[nodiscard]] std::span<const float> operator()(std::size_t k);

 private:
  void compute(std::size_t k, std::span<float> to);

  const Task& task_;
  libtorch::Model& model_;
  std::vector<at::Tensor> parameters_;
  std::size_t batches_ = 0, dimension_ = 0, runs_ = 0;
  LargeVector<float> current_;
  std::vector<LargeVector<float>> kept_;  // empty: none are; an empty one: not yet computed
};

}  // namespace medgrad::language
