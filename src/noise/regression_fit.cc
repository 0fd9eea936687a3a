#include "noise/regression_fit.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "medgrad/error.h"
#include "noise/tail_parts.h"

namespace medgrad::noise {
namespace {

using Complex = std::complex<double>;
using Gradient = std::vector<double>;  // by the real, then the imaginary part at each node

constexpr double kPi = std::numbers::pi;
constexpr double kLowestAlpha = 0.1, kGaussian = 2 - 1e-6;

// The moduli at `moduli` multiples of stride * step, the phases at `phases` multiples of step.
struct Grid {
  double step;
  std::size_t stride, moduli, phases;
  [[nodiscard]] std::size_t nodes() const { return std::max(stride * moduli, phases); }
};
constexpr Grid kKogonWilliams{0.1, 1, 10, 10};

// Koutrouvelis' numbers of points for n = 200, 800, 1600, straight lines between them.
struct Points {
  double alpha;
  std::array<double, 3> count;
};
constexpr std::array<Points, 8> kModuli = {{{0.3, {134, 124, 118}},
                                            {0.5, {86, 68, 56}},
                                            {0.7, {30, 24, 20}},
                                            {0.9, {28, 22, 18}},
                                            {1.1, {24, 18, 15}},
                                            {1.3, {22, 16, 14}},
                                            {1.5, {11, 11, 11}},
                                            {1.9, {9, 9, 10}}}};
constexpr std::array<Points, 7> kPhases = {{{0.3, {70, 68, 66}},
                                            {0.5, {40, 38, 36}},
                                            {0.7, {24, 16, 16}},
                                            {0.9, {14, 14, 14}},
                                            {1.1, {16, 18, 17}},
                                            {1.5, {12, 14, 15}},
                                            {1.9, {9, 10, 11}}}};

std::size_t points_for(std::span<const Points> table, double alpha, double n) {
  const double size = std::clamp(n, 200.0, 1600.0);
  const auto at_size = [&](const Points& p) {
    return size <= 800 ? std::lerp(p.count[0], p.count[1], (size - 200) / 600)
                       : std::lerp(p.count[1], p.count[2], (size - 800) / 800);
  };
  const double at = std::clamp(alpha, table.front().alpha, table.back().alpha);
  std::size_t i = 0;
  while (i + 2 < table.size() && at > table[i + 1].alpha) ++i;
  const double part = (at - table[i].alpha) / (table[i + 1].alpha - table[i].alpha);
  return static_cast<std::size_t>(
      std::lround(std::lerp(at_size(table[i]), at_size(table[i + 1]), part)));
}

Grid koutrouvelis_grid(double alpha, double n) {
  return {kPi / 50, 2, points_for(kModuli, alpha, n), points_for(kPhases, alpha, n)};
}

// Means of exp(i k step y), k = 1, 2, ..., of y = (z - centre) / unit, by powers of the first.
std::vector<Complex> sample_function(std::span<const double> z, double centre, double unit,
                                     double share, double step, std::size_t count) {
  std::vector<double> re(count), im(count), block_re(count), block_im(count);
  constexpr std::size_t kBlock = 1024;
  for (std::size_t first = 0; first < z.size(); first += kBlock) {
    std::fill(block_re.begin(), block_re.end(), 0.0);
    std::fill(block_im.begin(), block_im.end(), 0.0);
    for (const double v : z.subspan(first, std::min(kBlock, z.size() - first))) {
      const double angle = step * ((v - centre) / unit);
      if (!std::isfinite(angle)) continue;
      const double c = std::cos(angle), s = std::sin(angle);
      double a = 1, b = 0;
      for (std::size_t k = 0; k < count; ++k) {
        const double next = a * c - b * s;
        b = a * s + b * c;
        a = next;
        block_re[k] += a;
        block_im[k] += b;
      }
    }
    for (std::size_t k = 0; k < count; ++k) {
      re[k] += block_re[k];
      im[k] += block_im[k];
    }
  }
  std::vector<Complex> phi(count);
  const double by = share / static_cast<double>(z.size());
  for (std::size_t k = 0; k < count; ++k) phi[k] = {re[k] * by, im[k] * by};
  return phi;
}

// The two regressions, and how what they find reacts to the characteristic function.
class Regression {
 public:
  Regression(const Grid& grid, const std::vector<Complex>& phi) : grid_(grid), phi_(phi) {}

  void run(RegressionFit& fit) {
    moduli(fit);
    phases(fit);
  }
  // Gradients of alpha, beta, log(scale) and location at the law of `fit`.
  [[nodiscard]] std::array<Gradient, 4> gradients(const RegressionFit& fit) const;

