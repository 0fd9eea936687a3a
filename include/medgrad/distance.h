// Distances: what "close" means when a gradient is tracked.
//
// The tracked vector m minimises E D(m - g) over the noisy gradients g (paper, eq.
// gradient-learning). D decides what m is: the mean for Squared, the componentwise median for L1,
// the geometric median for L2, and something in between for Huber. A distance is used through its
// proximal operator
//
//     prox_{tau D}(x) = argmin_y  tau D(y) + 1/2 |y - x|^2,
//
// and for a norm |.|_p that operator is  x - Proj_{B_q(0,tau)}(x)  with 1/p + 1/q = 1, the
// projection onto the ball of the dual norm (Moreau). Clipping *is* that projection.
//
// All functions take finite input of float or double, of any length including zero; `out` may be
// the same span as `x`. Entries up to the largest finite number and down to denormals are handled:
// sums of squares are accumulated in double and in ranges that neither overflow nor underflow.
// Options are validated at construction; functions neither throw nor allocate.
#pragma once

#include <concepts>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <variant>

namespace medgrad {

class ThreadPool;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
concept Real = std::same_as<T, float> || std::same_as<T, double>;

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

// D(x) = 1/2 |x|_2^2.   prox = x / (1 + tau).   subgradient = x.   Tracks the mean: momentum.
struct Squared {
  template <Real T>
  [[nodiscard]] double value(std::span<const T> x) const;
  template <Real T>
  void prox(double tau, std::span<const T> x, std::span<T> out) const;
  template <Real T>
  void subgradient(std::span<const T> x, std::span<T> out) const;
};

// D(x) = |x|_1.   prox = x - clamp(x, -tau, tau).   subgradient = sign(x), sign(0) = 0.
// Tracks the componentwise median: CClip (paper, cor. L1).
struct L1 {
  template <Real T>
  [[nodiscard]] double value(std::span<const T> x) const;
  template <Real T>
  void prox(double tau, std::span<const T> x, std::span<T> out) const;
  template <Real T>
  void subgradient(std::span<const T> x, std::span<T> out) const;
  template <Real T>
  void project_dual(double radius, std::span<const T> x, std::span<T> out) const;
};

// D(x) = |x|_2.   prox = x - tau x / max(tau, |x|).   subgradient = x / |x|, and 0 at 0.
// Tracks the geometric median: VClip (paper, cor. L2).
struct L2 {
  template <Real T>
  [[nodiscard]] double value(std::span<const T> x) const;
  template <Real T>
  void prox(double tau, std::span<const T> x, std::span<T> out) const;
  template <Real T>
  void subgradient(std::span<const T> x, std::span<T> out) const;
  template <Real T>
  void project_dual(double radius, std::span<const T> x, std::span<T> out) const;
};

// D(x) = |x|_p for 1 <= p <= infinity.   prox = x - Proj_{B_q(0,tau)}(x)  (paper, prop. pnormview).
// subgradient = sign(x) |x|^{p-1} / |x|_p^{p-1}; for p = infinity the sign at the largest entries,
// divided by their number; 0 at 0.
class Lp {
 public:
  explicit Lp(double p);  // throws Error unless 1 <= p
  [[nodiscard]] double p() const { return p_; }
  [[nodiscard]] double q() const;  // the dual exponent, 1/p + 1/q = 1

  template <Real T>
  [[nodiscard]] double value(std::span<const T> x) const;
  template <Real T>
  void prox(double tau, std::span<const T> x, std::span<T> out) const;
  template <Real T>
  void subgradient(std::span<const T> x, std::span<T> out) const;
  template <Real T>
  void project_dual(double radius, std::span<const T> x, std::span<T> out) const;

 private:
  double p_;
};

// D(x) = 1/2 |x|^2 where |x| <= mu, else mu |x| - mu^2/2, with |.| the 2-norm; the paper's scaling,
// mu times Beck's.   prox = (1 - mu tau / max(|x|, mu (1 + tau))) x.   subgradient = min(1, mu/|x|)
// x. Momentum for small increments, VClip for large ones (paper, cor. huber).
class Huber {
 public:
  explicit Huber(double mu);  // throws Error unless 0 < mu < infinity
  [[nodiscard]] double mu() const { return mu_; }

  template <Real T>
  [[nodiscard]] double value(std::span<const T> x) const;
  template <Real T>
  void prox(double tau, std::span<const T> x, std::span<T> out) const;
  template <Real T>
  void subgradient(std::span<const T> x, std::span<T> out) const;

 private:
  double mu_;
};

// The closest point to x in the ball { y : |y|_q <= radius }, 1 <= q <= infinity.
// q = infinity and 2 in closed form; q = 1 by a safeguarded Newton search for the threshold, linear
// time in expectation; 1 < q < infinity by a safeguarded root find to 1e-12 relative.
template <Real T>
void project_ball(double q, double radius, std::span<const T> x, std::span<T> out);

// |x|_p for 1 <= p <= infinity, right for entries of any finite size; infinity only where the norm
// itself exceeds the largest double.
template <Real T>
[[nodiscard]] double norm(double p, std::span<const T> x);

// Any distance, chosen at run time: one of the above, or a type of the user's that models Distance
// for float, double or both. Cheap to copy; user-defined distances are shared.
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
  };
  using Variant = std::variant<Squared, L1, L2, Lp, Huber, std::shared_ptr<const Custom>>;

  AnyDistance(Squared d) : distance_(d) {}  // NOLINT(google-explicit-constructor)
  AnyDistance(L1 d) : distance_(d) {}       // NOLINT(google-explicit-constructor)
  AnyDistance(L2 d) : distance_(d) {}       // NOLINT(google-explicit-constructor)
  AnyDistance(Lp d) : distance_(d) {}       // NOLINT(google-explicit-constructor)
  AnyDistance(Huber d) : distance_(d) {}    // NOLINT(google-explicit-constructor)
  template <class D>
  requires(Distance<D, float> || Distance<D, double>)
      AnyDistance(D d);  // NOLINT(google-explicit-constructor)

  [[nodiscard]] const Variant& variant() const { return distance_; }
  [[nodiscard]] std::string_view name() const;  // "squared", "l1", …, "custom"

  // False only for user-defined distances that lack the operation for the element type.
  template <Real T>
  [[nodiscard]] bool has_prox() const;
  template <Real T>
  [[nodiscard]] bool has_subgradient() const;

  template <Real T>
  [[nodiscard]] double value(std::span<const T> x) const;
  template <Real T>
  void prox(double tau, std::span<const T> x, std::span<T> out) const;
  template <Real T>
  void subgradient(std::span<const T> x, std::span<T> out) const;

 private:
  Variant distance_;
};

}  // namespace medgrad

#include "medgrad/distance-inl.h"  // the type-erasing constructor
