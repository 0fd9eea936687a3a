#include "medgrad/torch/probe.h"

#include <fmt/core.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "core/lanes.h"
#include "medgrad/error.h"

namespace medgrad::libtorch {
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
      throw Error(
          fmt::format("the gradient of batch {} has a component that is NaN or Inf.", batch + 1));
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
  const auto brief = [](double x) { return number(std::round(x * 1e4) / 1e4); };
  return fmt::format(
      "A batch's gradient is off by {} (median), where the full gradient has norm {}. Components: "
      "{}",
      brief(quantile(0.5)), brief(gradient_norm),
      components.told() ? components.verdict() : components.quantiles_error);
}

NoiseMeter::NoiseMeter(std::span<const double> mean, std::size_t batches)
    : mean_(mean), batches_(batches) {
  if (batches < 2) throw Error("the noise of gradients needs at least two batches.");
  stride_ = std::max<std::size_t>(1, mean.size() / std::max<std::size_t>(kEntries / batches, 1));
  errors_.reserve(batches);
  rows_.reserve(batches * (mean.size() / stride_ + 1));
}

template <class T>
void NoiseMeter::take(std::span<const T> g) {
  errors_.push_back(std::sqrt(lane_sum(g.size(), [&](std::size_t i) {
    const double off = static_cast<double>(g[i]) - mean_[i];
    return off * off;
  })));
  for (std::size_t i = 0; i < g.size(); i += stride_) rows_.push_back(static_cast<double>(g[i]));
}
void NoiseMeter::add(std::span<const float> g) { take(g); }
void NoiseMeter::add(std::span<const double> g) { take(g); }

void NoiseMeter::restore(std::span<const double> errors, std::span<const double> rows) {
  if (errors.size() > batches_ || rows.size() != errors.size() * columns())
    throw Error("these errors and rows are not of such a meter.");
  errors_.assign(errors.begin(), errors.end());
  rows_.assign(rows.begin(), rows.end());
}

GradientNoise NoiseMeter::finish() const {
  GradientNoise noise;
  noise.gradient_norm =
      std::sqrt(lane_sum(mean_.size(), [&](std::size_t i) { return mean_[i] * mean_[i]; }));
  noise.errors = errors_;
  try {
    noise.components =
        tail_summary<double>(Rows<double>(rows_.data(), batches_, rows_.size() / batches_));
  } catch (const Error& error) {  // too few batches, or no noise
    noise.components.quantiles_error = error.what();
  }
  try {
    noise.norms = hill(noise.errors, {.tail = Tail::right});
  } catch (const Error&) {  // too few, or all alike
  }
  return noise;
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
  const auto entries = [](const Tensor& x) {
    return std::span<const double>(x.data_ptr<double>(), static_cast<std::size_t>(x.numel()));
  };
  NoiseMeter meter(entries(mean), batches);
  for (std::size_t k = 0; k < batches; ++k) meter.add(entries(gradient(k)));
  return meter.finish();
}

}  // namespace medgrad::libtorch
