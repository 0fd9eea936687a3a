#include "medgrad/stable.h"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "medgrad/error.h"
#include "medgrad/thread_pool.h"
#include "noise/zolotarev.h"

namespace medgrad {
namespace {

using noise::StablePoint;
using noise::Zolotarev;

constexpr double kPi = std::numbers::pi;
constexpr double kInf = std::numeric_limits<double>::infinity();

std::string number(double x) {
  std::string text = std::to_string(x);
  return text;
}

// beta tan(pi alpha/2) for alpha != 1: how far S1 lies from S0 at scale 1.
double shift(double alpha, double beta) { return -Zolotarev(alpha, beta).zeta(); }

// A standard distribution by its logarithms: the closed forms, or the integrals.
class Standard {
 public:
  Standard(double alpha, double beta) : alpha_(alpha), beta_(beta) {
    if (alpha < 0.1) {
      throw Error("alpha is " + number(alpha) +
                  "; densities and probabilities are given for alpha >= 0.1 only.");
    }
  }

  [[nodiscard]] double log_pdf(const StablePoint& p) const {
    if (gaussian()) return -p.x * p.x / 4 - std::log(4 * kPi) / 2;
    if (cauchy()) return -std::log(kPi) - log1p_square(p.x);
    if (levy()) {
      const double y = beta_ * p.z;
      return y > 0 ? -0.5 / y - 1.5 * std::log(y) - 0.5 * std::log(2 * kPi) : -kInf;
    }
    return Zolotarev(alpha_, beta_).log_pdf(p);
  }

  [[nodiscard]] double log_below(const StablePoint& p) const { return log_side(p, false); }
  [[nodiscard]] double log_above(const StablePoint& p) const { return log_side(p, true); }

 private:
  [[nodiscard]] bool gaussian() const { return alpha_ == 2; }
  [[nodiscard]] bool cauchy() const { return alpha_ == 1 && beta_ == 0; }
  [[nodiscard]] bool levy() const { return alpha_ == 0.5 && std::fabs(beta_) == 1; }

  static double log1p_square(double x) {
    return std::fabs(x) < 1e8 ? std::log1p(x * x) : 2 * std::log(std::fabs(x));
  }

  [[nodiscard]] double log_side(const StablePoint& p, bool above) const {
    const double x = above ? p.x : -p.x;  // by symmetry, the part above x
    if (gaussian()) return log_erfc(x / 2) - std::numbers::ln2;
    if (cauchy()) return std::log(std::atan2(1, x) / kPi);
    if (levy()) {
      const double y = beta_ * p.z;
      if (!(y > 0)) return above == (beta_ > 0) ? 0 : -kInf;
      const double root = std::sqrt(0.5 / y);
      return above == (beta_ > 0) ? std::log(std::erf(root)) : log_erfc(root);
    }
    const Zolotarev integrals(alpha_, beta_);
    return above ? integrals.log_above(p) : integrals.log_below(p);
  }

  // log erfc(x), past where erfc underflows by the continued fraction's first terms.
  static double log_erfc(double x) {
    if (x < 25) return std::log(std::erfc(x));
    const double y = 1 / (2 * x * x);
    return -x * x - std::log(x * std::sqrt(kPi)) + std::log1p(-y * (1 - 3 * y * (1 - 5 * y)));
  }

