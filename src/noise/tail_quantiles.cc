// McCulloch's fit: with Q_p the quantiles of the standard law (S0) and q_p = l + c Q_p the
// sample's,
//
//   nu_alpha = (q95 - q05) / (q75 - q25),    nu_beta = (q95 + q05 - 2 q50) / (q95 - q05)
//
// depend on (alpha, beta) alone. They are inverted; then c = (q75 - q25) / (Q75 - Q25) and
// l = q50 - c Q50. McCulloch interpolates published tables and moves the location by a shift zeta
// so that it stays finite at alpha = 1; in S0 that is not needed.
#include "noise/tail_quantiles.h"

#include <algorithm>
#include <cmath>

#include "noise/tail_parts.h"

namespace medgrad::noise {
namespace {

double nu_alpha(const FiveQuantiles& q) { return (q[4] - q[0]) / (q[3] - q[1]); }
double nu_beta(const FiveQuantiles& q) { return ((q[4] - q[2]) - (q[2] - q[0])) / (q[4] - q[0]); }

// The zero of a decreasing function, which the caller has bracketed.
template <class F>
double bisect(F f, double low, double high) {
  for (int i = 0; i < 48; ++i) {
    const double middle = (low + high) / 2;
    (f(middle) > 0 ? low : high) = middle;
  }
  return (low + high) / 2;
}

struct AlphaBeta {
  double alpha, beta;
  bool alpha_clamped = false, beta_clamped = false;
};

// nu_beta increases with beta at every alpha; where no beta gives it, the nearest end.
double beta_at(const QuantilesAt& at, double target) {
  if (target >= nu_beta(at(1))) return 1;
  if (target <= nu_beta(at(-1))) return -1;
  return bisect([&](double b) { return target - nu_beta(at(b)); }, -1, 1);
}

// Along beta = beta_at(alpha), nu_alpha decreases with alpha. Beyond 1.9995 nu_beta carries no
// information on beta any more.
AlphaBeta invert(double target_alpha, double target_beta) {
  constexpr double kSlack = 1e-6;  // a clamp is worth telling only past the table's own error
  const auto excess = [&](double alpha) {
    const QuantilesAt at(alpha);
    return nu_alpha(at(beta_at(at, target_beta))) - target_alpha;
  };
  const double at_max = excess(kFitAlphaMax), at_min = excess(kFitAlphaMin);
  double alpha = kFitAlphaMin;
  if (at_max >= 0) {
    alpha = kFitAlphaMax;
  } else if (at_min > 0) {
    alpha = bisect(excess, kFitAlphaMin, kFitAlphaMax);
  }
  const bool clamped = at_max > kSlack || at_min < -kSlack * target_alpha;
  if (alpha > 1.9995) return {alpha, 0, clamped, false};
  const QuantilesAt at(alpha);
  const double beta = beta_at(at, target_beta);
  return {alpha, beta, clamped, std::fabs(target_beta) > std::fabs(nu_beta(at(beta))) + kSlack};
}

// Central differences on the table, one-sided at its ends.
struct Slopes {
  FiveQuantiles by_alpha, by_beta;
  double alpha_alpha, alpha_beta, beta_alpha, beta_beta;  // of nu_alpha and nu_beta
};

Slopes slopes(double alpha, double beta) {
  constexpr double kStep = 1e-3;
  const double a0 = std::max(alpha - kStep, kFitAlphaMin);
  const double a1 = std::min(alpha + kStep, kFitAlphaMax);
  const double b0 = std::max(beta - kStep, -1.0), b1 = std::min(beta + kStep, 1.0);
  const FiveQuantiles al = QuantilesAt(a0)(beta), ah = QuantilesAt(a1)(beta);
  const QuantilesAt at(alpha);
  const FiveQuantiles bl = at(b0), bh = at(b1);
  Slopes s{};
  for (std::size_t k = 0; k < 5; ++k) {
    s.by_alpha[k] = (ah[k] - al[k]) / (a1 - a0);
    s.by_beta[k] = (bh[k] - bl[k]) / (b1 - b0);
  }
  s.alpha_alpha = (nu_alpha(ah) - nu_alpha(al)) / (a1 - a0);
  s.beta_alpha = (nu_beta(ah) - nu_beta(al)) / (a1 - a0);
  s.alpha_beta = (nu_alpha(bh) - nu_alpha(bl)) / (b1 - b0);
  s.beta_beta = (nu_beta(bh) - nu_beta(bl)) / (b1 - b0);
  return s;
}

// How the four parameters of the standard law react to its quantiles.
struct Reaction {
  FiveQuantiles alpha{}, beta{}, scale{}, location{};
  bool beta_known = true;
};

Reaction reaction(const FiveQuantiles& q, double alpha, double beta) {
  const Slopes s = slopes(alpha, beta);
  const double width = q[4] - q[0], core = q[3] - q[1];
  const double va = nu_alpha(q), vb = nu_beta(q);
  const FiveQuantiles dva = {-1 / core, va / core, 0, -va / core, 1 / core};
  const FiveQuantiles dvb = {(1 + vb) / width, 0, -2 / width, 0, (1 - vb) / width};
  Reaction r;
  r.beta_known = alpha <= 1.9995 && std::fabs(s.beta_beta) > 1e-6;
  const double det = s.alpha_alpha * s.beta_beta - s.alpha_beta * s.beta_alpha;
  for (std::size_t k = 0; k < 5; ++k) {
    if (r.beta_known) {
      r.alpha[k] = (s.beta_beta * dva[k] - s.alpha_beta * dvb[k]) / det;
      r.beta[k] = (s.alpha_alpha * dvb[k] - s.beta_alpha * dva[k]) / det;
    } else {
      r.alpha[k] = dva[k] / s.alpha_alpha;
    }
    const double dcore =
        (s.by_alpha[3] - s.by_alpha[1]) * r.alpha[k] + (s.by_beta[3] - s.by_beta[1]) * r.beta[k];
    r.scale[k] = ((k == 3 ? 1.0 : 0.0) - (k == 1 ? 1.0 : 0.0) - dcore) / core;
    r.location[k] = (k == 2 ? 1.0 : 0.0) - r.scale[k] * q[2] - s.by_alpha[2] * r.alpha[k] -
                    s.by_beta[2] * r.beta[k];
  }
  return r;
}

// 1.96 standard errors: quantiles have the covariance C_ab / (f_a f_b), f the density there.
double half_width(const FiveQuantiles& by, const FiveByFive& c, const FiveQuantiles& density) {
  double variance = 0;
  for (std::size_t a = 0; a < 5; ++a) {
    for (std::size_t b = 0; b < 5; ++b) {
      variance += by[a] * by[b] * c[a][b] / (density[a] * density[b]);
    }
  }
  return kZ95 * std::sqrt(std::max(variance, 0.0));
}

}  // namespace

StableFit fit_quantiles(const FiveQuantiles& sample, const FiveByFive& covariance) {
  // By a power of two to around 1, so that no difference overflows and denormals count fully.
  double largest = 0;
  for (const double v : sample) largest = std::max(largest, std::fabs(v));
  const int exponent = std::ilogb(largest) + 1;
  FiveQuantiles q{};
  for (std::size_t k = 0; k < 5; ++k) q[k] = std::ldexp(sample[k], -exponent);

  const AlphaBeta shape = invert(nu_alpha(q), nu_beta(q));
  const FiveQuantiles standard = QuantilesAt(shape.alpha)(shape.beta);
  const double scale = (q[3] - q[1]) / (standard[3] - standard[1]);
  const double location = q[2] - scale * standard[2];
  StableFit fit;
  fit.alpha_clamped = shape.alpha_clamped;
  fit.beta_clamped = shape.beta_clamped;
  fit.parameters = {shape.alpha, shape.beta, std::ldexp(scale, exponent),
                    std::ldexp(location, exponent), StableForm::S0};

  const Stable law({shape.alpha, shape.beta, 1, 0, StableForm::S0});
  FiveQuantiles density{};
  for (std::size_t k = 0; k < 5; ++k) density[k] = law.pdf(standard[k]);
  const Reaction r = reaction(standard, shape.alpha, shape.beta);
  const double da = half_width(r.alpha, covariance, density);
  const double db = half_width(r.beta, covariance, density);
  const double dc = half_width(r.scale, covariance, density) * scale;
  const double dl = half_width(r.location, covariance, density) * scale;
  // Nothing below alpha = 0.5 can be told apart: an interval that reaches it reaches 0.
  const double low = shape.alpha - da;
  fit.alpha = {low > kFitAlphaMin ? low : 0, std::min(shape.alpha + da, kFitAlphaMax)};
  fit.beta = r.beta_known
                 ? Interval{std::max(shape.beta - db, -1.0), std::min(shape.beta + db, 1.0)}
                 : Interval{-1, 1};
  fit.scale = {std::ldexp(std::max(scale - dc, 0.0), exponent), std::ldexp(scale + dc, exponent)};
  fit.location = {std::ldexp(location - dl, exponent), std::ldexp(location + dl, exponent)};
  fit.errors = {da / kZ95, r.beta_known ? db / kZ95 : 0, std::ldexp(dc, exponent) / kZ95,
                std::ldexp(dl, exponent) / kZ95};
  return fit;
}

}  // namespace medgrad::noise
