#include "medgrad/elliptical_density.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/text.h"
#include "medgrad/error.h"
#include "medgrad/stable.h"
#include "noise/dense_cholesky.h"

namespace medgrad {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kLowestAlpha = 0.2;

// log r from which on h is a power, to e^-35.
double farthest(double alpha) { return 35 / std::min(alpha, 1.0); }

constexpr std::size_t kRule = 16;

struct Quadrature {
  std::array<double, kRule> x{}, w{};
};

// Gauss and Legendre's, by Newton's method.
const Quadrature& rule() {
  static const Quadrature made = [] {
    Quadrature r;
    for (std::size_t i = 0; i < kRule; ++i) {
      double x = std::cos(kPi * (static_cast<double>(i) + 0.75) / (kRule + 0.5)), slope = 0;
      for (int round = 0; round < 20; ++round) {
        double p = 1, before = 0;
        for (std::size_t j = 1; j <= kRule; ++j) {
          const auto k = static_cast<double>(j);
          const double next = ((2 * k - 1) * x * p - (k - 1) * before) / k;
          before = p;
          p = next;
        }
        slope = kRule * (x * p - before) / (x * x - 1);
        x -= p / slope;
      }
      r.x[i] = x;
      r.w[i] = 2 / ((1 - x * x) * slope * slope);
    }
    return r;
  }();
  return made;
}

}  // namespace

EllipticalDensity::EllipticalDensity(double alpha, std::span<const double> location,
                                     std::span<const double> shape)
    : alpha_(alpha), location_(location.begin(), location.end()) {
  const std::size_t d = location.size();
  if (!(alpha >= kLowestAlpha && alpha <= 2)) {
    throw Error("alpha", number(alpha), "elliptical densities are given from 0.2 to 2");
  }
  if (d == 0 || shape.size() != d * d) {
    throw Error(fmt::format("the shape has {} and the location {}; it must be a square of that.",
                            counted(shape.size(), "entry", "entries"), d));
  }
  factor_.assign(shape.begin(), shape.end());
  for (const double v : location_) {
    if (!std::isfinite(v)) throw Error("the location of an elliptical law must be finite.");
  }
  if (!noise::factorise(factor_, d)) throw Error("the shape matrix is not positive definite.");
  for (std::size_t i = 0; i < d; ++i) log_determinant_ += std::log(factor_[i * d + i]);
  prepare();
}

EllipticalDensity::EllipticalDensity(double alpha, std::size_t dimension)
    : alpha_(alpha), location_(dimension) {
  prepare();
}

// Panels in u = log a, halved until the rule integrates f_A itself; no wider than what e^{-r^2/2a}
// a^{-d/2} needs, a bump of width sqrt(2/d).
void EllipticalDensity::prepare() {
  if (alpha_ == 2) return;
  const auto d = static_cast<double>(dimension());
  const Stable mixing(
      {alpha_ / 2, 1, 2 * std::pow(std::cos(kPi * alpha_ / 4), 2 / alpha_), 0, StableForm::S1});
  const auto log_at = [&](double u) { return mixing.log_pdf(std::exp(u)) + u; };
  struct Panel {
    double low, high;
    int depth;
  };
  const double middle = std::log(mixing.quantile(0.5)), width = std::min(0.5, 1.5 / std::sqrt(d));
  // Past r^2 the integrand falls as a^{-(d + alpha)/2}.
  const double last = 2 * farthest(alpha_) + 5 + 60 / (d + alpha_);
  double first = middle;
  while (log_at(first) > -700 - d / 2 * std::max(-first, 0.0) && first > -300) first -= width;
  std::vector<Panel> waiting;
  for (double u = last; u > first; u -= width) waiting.push_back({u - width, u, 0});
  const auto mass = [&](double low, double high, std::array<double, kRule>& logs) {
    double sum = 0;
    for (std::size_t i = 0; i < kRule; ++i) {
      logs[i] = log_at((low + high) / 2 + (high - low) / 2 * rule().x[i]);
      sum += rule().w[i] * (high - low) / 2 * std::exp(logs[i]);
    }
    return sum;
  };
  std::array<double, kRule> logs{}, unused{};
  while (!waiting.empty()) {
    const Panel p = waiting.back();
    waiting.pop_back();
    const double half = (p.low + p.high) / 2, whole = mass(p.low, p.high, logs);
    const double parts = mass(p.low, half, unused) + mass(half, p.high, unused);
    if (std::fabs(whole - parts) > 1e-13 + 1e-11 * parts && p.depth < 14) {
      waiting.push_back({half, p.high, p.depth + 1});
      waiting.push_back({p.low, half, p.depth + 1});
      continue;
    }
    for (std::size_t i = 0; i < kRule; ++i) {
      const double u = half + (p.high - p.low) / 2 * rule().x[i];
      logs_.push_back(logs[i] + std::log(rule().w[i] * (p.high - p.low) / 2) -
                      d / 2 * (std::log(2 * kPi) + u));
      inverses_.push_back(0.5 * std::exp(-u));
    }
  }
}

double EllipticalDensity::log_radial(double r) const {
  const auto d = static_cast<double>(dimension());
  if (alpha_ == 2) return -d / 2 * std::log(4 * kPi) - r * r / 4;
  if (!(r < std::numeric_limits<double>::infinity())) return r > 0 ? -r : r;
  const double edge = farthest(alpha_), far = std::log(r) - edge;
  if (far > 1e-9) return log_radial(std::exp(edge)) - (d + alpha_) * far;
  const double square = r * r;
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::size_t i = 0; i < logs_.size(); ++i)
    largest = std::max(largest, logs_[i] - square * inverses_[i]);
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    const double at = logs_[i] - square * inverses_[i] - largest;
    if (at > -40) sum += std::exp(at);
  }
  return largest + std::log(sum);
}

double EllipticalDensity::radius(std::span<const double> x) const {
  const std::size_t d = dimension();
  if (x.size() != d) {
    throw Error(
        fmt::format("the point has {}, the law {}.", counted(x.size(), "entry", "entries"), d));
  }
  std::vector<double> z(d);
  for (std::size_t i = 0; i < d; ++i) z[i] = x[i] - location_[i];
  return noise::solved_norm(factor_, z);
}

double EllipticalDensity::log_pdf(std::span<const double> x) const {
  if (std::any_of(x.begin(), x.end(), [](double v) { return std::isnan(v); }))
    return std::numeric_limits<double>::quiet_NaN();
  if (std::any_of(x.begin(), x.end(), [](double v) { return std::isinf(v); }))
    return -std::numeric_limits<double>::infinity();
  return log_radial(radius(x)) - log_determinant_;
}

}  // namespace medgrad
