#include "medgrad/optimize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/adapt.h"
#include "medgrad/error.h"
#include "medgrad/thread_pool.h"

namespace medgrad {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();

// m <- the estimate; components that no gradient has stay as they were.
void estimate_from(const Rule& estimator, const Rows<double>& gradients, std::uint64_t round,
                   std::vector<double>& m) {
  const std::vector<double> centre = keeps_center(estimator) ? m : std::vector<double>();
  const SampleOptions<double> robust{
      .center = centre, .non_finite = NonFinite::robust, .round = round};
  // aggregate() leaves m as it was where a component has no observation, unless there is a lot.
  constexpr std::size_t kLeftAlone = std::size_t{1} << 17;
  std::vector<double> before;
  if (gradients.n() * m.size() > kLeftAlone) before = m;
  try {
    aggregate(estimator, gradients, m, robust);
  } catch (const NoObservation&) {
    if (before.empty()) before = m;
    // The rest is estimated with m itself standing for what is missing.
    const std::size_t n = gradients.n(), d = m.size();
    std::vector<double> filled(n * d);
    std::vector<bool> seen(d);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < d; ++j) {
        filled[i * d + j] = gradients.row(i)[j];
        if (!std::isnan(filled[i * d + j])) seen[j] = true;
      }
    }
    for (std::size_t i = 0; i < n * d; ++i)
      if (!seen[i % d]) filled[i] = before[i % d];
    aggregate(estimator, Rows(filled, n, d), m, robust);
    for (std::size_t j = 0; j < d; ++j)
      if (!seen[j]) m[j] = before[j];
  }
}

}  // namespace

void validate(const GradientMethod& method) {
  std::visit([](const auto& m) { check_fields(m); }, method);
  if (const auto* online = std::get_if<OnlineGradient>(&method)) {
    validate<double>(online->method);
  } else if (const auto* sample = std::get_if<SampleGradient>(&method)) {
    validate(sample->estimator, sample->n);
    if (sample->inexact > 0) validate<double>(OnlineMethod(sample->approach));
  } else if (const auto* workers = std::get_if<WorkerGradient>(&method)) {
    validate_worker<double>(workers->worker);
    validate(workers->rule, workers->n);
  } else {
    validate<double>(std::get<AdaptiveGradient>(method).first);
  }
}

Optimizer::Optimizer(GradientMethod method, std::size_t dimension) : method_(std::move(method)) {
  validate(method_);
  const EstimatorOptions warm{.non_finite = NonFinite::robust};
  if (const auto* online = std::get_if<OnlineGradient>(&method_)) {
    online_.emplace(online->method, dimension,
                    EstimatorOptions{.start = online->start, .non_finite = NonFinite::robust});
  } else if (const auto* sample = std::get_if<SampleGradient>(&method_)) {
    m_.assign(dimension, 0);
    if (sample->inexact > 0) online_.emplace(sample->approach, dimension, warm);
  } else if (const auto* workers = std::get_if<WorkerGradient>(&method_)) {
    m_.assign(dimension, 0);
    if (!std::holds_alternative<SendGradient>(workers->worker))
      workers_.emplace(workers->worker, workers->n, dimension, NonFinite::robust);
  } else {
    online_.emplace(std::get<AdaptiveGradient>(method_).first, dimension, warm);
    v_.assign(dimension, 0);
  }
}

std::size_t samples_of(const GradientMethod& method) {
  return std::visit(
      [](const auto& m) {
        if constexpr (requires { m.n; }) return m.n;
        return std::size_t{1};
      },
      method);
}

std::span<const double> Optimizer::estimate() const {
  return online_ ? online_->estimate() : std::span<const double>(m_);
}

void Optimizer::set_tau(double tau) {
  if (online_) online_->set_tau(tau);
  if (workers_) workers_->set_tau(tau);
}

