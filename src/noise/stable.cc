#include "medgrad/stable.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "base/text.h"
#include "medgrad/error.h"
#include "medgrad/thread_pool.h"
#include "noise/law.h"

namespace medgrad {
namespace {

using noise::StablePoint;

constexpr double kPi = std::numbers::pi;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kSmallestAlpha = 0.1;  // below it, densities of doubles run out of exponents

// How many scales the location of S0 lies above that of S1.
double shift(const StableParameters& s) {
  if (s.beta == 0 || s.alpha == 2) return 0;
  if (s.alpha == 1) return s.beta * 2 / kPi * std::log(s.scale);
  return -noise::Angles(s.alpha, s.beta).zeta;
}

// Points per task: some hundred microseconds of work.
constexpr std::size_t kChunk = 64;

template <class F>
void for_points(std::span<const double> x, std::span<double> out, ThreadPool* pool, const F& f) {
  if (x.size() != out.size()) {
    throw Error(fmt::format("there {} {} and room for {}; both numbers must be equal.",
                            x.size() == 1 ? "is" : "are", counted(x.size(), "point"),
                            counted(out.size(), "result")));
  }
  for_each(pool, (x.size() + kChunk - 1) / kChunk, [&](std::size_t chunk) {
    const std::size_t end = std::min(x.size(), (chunk + 1) * kChunk);
    for (std::size_t i = chunk * kChunk; i < end; ++i) out[i] = f(x[i]);
  });
}

}  // namespace

StableParameters convert(const StableParameters& parameters, StableForm to) {
  check_fields(parameters);
  StableParameters result = parameters;
  if (parameters.form == to) return result;
  result.form = to;
  const double by = to == StableForm::S0 ? shift(parameters) : -shift(parameters);
  // Rounded once: a product that overflows may meet a location of the other sign.
  result.location = std::fma(parameters.scale, by, parameters.location);
  return result;
}

Stable::Stable(const StableParameters& parameters) : parameters_(parameters) {
  const StableParameters& s = parameters_;
  check_fields(s);
  if (s.alpha == 1 && s.form == StableForm::S1) offset_ = s.beta * 2 / kPi * std::log(s.scale);
  if (s.alpha >= kSmallestAlpha) law_ = std::make_shared<const noise::Law>(s.alpha, s.beta);
}

const noise::Law& Stable::law() const {
  if (law_ == nullptr) {
    throw Error("alpha", number(parameters_.alpha),
                "densities and probabilities are given from 0.1 on only");
  }
  return *law_;
}

// Both coordinates come from x directly: neither is a small difference of large numbers in its own
// form.
StablePoint Stable::standard(double x) const {
  const StableParameters& s = parameters_;
  const bool is_s0 = s.form == StableForm::S0;
  const double zeta = law_->zeta();
  double from_location = x - s.location, unit = 1;
  if (std::isinf(from_location)) {
    unit = 2;
    from_location = x / 2 - s.location / 2;
  }
  const double y = from_location / s.scale * unit;
  const double size = std::fabs(y);
  // A small z counts where the support ends at z = 0; a small x is next to 0 and no more.
  const bool tiny = !is_s0 && s.alpha != 1 && size < 1 / StablePoint::kHuge && from_location != 0;
  if (tiny || size > StablePoint::kHuge) {
    const double log_size = std::log(std::fabs(from_location)) + std::log(unit) - std::log(s.scale);
    return StablePoint::from_log(from_location, log_size, zeta);
  }
  return is_s0 ? StablePoint::from_x(y, zeta) : StablePoint::from_z(y - offset_, zeta);
}

// Rounded once, so that the sum is finite wherever it is less than the largest double.
double Stable::original(const StablePoint& p) const {
  const StableParameters& s = parameters_;
  if (p.huge()) {
    // A third at a time: a scale next to the smallest double takes a y that is no double back.
    const double third = std::exp(p.log_z / 3);
    return std::fma(std::copysign(s.scale * third * third, p.x), third, s.location);
  }
  return std::fma(s.scale, (s.form == StableForm::S0 ? p.x : p.z) + offset_, s.location);
}

double Stable::log_pdf(double x) const {
  const noise::Law& standard_law = law();
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return -kInf;
  return standard_law.log_pdf(standard(x)) - std::log(parameters_.scale);
}

double Stable::pdf(double x) const { return std::exp(log_pdf(x)); }

double Stable::cdf(double x) const {
  const noise::Law& standard_law = law();
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return x > 0 ? 1 : 0;
  return std::exp(standard_law.log_below(standard(x)));
}

double Stable::survival(double x) const {
  const noise::Law& standard_law = law();
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return x > 0 ? 0 : 1;
  return std::exp(standard_law.log_above(standard(x)));
}

double Stable::lower() const {
  const StableParameters s = convert(parameters_, StableForm::S1);
  return s.alpha < 1 && s.beta == 1 ? s.location : -kInf;
}

double Stable::upper() const {
  const StableParameters s = convert(parameters_, StableForm::S1);
  return s.alpha < 1 && s.beta == -1 ? s.location : kInf;
}

double Stable::solve(double p, bool above) const {
  const noise::Law& standard_law = law();
  if (!(p >= 0 && p <= 1)) {
    throw Error(fmt::format("a probability of {} is not between 0 and 1.", number(p)));
  }
  if (p > 0.5) return solve(1 - p, !above);
  if (p == 0) return above ? upper() : lower();
  return original(standard_law.solve(std::log(p), above));
}

double Stable::quantile(double p) const { return solve(p, false); }
double Stable::survival_quantile(double p) const { return solve(p, true); }

void Stable::pdf(std::span<const double> x, std::span<double> out, ThreadPool* pool) const {
  (void)law();
  for_points(x, out, pool, [&](double at) { return pdf(at); });
}

void Stable::cdf(std::span<const double> x, std::span<double> out, ThreadPool* pool) const {
  (void)law();
  for_points(x, out, pool, [&](double at) { return cdf(at); });
}

}  // namespace medgrad
