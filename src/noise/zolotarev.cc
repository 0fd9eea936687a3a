#include "noise/zolotarev.h"

#include <algorithm>
#include <array>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "noise/far.h"
#include "noise/integral.h"

namespace medgrad::noise {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kNever = -std::numeric_limits<double>::infinity();

// Closer than this to alpha = 1, and at alpha = 1 to beta = 0, values are interpolated.
constexpr double kCloseAlpha = 1e-6, kCloseBeta = 3e-5;

// log of f (times z) and of P(X > x) from the series
//   1/pi sum_n (-1)^{n-1} Gamma(n alpha + 1) / n! sin(n alpha length) y^n [/ (n alpha)],
//   y = z^-alpha / C,    sin(n alpha length) = (-1)^{n-1} sin(n omega),
// convergent for alpha < 1, asymptotic for alpha > 1. False unless its terms vanish fast.
bool series(const Angles& a, const Place& p, bool density, double& log_sum) {
  const double log_y = -a.log_c - a.alpha * p.log_z;
  if (a.omega == 0 || log_y > -3) return false;
  const double y = std::exp(log_y);
  double sum = 0, power = 1;  // over y, which may underflow
  for (int n = 1; n <= 40; ++n) {
    const double term = std::tgamma(n * a.alpha + 1) * power / (density ? 1 : n * a.alpha);
    const double angle = a.is_short() ? a.alpha * a.length : a.omega;
    sum += term * std::sin(n * angle) * (a.is_short() && n % 2 == 0 ? -1 : 1);
    power *= y / (n + 1);
    if (term * y < 1e-15 * std::fabs(sum)) {
      log_sum = std::log(sum / kPi) + log_y;
      return sum > 0;
    }
  }
  return false;
}

double log_density(const Angles& a, const Place& p) {
  if (a.alpha != 1) {
    if (a.length == 0) return kNever;
    if (p.z < 1e-100 && (a.rho > 0 || !a.rising())) {
      // Not std::lgamma, which writes the sign to a global that all threads share.
      return boost::math::lgamma(1 + 1 / a.alpha) + std::log(a.sin_rho / kPi) + a.log_c / a.alpha;
    }
    if (p.z == 0) return kNever;
    double log_sum = 0;
    if (series(a, p, true, log_sum)) return log_sum - p.log_z;
  }
  const double integral = log_integral(a, p, find_center(a, p), Weight::density);
  if (a.alpha == 1) return integral - std::log(2 * a.beta);
  return integral + std::log(a.alpha / (kPi * std::fabs(a.epsilon))) - p.log_z;
}

// Never above log 1, though rounding may leave log_p there.
double log_complement(double log_p) { return std::log1p(-std::exp(std::min(log_p, 0.0))); }

// The part beyond the point, away from zeta, or all the rest.
double log_tail(const Angles& a, const Place& p, bool beyond) {
  if (a.alpha != 1) {
    if (a.length == 0) return beyond ? kNever : 0;
    if (p.z < 1e-100 && (a.rho > 0 || !a.rising())) {
      return std::log((beyond ? a.length : a.rho) / kPi);
    }
    if (p.z == 0) return beyond ? 0 : kNever;
    double log_sum = 0;
    if (series(a, p, false, log_sum)) return beyond ? log_sum : log_complement(log_sum);
  }
  // By parts, with g from `bottom` to infinity over the whole length:
  //   int e^{-g} = int D e^{-g} |dg|,  int (1 - e^{-g}) = length (1 - e^{-bottom}) + int D' e^{-g}
  //   |dg|,
  // D and D' the distances from the ends where g is smallest and largest.
  const Center center = find_center(a, p);
  const double integral = log_integral(a, p, center, beyond ? Weight::phi : Weight::psi);
  double more = beyond ? 0 : a.rho;
  if (beyond == a.rising()) more -= a.length * std::expm1(-center.bottom);
  return (more > 0 ? std::log(more + std::exp(integral)) : integral) - std::log(kPi);
}

// The value at t of the parabola through (-d, values[0]), (0, values[1]), (d, values[2]).
double parabola(const std::array<double, 3>& values, double t, double d) {
  for (const double value : values) {
    if (!std::isfinite(value)) return kNever;  // a light tail, past e^{-1e300}
  }
  const double u = t / d;
  return values[1] + u / 2 * (values[2] - values[0]) +
         u * u / 2 * (values[0] - 2 * values[1] + values[2]);
}

}  // namespace

