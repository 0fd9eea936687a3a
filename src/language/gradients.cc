#include "language/gradients.h"

#include <algorithm>
#include <cmath>

#include "core/lanes.h"
#include "medgrad/error.h"
#include "medgrad/registry.h"
#include "text/features.h"

namespace medgrad::language {
namespace {

double distance(std::span<const float> x, std::span<const double> y) {
  return std::sqrt(lane_sum(x.size(), [&](std::size_t i) {
    const double off = static_cast<double>(x[i]) - y[i];
    return off * off;
  }));
}

}  // namespace

FullGradient full_gradient(BatchGradients& gradients, const GradientDone& done) {
  FullGradient full{.mean = std::vector<double>(gradients.dimension()), .norm = 0, .largest = 0};
  if (gradients.batches() == 0) throw Error("there are no batches.");
  for (std::size_t k = 0; k < gradients.batches(); ++k) {
    const std::span<const float> g = gradients(k);
    for (std::size_t i = 0; i < g.size(); ++i) full.mean[i] += static_cast<double>(g[i]);
    if (done) done();
  }
  const auto count = static_cast<double>(gradients.batches());
  for (double& x : full.mean) {
    x /= count;
    full.largest = std::max(full.largest, std::abs(x));
  }
  full.norm = std::sqrt(
      lane_sum(full.mean.size(), [&](std::size_t i) { return full.mean[i] * full.mean[i]; }));
  return full;
}

OnlineMethod tracking_method(std::string_view name, double tau) {
  return find_online_method(name).make({{"tau", tau}});
}

Tracking track(BatchGradients& gradients, const FullGradient& full, const TrackingOptions& options,
               const GradientDone& done) {
  std::vector<OnlineEstimator<float>> followers;
  followers.reserve(options.methods.size());
  for (const OnlineMethod& method : options.methods) {
    followers.emplace_back(method, gradients.dimension());
    followers.back().use(options.pool);
  }
  Tracking tracking;
  tracking.errors.resize(followers.size());
  std::vector<std::uint32_t> order;
  for (std::size_t t = 0; t < options.steps; ++t) {
    const std::size_t epoch = t / gradients.batches(), at = t % gradients.batches();
    if (options.random_order && at == 0)
      order = text::epoch_order(gradients.batches(), options.seed, epoch);
    const std::span<const float> g = gradients(order.empty() ? at : order[at]);
    if (epoch == 0) tracking.distances.push_back(distance(g, full.mean));
    for (std::size_t i = 0; i < followers.size(); ++i) {
      (void)followers[i].update(g);
      tracking.errors[i].push_back(distance(followers[i].estimate(), full.mean) / full.norm);
    }
    if (done) done();
  }
  return tracking;
}

libtorch::GradientNoise gradient_noise(BatchGradients& gradients, const FullGradient& full,
                                       const GradientDone& done) {
  libtorch::NoiseMeter meter(full.mean, gradients.batches());
  for (std::size_t k = 0; k < gradients.batches(); ++k) {
    meter.add(gradients(k));
    if (done) done();
  }
  return meter.finish();
}

}  // namespace medgrad::language
