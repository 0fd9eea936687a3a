#include "medgrad/distance.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <variant>

#include "base/text.h"
#include "core/lanes.h"
#include "core/project.h"
#include "core/radial.h"
#include "medgrad/error.h"

namespace medgrad {
namespace {

template <Real T>
double at(std::span<const T> x, std::size_t i) {
  return static_cast<double>(x[i]);
}

template <Real T>
double largest(std::span<const T> x) {
  T m = 0;
  for (const T v : x) m = std::max(m, std::fabs(v));
  return static_cast<double>(m);
}

// out = factor x.
template <Real T>
void scale(const kernels::Factor& factor, std::span<const T> x, std::span<T> out) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    out[i] = static_cast<T>(factor.times(at(x, i)));
  }
}

// out = x - factor x: a prox from the step that it leaves undone.
template <Real T>
void without(const kernels::Factor& factor, std::span<const T> x, std::span<T> out) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    out[i] = static_cast<T>(at(x, i) - factor.times(at(x, i)));
  }
}

template <Real T>
void sign_of(std::span<const T> x, std::span<T> out) {
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = static_cast<T>((x[i] > 0) - (x[i] < 0));
}

}  // namespace

template <Real T>
double norm(double p, std::span<const T> x) {
  if (p == 2) return scaled_norm(x).get();
  if (p == 1) return lane_sum(x.size(), [&](std::size_t i) { return std::fabs(at(x, i)); });
  const double max = largest(x);
  if (std::isinf(p) || max == 0) return max;
  return max * relative_norm(p, x, max);
}

template <Real T>
double relative_norm(double p, std::span<const T> x, double max) {
  const double sum =
      lane_sum(x.size(), [&](std::size_t i) { return std::pow(std::fabs(at(x, i)) / max, p); });
  return std::pow(sum, 1 / p);
}
template double relative_norm(double, std::span<const float>, double);
template double relative_norm(double, std::span<const double>, double);

// ---- Squared ----------------------------------------------------------------------------------

template <Real T>
double Squared::value(std::span<const T> x) const {
  const double r = scaled_norm(x).get();
  return r / 2 * r;
}
template <Real T>
void Squared::prox(double tau, std::span<const T> x, std::span<T> out) const {
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = static_cast<T>(at(x, i) / (1 + tau));
}
template <Real T>
void Squared::subgradient(std::span<const T> x, std::span<T> out) const {
  std::copy(x.begin(), x.end(), out.begin());
}

// ---- L1 -----------------------------------------------------------------------------------------

template <Real T>
double L1::value(std::span<const T> x) const {
  return norm(1, x);
}
template <Real T>
void L1::prox(double tau, std::span<const T> x, std::span<T> out) const {
  for (std::size_t i = 0; i < x.size(); ++i) {
    out[i] = static_cast<T>(at(x, i) - std::clamp(at(x, i), -tau, tau));
  }
}
template <Real T>
void L1::subgradient(std::span<const T> x, std::span<T> out) const {
  sign_of(x, out);
}
template <Real T>
void L1::project_dual(double radius, std::span<const T> x, std::span<T> out) const {
  project_ball(kInfinity, radius, x, out);
}

// ---- L2 -----------------------------------------------------------------------------------------

template <Real T>
double L2::value(std::span<const T> x) const {
  return norm(2, x);
}
template <Real T>
void L2::prox(double tau, std::span<const T> x, std::span<T> out) const {
  without(prox_step(*this, tau, scaled_norm(x)).factor, x, out);
}
template <Real T>
void L2::subgradient(std::span<const T> x, std::span<T> out) const {
  scale(subgradient_step(*this, 1, scaled_norm(x)).factor, x, out);
}
template <Real T>
void L2::project_dual(double radius, std::span<const T> x, std::span<T> out) const {
  project_ball(2, radius, x, out);
}

// ---- Lp -----------------------------------------------------------------------------------------

Lp::Lp(double p) : p_(p) { check_fields(*this); }
double Lp::q() const {
  if (p_ == 1) return kInfinity;
  return std::isinf(p_) ? 1 : p_ / (p_ - 1);
}

