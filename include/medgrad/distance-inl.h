// The type-erasing part of AnyDistance: wraps a user's distance. Included by distance.h.
#pragma once

#include <algorithm>
#include <utility>

#include "medgrad/distance.h"

namespace medgrad {
namespace internal {

// Forwards what D has. What it lacks is never called: OnlineEstimator and the free functions ask
// has_prox / has_subgradient first, when options are validated.
template <class D>
class WrappedDistance final : public AnyDistance::Custom {
 public:
  explicit WrappedDistance(D d) : d_(std::move(d)) {}

  void prox(double tau, std::span<const float> x, std::span<float> out) const override {
    prox_of(tau, x, out);
  }
  void prox(double tau, std::span<const double> x, std::span<double> out) const override {
    prox_of(tau, x, out);
  }
  void subgradient(std::span<const float> x, std::span<float> out) const override {
    subgradient_of(x, out);
  }
  void subgradient(std::span<const double> x, std::span<double> out) const override {
    subgradient_of(x, out);
  }
  double value(std::span<const float> x) const override { return value_of(x); }
  double value(std::span<const double> x) const override { return value_of(x); }
  bool has_prox(bool is_double) const override {
    return is_double ? Distance<D, double> : Distance<D, float>;
  }
  bool has_subgradient(bool is_double) const override {
    return is_double ? HasSubgradient<D, double> : HasSubgradient<D, float>;
  }

 private:
  template <class T>
  void prox_of(double tau, std::span<const T> x, std::span<T> out) const {
    if constexpr (Distance<D, T>) d_.prox(tau, x, out);
  }
  template <class T>
  void subgradient_of(std::span<const T> x, std::span<T> out) const {
    if constexpr (HasSubgradient<D, T>) d_.subgradient(x, out);
  }
  template <class T>
  double value_of(std::span<const T> x) const {
    if constexpr (HasValue<D, T>) {
      return d_.value(x);
    } else {
      return std::numeric_limits<double>::quiet_NaN();
    }
  }

  D d_;
};

}  // namespace internal

template <class D>
requires(Distance<D, float> || Distance<D, double>) AnyDistance::AnyDistance(D d)
    : distance_(std::shared_ptr<const Custom>(
          std::make_shared<internal::WrappedDistance<D>>(std::move(d)))) {}

}  // namespace medgrad
