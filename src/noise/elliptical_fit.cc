#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "base/text.h"
#include "medgrad/elliptical_density.h"
#include "medgrad/error.h"
#include "noise/dense_cholesky.h"
#include "noise/tail_parts.h"

namespace medgrad {

// The law of the radii: log h on a grid of log r, cubics between.
class EllipticalFitter {
 public:
  // For v up to `high`; beyond it at the price of an integral each.
  EllipticalFitter(double alpha, std::size_t d, double high) : high_(high), law_(alpha, d) {
    for (double v = kLow; v < high + 3 * kStep; v += kStep)
      values_.push_back(law_.log_radial(std::exp(v)));
  }

  // log h(e^v).
  [[nodiscard]] double at(double v) const {
    if (!(v > kLow + kStep && v < high_)) return law_.log_radial(std::exp(v));
    const double place = (v - kLow) / kStep;
    const auto i = static_cast<std::size_t>(place);
    const double t = place - static_cast<double>(i);
    const double a = values_[i - 1], b = values_[i], c = values_[i + 1], e = values_[i + 2];
    return b +
           t * ((c - b) - (1 - t) * ((2 - t) * (a - 2 * b + c) + (1 + t) * (b - 2 * c + e)) / 6);
  }

 private:
  static constexpr double kLow = -5, kStep = 0.05;
  double high_;
  EllipticalDensity law_;
  std::vector<double> values_;
};

namespace {

// The largest value of f in [low, high], by golden section.
struct Peak {
  double at, value;
};
template <class F>
Peak golden(const F& f, double low, double high, double tolerance) {
  constexpr double kGolden = 0.6180339887498949;
  double a = high - kGolden * (high - low), b = low + kGolden * (high - low);
  double fa = f(a), fb = f(b);
  while (high - low > tolerance) {
    if (fa > fb) {
      high = b;
      b = a;
      fb = fa;
      fa = f(a = high - kGolden * (high - low));
    } else {
      low = a;
      a = b;
      fa = fb;
      fb = f(b = low + kGolden * (high - low));
    }
  }
  return fa > fb ? Peak{a, fa} : Peak{b, fb};
}

// Tyler's matrix of directions, of trace d, and the radii by it.
struct Directions {
  std::vector<double> shape, radii;
};
Directions tyler(const std::vector<double>& z, std::size_t n, std::size_t d) {
  Directions found;
  found.shape.assign(d * d, 0);
  for (std::size_t i = 0; i < d; ++i) found.shape[i * d + i] = 1;
  found.radii.resize(n);
  std::vector<double> row(d);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> factor = found.shape;
    if (!noise::factorise(factor, d))
      throw Error("the rows lie in a subspace; a fit of a shape matrix needs all directions.");
    std::vector<double> next(d * d);
    for (std::size_t i = 0; i < n; ++i) {
      const double* const x = &z[i * d];
      row.assign(x, x + d);
      const double r = found.radii[i] = noise::solved_norm(factor, row);
      for (std::size_t a = 0; a < d; ++a) {
        for (std::size_t b = 0; b <= a; ++b) next[a * d + b] += x[a] / r * (x[b] / r);
      }
    }
    double trace = 0, moved = 0;
    for (std::size_t a = 0; a < d; ++a) trace += next[a * d + a];
    for (std::size_t a = 0; a < d; ++a) {
      for (std::size_t b = 0; b <= a; ++b) {
        const double v = next[a * d + b] * static_cast<double>(d) / trace;
        moved = std::max(moved, std::fabs(v - found.shape[a * d + b]));
        found.shape[a * d + b] = found.shape[b * d + a] = v;
      }
    }
    if (moved < 1e-9) break;
  }
  return found;
}

// What the rows are divided by so that a shape matrix, which holds the squares of spreads, is one
// of ordinary numbers: 1 wherever it can be, else the power of two next to the largest spread.
double unit_of(std::span<const double> spreads) {
  constexpr double kLarge = 0x1p500, kSmall = 0x1p-500;
  const auto [least, most] = std::minmax_element(spreads.begin(), spreads.end());
  if (*least > kSmall && *most < kLarge) return 1;
  const double unit = std::ldexp(1.0, std::ilogb(*most));
  if (!(*least / unit > kSmall)) {
    throw Error(fmt::format(
        "the spreads of components are from {} to {}; a shape matrix, which holds their squares, "
        "needs them to be closer to each other.",
        number(*least), number(*most)));
  }
  return unit;
}

}  // namespace