template <Real T>
double Lp::value(std::span<const T> x) const {
  return norm(p_, x);
}
template <Real T>
void Lp::prox(double tau, std::span<const T> x, std::span<T> out) const {
  if (p_ == 1) return L1{}.prox(tau, x, out);
  if (p_ == 2) return L2{}.prox(tau, x, out);
  subtract_projection(q(), tau, x, out);
}
template <Real T>
void Lp::subgradient(std::span<const T> x, std::span<T> out) const {
  if (p_ == 1) return sign_of(x, out);
  const double max = largest(x);
  if (std::isinf(p_)) {
    const auto count = std::count_if(x.begin(), x.end(), [&](T v) { return std::fabs(v) == max; });
    for (std::size_t i = 0; i < x.size(); ++i) {
      const bool on = std::fabs(at(x, i)) == max && max > 0;
      out[i] = static_cast<T>(on ? std::copysign(1.0 / static_cast<double>(count), at(x, i)) : 0.0);
    }
    return;
  }
  // In units of the largest entry: the norm itself may be beyond the largest double.
  const double r = max > 0 ? relative_norm(p_, x, max) : 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double share = r > 0 ? std::pow(std::fabs(at(x, i)) / max / r, p_ - 1) : 0.0;
    out[i] = static_cast<T>(std::copysign(x[i] != 0 ? share : 0.0, at(x, i)));
  }
}
template <Real T>
void Lp::project_dual(double radius, std::span<const T> x, std::span<T> out) const {
  project_ball(q(), radius, x, out);
}

// ---- Huber --------------------------------------------------------------------------------------

Huber::Huber(double mu) : mu_(mu) { check_fields(*this); }

template <Real T>
double Huber::value(std::span<const T> x) const {
  const double r = norm(2, x);
  return r <= mu_ ? r / 2 * r : mu_ * (r - mu_ / 2);
}
template <Real T>
void Huber::prox(double tau, std::span<const T> x, std::span<T> out) const {
  const RadialStep step = prox_step(*this, tau, scaled_norm(x));
  if (!step.clipped) return Squared{}.prox(tau, x, out);
  without(step.factor, x, out);
}
template <Real T>
void Huber::subgradient(std::span<const T> x, std::span<T> out) const {
  scale(subgradient_step(*this, 1, scaled_norm(x)).factor, x, out);
}

// ---- AnyDistance --------------------------------------------------------------------------------

namespace {

template <class Visitor, class CustomVisitor>
auto dispatch(const AnyDistance::Variant& distance, Visitor builtin, CustomVisitor custom) {
  return std::visit(
      [&]<class D>(const D& d) {
        if constexpr (std::is_same_v<D, std::shared_ptr<const AnyDistance::Custom>>) {
          return custom(*d);
        } else {
          return builtin(d);
        }
      },
      distance);
}

}  // namespace

std::string_view AnyDistance::name() const {
  return dispatch(
      distance_, []<class D>(const D&) { return D::about.name; },
      [](const Custom& d) { return d.name().empty() ? std::string_view("unnamed") : d.name(); });
}

bool AnyDistance::is_named() const {
  return dispatch(
      distance_, [](const auto&) { return true; },
      [](const Custom& d) { return !d.name().empty(); });
}

std::string describe(const AnyDistance& distance, std::string_view skip) {
  return dispatch(
      distance.variant(), [&](const auto& d) { return describe(d, skip); },
      [](const AnyDistance::Custom& d) { return d.description(); });
}

void internal::fail_missing(std::string_view distance, std::string_view operation, bool is_double) {
  throw Error(fmt::format("the distance '{}' has no {} for {}.",
                          distance.empty() ? "unnamed" : distance, operation,
                          is_double ? "double" : "float"));
}

