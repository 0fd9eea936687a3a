// The integrals behind stable densities and probabilities, for the standard distribution.
//
// Zolotarev's representation, in Nolan's form (Comm. Stat. Stoch. Models 13, 1997, theorem 1). With
// z = x - zeta > 0, zeta = -beta tan(pi alpha/2) and a function g(theta) that is monotone on an
// interval
// (-theta0, pi/2),
//
//     f(x) = alpha / (pi |alpha-1| z)  int g e^{-g} dtheta,
//     alpha > 1:  P(X > x) = 1/pi int e^{-g},    alpha < 1:  P(X > x) = 1/pi int (1 - e^{-g}),
//
// and x < zeta by reflection. Three things make it accurate everywhere:
//
// - An angle is held by its distances psi and phi from both ends, and every factor of g is a sine
// of a
//   sum of non-negative terms: full relative accuracy at the ends, where the tails come from.
// - Around alpha = 1, where the usual form is infinity minus infinity, the logarithm of g is
// rearranged
//   so that the small differences are computed as such; the limit alpha = 1 is a formula of its
//   own.
// - The integral runs over the logarithm of the distance from the end next to the angle with g = 1,
//   which is where the integrand lives, and is cut at the scale on which g changes there.
#pragma once

namespace medgrad::noise {

// A point x of the standard distribution, as x in S0 and as z = x - zeta (x in S1 for alpha != 1).
struct StablePoint {
  double x = 0, z = 0;
};

class Zolotarev {
 public:
  // 0.1 <= alpha < 2, |beta| <= 1, and not alpha = 1 with beta = 0.
  Zolotarev(double alpha, double beta);

  [[nodiscard]] double zeta() const { return zeta_; }  // 0 at alpha = 1: there S0 and S1 agree

  // Logarithms, so that what underflows a double keeps its value.
  [[nodiscard]] double log_pdf(const StablePoint& p) const;
  [[nodiscard]] double log_below(const StablePoint& p) const;  // log P(X <= x)
  [[nodiscard]] double log_above(const StablePoint& p) const;  // log P(X > x)

 private:
  enum class Kind { density, small, large };  // int g e^-g, int e^-g, int (1 - e^-g)
  struct Side;                                // one of z > 0 and z < 0, with its angles
  [[nodiscard]] bool mirrored(const StablePoint& p) const;
  [[nodiscard]] Side side(const StablePoint& p) const;
  [[nodiscard]] static double log_tail(const Side& side, bool beyond);

  double alpha_, beta_, zeta_;
};

}  // namespace medgrad::noise
