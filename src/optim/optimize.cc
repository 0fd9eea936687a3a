#include "medgrad/optimize.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

#include "kernels/adapt.h"
#include "medgrad/error.h"
#include "medgrad/thread_pool.h"

namespace medgrad {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();

constexpr std::pair<std::string_view, Schedule::Kind> kScheduleNames[] = {
    {"constant", Schedule::Kind::constant}, {"inverse-sqrt", Schedule::Kind::inverse_sqrt},
    {"inverse", Schedule::Kind::inverse},   {"horizon", Schedule::Kind::horizon},
    {"step", Schedule::Kind::step},         {"cosine", Schedule::Kind::cosine}};

double of(const ParameterValues& v, std::string_view name) { return v.find(name)->second; }

// Entries hold views; names that are put together here live as long as the program.
std::string_view keep(std::string text) {
  static std::deque<std::string> kept;
  return kept.emplace_back(std::move(text));
}

const Parameter kCold = {"cold", "1: m is taken as 0 before every step", 0, 0, 1, false, false,
                         true};
const Parameter kSamples = {"n", "gradients per step, all at the same w", 5, 1, 65000, false, false,
                            true};
const Parameter kInexact = {
    "inexact", "passes of a proximal point method instead of the exact estimate; 0 is exact",
    0,         0,
    1e6,       false,
    false,     true};
const Parameter kApproachTau = {"inexact-tau", "step size of those passes", 1, 0, kInfinity, true,
                                true};
const Parameter kBeta2 = {"beta2", "decay of the second moment", 0.999, 0, 1, false, true};
const Parameter kEpsilon = {
    "epsilon", "added to the root of the second moment", 1e-8, 0, kInfinity, true, true};

// The distance whose minimum over a sample is the estimator, where there is one.
AnyDistance distance_of(const SampleMethod& method) {
  if (std::holds_alternative<Mean>(method)) return Squared{};
  if (std::holds_alternative<Median>(method)) return L1{};
  if (std::holds_alternative<GeometricMedian>(method)) return L2{};
  if (const auto* lp = std::get_if<LpMedian>(&method)) return Lp(lp->p);
  if (const auto* huber = std::get_if<HuberLocation>(&method)) return Huber(huber->mu);
  throw Error("This estimator is no minimum of a distance, so it cannot be inexact.");
}

Entry<GradientMethod> online_entry(const Entry<OnlineMethod>& from) {
  Entry<GradientMethod> entry{from.name,    from.aliases,    from.formula,
                              from.meaning, from.parameters, {}};
  entry.parameters.push_back(kCold);
  entry.build = [build = from.build](const ParameterValues& v) -> GradientMethod {
    return OnlineGradient{build(v), of(v, "cold") == 0 ? Start::warm : Start::cold};
  };
  return entry;
}

Entry<GradientMethod> sample_entry(const Entry<SampleMethod>& from) {
  const auto of_sample = [](std::string_view name) { return keep("smgd-" + std::string(name)); };
  Entry<GradientMethod> entry{of_sample(from.name),
                              {},
                              keep("m = " + std::string(from.formula) + " of n gradients"),
                              keep("sample gradient descent: " + std::string(from.meaning)),
                              from.parameters,
                              {}};
  for (const std::string_view alias : from.aliases) entry.aliases.push_back(of_sample(alias));
  if (from.name == "median") entry.aliases.emplace_back("smgd-l1");
  if (from.name == "geometric-median") entry.aliases.emplace_back("smgd-l2");
  entry.parameters.insert(entry.parameters.end(), {kSamples, kInexact, kApproachTau});
  entry.build = [build = from.build](const ParameterValues& v) -> GradientMethod {
    SampleGradient made{build(v), static_cast<std::size_t>(of(v, "n")),
                        static_cast<std::size_t>(of(v, "inexact"))};
    if (made.inexact > 0) made.approach = {distance_of(made.estimator), of(v, "inexact-tau")};
    return made;
  };
  return entry;
}

// m <- the estimate; components that no gradient has stay as they were (or are 0, in rows so long
// that aggregate() has given up half-way).
void estimate_from(const SampleMethod& estimator, const Rows<double>& gradients,
                   std::vector<double>& m) {
  const SampleOptions<double> robust{.non_finite = NonFinite::robust};
  try {
    aggregate(estimator, gradients, std::span(m), robust);
  } catch (const Error&) {  // a column without an observation
    std::vector<double> filled(gradients.n() * m.size()), before = m;
    for (std::size_t j = 0; j < m.size(); ++j) {
      bool seen = false;
      for (std::size_t i = 0; i < gradients.n(); ++i) {
        filled[i * m.size() + j] = gradients.row(i)[j];
        seen = seen || !std::isnan(gradients.row(i)[j]);
      }
      if (!std::isfinite(before[j])) before[j] = 0;
      for (std::size_t i = 0; !seen && i < gradients.n(); ++i) filled[i * m.size() + j] = before[j];
      if (seen) before[j] = std::numeric_limits<double>::quiet_NaN();
    }
    aggregate(estimator, Rows<double>(filled.data(), gradients.n(), m.size()), std::span(m),
              robust);
    for (std::size_t j = 0; j < m.size(); ++j)
      if (!std::isnan(before[j])) m[j] = before[j];
  }
}

// Subgradient steps from m = 0 every time: sign-SGD and normalised SGD.
template <class Distance>
GradientMethod cold_subgradient(const ParameterValues&) {
  return OnlineGradient{Subgradient{Distance{}, 1}, Start::cold};
}

std::vector<Entry<GradientMethod>> make_optimizers() {
  const Parameter tau = find_online_method("cclip").parameters.front();
  const Parameter beta1 = {"beta1", "decay of the first moment", 0.9, 0, 1, true, true};
  std::vector<Entry<GradientMethod>> entries = {
      {"sgd",
       {},
       "m = g",
       "the gradient as it comes",
       {},
       [](const ParameterValues&) -> GradientMethod {
         return SampleGradient{Mean{}, 1};
       }},
      {"sign-sgd", {}, "m = sign(g)", "only the sign of every component", {}, cold_subgradient<L1>},
      {"normalized-sgd",
       {"normalised-sgd"},
       "m = g/|g|",
       "only the direction of the gradient",
       {},
       cold_subgradient<L2>},
      {"adam",
       {},
       "m <- beta1 m + (1-beta1) g, v <- beta2 v + (1-beta2) g^2, step m/(sqrt v + epsilon)",
       "momentum, scaled per component",
       {beta1, kBeta2, kEpsilon},
       [](const ParameterValues& v) -> GradientMethod {
         const double b = of(v, "beta1");
         return AdaptiveGradient{ProximalPoint{Squared{}, 1 / b - 1}, b, of(v, "beta2"),
                                 of(v, "epsilon")};
       }},
      {"median-adam",
       {},
       "m <- m + clamp(g - m, -tau, tau), v and the step as in adam",
       "Adam whose first moment tracks the componentwise median (ours, not the paper's)",
       {tau, kBeta2, kEpsilon},
       [](const ParameterValues& v) -> GradientMethod {
         return AdaptiveGradient{ProximalPoint{L1{}, of(v, "tau")}, 0, of(v, "beta2"),
                                 of(v, "epsilon")};
       }},
  };
  for (const auto& method : online_methods()) {
    Entry<GradientMethod> entry = online_entry(method);
    std::erase(entry.aliases, "sign-sgd");  // which starts cold
    entries.push_back(std::move(entry));
  }
  for (const auto& method : sample_methods()) entries.push_back(sample_entry(method));
  return entries;
}

}  // namespace