 private:
  [[nodiscard]] std::size_t modulus_node(std::size_t k) const { return grid_.stride * (k + 1) - 1; }
  [[nodiscard]] double log_t(std::size_t k) const {
    return std::log(grid_.step * static_cast<double>(grid_.stride * (k + 1)));
  }
  [[nodiscard]] double mean_log_t() const {
    double sum = 0;
    for (std::size_t k = 0; k < grid_.moduli; ++k) sum += log_t(k);
    return sum / static_cast<double>(grid_.moduli);
  }
  void moduli(RegressionFit& fit) const;
  void phases(RegressionFit& fit) const;

  // Sums over the phases' nodes of products of the regressors u and v = -turn.
  struct Products {
    double uu = 0, uv = 0, vv = 0;
    [[nodiscard]] double determinant() const { return uu * vv - uv * uv; }
  };
  [[nodiscard]] double node(std::size_t l) const { return grid_.step * static_cast<double>(l + 1); }
  [[nodiscard]] double regressor(const Shape& law, std::size_t l) const {
    return -turn(law.alpha, law.log_scale + std::log(node(l)));
  }
  [[nodiscard]] Products products(const Shape& law) const {
    Products p;
    for (std::size_t l = 0; l < grid_.phases; ++l) {
      const double u = node(l), v = regressor(law, l);
      p.uu += u * u;
      p.uv += u * v;
      p.vv += v * v;
    }
    return p;
  }

  Grid grid_;
  const std::vector<Complex>& phi_;
};

void Regression::moduli(RegressionFit& fit) const {
  const double middle = mean_log_t(), count = static_cast<double>(grid_.moduli);
  double xx = 0, xy = 0, y_mean = 0;
  for (std::size_t k = 0; k < grid_.moduli; ++k) {
    const double square = std::clamp(std::norm(phi_[modulus_node(k)]), 1e-12, 1 - 1e-12);
    const double x = log_t(k) - middle, y = std::log(-std::log(square)) - std::numbers::ln2;
    xx += x * x;
    xy += x * y;
    y_mean += y / count;
  }
  const double slope = xy / xx;
  fit.law.alpha = std::clamp(slope, kLowestAlpha, 2.0);
  fit.alpha_clamped = fit.law.alpha != slope;
  fit.law.log_scale = y_mean / fit.law.alpha - middle;
}

void Regression::phases(RegressionFit& fit) const {
  Shape& law = fit.law;
  const Products p = products(law);
  double ug = 0, vg = 0, before = 0;
  for (std::size_t l = 0; l < grid_.phases; ++l) {
    double g = std::arg(phi_[l]);
    g += 2 * kPi * std::round((before - g) / (2 * kPi));  // without jumps
    before = g;
    ug += node(l) * g;
    vg += regressor(law, l) * g;
  }
  const bool known = law.alpha < kGaussian && p.determinant() > 0;
  const double beta = known ? (p.uu * vg - p.uv * ug) / p.determinant() : 0;
  law.beta = std::clamp(beta, -1.0, 1.0);
  fit.beta_clamped = law.beta != beta;
  law.location = (ug - law.beta * p.uv) / p.uu;
}

std::array<Gradient, 4> Regression::gradients(const RegressionFit& fit) const {
  const std::size_t count = grid_.nodes();
  const Shape& law = fit.law;
  std::vector<Complex> phi(count);
  for (std::size_t k = 0; k < count; ++k) phi[k] = characteristic(law, node(k));
  std::array<Gradient, 4> by;
  for (Gradient& g : by) g.assign(2 * count, 0);
  auto& [by_alpha, by_beta, by_scale, by_location] = by;
  const double middle = mean_log_t(), moduli = static_cast<double>(grid_.moduli);
  double xx = 0;
  for (std::size_t k = 0; k < grid_.moduli; ++k) xx += std::pow(log_t(k) - middle, 2);
  for (std::size_t k = 0; k < grid_.moduli; ++k) {
    // alpha (log scale + middle) is the mean of y.
    const Complex f = phi[modulus_node(k)];
    const double square = std::norm(f), slope = 2 / (square * std::log(square));
    const double in_alpha = fit.alpha_clamped ? 0 : (log_t(k) - middle) / xx;
    const double in_scale = (1 / moduli - (law.log_scale + middle) * in_alpha) / law.alpha;
    for (const auto& [part, at] :
         {std::pair{f.real(), modulus_node(k)}, std::pair{f.imag(), modulus_node(k) + count}}) {
      by_alpha[at] += in_alpha * slope * part;
      by_scale[at] += in_scale * slope * part;
    }
  }
  const Products p = products(law);
  const bool free = !fit.beta_clamped && law.alpha < kGaussian && p.determinant() > 0;
  for (std::size_t l = 0; l < grid_.phases; ++l) {
    const double u = node(l), v = regressor(law, l);
    const double in_beta = free ? (p.uu * v - p.uv * u) / p.determinant() : 0;
    const double in_location = (u - in_beta * p.uv) / p.uu;
    const Complex f = phi[l];
    Gradient g(2 * count, 0.0);  // of what the location and beta are fitted to
    g[l] = -f.imag() / std::norm(f);
    g[l + count] = f.real() / std::norm(f);
    constexpr double kStep = 1e-5;
    const double log_s = law.log_scale + std::log(u);
    const double below = std::max(law.alpha - kStep, kLowestAlpha);
    const double above = std::min(law.alpha + kStep, 2.0);
    const double turn_by_alpha = (turn(above, log_s) - turn(below, log_s)) / (above - below);
    const double turn_by_scale =
        (turn(law.alpha, log_s + kStep) - turn(law.alpha, log_s - kStep)) / (2 * kStep);
    for (std::size_t i = 0; i < 2 * count; ++i) {
      g[i] += law.beta * (turn_by_alpha * by_alpha[i] + turn_by_scale * by_scale[i]);
      by_beta[i] += in_beta * g[i];
      by_location[i] += in_location * g[i];
    }
  }
  return by;
}

// sqrt(G S G') with S the covariance of the real and imaginary parts at the nodes under the law.
std::array<double, 4> errors_of(const RegressionFit& fit, const Grid& grid) {
  const std::size_t count = grid.nodes();
  const std::vector<Complex> none;
  const std::array<Gradient, 4> by = Regression(grid, none).gradients(fit);
  std::vector<Complex> phi(2 * count + 1, 1.0);
  for (std::size_t k = 1; k < phi.size(); ++k)
    phi[k] = characteristic(fit.law, grid.step * static_cast<double>(k));
  std::array<double, 4> variance{};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      const PairCovariance c = pair_covariance(phi[i + 1], phi[j + 1], phi[i + j + 2],
                                               i >= j ? phi[i - j] : std::conj(phi[j - i]));
      for (std::size_t a = 0; a < 4; ++a) {
        const Gradient& g = by[a];
        variance[a] += g[i] * (c.cos_cos * g[j] + c.cos_sin * g[j + count]) +
                       g[i + count] * (c.sin_cos * g[j] + c.sin_sin * g[j + count]);
      }
    }
  }
  std::array<double, 4> errors{};
  for (std::size_t a = 0; a < 4; ++a) errors[a] = std::sqrt(std::max(variance[a], 0.0));
  return errors;
}

