#include "noise/characteristic.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "noise/cholesky.h"

namespace medgrad::noise {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kLowestAlpha = 0.1;
using Point = std::array<double, 4>;

Point point_of(const Shape& s) { return {s.alpha, s.beta, s.log_scale, s.location}; }
Shape shape_of(const Point& p) { return {p[0], p[1], p[2], p[3]}; }

Point clamped(Point p) {
  p[0] = std::clamp(p[0], kLowestAlpha, 2.0);
  p[1] = std::clamp(p[1], -1.0, 1.0);
  return p;
}

// d means / d parameter, by differences inside the ranges.
std::array<Means, 4> slopes_of(const Shape& law) {
  std::array<Means, 4> slopes{};
  const Point at = point_of(law);
  for (std::size_t j = 0; j < 4; ++j) {
    constexpr double kStep = 1e-5;
    Point low = at, high = at;
    low[j] -= kStep;
    high[j] += kStep;
    low = clamped(low);
    high = clamped(high);
    const Means a = means_of(shape_of(low)), b = means_of(shape_of(high));
    for (std::size_t i = 0; i < kMeans; ++i) slopes[j][i] = (b[i] - a[i]) / (high[j] - low[j]);
  }
  return slopes;
}

using Factor = Cholesky<kMeans>;

double distance_of(const Factor& factor, const Means& sample, const Shape& law) {
  Means r = means_of(law);
  for (std::size_t i = 0; i < kMeans; ++i) r[i] = sample[i] - r[i];
  const Means w = factor.forward(r);
  double sum = 0;
  for (const double v : w) sum += v * v;
  return sum;
}

// J' S^-1 J of the free parameters (others on the diagonal alone) and J' S^-1 r.
struct Normal {
  std::array<std::array<double, 4>, 4> matrix{};
  Point right{};
};

Normal normal_of(const Factor& factor, const Means& sample, const Shape& law) {
  const auto slopes = slopes_of(law);
  Means r = means_of(law);
  for (std::size_t i = 0; i < kMeans; ++i) r[i] = sample[i] - r[i];
  const Means wr = factor.forward(r);
  std::array<Means, 4> w{};
  for (std::size_t j = 0; j < 4; ++j) w[j] = factor.forward(slopes[j]);
  Normal n;
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t i = 0; i < kMeans; ++i) n.right[a] += w[a][i] * wr[i];
    for (std::size_t b = 0; b < 4; ++b) {
      for (std::size_t i = 0; i < kMeans; ++i) n.matrix[a][b] += w[a][i] * w[b][i];
    }
  }
  return n;
}

// Where a parameter stands at its end and the slope leads outside, or nothing depends on it.
std::array<bool, 4> held(const Point& at, const Normal& n) {
  const double eps = 1e-9;
  const bool gaussian = at[0] >= 2 - 1e-6;
  return {(at[0] >= 2 - eps && n.right[0] > 0) || (at[0] <= kLowestAlpha + eps && n.right[0] < 0),
          gaussian || (at[1] >= 1 - eps && n.right[1] > 0) || (at[1] <= -1 + eps && n.right[1] < 0),
          false, false};
}

// Levenberg and Marquardt's method with a fixed weight.
Point minimise(const Factor& factor, const Means& sample, Point at) {
  double lambda = 1e-3, value = distance_of(factor, sample, shape_of(at));
  for (int i = 0; i < 100; ++i) {
    const Normal n = normal_of(factor, sample, shape_of(at));
    const auto fixed = held(at, n);
    bool better = false;
    double moved = 0;
    for (int tries = 0; tries < 12 && !better; ++tries) {
      auto m = n.matrix;
      Point right = n.right;
      for (std::size_t a = 0; a < 4; ++a) {
        m[a][a] = m[a][a] * (1 + lambda) + 1e-12;
        if (!fixed[a]) continue;
        for (std::size_t b = 0; b < 4; ++b) m[a][b] = m[b][a] = 0;
        m[a][a] = 1;
        right[a] = 0;
      }
      const Cholesky<4> solver(m);
      const Point step = solver.backward(solver.forward(right));
      Point next = at;
      for (std::size_t a = 0; a < 4; ++a) next[a] += std::clamp(step[a], -0.5, 0.5);
      next = clamped(next);
      const double there = distance_of(factor, sample, shape_of(next));
      if (there < value) {
        better = true;
        moved = 0;
        for (std::size_t a = 0; a < 4; ++a) moved = std::max(moved, std::fabs(next[a] - at[a]));
        at = next;
        value = there;
        lambda = std::max(lambda / 10, 1e-9);
      } else {
        lambda *= 10;
      }
    }
    if (!better || moved < 1e-10) break;
  }
  return at;
}

// log(-log|phi|) = alpha (log c + log t): a line through two nodes (Press, JASA 67, 1972).
Point start_of(const Means& m) {
  const auto level = [&](std::size_t i) {
    const double square = m[i] * m[i] + m[i + kNodes.size()] * m[i + kNodes.size()];
    return std::log(-0.5 * std::log(std::clamp(square, 1e-8, 1 - 1e-9)));
  };
  const std::size_t a = 1, b = 4;
  const double slope = (level(b) - level(a)) / std::log(kNodes[b] / kNodes[a]);
  const double alpha = std::clamp(slope, 0.3, 1.95);
  return {alpha, 0, level(b) / alpha - std::log(kNodes[b]), 0};
}

}  // namespace

