// A stable law by regression on the logarithm of the sample's characteristic function.
//
// With phi(t) = E exp(itX) of a stable law in S0, s = scale t, and turn(s) = tan(pi alpha/2) (s -
// s^alpha),
//
//     log(-log |phi(t)|^2) = log 2 + alpha log(scale) + alpha log t,
//     arg phi(t)           = location t - beta turn(s):
//
// two straight lines, first for alpha and the scale, then for beta and the location. In S0 neither
// breaks down at alpha = 1.
//
//   Koutrouvelis (JASA 75, 1980)       at t = pi k/25, k <= K, and t = pi l/50, l <= L, K and L by
//                                      alpha and n after his tables; the data are centred and
//                                      scaled by what was found, and all is done again until
//                                      nothing changes
//   Kogon and Williams (in Adler,      at t = 0.1, 0.2, ..., 1 for both, once, after centring and
//   Feldman, Taqqu, 1998)              scaling by McCulloch's quantiles
//
// Errors follow from the covariance of the sample's characteristic function by the delta method.
#pragma once

#include <array>
#include <span>

#include "noise/characteristic.h"

namespace medgrad::noise {

struct RegressionFit {
  Shape law;
  std::array<double, 4> errors{};  // of alpha, beta, log(scale), location; times sqrt(n)
  bool alpha_clamped = false, beta_clamped = false;
  double free_beta_error = 0;  // of beta, if it was not clamped
  int rounds = 0;
};

// Of standardised numbers; `share` of the sample is finite, the rest has characteristic function 0.
[[nodiscard]] RegressionFit fit_koutrouvelis(std::span<const double> z, double share = 1);
[[nodiscard]] RegressionFit fit_kogon_williams(std::span<const double> z, double share = 1);

}  // namespace medgrad::noise
