// The angle of Zolotarev's integrals and the function g on it, for many angles at once.
//
// An angle theta between -theta0 and pi/2 is held by its distances psi and phi from the two ends,
// and these by s = log(psi / phi): both ends are then infinitely far away, and every factor of
//
//   g = (cos(alpha theta0))^{1/eps} (z cos(theta) / sin(alpha psi))^{alpha/eps}
//         cos(alpha theta0 + eps theta) / cos(theta),                         eps = alpha - 1,
//
// is a sine of a sum of non-negative terms, taken from the nearer end: full relative accuracy
// there, where the tails come from.
#pragma once

#include <cstddef>

namespace medgrad::noise {

// What one side of zeta (z > 0, or z < 0 by reflection) needs, for all its points.
struct Angles {
  Angles(double alpha, double beta);

  double alpha, beta, epsilon;  // epsilon = alpha - 1
  double zeta = 0;              // -beta tan(pi alpha/2), 0 at alpha = 1
  double length = 0;            // pi/2 + theta0 = psi + phi
  double rho = 0;               // pi/2 - theta0: P(X on the other side) = rho / pi
  double omega = 0;             // pi - alpha length
  double root = 1, log_c = 0;   // 1/C and log C, C = cos(alpha theta0) = 1/sqrt(1 + zeta^2)
  // Around alpha = 1: C z cos(theta) / sin(alpha psi) = 1 + n C / sin(alpha psi) with a small
  // n = z cos(theta) - sin(alpha psi) / C. With sines of sums taken apart, the large zeta and 1/C
  // meet only in these two constants, where their difference is computed as such.
  double cos_rho = 1, sin_rho = 0, cos_omega = 1, sin_omega = 0;
  double rho_rest = 0;    // zeta cos(rho) + 1/C
  double omega_rest = 0;  // zeta + cos(omega) / C

  // Where log g, coming from g = 1, levels out towards its small end and then falls after all: at
  // this part of the length from that end (0: it does not fall, a light tail).
  [[nodiscard]] double corner() const {
    if (rising()) return near_one() ? 1 - beta : rho / length;
    return near_one() ? 1 + beta : omega / length;
  }

  // A short interval, rho and omega close to pi: then psi and phi themselves are the small angles.
  [[nodiscard]] bool is_short() const { return length < 0.5; }
  [[nodiscard]] bool near_one() const { return epsilon > -0.1 && epsilon < 0.1; }
  [[nodiscard]] bool rising() const { return alpha <= 1; }  // does g grow with psi?
};

// A point on that side, z > 0 (any x where alpha = 1).
struct Place {
  double x, z, log_z;
};

enum class Weight { density, psi, phi };

// log g and its derivative by s at n angles.
void log_g(const Angles& angles, const Place& place, const double* s, double* log_g, double* slope,
           std::size_t n);

// An integrand over s: e^shift g e^{-(g - floor)} times d psi / ds, psi |d log g / ds| or
// phi |d log g / ds|; 0 where |s| > kEnd.
struct Integrand {
  const Angles& angles;
  const Place& place;
  Weight weight;
  double floor, shift;
};
inline constexpr double kEnd = 700;  // psi and phi are normal doubles up to here

void integrand(const Integrand& f, const double* s, double* out, std::size_t n);

// The summands of the trapezoidal rule in v, s = center + scale (v + 1 - e^{-v}), at v = start,
// start + step, …: n of them, a multiple of 4.
struct Nodes {
  double center, scale;
  double start, step;
  std::size_t n;
};
struct Summands {
  double sum, first, last;
};
[[nodiscard]] Summands summands(const Integrand& f, const Nodes& nodes);

}  // namespace medgrad::noise
