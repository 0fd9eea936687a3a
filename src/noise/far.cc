#include "noise/far.h"

#include <cmath>
#include <numbers>

namespace medgrad::noise {

double log_far(double alpha, double beta, double log_x, bool density) {
  constexpr double kPi = std::numbers::pi;
  const double e = alpha - 1, sigma = std::sin(kPi / 2 * e), c = std::cos(kPi / 2 * e);
  const double half = std::sin(kPi / 4 * e), one_less_c = 2 * half * half;
  // (s^e - 1) c^2 / sigma and (1 - c) c / sigma, with their limits.
  const auto growth = [&](double log_s) {
    return e == 0 ? 2 / kPi * log_s : c * c * std::expm1(e * log_s) / sigma;
  };
  const double constant = e == 0 ? 0 : one_less_c * c / sigma;
  // With u = s x, in units of s^alpha: sin(y) = (1 + beta) c s^alpha (sin(y) / y).
  const double log_scale = -alpha * log_x;
  double sum = 0;
  constexpr double kStep = 0.125;  // u = exp(v - e^{-v}): everything falls off double-exponentially
  for (int i = -40; i <= 44; ++i) {
    const double v = kStep * i, turn = std::exp(-v), log_u = v - turn;
    const double u = std::exp(log_u), log_s = log_u - log_x, s = std::exp(log_s);
    const double power = std::exp(alpha * log_s);
    const double exponent = -u + sigma * power + beta * s * (constant - growth(log_s));
    const double y = (1 + beta) * c * power;
    const double sine = y < 1e-8 ? 1 : std::sin(y) / y;
    // ds / s = du / u = (1 + e^{-v}) dv
    sum += std::exp(exponent + alpha * log_u + (density ? log_u : 0)) * sine * (1 + turn);
  }
  const double log_value = std::log(sum * kStep / kPi * (1 + beta) * c) + log_scale;
  return density ? log_value - log_x : log_value;
}

}  // namespace medgrad::noise
