#include "medgrad/optimize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/adapt.h"
#include "kernels/step.h"
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
    const auto& adaptive = std::get<AdaptiveGradient>(method);
    validate<double>(adaptive.first);
    const auto* const momentum = std::get_if<ProximalPoint>(&adaptive.first);
    if (adaptive.cuts() &&
        (momentum == nullptr || !std::holds_alternative<Squared>(momentum->distance.variant())))
      throw Error("cut", number(adaptive.cut), "that goes with momentum as first moment alone");
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
    const auto& adaptive = std::get<AdaptiveGradient>(method_);
    if (adaptive.cuts()) {
      m_.assign(dimension, 0);
    } else {
      online_.emplace(adaptive.first, dimension, warm);
    }
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
  if (method.cuts()) {
    const CutBlock<double> block{m_, g, v_, w, steps_, eta};
    cut_adaptive_step<double>(method, {&block, 1}, {.non_finite = NonFinite::robust});
    return;
  }
  online_->update(g);
  const AdaptiveBlock<double> block{online_->estimate(), g, v_, w, eta};
  adaptive_step<double>(method, steps_, {&block, 1});
}

namespace {

template <class B>
std::size_t length_of(std::span<const B> blocks) {
  std::size_t total = 0;
  for (const B& block : blocks) total += block.w.size();
  return total;
}

// use(chunk, block, at, n, place) for the pieces of blocks, cut into chunks of their concatenation:
// n components from `at` on in the block, and from `place` on in all of them.
template <class B, class Use>
void for_each_piece(std::span<const B> blocks, ThreadPool* pool, const Use& use) {
  const Chunks chunks = chunks_for(length_of(blocks));
  for_each(pool, chunks.count, [&](std::size_t c) {
    std::size_t start = 0;
    for (const B& block : blocks) {
      const std::size_t n = block.w.size();
      const std::size_t from = std::max(chunks.begin(c), start),
                        to = std::min(chunks.end(c), start + n);
      if (from < to) use(c, block, from - start, to - from, from);
      start += n;
      if (start >= chunks.end(c)) break;
    }
  });
}

// The t-th step of a block; `first` and `root` correct the bias of the moments.
class AdaptAt {
 public:
  AdaptAt(const AdaptiveGradient& method, std::uint64_t t)
      : method_(method),
        first_(1 - std::pow(method.beta1, static_cast<double>(t))),
        root_(std::sqrt(1 - std::pow(method.beta2, static_cast<double>(t)))) {}
  template <class B>
  [[nodiscard]] kernels::Adapt of(const B& block) const {
    return {method_.beta2, method_.epsilon, block.eta / first_, root_, block.shrink, block.decay};
  }

 private:
  const AdaptiveGradient& method_;
  double first_, root_;
};

}  // namespace

template <Real T>
void adaptive_step(const AdaptiveGradient& method, std::uint64_t t,
                   std::span<const AdaptiveBlock<T>> blocks, ThreadPool* pool) {
  const AdaptAt adapt(method, t);
  for_each_piece(
      blocks, pool,
      [&](std::size_t, const AdaptiveBlock<T>& block, std::size_t at, std::size_t n, std::size_t) {
        kernels::adapt<T>(
            {block.m.data() + at, block.g.data() + at, block.v.data() + at, block.w.data() + at, n},
            adapt.of(block));
      });
}

template <Real T>
StepInfo cut_adaptive_step(const AdaptiveGradient& method, std::span<const CutBlock<T>> blocks,
                           const StepOptions& options) {
  if (options.non_finite == NonFinite::reject) {
    for_each_piece(blocks, options.pool,
                   [&](std::size_t, const CutBlock<T>& block, std::size_t at, std::size_t n,
                       std::size_t place) {
                     const auto refuse = [&](const T* x) {
                       const std::size_t bad = kernels::first_non_finite(x, n);
                       if (bad < n) throw NonFiniteInput("a component is not finite.", place + bad);
                     };
                     refuse(block.g.data() + at);
                     if (block.decay != 0) refuse(block.w.data() + at);
                   });
  }
  const double share = 1 - method.beta1;
  const std::size_t total = length_of(blocks);
  std::vector<kernels::CutTally> tallies(chunks_for(total).count);
  for_each_piece(
      blocks, options.pool,
      [&](std::size_t c, const CutBlock<T>& block, std::size_t at, std::size_t n, std::size_t) {
        const double before =
            block.t > 1 ? 1 - std::pow(method.beta2, static_cast<double>(block.t - 1)) : 1;
        kernels::cut_and_adapt<T>(
            {block.m.data() + at, block.g.data() + at, block.v.data() + at, block.w.data() + at, n},
            {AdaptAt(method, block.t).of(block), share, method.cut, std::sqrt(before)}, tallies[c]);
      });
  double increment = 0, taken = 0;
  StepInfo info;
  std::uint64_t clipped = 0;
  for (const kernels::CutTally& tally : tallies) {
    increment += kernels::sum_lanes(tally.increment);
    taken += kernels::sum_lanes(tally.taken);
    clipped += tally.clipped;
    info.non_finite += static_cast<std::size_t>(tally.nan + tally.inf);
  }
  info.increment_norm = std::sqrt(increment);
  info.effective_beta = increment > 0 ? 1 - share * std::sqrt(taken) / info.increment_norm : 0;
  info.clipped_share = total == 0 ? 0 : static_cast<double>(clipped) / static_cast<double>(total);
  return info;
}

template StepInfo cut_adaptive_step(const AdaptiveGradient&, std::span<const CutBlock<float>>,
                                    const StepOptions&);
template StepInfo cut_adaptive_step(const AdaptiveGradient&, std::span<const CutBlock<double>>,
                                    const StepOptions&);
template void adaptive_step(const AdaptiveGradient&, std::uint64_t,
                            std::span<const AdaptiveBlock<float>>, ThreadPool*);
template void adaptive_step(const AdaptiveGradient&, std::uint64_t,
                            std::span<const AdaptiveBlock<double>>, ThreadPool*);

}  // namespace medgrad
