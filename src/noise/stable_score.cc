#include "medgrad/stable_score.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/text.h"
#include "medgrad/error.h"
#include "medgrad/thread_pool.h"

namespace medgrad {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLowestAlpha = 0.1;
constexpr std::size_t kLevels = 9;
constexpr double kRatio = 1.5;  // from one distance to the next

struct Estimate {
  double value = kNaN, error = std::numeric_limits<double>::infinity();
};

// Neville's table of d(h) = d + c1 h^power + c2 h^(2 power) + ..., h falling by kRatio; the entry
// that differs least from those it was made of (Ridders 1982).
Estimate extrapolate(const std::array<double, kLevels>& d, double power) {
  Estimate best;
  std::array<double, kLevels> row{}, before{};
  for (std::size_t i = 0; i < kLevels; ++i) {
    row[0] = d[i];
    double factor = 1;
    for (std::size_t j = 1; j <= i; ++j) {
      factor *= std::pow(kRatio, power);
      row[j] = (factor * row[j - 1] - before[j - 1]) / (factor - 1);
      const double error =
          std::max(std::fabs(row[j] - row[j - 1]), std::fabs(row[j] - before[j - 1]));
      if (error < best.error) best = {row[j], error};
    }
    before = row;
  }
  return best;
}

// What the density varies around, and how fast: for small alpha around zeta = -beta tan(pi
// alpha/2), where its derivatives are f^(k) = Gamma((k+1)/alpha) cos(...) / (pi alpha (1 +
// zeta^2)^{(k+1)/(2 alpha)}), on a scale that the second of them gives.
struct Core {
  double centre = 0, width = 1;
};
Core core_of(const StableParameters& p) {
  constexpr double kSmall = 0.8;
  if (p.alpha > kSmall) return {};
  const double zeta = -p.beta * std::tan(kPi / 2 * p.alpha);
  const double log_width = (std::lgamma(1 / p.alpha) - std::lgamma(3 / p.alpha)) / 2 +
                           std::log1p(zeta * zeta) / (2 * p.alpha);
  return {zeta, std::exp(log_width)};
}

StableParameters standard_of(const StableParameters& p) { return {p.alpha, p.beta}; }

}  // namespace

StableScore::Neighbours StableScore::neighbours(const StableParameters& standard, bool by_alpha) {
  Neighbours around;
  const double at = by_alpha ? standard.alpha : standard.beta;
  const double low = by_alpha ? kLowestAlpha : -1, high = by_alpha ? 2 : 1;
  const double first = by_alpha ? 0.1 * std::min(1.0, at) : 0.2;
  around.both = at - first >= low && at + first <= high;
  const bool down = at - first >= low, up = at + first <= high;
  const auto law = [&](double moved) {
    StableParameters p = standard;
    (by_alpha ? p.alpha : p.beta) = moved;
    return Stable(p);
  };
  double h = first;
  for (std::size_t i = 0; i < kLevels; ++i, h /= kRatio) {
    around.distances.push_back(h);
    if (down) around.low.push_back(law(at - h));
    if (up) around.high.push_back(law(at + h));
  }
  return around;
}

StableScore::StableScore(const StableParameters& parameters)
    : parameters_(parameters), standard_(standard_of(parameters)) {
  location_ = convert(parameters, StableForm::S0).location;
  if (!std::isfinite(location_)) throw Error("the location in S0 is beyond the largest number.");
  (void)standard_.pdf(0);  // an Error where alpha is too small
  alpha_ = neighbours(standard_.parameters(), true);
  if (parameters.alpha < 2) beta_ = neighbours(standard_.parameters(), false);
}