std::span<const Entry<GradientMethod>> optimizers() {
  static const std::vector<Entry<GradientMethod>> entries = make_optimizers();
  return entries;
}

const Entry<GradientMethod>& find_optimizer(std::string_view name) {
  return find_entry(optimizers(), "method", name);
}

void validate(const GradientMethod& method) {
  if (const auto* online = std::get_if<OnlineGradient>(&method)) {
    validate<double>(online->method);
  } else if (const auto* sample = std::get_if<SampleGradient>(&method)) {
    validate(sample->estimator, sample->n);
    if (sample->inexact > 0) validate<double>(OnlineMethod(sample->approach));
  } else {
    const auto& adaptive = std::get<AdaptiveGradient>(method);
    validate<double>(adaptive.first);
    if (!(adaptive.beta1 >= 0 && adaptive.beta1 < 1) ||
        !(adaptive.beta2 >= 0 && adaptive.beta2 < 1) || !(adaptive.epsilon > 0))
      throw Error("beta1 and beta2 must be in [0, 1), epsilon positive.");
  }
}

double Schedule::at(std::size_t t, std::size_t steps) const {
  const double now = static_cast<double>(t),
               all = static_cast<double>(std::max<std::size_t>(steps, 1));
  const double rise = std::min(1.0, (now + 1) / (static_cast<double>(warmup) + 1));
  switch (kind) {
    case Kind::constant:
      return rise * value;
    case Kind::inverse_sqrt:
      return rise * value / std::sqrt(now + 1);
    case Kind::inverse:
      return rise * value / (now + 1);
    case Kind::horizon:
      return rise * value / std::sqrt(all);
    case Kind::step:
      return rise * value * std::pow(factor, std::floor(now / static_cast<double>(every)));
    case Kind::cosine:
      return rise * value *
             (factor + (1 - factor) * (1 + std::cos(std::numbers::pi * now / all)) / 2);
  }
  return value;
}

std::string_view Schedule::name_of(Kind kind) {
  return std::ranges::find(kScheduleNames, kind, [](const auto& one) { return one.second; })->first;
}

Schedule::Kind Schedule::kind_of(std::string_view name) {
  const auto* const found =
      std::ranges::find(kScheduleNames, name, [](const auto& one) { return one.first; });
  if (found == std::end(kScheduleNames)) throw Error("'" + std::string(name) + "' is no schedule.");
  return found->second;
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
  } else {
    online_.emplace(std::get<AdaptiveGradient>(method_).first, dimension, warm);
    v_.assign(dimension, 0);
  }
}

std::size_t Optimizer::samples() const {
  const auto* sample = std::get_if<SampleGradient>(&method_);
  return sample != nullptr ? sample->n : 1;
}

std::span<const double> Optimizer::estimate() const {
  return online_ ? online_->estimate() : std::span<const double>(m_);
}

void Optimizer::set_tau(double tau) {
  if (online_) online_->set_tau(tau);
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
  const auto& sample = std::get<SampleGradient>(method_);
  if (sample.inexact > 0) {
    approach(sample, gradients);
  } else if (sample.n == 1 && std::holds_alternative<Mean>(sample.estimator)) {
    for (std::size_t j = 0; j < g.size(); ++j)
      if (!std::isnan(g[j])) m_[j] = std::clamp(g[j], -kLargest, kLargest);
  } else {
    estimate_from(sample.estimator, gradients, m_);
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