template <Real T>
EllipticalFit fit_elliptical(const Rows<T>& rows) {
  EllipticalFit fit;
  const std::size_t d = fit.d = rows.d();
  std::vector<double> z;
  for (std::size_t i = 0; i < rows.n(); ++i) {
    const std::vector<double> row(rows.row(i), rows.row(i) + d);
    if (std::all_of(row.begin(), row.end(), [](double v) { return std::isfinite(v); }))
      z.insert(z.end(), row.begin(), row.end());
  }
  const std::size_t finite = d == 0 ? 0 : z.size() / d;
  const std::size_t fewest = std::max<std::size_t>(noise::kFewest, 2 * d);
  const auto check = [&](std::size_t n) {
    if (n >= fewest && d > 0) return;
    throw Error(fmt::format("there are {} of {}; an elliptical fit needs at least {} rows.",
                            counted(n, "finite row"), counted(d, "entry", "entries"), fewest));
  };
  check(finite);
  std::vector<double> column(finite), units(d);
  // Differences of the largest numbers are numbers of half of them.
  const bool huge =
      std::any_of(z.begin(), z.end(), [](double v) { return std::fabs(v) > 0x1p1000; });
  const double half = huge ? 0.5 : 1;
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t i = 0; i < finite; ++i) column[i] = z[i * d + j];
    fit.location.push_back(noise::median(column));
    for (double& v : column) v = std::fabs(half * v - half * fit.location[j]);
    units[j] = noise::median(column);
    if (!(units[j] > 0) || !std::isfinite(units[j])) {
      throw Error(fmt::format("component {} has no spread; a shape matrix needs one.", j + 1));
    }
  }
  // In units of each component, so that scales of 1e-300 and 1e300 are ordinary.
  std::size_t n = 0;
  for (std::size_t i = 0; i < finite; ++i) {
    double norm = 0;
    for (std::size_t j = 0; j < d; ++j) {
      z[n * d + j] = (half * z[i * d + j] - half * fit.location[j]) / units[j];
      norm = std::max(norm, std::fabs(z[n * d + j]));
    }
    if (norm > 0 && norm < 1e150) ++n;
  }
  check(n);
  for (double& v : units) v /= half;
  fit.unit = unit_of(units);
  fit.n = n;
  fit.left_out = rows.n() - n;
  Directions found = tyler(z, n, d);
  std::vector<double> logs(n);
  for (std::size_t i = 0; i < n; ++i) logs[i] = std::log(found.radii[i]);
  const double middle = noise::median(logs);
  for (double& v : logs) v -= middle;

  double log_scale = 0;
  const double high = *std::max_element(logs.begin(), logs.end()) + 3;
  const auto profile = [&](double alpha) {
    const EllipticalFitter law(alpha, d, high);
    const Peak best = golden(
        [&](double s) {
          double sum = -s * static_cast<double>(n * d);
          for (const double v : logs) sum += law.at(v - s);
          return sum;
        },
        -4 - std::log(static_cast<double>(d)), 3, 1e-7);
    log_scale = best.at;
    return best.value;
  };
  const Peak best = golden(profile, 0.25, 2, 2e-4);
  fit.alpha = best.at > 2 - 1e-3 ? 2 : best.at;
  fit.log_likelihood = profile(fit.alpha);
  // The curvature of the profile, over about one standard error.
  const double step = std::min(1.5 / std::sqrt(static_cast<double>(n)), 0.1);
  const double centre = std::clamp(fit.alpha, 0.25 + step, 2 - step), scale = log_scale;
  const double bend =
      (2 * profile(centre) - profile(centre - step) - profile(centre + step)) / (step * step);
  fit.alpha_error = bend > 0 ? 1 / std::sqrt(bend) : 1;
  fit.alpha_interval = {std::max(fit.alpha - noise::kZ95 * fit.alpha_error, 0.0),
                        std::min(fit.alpha + noise::kZ95 * fit.alpha_error, 2.0)};
  fit.shape.resize(d * d);
  const double size = std::exp(2 * (scale + middle));
  for (std::size_t a = 0; a < d; ++a) {
    for (std::size_t b = 0; b < d; ++b)
      fit.shape[a * d + b] =
          size * found.shape[a * d + b] * (units[a] / fit.unit) * (units[b] / fit.unit);
  }
  return fit;
}

template EllipticalFit fit_elliptical(const Rows<float>&);
template EllipticalFit fit_elliptical(const Rows<double>&);

}  // namespace medgrad
