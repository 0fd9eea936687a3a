#include "noise/zolotarev.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "noise/quadrature.h"

namespace medgrad::noise {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kNever = -std::numeric_limits<double>::infinity();

// |tan(pi alpha / 2)|, without loss near its pole at 1 and its zeros at 0 and 2.
double tangent(double alpha) {
  const double from_one = std::fabs(alpha - 1);
  if (from_one < 0.5) return 1 / std::tan(kPi / 2 * from_one);
  return std::tan(kPi / 2 * (alpha < 1 ? alpha : 2 - alpha));
}

}  // namespace

// One side of zeta: the angles between psi = 0 and phi = 0, psi + phi = length, and the function g.
struct Zolotarev::Side {
  double alpha, beta, epsilon;  // epsilon = alpha - 1
  double zeta;                  // of this side: the sign changes with beta
  double x, z, log_z;
  double length;  // pi/2 + theta0
  double rho;     // pi/2 - theta0: P(X on the other side) = rho / pi
  double omega;   // pi - alpha length
  double log_c;   // log cos(alpha theta0)

  Side(double a, double b, const StablePoint& p)
      : alpha(a), beta(b), epsilon(a - 1), x(p.x), z(p.z) {
    log_z = std::log(z);
    if (alpha == 1) {
      zeta = 0;
      length = kPi;
      rho = omega = log_c = 0;
      return;
    }
    const double t = tangent(alpha);
    // alpha rho and alpha length are sums of arc tangents of t and beta t; see the note on `omega`.
    if (alpha < 1) {
      zeta = -beta * t;
      length = std::atan2((1 + beta) * t, 1 - beta * t * t) / alpha;
      rho = std::atan2((1 - beta) * t, 1 + beta * t * t) / alpha;
      omega = kPi - alpha * length;
    } else {
      zeta = beta * t;
      omega = std::atan2((1 + beta) * t, 1 - beta * t * t);
      rho = std::atan2((1 - beta) * t, -(1 + beta * t * t)) / alpha;
      length = (kPi - omega) / alpha;
    }
    log_c = -0.5 * std::log1p(zeta * zeta);
  }

  // Does g grow with psi?
  [[nodiscard]] bool rising() const { return alpha <= 1; }

  [[nodiscard]] double log_g(double psi, double phi) const {
    if (alpha == 1) return log_g_at_one(psi, phi);
    const bool near_psi = psi < phi;
    const double cosine = near_psi ? std::sin(psi + rho) : std::sin(phi);
    const double sine = near_psi ? std::sin(alpha * psi) : std::sin(omega + alpha * phi);
    const double q = near_psi ? std::sin(rho - epsilon * psi) : std::sin(omega + epsilon * phi);
    if (std::fabs(epsilon) < 0.1) {
      // R = z cos(theta) / sin(alpha psi) C = 1 + n / d, with n free of the large zeta.
      const double theta = near_psi ? psi - (kPi / 2 - rho) : kPi / 2 - phi;
      const double d = sine * std::exp(-log_c);
      const double n = x * cosine - std::sin(alpha * theta) -
                       2 * zeta * std::sin((alpha + 1) * theta / 2) * std::sin(epsilon * theta / 2);
      const double r = n / d;
      if (std::fabs(r) < 0.5) {
        return alpha / epsilon * std::log1p(r) + std::log(q / cosine) - log_c;
      }
    }
    return (alpha * (log_z + std::log(cosine / sine)) + log_c) / epsilon + std::log(q / cosine);
  }

  // The limit: g = (2/pi) P / cos(theta) exp((P tan(theta) - pi x / 2) / beta), P = pi/2 + beta
  // theta.
  [[nodiscard]] double log_g_at_one(double psi, double phi) const {
    const bool near_psi = psi < phi;
    const double p =
        near_psi ? (1 - beta) * (kPi / 2) + beta * psi : (1 + beta) * (kPi / 2) - beta * phi;
    const double cosine = std::sin(near_psi ? psi : phi);
    const double tan_theta = near_psi ? -1 / std::tan(psi) : 1 / std::tan(phi);
    return (p * tan_theta - kPi / 2 * x) / beta + std::log(2 / kPi * p / cosine);
  }

  // log g at distance e^t from one of the ends.
  [[nodiscard]] double at(double t, bool from_psi) const {
    const double distance = std::exp(t);
    const double rest = std::max(length - distance, std::numeric_limits<double>::min());
    return from_psi ? log_g(distance, rest) : log_g(rest, distance);
  }

  [[nodiscard]] double log_integral(Kind kind) const;
};

