#include "medgrad/torch/probe.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "medgrad/error.h"

namespace medgrad::torch {
namespace {

using ::torch::Tensor;

constexpr std::size_t kEntries = std::size_t{1} << 22;  // that the tails of components rest on

// The gradient of one batch as a single vector of doubles.
class Gradients {
 public:
  explicit Gradients(const std::vector<Tensor>& parameters) : parameters_(parameters) {
    for (const Tensor& w : parameters) size_ += w.numel();
  }

  [[nodiscard]] Tensor of(std::size_t batch, const Tensor& loss) const {
    clear();
    loss.backward();
    std::vector<Tensor> parts;
    for (const Tensor& w : parameters_) {
      const Tensor g = w.grad();
      parts.push_back(g.defined() ? g.detach().to_dense().to(at::kCPU, at::kDouble).flatten()
                                  : at::zeros({w.numel()}, at::kDouble));
    }
    clear();
    Tensor all = at::cat(parts);
    if (!at::isfinite(all).all().item<bool>())
      throw Error(std::string("the gradient of batch ")
                      .append(std::to_string(batch + 1))
                      .append(" has a component that is NaN or Inf."));
    return all;
  }
  [[nodiscard]] std::int64_t size() const { return size_; }
  void clear() const {
    for (const Tensor& w : parameters_) w.mutable_grad() = Tensor();
  }

 private:
  const std::vector<Tensor>& parameters_;
  std::int64_t size_ = 0;
};

}  // namespace

double GradientNoise::quantile(double q) const {
  std::vector<double> sorted = errors;
  std::ranges::sort(sorted);
  const double at = std::clamp(q, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

std::string GradientNoise::verdict() const {
  std::string text = "A batch's gradient is off by ";
  text.append(number(std::round(quantile(0.5) * 1e4) / 1e4))
      .append(" (median), where the full gradient has norm ")
      .append(number(std::round(gradient_norm * 1e4) / 1e4))
      .append(". Components: ")
      .append(components.verdict());
  return text;
}

GradientNoise probe_gradient_noise(const std::vector<Tensor>& parameters, std::size_t batches,
                                   const std::function<Tensor(std::size_t)>& loss) {
  if (batches < 2) throw Error("the noise of gradients needs at least two batches.");
  const Gradients gradients(parameters);
  const auto gradient = [&](std::size_t k) {
    const at::AutoGradMode with_grad(true);
    return gradients.of(k, loss(k));
  };
  Tensor mean = at::zeros({gradients.size()}, at::kDouble);
  for (std::size_t k = 0; k < batches; ++k) mean += gradient(k);
  mean /= static_cast<double>(batches);

  GradientNoise noise;
  noise.gradient_norm = mean.square().sum().sqrt().item<double>();
  const auto wanted = static_cast<std::int64_t>(std::max<std::size_t>(kEntries / batches, 1));
  const std::int64_t stride = std::max<std::int64_t>(1, gradients.size() / wanted);
  const Tensor few = at::arange(0, gradients.size(), stride, at::kLong);
  const Tensor rows = at::empty({static_cast<std::int64_t>(batches), few.numel()}, at::kDouble);
  for (std::size_t k = 0; k < batches; ++k) {
    const Tensor g = gradient(k);
    noise.errors.push_back((g - mean).square().sum().sqrt().item<double>());
    rows[static_cast<std::int64_t>(k)].copy_(g.index_select(0, few));
  }
  noise.components = tail_summary<double>(
      Rows<double>(rows.data_ptr<double>(), batches, static_cast<std::size_t>(few.numel())));
  try {
    noise.norms = hill(noise.errors, {.tail = Tail::right});
  } catch (const Error&) {  // too few, or all alike
  }
  return noise;
}

}  // namespace medgrad::torch
