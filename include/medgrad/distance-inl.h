// The type-erasing part of AnyDistance: wraps a user's distance. Included by distance.h.
#pragma once

#include <algorithm>
#include <utility>

#include "medgrad/distance.h"

#pragma GCC visibility push(default)
namespace medgrad {
namespace internal {

[[noreturn]] void fail_missing(std::string_view distance, std::string_view operation,
                               bool is_double);

// Forwards what D has, and throws for what it lacks.
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
  std::string_view name() const override {
    if constexpr (Described<D>) {
      return D::about.name;
    } else {
      return {};
    }
  }
  std::string description() const override {
    if constexpr (Described<D>) {
      return describe(d_);
    } else {
      return "unnamed";
    }
  }

 private:
  template <class T>
  void prox_of(double tau, std::span<const T> x, std::span<T> out) const {
    if constexpr (Distance<D, T>) {
      d_.prox(tau, x, out);
    } else {
      fail_missing(name(), "prox", std::is_same_v<T, double>);
    }
  }
  template <class T>
  void subgradient_of(std::span<const T> x, std::span<T> out) const {
    if constexpr (HasSubgradient<D, T>) {
      d_.subgradient(x, out);
    } else {
      fail_missing(name(), "subgradient", std::is_same_v<T, double>);
    }
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
requires(!AnyDistance::Built::has<D> &&
         (Distance<D, float> || Distance<D, double>)) AnyDistance::AnyDistance(D d)
    : distance_(std::shared_ptr<const Custom>(
          std::make_shared<internal::WrappedDistance<D>>(std::move(d)))) {}

}  // namespace medgrad
#pragma GCC visibility pop