void Optimizer::step(std::span<double> w, double eta, const Rows<double>& gradients) {
  const std::span<const double> g(gradients.row(0), gradients.d());
  ++steps_;
  if (std::holds_alternative<OnlineGradient>(method_)) {
    online_->update_and_step(w, eta, g);
    return;
  }
  if (const auto* adaptive = std::get_if<AdaptiveGradient>(&method_))
    return adapt(*adaptive, w, eta, g);
  if (const auto* workers = std::get_if<WorkerGradient>(&method_)) {
    if (workers_) workers_->update(gradients);
    estimate_from(workers->rule, workers_ ? workers_->vectors() : gradients, steps_, m_);
  } else {
    estimate(std::get<SampleGradient>(method_), gradients);
  }
  const std::span<const double> m = estimate();
  for (std::size_t j = 0; j < w.size(); ++j) w[j] -= eta * m[j];
}

void Optimizer::track(const Rows<double>& gradients) {
  if (std::holds_alternative<OnlineGradient>(method_)) {
    steps_ += gradients.n();
    return online_->update_all(gradients);
  }
  std::vector<double> nowhere(gradients.d());
  for (std::size_t i = 0; i < gradients.n(); ++i)
    step(nowhere, 0, Rows<double>(gradients.row(i), 1, gradients.d()));
}

void Optimizer::estimate(const SampleGradient& method, const Rows<double>& gradients) {
  const bool as_it_comes = method.n == 1 && method.estimator.before.empty() &&
                           std::holds_alternative<Mean>(method.estimator.method);
  if (method.inexact > 0) {
    approach(method, gradients);
  } else if (as_it_comes) {
    for (std::size_t j = 0; j < m_.size(); ++j)
      if (const double g = gradients.row(0)[j]; !std::isnan(g))
        m_[j] = std::clamp(g, -kLargest, kLargest);
  } else {
    estimate_from(method.estimator, gradients, steps_, m_);
  }
}

void Optimizer::approach(const SampleGradient& method, const Rows<double>& gradients) {
  for (std::size_t pass = 0; pass < method.inexact; ++pass)
    for (std::size_t i = 0; i < gradients.n(); ++i)
      online_->update(std::span(gradients.row(i), gradients.d()));
}

void Optimizer::adapt(const AdaptiveGradient& method, std::span<double> w, double eta,
                      std::span<const double> g) {
  online_->update(g);
  const AdaptiveBlock<double> block{online_->estimate(), g, v_, w, eta};
  adaptive_step<double>(method, steps_, {&block, 1});
}

template <Real T>
void adaptive_step(const AdaptiveGradient& method, std::uint64_t t,
                   std::span<const AdaptiveBlock<T>> blocks, ThreadPool* pool) {
  const double now = static_cast<double>(t);
  const double first = 1 - std::pow(method.beta1, now), second = 1 - std::pow(method.beta2, now);
  std::size_t total = 0;
  for (const auto& block : blocks) total += block.w.size();
  const Chunks chunks = chunks_for(total);
  for_each(pool, chunks.count, [&](std::size_t c) {
    std::size_t start = 0;
    for (const AdaptiveBlock<T>& block : blocks) {
      const std::size_t n = block.w.size();
      const std::size_t from = std::max(chunks.begin(c), start),
                        to = std::min(chunks.end(c), start + n);
      if (from < to) {
        const std::size_t at = from - start;
        kernels::adapt<T>({block.m.data() + at, block.g.data() + at, block.v.data() + at,
                           block.w.data() + at, to - from},
                          {method.beta2, method.epsilon, block.eta / first, std::sqrt(second),
                           block.shrink, block.decay});
      }
      start += n;
      if (start >= chunks.end(c)) break;
    }
  });
}

template void adaptive_step(const AdaptiveGradient&, std::uint64_t,
                            std::span<const AdaptiveBlock<float>>, ThreadPool*);
template void adaptive_step(const AdaptiveGradient&, std::uint64_t,
                            std::span<const AdaptiveBlock<double>>, ThreadPool*);

}  // namespace medgrad
