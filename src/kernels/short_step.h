// The step kernels for short vectors, where tallies of four times sixteen lanes and a tail filled
// up with zeros would cost more than the step itself.
//
// Same operations in the same order, same bits. They are for ordinary runs alone, those whose
// increments are finite and need no scaling, whose w neither shrinks nor decays, and which start in
// the first lane; what is not goes the general way (step.h).
#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include "kernels/step.h"

namespace medgrad::kernels {

// Up to this many components a step is short.
inline constexpr std::size_t kShort = 64;

// What a kernel saw. Where the run is not ordinary it has done nothing, and the rest is of no use.
struct Seen {
  bool ordinary = false;
  double squares = 0;       // the sum of v^2
  double moved = 0;         // of (m_new - m)^2, by clamp and sign only
  std::size_t clipped = 0;  // components whose increment was cut, by clamp and sign only
};

// Factors that the element type itself can carry with room to spare; the others are for scalar
// code.
template <class T>
[[nodiscard]] inline bool representable(const Factor& factor) {
  constexpr double kRoom = std::is_same_v<T, float> ? 1e30 : 1e290;
  const double f = std::fabs(factor.f);
  return factor.s == 1 && (f == 0 || (f > 1 / kRoom && f < kRoom));
}

// measure(), relax(), mix(), clamp() and sign() of step.h, for runs of at most kShort components,
// representable factors and an ordinary_tau(). relax_short() on a run that is `known` to be
// ordinary does not look again.
template <class T>
[[nodiscard]] Seen measure_short(const Run<T>& run, Mode mode);
template <class T>
Seen relax_short(const Run<T>& run, Mode mode, double factor, bool known = false);
template <class T>
Seen mix_short(const Run<T>& run, Mode mode, double keep, double factor);
template <class T>
Seen clamp_short(const Run<T>& run, Mode mode, double tau);
template <class T>
Seen sign_short(const Run<T>& run, Mode mode, double tau);

}  // namespace medgrad::kernels
