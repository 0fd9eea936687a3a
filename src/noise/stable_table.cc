#include "medgrad/stable_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "medgrad/error.h"
#include "medgrad/thread_pool.h"
#include "noise/density_panels.h"

namespace medgrad {
namespace {

using noise::DensityPanels;
using noise::Jet;
using Kind = DensityPanels::Kind;

constexpr double kPeaked = 0.8;            // alpha up to which the pivot is the location of S1
constexpr double kReach = 20, kFar = 600;  // w of the body; of numbers up to e^600 units
constexpr double kStraight = 40;           // w where sinh(w) is e^w / 2
constexpr double kMostLogarithm = 700;     // of a distance from an end that is no denormal
constexpr double kNearPivot = 0.5;         // where the end is farther away than the pivot
constexpr double kZero = -760;             // log f where f is 0

// The scale of the 16th derivative around zeta, where f^(k) is in proportion to Gamma((k+1)/alpha):
// what polynomials of degree 15 can follow.
double unit_of(double alpha) {
  if (alpha > kPeaked) return 1;
  using boost::math::lgamma;
  return std::exp((lgamma(1 / alpha) + lgamma(17.0) - lgamma(17 / alpha)) / 16);
}

// How one side of the pivot is measured.
enum class Measure : unsigned char { from_location, from_peak, from_end };

}  // namespace

struct StableTable::Sides {
  Sides(const StableParameters& p, double tolerance);

  // How far from the pivot u is, or from the end of a half-line. (u < 0 is beyond the pivot.)
  [[nodiscard]] double distance(std::size_t side, double u) const {
    if (measures[side] == Measure::from_end) return std::fabs(zeta) * std::exp(-u);
    return u > kStraight ? std::exp(u + std::log(unit / 2)) : unit * std::sinh(u);
  }
  // log f of the standard law there.
  [[nodiscard]] double direct(std::size_t side, double u) const {
    const double sign = side == 0 ? 1 : -1, off = sign * distance(side, u);
    switch (measures[side]) {
      case Measure::from_location:
        return by_location.log_pdf(off);
      case Measure::from_peak:
        return by_peak.log_pdf(off);
      default:
        // Close to the pivot from there: zeta may be large.
        if (u < kNearPivot) return by_location.log_pdf(sign * std::fabs(zeta) * -std::expm1(-u));
        return by_peak.log_pdf(-off);
    }
  }
  [[nodiscard]] double last_of_end(std::size_t side) const;

