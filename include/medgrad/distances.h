// The distances of the library: what "close" means when a gradient is tracked.
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
// The members take spans, whose element type a call with a vector does not tell: for vectors,
// arrays and whatever else is contiguous, distance.h has prox(L1{}, tau, x, out), value(L1{}, x),
// subgradient(L1{}, x, out) and project_dual(L1{}, radius, x, out), of any distance that has them.
//
// All functions take finite input of float or double, of any length including zero; `out` may be
// the same span as `x`. Entries up to the largest finite number and down to denormals are handled:
// sums of squares are accumulated in double and in ranges that neither overflow nor underflow.
// Options are validated at construction; functions neither throw nor allocate.
#pragma once

#include <concepts>
#include <span>
#include <string_view>
#include <tuple>

#include "medgrad/description.h"
#include "medgrad/export.h"

#pragma GCC visibility push(default)
namespace medgrad {

template <class T>
concept Real = std::same_as<T, float> || std::same_as<T, double>;

// What following a stream by a distance is called, where it has a name of its own: the online
// method that the registry makes of it, and what its tau means.
struct Tracking {
  About about;
  std::string_view tau = "step size";
  Range range = range::positive;  // of tau; where it may be auto, estimator.h says how it is found
};
inline constexpr std::string_view kTauOfVectors =
    "step size: the most that one vector can move the estimate";
inline constexpr std::string_view kTauOfComponents =
    "step size: the most that one vector can move each component";

// D(x) = 1/2 |x|_2^2.   prox = x / (1 + tau).   subgradient = x.   Tracks the mean: momentum.
struct Squared {
  static constexpr About about{"squared", "1/2 |x|_2^2", "tracks the mean", {"half-squared"}};
  static constexpr auto fields() { return std::tuple(); }
  static constexpr Tracking proximal{{"momentum",
                                      "m <- m + tau/(1+tau) (g - m), beta = 1/(1+tau)",
                                      "exponential average: tracks the mean",
                                      {"sgd-m", "squared"}},
                                     "step size; a new vector counts tau/(1+tau)"};
  static constexpr Tracking subgradient_method{
      {"ema", "m <- (1-tau) m + tau g",
       "exponential average, with the weight of a new vector as tau: tracks the mean"},
      "weight of a new vector; momentum with beta = 1 - tau",
      {0, 1, true}};
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
  static constexpr About about{"l1", "|x|_1", "tracks the componentwise median"};
  static constexpr auto fields() { return std::tuple(); }
  static constexpr Tracking proximal{
      {"cclip",
       "m <- m + clamp(g - m, -tau, tau)",
       "clips the increment per component: tracks the componentwise median",
       {"l1"}},
      kTauOfComponents,
      range::or_auto(range::positive)};
  static constexpr Tracking subgradient_method{
      {"sign", "m <- m + tau sign(g - m)",
       "subgradient step on the 1-norm: tracks the componentwise median"},
      kTauOfComponents};

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
  static constexpr About about{"l2", "|x|_2", "tracks the geometric median"};
  static constexpr auto fields() { return std::tuple(); }
  static constexpr Tracking proximal{
      {"vclip",
       "m <- m + min(1, tau/|g-m|) (g - m)",
       "clips the increment as a vector: tracks the geometric median",
       {"l2"}},
      kTauOfVectors,
      range::or_auto(range::positive)};
  static constexpr Tracking subgradient_method{
      {"normalized",
       "m <- m + tau (g - m)/|g-m|",
       "subgradient step on the 2-norm: tracks the geometric median",
       {"normalised"}},
      kTauOfVectors};

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
  static constexpr About about{"lp", "|x|_p", "tracks the l_p median"};
  static constexpr auto fields() {
    return std::tuple(
        required("p", &Lp::p_, range::exponent, "exponent of the norm; inf is allowed"));
  }
  static constexpr Tracking proximal{
      {"lp", "m <- m + Proj_{|.|_q <= tau}(g - m), 1/p + 1/q = 1", "tracks the l_p median"},
      "step size: the most that one vector can move the estimate, in the q-norm"};

  Lp() = default;
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
  double p_ = 2;
};

// D(x) = 1/2 |x|^2 where |x| <= mu, else mu |x| - mu^2/2, with |.| the 2-norm; the paper's scaling,
// mu times Beck's.   prox = (1 - mu tau / max(|x|, mu (1 + tau))) x.   subgradient = min(1, mu/|x|)
// x. Momentum for small increments, VClip for large ones (paper, cor. huber).
class Huber {
 public:
  static constexpr About about{"huber", "1/2 |x|^2 up to |x| = mu, then mu |x| - mu^2/2",
                               "between the mean and the geometric median"};
  static constexpr auto fields() {
    return std::tuple(field("mu", &Huber::mu_, range::positive,
                            "where the Huber function turns from quadratic to linear"));
  }
  static constexpr Tracking proximal{{"huber", "m <- m + mu tau / max(|g-m|, mu (1+tau)) (g - m)",
                                      "momentum for small increments, vclip for large ones"},
                                     "step size; one vector can move the estimate by mu tau at "
                                     "most",
                                     range::or_auto(range::positive)};

  Huber() = default;
  explicit Huber(double mu);  // throws Error unless 0 < mu < infinity
  [[nodiscard]] double mu() const { return mu_; }

  template <Real T>
  [[nodiscard]] double value(std::span<const T> x) const;
  template <Real T>
  void prox(double tau, std::span<const T> x, std::span<T> out) const;
  template <Real T>
  void subgradient(std::span<const T> x, std::span<T> out) const;

 private:
  double mu_ = 1.345;
};

// The closest point to x in the ball { y : |y|_q <= radius }, 1 <= q <= infinity.
// q = infinity and 2 in closed form; q = 1 by a safeguarded Newton search for the threshold, linear
// time in expectation; 1 < q < infinity by a safeguarded root find to 1e-12 relative.
template <Real T>
MEDGRAD_EXPORT void project_ball(double q, double radius, std::span<const T> x, std::span<T> out);

// |x|_p for 1 <= p <= infinity, right for entries of any finite size; infinity only where the norm
// itself exceeds the largest double.
template <Real T>
[[nodiscard]] MEDGRAD_EXPORT double norm(double p, std::span<const T> x);

}  // namespace medgrad
#pragma GCC visibility pop
