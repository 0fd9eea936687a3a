// Checks that all models are held to, and random batches for them.
#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "torch/models/model.h"

namespace medgrad::libtorch::testing {

inline at::Tensor random_tokens(std::int64_t vocabulary, at::IntArrayRef shape,
                                std::uint64_t seed = 1) {
  auto generator = at::detail::createCPUGenerator(seed);
  return at::randint(vocabulary, shape, generator, at::kLong);
}

inline Batch random_language(std::int64_t vocabulary, std::int64_t time, std::int64_t batch,
                             std::uint64_t seed = 1) {
  return {random_tokens(vocabulary, {time, batch}, seed),
          random_tokens(vocabulary, {time, batch}, seed + 1),
          {},
          {}};
}

inline std::int64_t count_parameters(const ::torch::nn::Module& model) {
  std::int64_t count = 0;
  for (const auto& p : model.parameters()) count += p.numel();
  return count;
}

// Moves every tensor of a model away from its special start (zeros and ones), reproducibly.
inline void disturb(::torch::nn::Module& model, double size) {
  const at::NoGradGuard no_gradients;
  auto generator = at::detail::createCPUGenerator(7);
  for (auto& p : model.parameters())
    p.add_(at::randn(p.sizes(), generator, at::kDouble).to(p.scalar_type()), size);
}

// loss() against central differences, along a random direction in each parameter tensor and for its
// first component. The loss has to be the same function in every call: `loss` reseeds.
template <class Loss>
void expect_gradients(::torch::nn::Module& model, const Loss& loss, double tolerance = 1e-7) {
  for (auto& p : model.parameters()) p.mutable_grad() = at::Tensor();
  loss().backward();
  const at::NoGradGuard no_gradients;
  auto generator = at::detail::createCPUGenerator(3);
  constexpr double kStep = 1e-5;
  for (auto& item : model.named_parameters()) {
    SCOPED_TRACE(item.key());
    at::Tensor p = item.value();
    ASSERT_TRUE(p.grad().defined());
    at::Tensor first = at::zeros_like(p);
    first.view({-1})[0] = 1;
    for (const at::Tensor& direction : {at::randn(p.sizes(), generator, at::kDouble), first}) {
      const at::Tensor saved = p.clone();
      p.copy_(saved + kStep * direction);
      const double up = loss().template item<double>();
      p.copy_(saved - kStep * direction);
      const double down = loss().template item<double>();
      p.copy_(saved);
      const double want = (up - down) / (2 * kStep);
      const double got = (p.grad() * direction).sum().template item<double>();
      EXPECT_NEAR(got, want, tolerance * std::max(1.0, std::abs(want)));
    }
  }
}

inline double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

}  // namespace medgrad::libtorch::testing
