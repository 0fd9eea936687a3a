#include "language/batch_gradients.h"

#include <fmt/core.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "medgrad/error.h"

namespace medgrad::language {

BatchGradients::BatchGradients(const Task& task, libtorch::Model& model, bool repeatable,
                               std::size_t memory)
    : task_(task), model_(model), parameters_(model.parameters()), batches_(task.batches()) {
  for (const at::Tensor& w : parameters_) dimension_ += static_cast<std::size_t>(w.numel());
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
  std::size_t at = 0;
  for (const at::Tensor& w : parameters_) {
    const std::span<float> part = to.subspan(at, static_cast<std::size_t>(w.numel()));
    at += part.size();
    if (!w.grad().defined()) {
      std::ranges::fill(part, 0.0F);
      continue;
    }
    const at::Tensor g = w.grad().to_dense().to(at::kFloat).contiguous();
    std::copy_n(g.data_ptr<float>(), part.size(), part.data());
  }
  model_.zero_grad(true);
  model_.train(was_training);
  if (!std::ranges::all_of(to, [](float x) { return std::isfinite(x); }))
    throw Error(fmt::format("the gradient of batch {} has a component that is NaN or Inf.", k + 1));
}

}  // namespace medgrad::language
