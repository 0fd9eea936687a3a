#include "noise/law.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace medgrad::noise {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kLn2 = std::numbers::ln2;
constexpr double kInf = std::numeric_limits<double>::infinity();

// Quantiles are looked for up to e^1460, past the quotient of the largest and the smallest double:
// whatever the scale, what lies beyond is infinite.
constexpr double kReach = 1460;
constexpr double kLogarithmic = 480;  // where sinh(w) is e^w / 2, past StablePoint::kHuge

// log erfc(x), past where erfc underflows by its asymptotic series.
double log_erfc(double x) {
  if (x < 25) return std::log(std::erfc(x));
  const double y = 1 / (2 * x * x);
  const double rest = -y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y)));
  return -x * x - std::log(x * std::sqrt(kPi)) + std::log1p(rest);
}

// log erf(x), x > 0
double log_erf(double x) { return x < 0.5 ? std::log(std::erf(x)) : std::log1p(-std::erfc(x)); }

}  // namespace

// Where a closed form is used, the integrals stand idle on harmless parameters.
Law::Law(double alpha, double beta)
    : alpha_(alpha),
      beta_(beta),
      zeta_(alpha == 2 ? 0 : Angles(alpha, beta).zeta),
      integrals_(alpha == 2 ? 1 : alpha, alpha == 2 ? 0 : beta) {}

int Law::half_line() const {
  if (alpha_ >= 1 || std::fabs(beta_) < 1) return 0;
  return beta_ > 0 ? 1 : -1;
}

double Law::log_pdf(const StablePoint& p) const {
  if (gaussian()) return -(p.x / 2) * (p.x / 2) - std::log(4 * kPi) / 2;
  if (levy()) {
    const double y = beta_ * p.z;
    return y > 0 ? -0.5 / y - 1.5 * p.log_z - 0.5 * std::log(2 * kPi) : -kInf;
  }
  return integrals_.log_pdf(p);
}

double Law::log_side(const StablePoint& p, bool above) const {
  if (gaussian()) {
    const double x = above ? p.x : -p.x;
    return x < -1 ? std::log1p(-std::erfc(-x / 2) / 2) : log_erfc(x / 2) - kLn2;
  }
  if (levy()) {
    const double y = beta_ * p.z;
    const bool away = above == (beta_ > 0);
    if (!(y > 0)) return away ? 0 : -kInf;
    const double root = p.huge() ? std::exp(-(p.log_z + kLn2) / 2) : std::sqrt(0.5 / y);
    return away ? log_erf(root) : log_erfc(root);
  }
  return above ? integrals_.log_above(p) : integrals_.log_below(p);
}

// Newton's method for log P in a coordinate w that is linear around 0 and logarithmic far out,
// where log P is nearly linear in w: x = sinh(w). For small alpha, where the density has a peak at
// zeta far narrower than zeta, and next to the end of a half-line, z = +-e^w instead. Kept inside a
// bracket.
StablePoint Law::solve(double log_p, bool above) const {
  int side = 0;        // the sign of z, or 0 for x = sinh(w)
  if (alpha_ < 0.8) {  // (Next to alpha = 1 zeta is far from all probability.)
    const StablePoint middle = StablePoint::from_z(0, zeta_);
    const double excess = log_side(middle, above) - log_p;
    if (excess == 0) return middle;
    side = (excess < 0) == above ? -1 : 1;
  }
  const auto place = [&](double w) {
    if (side != 0) return StablePoint::from_log(side, w, zeta_);
    if (std::fabs(w) > kLogarithmic) return StablePoint::from_log(w, std::fabs(w) - kLn2, zeta_);
    return StablePoint::from_x(std::sinh(w), zeta_);
  };
  // log |dx / dw|
  const auto log_speed = [&](double w) {
    if (side != 0) return w;
    return std::fabs(w) > kLogarithmic ? std::fabs(w) - kLn2 : std::log(std::cosh(w));
  };
  // With this sign the probability grows with w.
  const double sign = (above ? -1 : 1) * (side < 0 ? -1 : 1);
  double low = -kReach, high = kReach, w = 0, before = kInf;
  bool last = false;
  for (int i = 0; i < 200; ++i) {
    const StablePoint p = place(w);
    const double log_side = this->log_side(p, above);
    const double excess = sign * (log_side - log_p);
    if (excess == 0) break;
    (excess < 0 ? low : high) = w;
    const double slope = std::exp(std::min(log_pdf(p) - log_side + log_speed(w), 700.0));
    // Not too far at once: log P bends where the body meets a tail.
    const double size = std::max(1.0, std::fabs(w)), reach = 2 + std::fabs(w);
    double next = w - std::clamp(excess / slope, -reach, reach);
    // Deep in a light tail the density says nothing any more, and where a light tail meets a heavy
    // one Newton's steps may lead to and fro: halve the bracket.
    const bool stuck = std::fabs(excess) > 1e-3 &&
                       (std::fabs(next - w) < 1e-6 * size || std::fabs(excess) > before / 2);
    before = std::fabs(excess);
    if (stuck || !(next >= low && next <= high)) next = low + (high - low) / 2;
    const double moved = std::fabs(next - w);
    w = next;
    if (last) break;
    // Newton squares it, once it is close: one more is enough.
    last = moved <= 1e-8 * size && std::fabs(excess) < 1e-4;
    if (high - low <= 4e-16 * std::fabs(w)) break;
  }
  return place(w);
}

}  // namespace medgrad::noise