  Stable by_location, by_peak;  // in S0 and in S1
  double zeta = 0, unit = 1;
  std::array<Measure, 2> measures{};
  std::array<DensityPanels, 2> panels;  // right of the pivot, left of it
};

// As far towards the end of a half-line as f is more than e^{-1e308}.
double StableTable::Sides::last_of_end(std::size_t side) const {
  double low = 0, high = kMostLogarithm;
  if (std::isfinite(direct(side, high))) return high;
  while (high - low > 1e-3 * high) {
    const double middle = (low + high) / 2;
    (std::isfinite(direct(side, middle)) ? low : high) = middle;
  }
  return low;
}

StableTable::Sides::Sides(const StableParameters& p, double tolerance)
    : by_location({p.alpha, p.beta}), by_peak({p.alpha, p.beta, 1, 0, StableForm::S1}) {
  const bool half_line = p.alpha < 1 && std::fabs(p.beta) == 1;
  if (p.alpha < 1) zeta = -convert(by_peak.parameters(), StableForm::S0).location;
  const bool peaked = p.alpha <= kPeaked && !half_line;
  if (peaked) unit = unit_of(p.alpha);
  measures.fill(peaked ? Measure::from_peak : Measure::from_location);
  if (half_line) measures[p.beta > 0 ? 1 : 0] = Measure::from_end;
  for (const std::size_t side : {0U, 1U}) {
    std::vector<double> cuts = {0};
    if (measures[side] == Measure::from_end) {
      const double last = last_of_end(side);
      for (const double part : {1.0 / 64, 1.0 / 16, 1.0 / 4, 1.0 / 2, 1.0})
        cuts.push_back(part * last);
      if (last < kMostLogarithm) cuts.push_back(kMostLogarithm);
    } else {
      constexpr int kFirst = 8;
      const double reach = kReach - std::log(unit);
      for (int i = 1; i <= kFirst; ++i) cuts.push_back(reach * i / kFirst);
      cuts.push_back(kFar - std::log(unit));
    }
    panels[side] = DensityPanels([&](double u) { return direct(side, u); }, cuts, tolerance);
  }
}

StableTable::StableTable(const StableParameters& parameters, double tolerance)
    : law_(parameters), tolerance_(tolerance) {
  check("tolerance", tolerance, {1e-12, 0.1});
  const StableParameters s0 = convert(parameters, StableForm::S0);
  location_ = s0.location;
  scale_ = s0.scale;
  log_scale_ = std::log(scale_);
  if (!std::isfinite(location_)) throw Error("the location in S0 is beyond the largest number.");
  (void)law_.pdf(0);  // an Error where alpha is too small
  sides_ = std::make_shared<const Sides>(parameters, tolerance);
}

StableTable::Spot StableTable::spot(double x) const {
  const Sides& s = *sides_;
  const StableParameters& p = parameters();
  const auto from_peak = [&] {
    return p.form == StableForm::S1 ? (x - p.location) / scale_ : (x - location_) / scale_ - s.zeta;
  };
  const auto from_pivot = [&](double z) -> Spot {
    const double off = std::fabs(z), q = off / s.unit;
    const double u = std::isfinite(q) ? std::asinh(q) : std::log(off) - std::log(s.unit / 2);
    return {z < 0 ? 1U : 0U, u, off};
  };
  if (s.measures[0] == Measure::from_peak) return from_pivot(from_peak());
  const double y = (x - location_) / scale_;
  const std::size_t side = y < 0 ? 1 : 0;
  if (s.measures[side] == Measure::from_location) return from_pivot(y);
  const double z = from_peak() * p.beta, end = std::fabs(s.zeta);
  const double near = -std::log1p(-std::fabs(y) / end);
  return {side, near < kNearPivot ? near : -std::log(z / end), z};
}

double StableTable::log_pdf(double x) const {
  const Spot at = spot(x);
  const DensityPanels::Panel* panel = sides_->panels[at.side].at(at.u);
  if (panel == nullptr || panel->kind == Kind::integral) return law_.log_pdf(x);
  return panel->value(at.u) - log_scale_;
}

double StableTable::pdf(double x) const {
  const Spot at = spot(x);
  const DensityPanels::Panel* panel = sides_->panels[at.side].at(at.u);
  if (panel == nullptr) return law_.pdf(x);
  if (panel->kind != Kind::integral) return std::exp(panel->value(at.u) - log_scale_);
  // A tail that is light between the nodes of a panel as at them, with a tenth to spare.
  return 0.9 * panel->highest - log_scale_ < kZero ? 0 : law_.pdf(x);
}

StableTable::Derivatives StableTable::derivatives(double x) const {
  const Sides& s = *sides_;
  const Spot at = spot(x);
  const DensityPanels::Panel* panel = s.panels[at.side].at(at.u);
  Jet by_u;
  if (panel != nullptr && panel->kind != Kind::integral) {
    by_u = panel->jet(at.u);
  } else {
    // Differences; u is bounded away from where they would cancel.
    const double h = 1e-3 * std::max(1.0, at.u / 10);
    const double low = s.direct(at.side, at.u - h), high = s.direct(at.side, at.u + h);
    by_u.value = s.direct(at.side, at.u);
    by_u.first = (high - low) / (2 * h);
    by_u.second = (high - 2 * by_u.value + low) / (h * h);
  }
  const double sign = at.side == 0 ? 1 : -1, value = by_u.value - log_scale_;
  if (s.measures[at.side] == Measure::from_end) {
    // u = -log(z / |zeta|), and z falls outwards.
    const double u = 1 / (scale_ * at.off);
    return {value, sign * by_u.first * u, (by_u.second + by_u.first) * u * u};
  }
  // du/dx = 1 / (scale unit cosh u), d2u/dx2 = -sinh u / (scale^2 unit^2 cosh^3 u).
  const double cosh = std::hypot(s.unit, at.off), u = 1 / (scale_ * cosh);
  return {value, sign * by_u.first * u, (by_u.second - by_u.first * (at.off / cosh)) * u * u};
}

namespace {
template <class F>
void map(std::span<const double> x, std::span<double> out, ThreadPool* pool, const F& f) {
  if (x.size() != out.size()) {
    throw Error(fmt::format("there {} {} and room for {}; both numbers must be equal.",
                            x.size() == 1 ? "is" : "are", counted(x.size(), "point"),
                            counted(out.size(), "result")));
  }
  constexpr std::size_t kChunk = 4096;
  for_each(pool, (x.size() + kChunk - 1) / kChunk, [&](std::size_t chunk) {
    const std::size_t end = std::min(x.size(), (chunk + 1) * kChunk);
    for (std::size_t i = chunk * kChunk; i < end; ++i) out[i] = f(x[i]);
  });
}
}  // namespace

void StableTable::log_pdf(std::span<const double> x, std::span<double> out,
                          ThreadPool* pool) const {
  map(x, out, pool, [&](double at) { return log_pdf(at); });
}
void StableTable::pdf(std::span<const double> x, std::span<double> out, ThreadPool* pool) const {
  map(x, out, pool, [&](double at) { return pdf(at); });
}

std::size_t StableTable::intervals() const {
  return sides_->panels[0].panels().size() + sides_->panels[1].panels().size();
}

double StableTable::uncovered() const {
  double length = 0, missing = 0;
  for (const DensityPanels& side : sides_->panels) {
    for (const DensityPanels::Panel& p : side.panels()) {
      length += p.high - p.low;
      missing += p.kind == Kind::integral ? p.high - p.low : 0;
    }
  }
  return missing / length;
}

}  // namespace medgrad
