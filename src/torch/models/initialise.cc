#include "torch/models/initialise.h"

#include <torch/torch.h>

#include <cmath>
#include <span>

#include "medgrad/rng.h"
#include "torch/models/layers.h"

namespace medgrad::libtorch {
namespace {

constexpr double kDeviation = 0.02;

// x <- make(numbers that fill(philox, span, first) draws).
template <class Fill>
void draw(const at::Tensor& x, const Philox& philox, double shift, double scale, const Fill& fill) {
  const at::NoGradGuard no_gradients;
  at::Tensor numbers = at::empty(x.sizes(), at::kFloat);
  float* to = numbers.data_ptr<float>();
  at::parallel_for(0, x.numel(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    const std::span<float> part(to + begin, static_cast<std::size_t>(end - begin));
    fill(philox, part, static_cast<std::uint64_t>(begin));
    for (float& number : part)
      number = static_cast<float>(shift + scale * static_cast<double>(number));
  });
  at::Tensor(x).copy_(numbers);
}

void clear(const at::Tensor& x) {
  const at::NoGradGuard no_gradients;
  if (x.defined()) at::Tensor(x).zero_();
}

}  // namespace

void Initialiser::normal(const at::Tensor& x, double mean, double deviation) {
  draw(x, Philox(seed_, new_stream()), mean, deviation,
       [](const Philox& philox, std::span<float> part, std::uint64_t first) {
         philox.fill_normal(part, first);
       });
}

void Initialiser::xavier(const at::Tensor& x, std::uint64_t stream) const {
  const double bound = std::sqrt(6.0 / static_cast<double>(x.size(0) + x.size(1)));
  draw(x, Philox(seed_, stream), -bound, 2 * bound,
       [](const Philox& philox, std::span<float> part, std::uint64_t first) {
         philox.fill_uniform(part, first);
       });
}

void Initialiser::modules(const ::torch::nn::Module& root) {
  for (const auto& module : root.modules(/*include_self=*/false)) {
    if (const auto* affine = module->as<Affine>()) {
      normal(affine->weight, 0, kDeviation);
      clear(affine->bias);
    } else if (const auto* table = module->as<Table>()) {
      normal(table->weight, 0, kDeviation);
    } else if (const auto* norm = module->as<Norm>()) {
      normal(norm->weight, 1, kDeviation);
      clear(norm->bias);
    } else if (const auto* attention = module->as<SelfAttention>()) {
      clear(attention->in_proj_bias);
    }
  }
}

}  // namespace medgrad::libtorch
