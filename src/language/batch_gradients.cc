#include "language/batch_gradients.h"

#include <fmt/core.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "language/flat_gradient.h"
#include "medgrad/error.h"

namespace medgrad::language {

BatchGradients::BatchGradients(const Task& task, libtorch::Model& model, bool repeatable,
                               std::size_t memory)
    : task_(task),
      model_(model),
      parameters_(model.parameters()),
      batches_(task.batches()),
      dimension_(dimension_of(parameters_)) {
  if (repeatable && batches_ <= memory / sizeof(float) / dimension_) {
    kept_.resize(batches_);
  } else {
    current_.resize(dimension_);
  }
}

std::size_t BatchGradients::runs_for(std::size_t gradients) const {
  return kept() ? std::min(batches_, gradients) : gradients;
}

std::span<const float> BatchGradients::operator()(std::size_t k) {
  if (!kept()) {
    compute(k, current_);
    return current_;
  }
  if (kept_[k].empty()) {
    kept_[k].resize(dimension_);
    compute(k, kept_[k]);
  }
  return kept_[k];
}

void BatchGradients::compute(std::size_t k, std::span<float> to) {
  const at::AutoGradMode with_gradients(true);
  const bool was_training = model_.is_training();
  model_.train();
  model_.zero_grad(true);
  model_.loss(task_.batch_in_order(k)).backward();
  ++runs_;
  copy_gradient(parameters_, to);
  model_.zero_grad(true);
  model_.train(was_training);
  if (!std::ranges::all_of(to, [](float x) { return std::isfinite(x); }))
    throw Error(fmt::format("the gradient of batch {} has a component that is NaN or Inf.", k + 1));
}

}  // namespace medgrad::language