double turn(double alpha, double log_s) {
  if (alpha >= 2) return 0;
  const double e = 1 - alpha;
  if (std::fabs(e) < 1e-9) return 2 / kPi * log_s * std::exp(log_s);
  return std::exp(alpha * log_s) * std::expm1(e * log_s) / std::tan(kPi / 2 * e);
}

std::complex<double> characteristic(const Shape& law, double t) {
  const double log_s = law.log_scale + std::log(t);
  const double by_beta = law.beta != 0 ? law.beta * turn(law.alpha, log_s) : 0;
  return std::polar(std::exp(-std::exp(law.alpha * log_s)), law.location * t - by_beta);
}

Means means_of(std::span<const double> z) {
  // In lanes of their own, so that the sum does not lose digits with n, nor depend on threads.
  Means sums{};
  constexpr std::size_t kBlock = 1024;
  for (std::size_t first = 0; first < z.size(); first += kBlock) {
    Means block{};
    for (const double x : z.subspan(first, std::min(kBlock, z.size() - first))) {
      for (std::size_t i = 0; i < kNodes.size(); ++i) {
        block[i] += std::cos(kNodes[i] * x);
        block[i + kNodes.size()] += std::sin(kNodes[i] * x);
      }
    }
    for (std::size_t i = 0; i < kMeans; ++i) sums[i] += block[i];
  }
  for (double& s : sums) s /= static_cast<double>(z.size());
  return sums;
}

Means means_of(const Shape& law) {
  Means m{};
  for (std::size_t i = 0; i < kNodes.size(); ++i) {
    const std::complex<double> phi = characteristic(law, kNodes[i]);
    m[i] = phi.real();
    m[i + kNodes.size()] = phi.imag();
  }
  return m;
}

// By products of cosines and sines: 2 cos a cos b = cos(a - b) + cos(a + b), and so on.
PairCovariance pair_covariance(std::complex<double> s, std::complex<double> t,
                               std::complex<double> sum, std::complex<double> difference) {
  return {(difference.real() + sum.real()) / 2 - s.real() * t.real(),
          (sum.imag() - difference.imag()) / 2 - s.real() * t.imag(),
          (sum.imag() + difference.imag()) / 2 - s.imag() * t.real(),
          (difference.real() - sum.real()) / 2 - s.imag() * t.imag()};
}

MeansCovariance covariance_of(const Shape& law) {
  const std::size_t count = kNodes.size();
  MeansCovariance c{};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      const double gap = std::fabs(kNodes[i] - kNodes[j]);
      std::complex<double> minus = gap == 0 ? 1.0 : characteristic(law, gap);
      if (kNodes[i] < kNodes[j]) minus = std::conj(minus);  // phi(t_i - t_j)
      const PairCovariance pair =
          pair_covariance(characteristic(law, kNodes[i]), characteristic(law, kNodes[j]),
                          characteristic(law, kNodes[i] + kNodes[j]), minus);
      c[i][j] = pair.cos_cos;
      c[i + count][j + count] = pair.sin_sin;
      c[i + count][j] = c[j][i + count] = pair.sin_cos;
    }
  }
  return c;
}

CharacteristicFit fit_means(const Means& sample) {
  Point at = start_of(sample);
  const auto factor_at = [](const Point& p) { return Factor(covariance_of(shape_of(p)), 1e-9); };
  for (int round = 0; round < 4; ++round) at = minimise(factor_at(at), sample, at);
  CharacteristicFit fit;
  fit.law = shape_of(at);
  const Factor factor = factor_at(at);
  fit.distance = distance_of(factor, sample, fit.law);
  Normal n = normal_of(factor, sample, fit.law);
  const auto fixed = held(at, n);
  fit.alpha_clamped = fixed[0];
  fit.beta_clamped = fixed[1] && !(at[0] >= 2 - 1e-6);
  // At an end the information of the other parameters is what is left.
  for (std::size_t a = 0; a < 4; ++a) n.matrix[a][a] += 1e-12;
  const Cholesky<4> information(n.matrix, 1e-10);
  for (std::size_t a = 0; a < 4; ++a) {
    Point unit{};
    unit[a] = 1;
    const Point column = information.backward(information.forward(unit));
    for (std::size_t b = 0; b < 4; ++b) fit.covariance[a][b] = column[b];
  }
  return fit;
}

// Q(nu + 2) = Q(nu) + h^{nu/2} e^{-h} / Gamma(nu/2 + 1) with h = x/2, from Q(1) or Q(2) on.
double chi_square_above(double x, int degrees) {
  if (!(x > 0)) return 1;
  const double h = x / 2;
  const bool even = degrees % 2 == 0;
  double sum = even ? std::exp(-h) : std::erfc(std::sqrt(h));
  double term = std::exp(-h) * (even ? h : 2 * std::sqrt(h / kPi));
  for (int nu = even ? 2 : 1; nu < degrees; nu += 2) {
    sum += term;
    term *= h / (nu / 2.0 + 1);
  }
  return std::min(sum, 1.0);
}

}  // namespace medgrad::noise
