#include "medgrad/stable_moments.h"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "medgrad/error.h"
#include "noise/quadrature.h"

namespace medgrad {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 1e-12;

// Has the right tail the index alpha?
bool is_heavy(const StableParameters& p) { return p.alpha < 2 && p.beta > -1; }

StableParameters mirrored(StableParameters p) {
  p.beta = -p.beta;
  p.location = -p.location;
  return p;
}

// Points where integrals are cut: seen from far away the body of a law is a needle, and so is what
// lies at the end of its support.
std::vector<double> body_of(const Stable& law, const StableParameters& s) {
  std::vector<double> points;
  for (const double centre : {s.location, law.lower(), law.upper()}) {
    if (!std::isfinite(centre)) continue;
    points.push_back(centre);
    for (int power = -1; power <= 8; ++power) {
      const double off = s.scale * std::pow(10, power);
      points.insert(points.end(), {centre - off, centre + off});
    }
  }
  return points;
}

double right_moment(const Stable& law, double q, double p) {
  const StableParameters s = convert(law.parameters(), StableForm::S0);
  const bool heavy = is_heavy(s);
  if (heavy && p >= s.alpha) return kInf;
  const double index = heavy ? s.alpha : p + 1;
  // In units: from here on a power tail is its limit to the last digit.
  const double last = std::pow(10, std::min(13 / std::min(s.alpha, 1.0), 130.0));
  // All of the body is within a unit of the point.
  const double unit = std::max(s.scale, std::fabs(q - s.location));
  const auto each = [](const auto& f) {
    return [&f](std::span<const double> at, double* out) {
      for (std::size_t i = 0; i < at.size(); ++i) out[i] = f(at[i]);
    };
  };
  // t = unit r^{1/p}: p t^{p-1} dt = unit^p dr.
  const auto near = [&](double r) { return law.survival(q + unit * std::pow(r, 1 / p)); };
  // t = unit s^{-1/(index - p)}: p t^{p-1} dt = p/(index - p) unit^p (t/unit)^index ds.
  const auto far = [&](double at) {
    const double t = std::min(std::pow(at, -1 / (index - p)), last);
    return std::pow(t, index) * law.survival(q + unit * t);
  };
  std::vector<double> near_cuts = {0, 1e-4, 1e-2, 0.1, 0.3, 0.6, 0.9, 1}, far_cuts = near_cuts;
  for (const double x : body_of(law, s)) {
    const double t = (x - q) / unit;
    if (t > 0 && t < 1) near_cuts.push_back(std::pow(t, p));
    if (t > 1 && std::isfinite(t)) far_cuts.push_back(std::pow(t, p - index));
  }
  std::sort(near_cuts.begin(), near_cuts.end());
  std::sort(far_cuts.begin(), far_cuts.end());
  const double inner = noise::integrate(each(near), near_cuts, kTolerance);
  const double outer = noise::integrate(each(far), far_cuts, kTolerance);
  return std::pow(unit, p) * (inner + p / (index - p) * outer);
}

}  // namespace

double tail_moment(const Stable& law, double q, double p, Tail tail) {
  check("p", p, range::positive);
  check("q", q, range::finite);
  double sum = 0;
  if (tail != Tail::left) sum += right_moment(law, q, p);
  if (tail != Tail::right) sum += right_moment(Stable(mirrored(law.parameters())), -q, p);
  return sum;
}

double expected_shortfall(const Stable& law, double probability, Tail tail) {
  check("probability", probability, {0, 1, true, true});
  if (tail == Tail::both) throw Error("the expected shortfall is that of the left or right tail.");
  if (tail == Tail::left)
    return -expected_shortfall(Stable(mirrored(law.parameters())), probability, Tail::right);
  const double q = law.survival_quantile(probability);
  if (!std::isfinite(q)) return q;
  return q + right_moment(law, q, 1) / probability;
}

// E |X|^p = Gamma(1 - p/alpha) / (Gamma(1 - p) cos(pi p/2)) (1 + b^2)^{p/(2 alpha)}
// cos(p/alpha atan b), b = beta tan(pi alpha/2); with Gamma(1 - p) cos(pi p/2) = pi / (2 Gamma(p)
// sin(pi p/2)), which has no poles for p > -1.
double absolute_moment(const Stable& law, double p) {
  const StableParameters s = law.parameters();
  check("p", p, {-1, kInf, true, true});
  if (p == 0) return 1;
  if (s.alpha == 2) {  // N(0, 2 scale^2)
    return std::pow(2 * s.scale, p) * boost::math::tgamma((p + 1) / 2) / std::sqrt(kPi);
  }
  if (s.alpha == 1 && s.beta != 0) {
    throw Error("absolute moments of alpha = 1 with beta other than 0 have no closed form.");
  }
  if (p >= s.alpha) return kInf;
  const double b = s.alpha == 1 ? 0 : -s.beta / std::tan(kPi / 2 * (s.alpha - 1));
  // Gamma(p) sin(pi p/2) 2/pi = Gamma(p + 1) sinc, finite at p = 0.
  const double sine = std::sin(kPi * p / 2) / (kPi * p / 2);
  return std::pow(s.scale, p) * boost::math::tgamma(1 - p / s.alpha) * boost::math::tgamma(p + 1) *
         sine * std::pow(1 + b * b, p / (2 * s.alpha)) * std::cos(p / s.alpha * std::atan(b));
}

}  // namespace medgrad
