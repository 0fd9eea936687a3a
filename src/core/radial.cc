#include "core/radial.h"

#include <algorithm>
#include <cmath>

#include "medgrad/thread_pool.h"

namespace medgrad {

using kernels::ScaledNorm;

// value / scale <= bound. bound * scale may underflow to 0 (then the norm is far above the bound,
// as a scale below 1 comes with a norm above 2^400) or overflow to infinity (then it is far below).
bool at_most(const ScaledNorm& norm, double bound) { return norm.value <= bound * norm.scale; }

RadialStep scale_to(double radius, const ScaledNorm& norm) {
  const double plain = radius / norm.get();
  constexpr double kRoom = 0x1p900;
  if (norm.scale == 1 && plain > 1 / kRoom && plain < kRoom) return {{plain, 1}, plain};
  // Bring the norm to [1, 2) first; below 2^-1000 as far as powers of two go.
  const int exponent = std::ilogb(norm.value) - std::ilogb(norm.scale);
  const double scale = std::ldexp(1.0, std::min(-exponent, 1000));
  const double scaled = norm.value * std::ldexp(1.0, std::ilogb(scale) - std::ilogb(norm.scale));
  return {{radius / scaled, scale}, plain};
}

RadialStep clip_to(double radius, const ScaledNorm& norm) {
  if (at_most(norm, radius)) return {{1, 1}, 1, false};
  RadialStep step = scale_to(radius, norm);
  step.clipped = true;
  return step;
}

RadialStep prox_step(const Squared&, double tau, const ScaledNorm&) {
  const double f = tau / (1 + tau);
  return {{f, 1}, f};
}

RadialStep prox_step(const L2&, double tau, const ScaledNorm& norm) { return clip_to(tau, norm); }

RadialStep prox_step(const Huber& huber, double tau, const ScaledNorm& norm) {
  if (at_most(norm, huber.mu() * (1 + tau))) return prox_step(Squared{}, tau, norm);
  RadialStep step = scale_to(huber.mu() * tau, norm);
  step.clipped = true;
  return step;
}

RadialStep subgradient_step(const Squared&, double tau, const ScaledNorm&) {
  return {{tau, 1}, tau};
}

RadialStep subgradient_step(const L2&, double tau, const ScaledNorm& norm) {
  if (norm.value == 0) return {{0, 1}, 0};
  RadialStep step = scale_to(tau, norm);
  step.clipped = !at_most(norm, tau);
  return step;
}

RadialStep subgradient_step(const Huber& huber, double tau, const ScaledNorm& norm) {
  if (at_most(norm, huber.mu())) return {{tau, 1}, tau};
  RadialStep step = scale_to(tau * huber.mu(), norm);
  step.clipped = true;
  return step;
}

template <Real T>
ScaledNorm scaled_norm(std::span<const T> x) {
  const Chunks chunks = chunks_for(x.size());
  kernels::Squares squares{};
  for (std::size_t c = 0; c < chunks.count; ++c) {
    kernels::Tally tally;
    // A cold run never looks at m; it is given g's address only to be some address.
    T* const unused = const_cast<T*>(x.data() + chunks.begin(c));
    kernels::measure<T>({unused, unused, nullptr, chunks.end(c) - chunks.begin(c)}, {.cold = true},
                        tally);
    squares += tally.increment.sum();
  }
  return squares.norm();
}
template ScaledNorm scaled_norm(std::span<const float>);
template ScaledNorm scaled_norm(std::span<const double>);

}  // namespace medgrad