// One round on (z - centre) / unit.
RegressionFit round_of(std::span<const double> z, double share, double centre, double unit,
                       const Grid& grid) {
  RegressionFit fit;
  const auto phi = sample_function(z, centre, unit, share, grid.step, grid.nodes());
  Regression(grid, phi).run(fit);
  return fit;
}

// The same for z itself, with its errors.
void place(RegressionFit& fit, double centre, double unit, const Grid& grid) {
  fit.errors = errors_of(fit, grid);
  RegressionFit free = fit;
  free.beta_clamped = false;
  fit.free_beta_error = fit.beta_clamped ? errors_of(free, grid)[1] : fit.errors[1];
  fit.errors[3] *= unit;
  fit.law.location = centre + unit * fit.law.location;
  fit.law.log_scale += std::log(unit);
}

// McCulloch's; where that has nothing to say, the sample is standardised already.
Shape start_of(std::span<const double> z) {
  try {
    const StableParameters p = fit_grouped(z, 1).parameters;
    return {p.alpha, p.beta, std::log(p.scale), p.location};
  } catch (const Error&) {
    return {1.5, 0, 0, 0};
  }
}

}  // namespace

RegressionFit fit_kogon_williams(std::span<const double> z, double share) {
  const Shape start = start_of(z);
  const double unit = std::exp(start.log_scale);
  RegressionFit fit = round_of(z, share, start.location, unit, kKogonWilliams);
  place(fit, start.location, unit, kKogonWilliams);
  fit.rounds = 1;
  return fit;
}

RegressionFit fit_koutrouvelis(std::span<const double> z, double share) {
  constexpr int kMost = 30, kSameGrid = 4;  // from then on alpha cannot go back and forth
  const Shape start = start_of(z);
  const auto n = static_cast<double>(z.size());
  double alpha = start.alpha, centre = start.location, unit = std::exp(start.log_scale);
  Grid grid = koutrouvelis_grid(alpha, n);
  for (int round = 1;; ++round) {
    if (round <= kSameGrid) grid = koutrouvelis_grid(alpha, n);
    RegressionFit fit = round_of(z, share, centre, unit, grid);
    const double moved = std::max(std::fabs(fit.law.log_scale), std::fabs(fit.law.location));
    if (round == kMost || (round > kSameGrid && moved < 1e-9)) {
      place(fit, centre, unit, grid);
      fit.rounds = round;
      return fit;
    }
    alpha = fit.law.alpha;
    centre += unit * fit.law.location;
    unit *= std::exp(std::clamp(fit.law.log_scale, -5.0, 5.0));
  }
}

}  // namespace medgrad::noise
