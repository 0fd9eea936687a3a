// Stable densities and probabilities as integrals, for the standard distribution.
//
// Zolotarev's representation, in Nolan's form (Comm. Stat. Stoch. Models 13, 1997, theorem 1). With
// z = x - zeta > 0, zeta = -beta tan(pi alpha/2), and a function g of an angle theta, monotone
// between 0 and infinity on (-theta0, pi/2), with psi and phi the distances of theta from the two
// ends,
//
//     f(x) = alpha / (pi |alpha-1| z) int g e^{-g} dtheta,
//     P(X > x) = 1/pi int phi e^{-g} |dg|,      P(0 < X - zeta < z) = 1/pi int psi e^{-g} |dg|,
//
// and x < zeta by reflection. (The probabilities are his integrals of e^{-g} and 1 - e^{-g}, by
// parts: so all three integrands live where g is about 1.) What makes it accurate everywhere:
//
// - g is taken from the nearer end of the angle, see angles.h.
// - Around alpha = 1, where the usual form is infinity minus infinity, log g is rearranged so that
// the
//   small differences are computed as such; the limit alpha = 1 is a formula of its own. Closer
//   than 1e-6 to it, where even these differences drown, values are interpolated in alpha: in S0
//   they are smooth there.
// - The integral runs over log(psi / phi), centred and scaled at g = 1, by the trapezoidal rule
// after
//   a double-exponential substitution: each halving of the step doubles the number of right digits.
// - Far out, the series in z^-alpha, and around alpha = 1 the integrals of far.h.
#pragma once

#include <vector>

#include "noise/angles.h"

namespace medgrad::noise {

// A point x of the standard distribution, as x in S0 and as z = x - zeta (x in S1 for alpha != 1).
// With a scale far from 1 both may be out of a double's range: they then stop at the largest or
// smallest number of their sign, and log_z goes on.
struct StablePoint {
  static StablePoint from_x(double x, double zeta);
  static StablePoint from_z(double z, double zeta);
  // z = sign e^log_size, of any size.
  static StablePoint from_log(double sign, double log_size, double zeta);

  double x = 0, z = 0;
  double log_z = 0;  // log |z|

  static constexpr double kHuge = 1e200;  // from here on x and z are the same, whatever zeta
  [[nodiscard]] bool huge() const { return x > kHuge || x < -kHuge; }
  [[nodiscard]] double log_x() const;  // log |x|
};

class Zolotarev {
 public:
  // 0.1 <= alpha < 2 and |beta| <= 1.
  Zolotarev(double alpha, double beta);

  [[nodiscard]] double zeta() const {
    return right_.zeta;
  }  // 0 at alpha = 1: there S0 and S1 agree

  // Logarithms, so that what underflows a double keeps its value.
  [[nodiscard]] double log_pdf(const StablePoint& p) const;
  [[nodiscard]] double log_below(const StablePoint& p) const;  // log P(X <= x)
  [[nodiscard]] double log_above(const StablePoint& p) const;  // log P(X > x)

 private:
  enum class What { density, below, above };
  [[nodiscard]] double value(What what, const StablePoint& p) const;
  [[nodiscard]] double cauchy(What what, const StablePoint& p) const;
  [[nodiscard]] double direct(What what, const StablePoint& p) const;

  double alpha_, beta_;
  Angles right_, left_;           // z > 0 and z < 0
  std::vector<Zolotarev> nodes_;  // to interpolate between, where that is done
};

}  // namespace medgrad::noise
