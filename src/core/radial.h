// The distances that depend on |v|_2 alone: a step along them scales the increment v = g - m.
//
// For Squared, L2 and Huber the proximal step is  m <- m + f v  with a factor f that needs no more
// than |v|; so is the subgradient step. This file has those factors, safe against overflow.
#pragma once

#include "kernels/step.h"
#include "medgrad/distance.h"

namespace medgrad {

// A factor on v, what it amounts to as a number (0 .. 1 for a prox), and whether it cuts v short of
// what a step on an unbounded quadratic would do.
struct RadialStep {
  kernels::Factor factor;
  double share = 1;  // factor.f * factor.s; may round to 0
  bool clipped = false;
};

[[nodiscard]] bool at_most(const kernels::ScaledNorm& norm, double bound);

// radius / |v|, so that the scaled v has norm `radius`; |v| > 0.
[[nodiscard]] RadialStep scale_to(double radius, const kernels::ScaledNorm& norm);
// min(1, radius / |v|): the projection onto the 2-ball.
[[nodiscard]] RadialStep clip_to(double radius, const kernels::ScaledNorm& norm);

// v + prox_{tau D}(-v) = f v, f =
//   Squared: tau / (1 + tau)     L2: min(1, tau/|v|)     Huber: mu tau / max(|v|, mu (1 + tau))
[[nodiscard]] RadialStep prox_step(const Squared&, double tau, const kernels::ScaledNorm& norm);
[[nodiscard]] RadialStep prox_step(const L2&, double tau, const kernels::ScaledNorm& norm);
[[nodiscard]] RadialStep prox_step(const Huber&, double tau, const kernels::ScaledNorm& norm);

// -tau u for u in the subdifferential at -v = f v, f =
//   Squared: tau                 L2: tau/|v|, 0 at 0     Huber: tau min(1, mu/|v|)
[[nodiscard]] RadialStep subgradient_step(const Squared&, double tau, const kernels::ScaledNorm&);
[[nodiscard]] RadialStep subgradient_step(const L2&, double tau, const kernels::ScaledNorm& norm);
[[nodiscard]] RadialStep subgradient_step(const Huber&, double tau,
                                          const kernels::ScaledNorm& norm);

// |x|_2 over one span.
template <Real T>
[[nodiscard]] kernels::ScaledNorm scaled_norm(std::span<const T> x);

}  // namespace medgrad
