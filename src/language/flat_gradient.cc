#include "language/flat_gradient.h"

#include <torch/torch.h>

#include <algorithm>

namespace medgrad::language {

std::size_t dimension_of(const std::vector<at::Tensor>& parameters) {
  std::size_t d = 0;
  for (const at::Tensor& w : parameters) d += static_cast<std::size_t>(w.numel());
  return d;
}

void copy_gradient(const std::vector<at::Tensor>& parameters, std::span<float> to) {
  std::size_t at = 0;
  for (const at::Tensor& w : parameters) {
    const std::span<float> part = to.subspan(at, static_cast<std::size_t>(w.numel()));
    at += part.size();
    if (!w.grad().defined()) {
      std::ranges::fill(part, 0.0F);
      continue;
    }
    const at::Tensor g = w.grad().to_dense().to(at::kFloat).contiguous();
    std::copy_n(g.data_ptr<float>(), part.size(), part.data());
  }
}

void put_gradient(std::span<const float> from, const std::vector<at::Tensor>& parameters) {
  const ::torch::NoGradGuard no_grad;
  std::size_t at = 0;
  for (const at::Tensor& w : parameters) {
    at::Tensor& gradient = w.mutable_grad();
    if (!gradient.defined()) gradient = ::torch::empty_like(w);
    // It is only read.
    auto* const part = const_cast<float*>(from.data() + at);
    gradient.copy_(::torch::from_blob(part, w.sizes(), at::kFloat));
    at += static_cast<std::size_t>(w.numel());
  }
}

}  // namespace medgrad::language