// log int …, over the logarithm t of the distance from the end that is nearer to where g = 1.
double Zolotarev::Side::log_integral(Kind kind) const {
  const double half = std::log(length / 2);
  const double log_g_half = at(half, true);
  const bool from_psi = rising() ? log_g_half > 0 : log_g_half < 0;
  // g at that end of the axis; where it is bounded away from 0, e^-g comes down to e^-g0.
  const bool small_end = from_psi == rising();
  constexpr double kFar = -700;
  double log_g0 = small_end ? at(kFar, from_psi) : kNever;
  if (!(log_g0 > -3)) log_g0 = kNever;
  const double g0 = std::exp(log_g0);
  if (g0 > 1e12 && kind != Kind::large) return -g0;  // next to it nothing else counts
  // log (g - g0), the height above the floor.
  const auto height = [&](double t) {
    const double log_value = at(t, from_psi);
    return g0 == 0 ? log_value : std::log(std::max(std::exp(log_value) - g0, 1e-300));
  };

  // The t with g = g0 + 1: the secant inside a bracket, with bisection in between.
  double low = kFar, high = half;
  const auto excess = [&](double t) { return small_end ? height(t) : -height(t); };
  double e_low = excess(low), e_high = excess(high);
  double center = high;
  if (e_low < 0 && e_high > 0) {
    for (int i = 0; i < 80 && high - low > 1e-3; ++i) {
      const double secant = low - e_low * (high - low) / (e_high - e_low);
      center = i % 3 == 2 || !(secant > low && secant < high) ? (low + high) / 2 : secant;
      const double e = excess(center);
      (e < 0 ? low : high) = center;
      (e < 0 ? e_low : e_high) = e;
      if (std::fabs(e) < 0.05) break;
    }
  } else if (e_low >= 0) {
    center = low;
  }

  // The scale on which log g changes there.
  const double step = 1e-4;
  const double slope = std::fabs(height(center) - height(center - step)) / step;
  const double width = 1 / std::clamp(slope, 0.02, 1e12);
  const double top = std::log(length);
  std::array<double, 16> points{};
  std::size_t count = 0;
  const auto cut = [&](double t) {
    t = std::clamp(t, center - 45, top);
    if (count == 0 || t > points[count - 1]) points[count++] = t;
  };
  for (const double w : {-45.0, -12.0}) cut(center + std::min(w, w * width));
  for (const double w : {-30.0, -8.0, -2.5, 0.0, 1.2, 2.4, 4.0, 7.0}) cut(center + w * width);
  for (const double t : {center + 3, (center + 3 + top) / 2, top}) {
    if (t > center) cut(t);
  }

  // Scaled by e^center and e^g0 against underflow.
  const auto integrand = [&](double t) {
    const double log_value = at(t, from_psi), g = std::exp(log_value);
    switch (kind) {
      case Kind::density:
        return std::exp(log_value - (g - g0) + (t - center));
      case Kind::small:
        return std::exp(-(g - g0) + (t - center));
      default:
        return -std::expm1(-g) * std::exp(t - center);
    }
  };
  const double value = integrate(integrand, std::span<const double>(points).first(count), 1e-12);
  return std::log(value) + center - (kind == Kind::large ? 0 : g0);
}

Zolotarev::Zolotarev(double alpha, double beta) : alpha_(alpha), beta_(beta) {
  zeta_ = alpha == 1 ? 0 : (alpha < 1 ? -beta : beta) * tangent(alpha);
}

bool Zolotarev::mirrored(const StablePoint& p) const { return alpha_ == 1 ? beta_ < 0 : p.z < 0; }

Zolotarev::Side Zolotarev::side(const StablePoint& p) const {
  return mirrored(p) ? Side(alpha_, -beta_, {-p.x, -p.z}) : Side(alpha_, beta_, p);
}

double Zolotarev::log_pdf(const StablePoint& p) const {
  const Side s = side(p);
  if (alpha_ == 1) return s.log_integral(Kind::density) - std::log(2 * s.beta);
  if (s.z == 0) {
    return std::lgamma(1 + 1 / alpha_) + std::log(std::sin(s.rho) / kPi) + s.log_c / alpha_;
  }
  if (s.length == 0) return kNever;
  return s.log_integral(Kind::density) + std::log(alpha_ / (kPi * std::fabs(s.epsilon))) - s.log_z;
}

// The part beyond the point, away from zeta, and the part on its near side together with all that
// lies on the other side of zeta.
double Zolotarev::log_tail(const Side& s, bool beyond) {
  if (s.length == 0) return beyond ? kNever : 0;
  if (s.z == 0 && s.alpha != 1) return std::log((beyond ? s.length : s.rho) / kPi);
  const double integral = s.log_integral(beyond == s.rising() ? Kind::large : Kind::small);
  const double log_sum = beyond || s.rho == 0 ? integral : std::log(s.rho + std::exp(integral));
  return std::min(log_sum - std::log(kPi), 0.0);
}

double Zolotarev::log_below(const StablePoint& p) const { return log_tail(side(p), mirrored(p)); }
double Zolotarev::log_above(const StablePoint& p) const { return log_tail(side(p), !mirrored(p)); }

}  // namespace medgrad::noise
