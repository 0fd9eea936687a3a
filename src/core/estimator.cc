#include "medgrad/estimator.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/text.h"
#include "core/overloaded.h"
#include "kernels/follow.h"
#include "kernels/short_step.h"
#include "medgrad/error.h"
#include "medgrad/thread_pool.h"

namespace medgrad {
namespace {

// Distances without a kernel of their own gather the increment; a prox needs its argument beside
// it.
std::size_t vectors_needed(const OnlineMethod& method) {
  const auto of = [](const AnyDistance& distance) {
    return std::visit(Overloaded{[](const Squared&) { return 0; }, [](const L1&) { return 0; },
                                 [](const L2&) { return 0; }, [](const Huber&) { return 0; },
                                 [](const Lp&) { return 1; }, [](const auto&) { return 2; }},
                      distance.variant());
  };
  return std::visit(
      [&](const auto& m) -> std::size_t {
        if constexpr (requires { m.distance; }) return static_cast<std::size_t>(of(m.distance));
        return 0;
      },
      method);
}

bool can_be_automatic(const AnyDistance& distance) {
  return std::visit(
      []<class D>(const D&) {
        if constexpr (requires { D::proximal; }) return D::proximal.range.automatic;
        return false;
      },
      distance.variant());
}

// The step as the follow kernel knows it (radial.h has the same formulas for norms of any size);
// none for methods it does not.
std::optional<kernels::Plan> plan_of(const OnlineMethod& method) {
  using Kind = kernels::Plan::Kind;
  using Made = std::optional<kernels::Plan>;
  if (is_automatic(method)) return std::nullopt;
  const auto prox = [](double tau) {
    return Overloaded{[=](const Squared&) -> Made {
                        return {{Kind::relax, 0, tau / (1 + tau), 0}};
                      },
                      [=](const L1&) -> Made {
                        return {{Kind::clamp, 0, 0, tau}};
                      },
                      [=](const L2&) -> Made {
                        return {{Kind::radial, tau, 1, tau}};
                      },
                      [=](const Huber& h) -> Made {
                        return {{Kind::radial, h.mu() * (1 + tau), tau / (1 + tau), h.mu() * tau}};
                      },
                      [](const auto&) -> Made { return {}; }};
  };
  const auto subgradient = [](double tau) {
    return Overloaded{[=](const Squared&) -> Made {
                        return {{Kind::relax, 0, tau, 0}};
                      },
                      [=](const L1&) -> Made {
                        return {{Kind::sign, 0, 0, tau}};
                      },
                      [=](const L2&) -> Made {
                        return {{Kind::radial, 0, 0, tau}};
                      },
                      [=](const Huber& h) -> Made {
                        return {{Kind::radial, h.mu(), tau, tau * h.mu()}};
                      },
                      [](const auto&) -> Made { return {}; }};
  };
  return std::visit(Overloaded{[&](const ProximalPoint& m) {
                                 return std::visit(prox(m.tau), m.distance.variant());
                               },
                               [&](const Subgradient& m) {
                                 return std::visit(subgradient(m.tau), m.distance.variant());
                               },
                               [](const ClippedMean&) { return Made(); }},
                    method);
}

}  // namespace

template <Real T>
void validate(const OnlineMethod& method) {
  const auto lacks = [](const AnyDistance& distance, const char* operation) {
    internal::fail_missing(distance.name(), operation, sizeof(T) == sizeof(double));
  };
  std::visit([](const auto& m) { check_fields(m); }, method);
  if (const auto* m = std::get_if<ProximalPoint>(&method); m && !m->distance.has_prox<T>())
    lacks(m->distance, "prox");
  if (is_automatic(method)) {
    const auto& m = std::get<ProximalPoint>(method);
    check_fields(m.automatic);
    if (!can_be_automatic(m.distance))
      throw Error("tau", "auto",
                  fmt::format("that is for l1, l2 and huber; the distance here is '{}'",
                              m.distance.name()));
  }
  if (const auto* m = std::get_if<Subgradient>(&method); m && !m->distance.has_subgradient<T>())
    lacks(m->distance, "subgradient");
}

bool is_automatic(const OnlineMethod& method) {
  const auto* const m = std::get_if<ProximalPoint>(&method);
  return m != nullptr && m->tau == kAutomaticNumber;
}

double tau_of(const OnlineMethod& method) {
  if (is_automatic(method)) return std::get<ProximalPoint>(method).automatic.theta;
  return std::visit(
      [](const auto& m) {
        if constexpr (requires { m.tau; }) return m.tau;
        return 0.0;
      },
      method);
}

void set_tau(OnlineMethod& method, double tau) {
  const bool automatic = is_automatic(method);
  check(automatic ? "theta" : "tau", tau, range::positive);
  std::visit(
      [&]<class M>(M& m) {
        if constexpr (std::is_same_v<M, ProximalPoint>) {
          (automatic ? m.automatic.theta : m.tau) = tau;
        } else if constexpr (requires { m.tau; }) {
          m.tau = tau;
        }
      },
      method);
}

std::string describe(const ProximalPoint& method, std::string_view skip) {
  const bool automatic = method.tau == kAutomaticNumber;
  std::string line =
      fmt::format("{} {}", ProximalPoint::about.name, describe(method.distance, skip));
  if (!automatic && skip != "tau") line += fmt::format(" tau={}", number(method.tau));
  if (!automatic) return line;
  line += " tau=auto";
  // What is skipped is what schedules move: here theta.
  const std::string rest = describe(method.automatic, skip == "tau" ? "theta" : skip);
  return line + rest.substr(AutomaticTau::about.name.size());
}

template <Real T>
OnlineEstimator<T>::OnlineEstimator(OnlineMethod method, std::size_t dimension,
                                    EstimatorOptions options)
    : method_(std::move(method)), options_(options), m_(dimension, T{0}) {
  validate<T>(method_);
  if (options_.average) average_.assign(dimension, T{0});
  workspace_.reserve(vectors_needed(method_) * dimension);
}

template <Real T>
StepInfo OnlineEstimator<T>::update(std::span<const T> g) {
  return take({}, 0, g);
}

template <Real T>
void OnlineEstimator<T>::update_all(const Rows<T>& rows) {
  const bool in_registers = rows.d() == m_.size() && m_.size() <= kernels::kLanes &&
                            options_.start == Start::warm && !options_.average;
  const std::optional<kernels::Plan> plan = in_registers ? plan_of(method_) : std::nullopt;
  for (std::size_t i = 0; i < rows.n();) {
    // Rows that lie evenly in memory can be taken together.
    if (plan && i + 1 < rows.n()) {
      const std::ptrdiff_t stride = rows.row(i + 1) - rows.row(i);
      std::size_t even = i + 1;
      while (even < rows.n() && rows.row(even) - rows.row(even - 1) == stride) ++even;
      const std::size_t taken =
          stride < 0 ? 0
                     : kernels::follow(m_.data(), m_.size(), rows.row(i),
                                       static_cast<std::size_t>(stride), even - i, *plan);
      steps_ += taken;
      i += taken;
      if (i == even) continue;
    }
    update({rows.row(i), rows.d()});
    ++i;
  }
}

template <Real T>
StepInfo OnlineEstimator<T>::update_and_step(std::span<T> w, double eta, std::span<const T> g) {
  if (w.size() != m_.size()) {
    throw Error(fmt::format("w has {} where the estimator has {}.", counted(w.size(), "component"),
                            m_.size()));
  }
  return take(w, eta, g);
}

template <Real T>
StepInfo OnlineEstimator<T>::take(std::span<T> w, double eta, std::span<const T> g) {
  if (g.size() != m_.size()) {
    throw Error(fmt::format("the vector has {} where the estimator has {}.",
                            counted(g.size(), "component"), m_.size()));
  }
  const Block<T> block{m_, g, w, eta};
  const StepOptions options{options_.start, options_.non_finite, pool_};
  const StepInfo info = step<T>(method_, {&block, 1}, options, workspace_, &size_);
  ++steps_;
  if (options_.average) follow();
  return info;
}

// average <- average + (m - average) / t: a relaxation step like any other.
template <Real T>
void OnlineEstimator<T>::follow() {
  const kernels::Factor share{1 / static_cast<double>(steps_), 1};
  const kernels::Run<T> whole{average_.data(), m_.data(), nullptr, m_.size()};
  if (whole.n <= kernels::kShort && kernels::relax_short(whole, {}, share.f).ordinary) return;
  const Chunks chunks = chunks_for(whole.n);
  for_each(pool_, chunks.count, [&](std::size_t c) {
    const std::size_t at = chunks.begin(c);
    kernels::relax(kernels::Run<T>{whole.m + at, whole.g + at, nullptr, chunks.end(c) - at}, {},
                   share, nullptr);
  });
}

template <Real T>
void OnlineEstimator<T>::reset(std::span<const T> m) {
  if (m.size() != m_.size()) {
    throw Error(fmt::format("the starting vector has {} where the estimator has {}.",
                            counted(m.size(), "component"), m_.size()));
  }
  const std::size_t bad = kernels::first_non_finite(m.data(), m.size());
  if (bad < m.size()) {
    throw Error(fmt::format("component {} of the starting vector is not finite.", bad + 1));
  }
  std::copy(m.begin(), m.end(), m_.begin());
  if (options_.average) average_ = m_;
  steps_ = 0;
  size_ = 0;
}

template <Real T>
void OnlineEstimator<T>::set_tau(double tau) {
  medgrad::set_tau(method_, tau);
}

template <Real T>
void OnlineEstimator<T>::set_automatic(const AutomaticTau& how) {
  if (!is_automatic(method_)) throw Error("theta, level and rate go with tau = auto.");
  check_fields(how);
  std::get<ProximalPoint>(method_).automatic = how;
}

template void validate<float>(const OnlineMethod&);
template void validate<double>(const OnlineMethod&);
template class OnlineEstimator<float>;
template class OnlineEstimator<double>;

}  // namespace medgrad