  double alpha_, beta_;
};

// The point of the standard distribution that belongs to x. Both coordinates are computed from x
// directly, so that neither is a small difference of large numbers in its own form.
StablePoint point(const StableParameters& s, double x) {
  const double y = (x - s.location) / s.scale;
  if (s.alpha == 1) {
    const double offset = s.form == StableForm::S1 ? s.beta * 2 / kPi * std::log(s.scale) : 0;
    return {y - offset, y - offset};
  }
  if (s.alpha == 2) return {y, y};
  const double zeta = -shift(s.alpha, s.beta);
  return s.form == StableForm::S0 ? StablePoint{y, y - zeta} : StablePoint{y + zeta, y};
}

// Solves log side(x) = log p for the standardised x by bracketing on a scale that is linear around
// 0 and logarithmic far out.
template <class LogSide>
double solve(const LogSide& log_side, double log_p, double direction) {
  const auto place = [](double u) { return std::sinh(u); };
  const auto excess = [&](double u) { return log_side(place(u)) - log_p; };
  double low = -1, high = 1;
  const double sign = direction;  // +1 where the probability grows with x
  const auto below = [&](double u) { return sign * excess(u) < 0; };
  while (!below(low) && low > -709) low = std::max(2 * low, -709.0);
  while (below(high) && high < 709) high = std::min(2 * high, 709.0);
  std::uintmax_t iterations = 200;
  const auto bounded = [&](double u) { return std::clamp(excess(u), -1e300, 1e300); };
  const auto [a, b] = boost::math::tools::toms748_solve(
      bounded, low, high,
      [](double l, double h) { return h - l <= 4e-16 * std::max(std::fabs(l), std::fabs(h)); },
      iterations);
  return place(a + (b - a) / 2);
}

}  // namespace

StableParameters convert(const StableParameters& s, StableForm to) {
  if (s.form == to || s.beta == 0 || s.alpha == 2) {
    StableParameters same = s;
    same.form = to;
    return same;
  }
  const double offset = s.alpha == 1 ? s.beta * 2 / kPi * s.scale * std::log(s.scale)
                                     : s.scale * shift(s.alpha, s.beta);
  StableParameters result = s;
  result.form = to;
  result.location += to == StableForm::S0 ? offset : -offset;
  return result;
}

Stable::Stable(const StableParameters& parameters) : parameters_(parameters) {
  const StableParameters& s = parameters_;
  if (!(s.alpha > 0 && s.alpha <= 2)) {
    throw Error("alpha is " + number(s.alpha) + "; it must satisfy 0 < alpha <= 2.");
  }
  if (!(std::fabs(s.beta) <= 1)) {
    throw Error("beta is " + number(s.beta) + "; it must satisfy -1 <= beta <= 1.");
  }
  if (!(s.scale > 0 && std::isfinite(s.scale))) {
    throw Error("the scale is " + number(s.scale) + "; it must be positive and finite.");
  }
  if (!std::isfinite(s.location)) throw Error("the location must be finite.");
}

double Stable::log_pdf(double x) const {
  const Standard standard(parameters_.alpha, parameters_.beta);
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return -kInf;
  return standard.log_pdf(point(parameters_, x)) - std::log(parameters_.scale);
}

double Stable::pdf(double x) const { return std::exp(log_pdf(x)); }

double Stable::cdf(double x) const {
  const Standard standard(parameters_.alpha, parameters_.beta);
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return x > 0 ? 1 : 0;
  return std::exp(standard.log_below(point(parameters_, x)));
}

double Stable::survival(double x) const {
  const Standard standard(parameters_.alpha, parameters_.beta);
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return x > 0 ? 0 : 1;
  return std::exp(standard.log_above(point(parameters_, x)));
}

double Stable::lower() const {
  const StableParameters s = convert(parameters_, StableForm::S1);
  return s.alpha < 1 && s.beta == 1 ? s.location : -kInf;
}

double Stable::upper() const {
  const StableParameters s = convert(parameters_, StableForm::S1);
  return s.alpha < 1 && s.beta == -1 ? s.location : kInf;
}

double Stable::quantile(double p) const {
  if (!(p >= 0 && p <= 1))
    throw Error("a probability of " + number(p) + " is not between 0 and 1.");
  if (p > 0.5) return survival_quantile(1 - p);
  if (p == 0) return lower();
  const Standard standard(parameters_.alpha, parameters_.beta);
  const auto log_side = [&](double y) {
    return standard.log_below(point(parameters_, parameters_.location + parameters_.scale * y));
  };
  return parameters_.location + parameters_.scale * solve(log_side, std::log(p), 1);
}

double Stable::survival_quantile(double p) const {
  if (!(p >= 0 && p <= 1))
    throw Error("a probability of " + number(p) + " is not between 0 and 1.");
  if (p > 0.5) return quantile(1 - p);
  if (p == 0) return upper();
  const Standard standard(parameters_.alpha, parameters_.beta);
  const auto log_side = [&](double y) {
    return standard.log_above(point(parameters_, parameters_.location + parameters_.scale * y));
  };
  return parameters_.location + parameters_.scale * solve(log_side, std::log(p), -1);
}

void Stable::pdf(std::span<const double> x, std::span<double> out, ThreadPool* pool) const {
  (void)Standard(parameters_.alpha, parameters_.beta);
  for_each(pool, x.size(), [&](std::size_t i) { out[i] = pdf(x[i]); });
}

void Stable::cdf(std::span<const double> x, std::span<double> out, ThreadPool* pool) const {
  (void)Standard(parameters_.alpha, parameters_.beta);
  for_each(pool, x.size(), [&](std::size_t i) { out[i] = cdf(x[i]); });
}

}  // namespace medgrad
