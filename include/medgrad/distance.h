// Any distance: those of the library (distances.h), or a type of one's own.
//
// A distance of one's own is any type with a prox. Give it a name and list its parameters as
// description.h shows, and they become part of what is saved: without a name it can be used, but
// not saved, since nothing would tell its state from that of another distance.
//
//     struct Pseudohuber {
//       static constexpr medgrad::About about{"pseudohuber", "sqrt(1 + |x|^2) - 1", "smooth"};
//       static constexpr auto fields() { return std::tuple(); }
//       void prox(double tau, std::span<const double> x, std::span<double> out) const;
//     };
//     medgrad::ProximalPoint method{Pseudohuber{}, 0.1};
#pragma once

#include <concepts>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "medgrad/distance_list.h"

#pragma GCC visibility push(default)
namespace medgrad {

class ThreadPool;

// What any distance must offer: its proximal operator, for the element type it is used with.
template <class D, class T>
concept Distance = Real<T> &&
    requires(const D d, double tau, std::span<const T> x, std::span<T> out) {
  d.prox(tau, x, out);
};
// A distance that can also be evaluated, and one that has subgradients (for the subgradient
// method).
template <class D, class T>
concept HasValue = Distance<D, T> && requires(const D d, std::span<const T> x) {
  { d.value(x) } -> std::convertible_to<double>;
};
template <class D, class T>
concept HasSubgradient = Distance<D, T> &&
    requires(const D d, std::span<const T> x, std::span<T> out) {
  d.subgradient(x, out);
};
// A distance that is a norm: it knows the projection onto the ball of its dual norm.
template <class D, class T>
concept Norm = HasValue<D, T> &&
    requires(const D d, double r, std::span<const T> x, std::span<T> out) {
  d.project_dual(r, x, out);
};

namespace internal {
template <class Variant, class Type>
struct Appended;
template <class... A, class Type>
struct Appended<std::variant<A...>, Type> {
  using type = std::variant<A..., Type>;
  template <class D>
  static constexpr bool has = (std::is_same_v<D, A> || ...);
};
}  // namespace internal

// Any distance, chosen at run time. Cheap to copy; user-defined distances are shared.
class AnyDistance {
 public:
  // What a user-defined distance looks like from inside.
  class Custom {
   public:
    virtual ~Custom() = default;
    virtual void prox(double tau, std::span<const float> x, std::span<float> out) const = 0;
    virtual void prox(double tau, std::span<const double> x, std::span<double> out) const = 0;
    virtual void subgradient(std::span<const float> x, std::span<float> out) const = 0;
    virtual void subgradient(std::span<const double> x, std::span<double> out) const = 0;
    virtual double value(std::span<const float> x) const = 0;
    virtual double value(std::span<const double> x) const = 0;
    virtual bool has_prox(bool is_double) const = 0;
    virtual bool has_subgradient(bool is_double) const = 0;
    virtual std::string_view name() const = 0;    // empty where it has none
    virtual std::string description() const = 0;  // name and parameters, as describe() has them
  };
  using Built = internal::Appended<BuiltInDistance, std::shared_ptr<const Custom>>;
  using Variant = Built::type;

  template <class D>
  requires(Built::has<D>) AnyDistance(D d)  // NOLINT(google-explicit-constructor)
      : distance_(std::move(d)) {}
  template <class D>
  requires(!Built::has<D> && (Distance<D, float> || Distance<D, double>))
      AnyDistance(D d);  // NOLINT(google-explicit-constructor)

  [[nodiscard]] const Variant& variant() const { return distance_; }
  // "squared", "l1", …; that of a user-defined distance, "unnamed" where it has none.
  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] bool is_named() const;

  // False only for user-defined distances that lack the operation for the element type; calling it
  // all the same throws Error.
  template <Real T>
  [[nodiscard]] bool has_prox() const;
  template <Real T>
  [[nodiscard]] bool has_subgradient() const;

  template <Real T>
  [[nodiscard]] double value(std::span<const T> x) const;  // NaN where it has none
  template <Real T>
  void prox(double tau, std::span<const T> x, std::span<T> out) const;
  template <Real T>
  void subgradient(std::span<const T> x, std::span<T> out) const;

 private:
  Variant distance_;
};

// "huber mu=1.345".
[[nodiscard]] std::string describe(const AnyDistance& distance, std::string_view skip = {});

// ---- The same on vectors, arrays and whatever else is contiguous --------------------------------

template <class X>
concept RealRange = std::ranges::contiguous_range<X> && std::ranges::sized_range<X> &&
    Real<std::ranges::range_value_t<X>>;

// prox_{tau D}(x) into out; x and out may be the same.
template <class D, RealRange X, RealRange Out>
requires Distance<D, std::ranges::range_value_t<X>>
void prox(const D& distance, double tau, const X& x, Out&& out) {
  using T = std::ranges::range_value_t<X>;
  distance.prox(tau, std::span<const T>(x), std::span<T>(out));
}
// D(x).
template <class D, RealRange X>
requires HasValue<D, std::ranges::range_value_t<X>>
[[nodiscard]] double value(const D& distance, const X& x) {
  return distance.value(std::span<const std::ranges::range_value_t<X>>(x));
}
// u in the subdifferential of D at x, into out: D(y) >= D(x) + <u, y - x> for all y.
template <class D, RealRange X, RealRange Out>
requires HasSubgradient<D, std::ranges::range_value_t<X>>
void subgradient(const D& distance, const X& x, Out&& out) {
  using T = std::ranges::range_value_t<X>;
  distance.subgradient(std::span<const T>(x), std::span<T>(out));
}
// argmin_y |y - x|_2 over |y|_* <= radius, the dual norm of D, into out: x - prox_{radius D}(x).
template <class D, RealRange X, RealRange Out>
requires Norm<D, std::ranges::range_value_t<X>>
void project_dual(const D& distance, double radius, const X& x, Out&& out) {
  using T = std::ranges::range_value_t<X>;
  distance.project_dual(radius, std::span<const T>(x), std::span<T>(out));
}
template <RealRange X, RealRange Out>
void project_ball(double q, double radius, const X& x, Out&& out) {
  using T = std::ranges::range_value_t<X>;
  project_ball<T>(q, radius, std::span<const T>(x), std::span<T>(out));
}
template <RealRange X>
[[nodiscard]] double norm(double p, const X& x) {
  using T = std::ranges::range_value_t<X>;
  return norm<T>(p, std::span<const T>(x));
}

}  // namespace medgrad
#pragma GCC visibility pop

#include "medgrad/distance-inl.h"  // the type-erasing constructor
