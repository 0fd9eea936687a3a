// Heavy tails around alpha = 1, far out, where g of angles.h can no longer be resolved.
//
// The Fourier integrals of f and P(X > x) turned to the negative imaginary axis, t = -is. With
// e = alpha - 1, sigma = sin(pi e/2), c = cos(pi e/2), all of zeta's infinities cancel by hand:
//
//   P(X > x) = 1/pi int_0^inf e^{E(s)} sin((1 + beta) c s^alpha) ds/s,    f without the 1/s,
//   E = -s x + sigma s^alpha + beta (c / sigma) s [(1 - c) - c (s^e - 1)],
//
// which at alpha = 1 is E = -s x - (2 beta / pi) s log s.
#pragma once

namespace medgrad::noise {

inline constexpr double kFar = 1000;  // past this x, e^{-sx} leaves only s where E is harmless

// log f(x) or log P(X > x) for |alpha - 1| < 0.1, beta > -1 and x > kFar, x as in S0 and given by
// its logarithm: it may be larger than a double.
[[nodiscard]] double log_far(double alpha, double beta, double log_x, bool density);

}  // namespace medgrad::noise