template <Real T>
bool AnyDistance::has_prox() const {
  return dispatch(
      distance_, [](const auto&) { return true; },
      [](const Custom& d) { return d.has_prox(std::is_same_v<T, double>); });
}
template <Real T>
bool AnyDistance::has_subgradient() const {
  return dispatch(
      distance_, [](const auto&) { return true; },
      [](const Custom& d) { return d.has_subgradient(std::is_same_v<T, double>); });
}
template <Real T>
double AnyDistance::value(std::span<const T> x) const {
  const auto call = [&](const auto& d) { return d.value(x); };
  return dispatch(distance_, call, call);
}
template <Real T>
void AnyDistance::prox(double tau, std::span<const T> x, std::span<T> out) const {
  const auto call = [&](const auto& d) { d.prox(tau, x, out); };
  dispatch(distance_, call, call);
}
template <Real T>
void AnyDistance::subgradient(std::span<const T> x, std::span<T> out) const {
  const auto call = [&](const auto& d) { d.subgradient(x, out); };
  dispatch(distance_, call, call);
}

template double norm(double, std::span<const float>);
template double Squared::value(std::span<const float>) const;
template void Squared::prox(double, std::span<const float>, std::span<float>) const;
template void Squared::subgradient(std::span<const float>, std::span<float>) const;
template double L1::value(std::span<const float>) const;
template void L1::prox(double, std::span<const float>, std::span<float>) const;
template void L1::subgradient(std::span<const float>, std::span<float>) const;
template void L1::project_dual(double, std::span<const float>, std::span<float>) const;
template double L2::value(std::span<const float>) const;
template void L2::prox(double, std::span<const float>, std::span<float>) const;
template void L2::subgradient(std::span<const float>, std::span<float>) const;
template void L2::project_dual(double, std::span<const float>, std::span<float>) const;
template double Lp::value(std::span<const float>) const;
template void Lp::prox(double, std::span<const float>, std::span<float>) const;
template void Lp::subgradient(std::span<const float>, std::span<float>) const;
template void Lp::project_dual(double, std::span<const float>, std::span<float>) const;
template double Huber::value(std::span<const float>) const;
template void Huber::prox(double, std::span<const float>, std::span<float>) const;
template void Huber::subgradient(std::span<const float>, std::span<float>) const;
template double AnyDistance::value(std::span<const float>) const;
template void AnyDistance::prox(double, std::span<const float>, std::span<float>) const;
template void AnyDistance::subgradient(std::span<const float>, std::span<float>) const;
template bool AnyDistance::has_prox<float>() const;
template bool AnyDistance::has_subgradient<float>() const;
template double norm(double, std::span<const double>);
template double Squared::value(std::span<const double>) const;
template void Squared::prox(double, std::span<const double>, std::span<double>) const;
template void Squared::subgradient(std::span<const double>, std::span<double>) const;
template double L1::value(std::span<const double>) const;
template void L1::prox(double, std::span<const double>, std::span<double>) const;
template void L1::subgradient(std::span<const double>, std::span<double>) const;
template void L1::project_dual(double, std::span<const double>, std::span<double>) const;
template double L2::value(std::span<const double>) const;
template void L2::prox(double, std::span<const double>, std::span<double>) const;
template void L2::subgradient(std::span<const double>, std::span<double>) const;
template void L2::project_dual(double, std::span<const double>, std::span<double>) const;
template double Lp::value(std::span<const double>) const;
template void Lp::prox(double, std::span<const double>, std::span<double>) const;
template void Lp::subgradient(std::span<const double>, std::span<double>) const;
template void Lp::project_dual(double, std::span<const double>, std::span<double>) const;
template double Huber::value(std::span<const double>) const;
template void Huber::prox(double, std::span<const double>, std::span<double>) const;
template void Huber::subgradient(std::span<const double>, std::span<double>) const;
template double AnyDistance::value(std::span<const double>) const;
template void AnyDistance::prox(double, std::span<const double>, std::span<double>) const;
template void AnyDistance::subgradient(std::span<const double>, std::span<double>) const;
template bool AnyDistance::has_prox<double>() const;
template bool AnyDistance::has_subgradient<double>() const;

}  // namespace medgrad
