// The distances that depend on |v|_2 alone: a step along them scales the increment v = g - m.
//
// For Squared, L2 and Huber the proximal step is  m <- m + f v  with a factor f that needs no more
// than |v|; so is the subgradient step. This file has those factors, safe against overflow.
#pragma once

#include <limits>

#include "kernels/step.h"
#include "medgrad/distance.h"

namespace medgrad {

// A factor on v, what it amounts to as a number (0 .. 1 for a prox), and whether it cuts v short of
// what a step on an unbounded quadratic would do.
struct RadialStep {
  kernels::Factor factor;
  double share = 1;  // the factor as one number; may round to 0
  bool clipped = false;
};

// value / scale <= bound. bound * scale may underflow to 0 (then the norm is far above the bound,
// as a scale below 1 comes with a norm above 2^400) or overflow to infinity (then it is far below).
[[nodiscard]] inline bool at_most(const kernels::ScaledNorm& norm, double bound) {
  return norm.value <= bound * norm.scale;
}

// Factors between its inverse and this are used as they are.
inline constexpr double kFactorRoom = 0x1p900;

// scale_to() where the quotient or the norm is near the ends of the range.
[[nodiscard]] RadialStep scale_far(double radius, const kernels::ScaledNorm& norm);

// radius / |v|, so that the scaled v has norm `radius`; |v| > 0.
[[nodiscard]] inline RadialStep scale_to(double radius, const kernels::ScaledNorm& norm) {
  const double plain = radius / norm.value;
  if (norm.scale == 1 && plain > 1 / kFactorRoom && plain < kFactorRoom) return {{plain, 1}, plain};
  return scale_far(radius, norm);
}

// The same for a v that was cut.
[[nodiscard]] inline RadialStep cut_to(double radius, const kernels::ScaledNorm& norm) {
  RadialStep step = scale_to(radius, norm);
  step.clipped = true;
  return step;
}

// The same for a radius mu tau that may overflow. Where it does, and |v| >= mu, the quotient is a
// number of moderate size.
[[nodiscard]] inline RadialStep cut_to(double mu, double tau, const kernels::ScaledNorm& norm) {
  if (mu * tau <= std::numeric_limits<double>::max()) return cut_to(mu * tau, norm);
  const double f = tau / norm.value * (mu * norm.scale);
  return {{f, 1}, f, true};
}

// min(1, radius / |v|): the projection onto the 2-ball.
[[nodiscard]] inline RadialStep clip_to(double radius, const kernels::ScaledNorm& norm) {
  if (at_most(norm, radius)) return {{1, 1}, 1, false};
  return cut_to(radius, norm);
}

// v + prox_{tau D}(-v) = f v, f =
//   Squared: tau / (1 + tau)     L2: min(1, tau/|v|)     Huber: mu tau / max(|v|, mu (1 + tau))
[[nodiscard]] inline RadialStep prox_step(const Squared&, double tau, const kernels::ScaledNorm&) {
  const double f = tau / (1 + tau);
  return {{f, 1}, f};
}
[[nodiscard]] inline RadialStep prox_step(const L2&, double tau, const kernels::ScaledNorm& norm) {
  return clip_to(tau, norm);
}
[[nodiscard]] inline RadialStep prox_step(const Huber& huber, double tau,
                                          const kernels::ScaledNorm& norm) {
  if (norm.value <= huber.mu() * norm.scale * (1 + tau)) return prox_step(Squared{}, tau, norm);
  return cut_to(huber.mu(), tau, norm);
}

// -tau u for u in the subdifferential at -v = f v, f =
//   Squared: tau                 L2: tau/|v|, 0 at 0     Huber: tau min(1, mu/|v|)
[[nodiscard]] inline RadialStep subgradient_step(const Squared&, double tau,
                                                 const kernels::ScaledNorm&) {
  return {{tau, 1}, tau};
}
[[nodiscard]] inline RadialStep subgradient_step(const L2&, double tau,
                                                 const kernels::ScaledNorm& norm) {
  if (norm.value == 0) return {{0, 1}, 0};
  RadialStep step = scale_to(tau, norm);
  step.clipped = !at_most(norm, tau);
  return step;
}
[[nodiscard]] inline RadialStep subgradient_step(const Huber& huber, double tau,
                                                 const kernels::ScaledNorm& norm) {
  if (at_most(norm, huber.mu())) return {{tau, 1}, tau};
  return cut_to(huber.mu(), tau, norm);
}

// |x|_2 over one span.
template <Real T>
[[nodiscard]] kernels::ScaledNorm scaled_norm(std::span<const T> x);

}  // namespace medgrad