Zolotarev::Zolotarev(double alpha, double beta)
    : alpha_(alpha), beta_(beta), right_(alpha, beta), left_(alpha, -beta) {
  const double epsilon = std::fabs(alpha - 1);
  if (epsilon == 0 ? beta != 0 && std::fabs(beta) < 0.999999 * kCloseBeta
                   : epsilon < 0.999999 * kCloseAlpha) {
    for (const double i : {-1.0, 0.0, 1.0}) {
      nodes_.push_back(epsilon == 0 ? Zolotarev(1, i * kCloseBeta)
                                    : Zolotarev(1 + i * kCloseAlpha, beta));
    }
  }
}

StablePoint StablePoint::from_x(double x, double zeta) {
  return {x, x - zeta, std::log(std::fabs(x - zeta))};
}
StablePoint StablePoint::from_z(double z, double zeta) {
  return {z + zeta, z, std::log(std::fabs(z))};
}
StablePoint StablePoint::from_log(double sign, double log_size, double zeta) {
  using Limits = std::numeric_limits<double>;
  const double size = std::clamp(std::exp(log_size), Limits::denorm_min(), Limits::max());
  const double z = std::copysign(size, sign);
  return {z + zeta, z, log_size};
}
double StablePoint::log_x() const { return huge() ? log_z : std::log(std::fabs(x)); }

// alpha = 1, beta = 0.
double Zolotarev::cauchy(What what, const StablePoint& p) const {
  const double size = std::fabs(p.x);
  const bool far = size > 1e8;  // 1 + x^2 is x^2, and atan(1/x) is 1/x
  if (what == What::density)
    return -std::log(kPi) - (far ? 2 * p.log_x() : std::log1p(size * size));
  if (!far) return std::log(std::atan2(1, what == What::above ? p.x : -p.x) / kPi);
  const double tail = -std::log(kPi) - p.log_x();
  return (what == What::above) == (p.x > 0) ? tail : log_complement(tail);
}

double Zolotarev::direct(What what, const StablePoint& p) const {
  if (alpha_ == 1 && beta_ == 0) return cauchy(what, p);
  const bool mirrored = alpha_ == 1 ? beta_ < 0 : p.z < 0;
  const double x = mirrored ? -p.x : p.x, z = mirrored ? -p.z : p.z;
  const Place place{x, z, p.log_z};
  const Angles& angles = mirrored ? left_ : right_;
  if (what == What::density) return log_density(angles, place);
  return log_tail(angles, place, (what == What::above) != mirrored);
}

double Zolotarev::value(What what, const StablePoint& p) const {
  const double sign = p.x < 0 ? -1 : 1;
  if (right_.near_one() && std::fabs(p.x) > kFar && sign * beta_ > -1) {
    const bool density = what == What::density;
    const double tail = log_far(alpha_, sign * beta_, p.log_x(), density);
    return density || (what == What::above) == (sign > 0) ? tail : log_complement(tail);
  }
  if (nodes_.empty()) return direct(what, p);
  std::array<double, 3> values{};
  for (std::size_t i = 0; i < 3; ++i) {
    values[i] = nodes_[i].value(what, p.huge() ? p : StablePoint::from_x(p.x, nodes_[i].zeta()));
  }
  return alpha_ == 1 ? parabola(values, beta_, kCloseBeta)
                     : parabola(values, alpha_ - 1, kCloseAlpha);
}

double Zolotarev::log_pdf(const StablePoint& p) const { return value(What::density, p); }
double Zolotarev::log_below(const StablePoint& p) const {
  return std::min(value(What::below, p), 0.0);
}
double Zolotarev::log_above(const StablePoint& p) const {
  return std::min(value(What::above, p), 0.0);
}

}  // namespace medgrad::noise
