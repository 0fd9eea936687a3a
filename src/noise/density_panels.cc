#include "noise/density_panels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace medgrad::noise {
namespace {

constexpr std::size_t kNodes = DensityPanels::kNodes;
using Coefficients = DensityPanels::Coefficients;

constexpr std::size_t kParts = 256;  // of a region, to find panels by
constexpr int kDeepest = 9;          // halvings between two cuts
constexpr double kUnderflow = -740;  // log f from which on down the tolerance is that of log f
constexpr double kLight = -1;        // log f from which on down log(-log f) is told
constexpr std::array<double, 4> kBetween = {-0.98, -0.29, 0.31, 0.97};

const std::array<Coefficients, kNodes>& cosines() {  // cos(pi j (2k + 1) / (2N))
  static const auto table = [] {
    std::array<Coefficients, kNodes> c{};
    for (std::size_t j = 0; j < kNodes; ++j) {
      for (std::size_t k = 0; k < kNodes; ++k) {
        const std::size_t turn = j * (2 * k + 1) % (4 * kNodes);
        c[j][k] = std::cos(std::numbers::pi * static_cast<double>(turn) / (2 * kNodes));
      }
    }
    return c;
  }();
  return table;
}

// Clenshaw's recurrence.
double chebyshev(const Coefficients& c, double t) {
  double a = 0, b = 0;
  for (std::size_t j = kNodes - 1; j > 0; --j) {
    const double next = 2 * t * a - b + c[j];
    b = a;
    a = next;
  }
  return t * a - b + c[0];
}

// d/dt by c'_{j-1} = c'_{j+1} + 2 j c_j.
Coefficients differentiated(const Coefficients& c) {
  Coefficients d{};
  for (std::size_t j = kNodes - 1; j > 0; --j)
    d[j - 1] = (j + 1 < kNodes ? d[j + 1] : 0) + 2 * static_cast<double>(j) * c[j];
  d[0] /= 2;
  return d;
}

Coefficients interpolated(const Coefficients& values) {
  const auto& cosine = cosines();
  Coefficients c{};
  for (std::size_t j = 0; j < kNodes; ++j) {
    double sum = 0;
    for (std::size_t k = 0; k < kNodes; ++k) sum += values[k] * cosine[j][k];
    c[j] = sum * (j == 0 ? 1.0 : 2.0) / kNodes;
  }
  return c;
}

double rest(const Coefficients& c) { return std::fabs(c[kNodes - 1]) + std::fabs(c[kNodes - 2]); }

double allowed(double log_f, double tolerance) {
  return log_f > kUnderflow ? tolerance : tolerance * -log_f;
}

}  // namespace

double DensityPanels::Panel::value(double u) const {
  if (kind == Kind::nothing) return -std::numeric_limits<double>::infinity();
  const double p = chebyshev(coefficients, (2 * u - low - high) / (high - low));
  return kind == Kind::light ? -std::exp(p) : p;
}

Jet DensityPanels::Panel::jet(double u) const {
  if (kind == Kind::nothing) return {value(u), 0, 0};
  const double t = (2 * u - low - high) / (high - low), by = 2 / (high - low);
  const Coefficients d = differentiated(coefficients);
  const double p = chebyshev(coefficients, t), first = chebyshev(d, t) * by;
  const double second = chebyshev(differentiated(d), t) * by * by;
  if (kind == Kind::plain) return {p, first, second};
  const double log_f = -std::exp(p);
  return {log_f, log_f * first, log_f * (first * first + second)};
}

DensityPanels::DensityPanels(const std::function<double(double)>& log_f,
                             std::span<const double> cuts, double tolerance) {
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) add(log_f, cuts[i], cuts[i + 1], tolerance, 0);
  end_ = cuts.back();
  index(0, cuts.front(), cuts[cuts.size() - 2]);
  index(1, cuts[cuts.size() - 2], cuts.back());
}

void DensityPanels::index(std::size_t which, double begin, double end) {
  Region& region = regions_[which];
  region = {begin, end, kParts / (end - begin), {}};
  unsigned panel = 0;
  // One part more, for quotients that are rounded up.
  for (std::size_t i = 0; i <= kParts; ++i) {
    const double part = begin + (end - begin) * static_cast<double>(i) / kParts;
    while (panel + 1 < panels_.size() && panels_[panel].high <= part) ++panel;
    // Rounded down, a point may be ahead of its part.
    region.first.push_back(i > 0 && panel > region.first.back() ? panel - 1 : panel);
  }
}

void DensityPanels::add(const std::function<double(double)>& log_f, double low, double high,
                        double tolerance, int depth) {
  const double middle = (low + high) / 2, half = (high - low) / 2;
  Panel panel{low, high, Kind::integral, {}, 0};
  const auto& cosine = cosines();
  Coefficients values{};
  double lowest = 0;
  for (std::size_t k = 0; k < kNodes; ++k) {
    values[k] = log_f(middle + half * cosine[1][k]);
    lowest = std::min(lowest, values[k]);
  }
  panel.highest = *std::max_element(values.begin(), values.end());
  const auto holds = [&](Kind kind) {
    panel.kind = kind;
    Coefficients held = values;
    double slack = allowed(panel.highest, tolerance);
    if (kind == Kind::light) {
      for (double& v : held) v = std::log(-v);
      slack = panel.highest > kUnderflow ? tolerance / -lowest : tolerance;
    }
    panel.coefficients = interpolated(held);
    if (!(rest(panel.coefficients) < slack)) return false;
    return std::all_of(kBetween.begin(), kBetween.end(), [&](double t) {
      const double at = middle + half * t, exact = log_f(at);
      return std::fabs(panel.value(at) - exact) < allowed(exact, tolerance) / 2;
    });
  };
  const bool finite = std::isfinite(lowest);
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  if (panel.highest == kNever && log_f(low) == kNever && log_f(high) == kNever) {
    panel.kind = Kind::nothing;
  } else if (!finite || (!holds(Kind::plain) && !(panel.highest < kLight && holds(Kind::light)))) {
    panel.kind = Kind::integral;
  }
  if (panel.kind != Kind::integral || depth == kDeepest) {
    panels_.push_back(panel);
    return;
  }
  add(log_f, low, middle, tolerance, depth + 1);
  add(log_f, middle, high, tolerance, depth + 1);
}

}  // namespace medgrad::noise