double StableScore::derivative(const Neighbours& around, double y, double log_f) const {
  if (around.distances.empty()) return 0;  // beta of a Gaussian law
  std::array<double, kLevels> logs{}, ratios{};
  for (std::size_t i = 0; i < kLevels; ++i) {
    const double h = around.distances[i];
    const double low = around.low.empty() ? log_f : around.low[i].log_pdf(y);
    const double high = around.high.empty() ? log_f : around.high[i].log_pdf(y);
    const double width = around.both ? 2 * h : h;
    logs[i] = (high - low) / width;
    ratios[i] = (std::exp(high - log_f) - std::exp(low - log_f)) / width;
  }
  const double power = around.both ? 2 : 1;
  const Estimate of_log = extrapolate(logs, power), of_f = extrapolate(ratios, power);
  const auto doubt = [](const Estimate& e) { return e.error / std::max(std::fabs(e.value), 1.0); };
  return doubt(of_f) < doubt(of_log) ? of_f.value : of_log.value;
}

StableScores StableScore::operator()(double x) const {
  const StableParameters& p = parameters_;
  StableScores s{kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN};
  const double y = (x - location_) / p.scale;
  if (!std::isfinite(y)) return s;
  const double log_f = standard_.log_pdf(y);
  if (!std::isfinite(log_f)) return s;
  // log f is smooth in w = asinh((y - centre) / width). Not past the end of a half-line.
  const Core core = core_of(p);
  const auto place = [&](double at) { return std::asinh((at - core.centre) / core.width); };
  const double w = place(y);
  const double room = std::min(w - place(standard_.lower()), place(standard_.upper()) - w);
  double h = std::min(0.25, room / 2);
  std::array<double, kLevels> first{}, second{};
  for (std::size_t i = 0; i < kLevels; ++i, h /= kRatio) {
    const auto at = [&](double v) { return core.centre + core.width * std::sinh(v); };
    const double low = standard_.log_pdf(at(w - h)) - log_f;
    const double high = standard_.log_pdf(at(w + h)) - log_f;
    first[i] = (high - low) / (2 * h);
    second[i] = (high + low) / (h * h);
  }
  const double by_w = extrapolate(first, 2).value, by_ww = extrapolate(second, 2).value;
  // dw/dy = 1 / (width cosh w), d2w/dy2 = -sinh w / (width^2 cosh^3 w).
  const double off = (y - core.centre) / core.width, cosh = std::hypot(1, off);
  const double by_y = by_w / cosh / core.width;
  s.log_pdf = log_f - std::log(p.scale);
  s.x = by_y / p.scale;
  const double unit = p.scale * core.width;
  s.xx = (by_ww - by_w * (off / cosh)) / cosh / cosh / unit / unit;
  s.alpha = derivative(alpha_, y, log_f);
  s.beta = derivative(beta_, y, log_f);
  s.location = -s.x;
  s.scale = -(1 + y * by_y) / p.scale;
  if (p.form == StableForm::S0 || p.alpha == 2) return s;
  // In S1 the location of S0 is location + scale beta tan(pi alpha/2), or at alpha = 1 location +
  // scale beta (2/pi) log(scale).
  if (p.alpha == 1) {
    const double log_scale = std::log(p.scale);
    if (p.beta != 0) s.alpha = kNaN;
    s.beta += s.location * p.scale * 2 / kPi * log_scale;
    s.scale += s.location * p.beta * 2 / kPi * (log_scale + 1);
    return s;
  }
  const double tangent = -1 / std::tan(kPi / 2 * (p.alpha - 1));
  s.alpha += s.location * p.scale * p.beta * kPi / 2 * (1 + tangent * tangent);
  s.beta += s.location * p.scale * tangent;
  s.scale += s.location * p.beta * tangent;
  return s;
}

void StableScore::operator()(std::span<const double> x, std::span<StableScores> out,
                             ThreadPool* pool) const {
  if (x.size() != out.size()) {
    throw Error(fmt::format("there {} {} and room for {}; both numbers must be equal.",
                            x.size() == 1 ? "is" : "are", counted(x.size(), "point"),
                            counted(out.size(), "result")));
  }
  for_each(pool, x.size(), [&](std::size_t i) { out[i] = (*this)(x[i]); });
}

}  // namespace medgrad
