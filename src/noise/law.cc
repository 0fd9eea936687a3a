#include "noise/law.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace medgrad::noise {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kInf = std::numeric_limits<double>::infinity();

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
  if (gaussian()) return -p.x * p.x / 4 - std::log(4 * kPi) / 2;
  if (levy()) {
    const double y = beta_ * p.z;
    return y > 0 ? -0.5 / y - 1.5 * std::log(y) - 0.5 * std::log(2 * kPi) : -kInf;
  }
  return integrals_.log_pdf(p);
}

double Law::log_side(const StablePoint& p, bool above) const {
  if (gaussian()) {
    const double x = above ? p.x : -p.x;
    return x < -1 ? std::log1p(-std::erfc(-x / 2) / 2) : log_erfc(x / 2) - std::numbers::ln2;
  }
  if (levy()) {
    const double y = beta_ * p.z;
    const bool away = above == (beta_ > 0);
    if (!(y > 0)) return away ? 0 : -kInf;
    const double root = std::sqrt(0.5 / y);
    return away ? log_erf(root) : log_erfc(root);
  }
  return above ? integrals_.log_above(p) : integrals_.log_below(p);
}

// Newton's method for log P in a coordinate w that is linear around 0 and logarithmic far out,
// where log P is nearly linear in w: x = sinh(w), or z = +-e^w on a half-line; kept inside a
// bracket.
StablePoint Law::solve(double log_p, bool above) const {
  // Next to alpha = 1 the end of the support is far from all probability.
  const int half = alpha_ < 0.8 ? half_line() : 0;
  const auto place = [&](double w) {
    if (half != 0) {
      const double z = half * std::exp(w);
      return StablePoint{z + zeta_, z};
    }
    const double x = std::sinh(w);
    return StablePoint{x, x - zeta_};
  };
  // With this sign the probability grows with w.
  const double sign = (above ? -1 : 1) * (half < 0 ? -1 : 1);
  double low = -709, high = 709, w = 0;
  bool last = false;
  for (int i = 0; i < 100; ++i) {
    const StablePoint p = place(w);
    const double log_side = this->log_side(p, above);
    const double excess = sign * (log_side - log_p);
    if (excess == 0) break;
    (excess < 0 ? low : high) = w;
    const double log_speed = half != 0 ? w : std::log(std::cosh(w));
    const double slope = std::exp(std::min(log_pdf(p) - log_side + log_speed, 700.0));
    // Not too far at once: log P bends where the body meets a tail.
    const double reach = 2 + std::fabs(w);
    double next = w - std::clamp(excess / slope, -reach, reach);
    const double size = std::max(1.0, std::fabs(w));
    // Deep in a light tail the density says nothing any more: halve the bracket.
    const bool stuck = std::fabs(excess) > 1e-3 && std::fabs(next - w) < 1e-6 * size;
    if (stuck || !(next >= low && next <= high)) next = low + (high - low) / 2;
    const double moved = std::fabs(next - w);
    w = next;
    if (last) break;
    last = moved <= 1e-8 * size;  // Newton squares it: one more is enough
    if (high - low <= 4e-16 * std::fabs(w)) break;
  }
  return place(w);
}

}  // namespace medgrad::noise
