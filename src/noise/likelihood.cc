#include "noise/likelihood.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "medgrad/stable_table.h"
#include "noise/cholesky.h"

namespace medgrad::noise {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kTolerance = 1e-8, kInfinity = std::numeric_limits<double>::infinity();
constexpr double kGaussian = 2 - 1e-6;
constexpr double kPeaked = 0.5;     // alpha below which the location is that of S1
constexpr double kMostInS1 = 0.95;  // its location has a pole at 1
constexpr double kStep = 1e-3;      // of alpha and beta in differences

StableTable table_of(const Shape& s) {
  return StableTable(
      {s.alpha, s.alpha >= 2 ? 0 : s.beta, std::exp(s.log_scale), s.location, s.form}, kTolerance);
}

Shape clamped(Shape s) {
  s.alpha = std::clamp(s.alpha, kLowestAlpha, s.form == StableForm::S1 ? kMostInS1 : 2.0);
  s.beta = std::clamp(s.beta, -1.0, 1.0);
  return s;
}

double log_likelihood(std::span<const double> z, const StableTable& table) {
  double sum = 0;
  for (const double v : z) sum += table.log_pdf(v);
  return sum;
}

// d/d alpha or d/d beta of log f by differences between two laws, inside the ranges, and around
// this one where there is room: of f, since log f has a singularity where a tail vanishes (alpha =
// 2, beta = +-1) and f has none. But of log f for numbers that this law has no room for at all: f
// would grow by powers of ten within the step, and be all that counts.
class Slope {
 public:
  Slope(const Shape& law, double Shape::*by) {
    const double room = by == &Shape::alpha ? 2 - law.alpha : 1 - std::fabs(law.beta);
    const double step = room > kStep / 10 ? std::min(kStep, room) : kStep;
    Shape low = law, high = law;
    low.*by -= step;
    high.*by += step;
    low = clamped(low);
    high = clamped(high);
    width_ = high.*by - low.*by;
    below_.emplace(table_of(low));
    above_.emplace(table_of(high));
  }
  [[nodiscard]] double at(double z, double log_f) const {
    const double up = above_->log_pdf(z) - log_f, down = below_->log_pdf(z) - log_f;
    const bool roomy = std::max(up, down) < 1;
    const double slope = roomy ? std::exp(up) - std::exp(down) : up - down;
    return std::isfinite(slope) ? slope / width_ : 0;
  }

 private:
  std::optional<StableTable> below_, above_;
  double width_ = 0;
};

Likelihood likelihood_at(std::span<const double> z, const Shape& law, const StableTable& table,
                         const std::array<bool, 4>& fixed) {
  std::optional<Slope> by_alpha, by_beta;
  if (!fixed[0]) by_alpha.emplace(law, &Shape::alpha);
  if (!fixed[1]) by_beta.emplace(law, &Shape::beta);
  const double scale = std::exp(law.log_scale);
  Likelihood result;
  for (const double v : z) {
    const StableTable::Derivatives d = table.derivatives(v);
    result.value += d.value;
    const double slope = d.first * scale, y = (v - law.location) / scale;
    const Score s = {by_alpha ? by_alpha->at(v, d.value) : 0, by_beta ? by_beta->at(v, d.value) : 0,
                     fixed[2] ? 0 : -1 - y * slope, fixed[3] ? 0 : -d.first};
    for (std::size_t a = 0; a < 4; ++a) {
      result.score[a] += s[a];
      for (std::size_t b = 0; b < 4; ++b) result.information[a][b] += s[a] * s[b];
    }
  }
  return result;
}

}  // namespace

Likelihood likelihood(std::span<const double> z, const Shape& law,
                      const std::array<bool, 4>& fixed) {
  return likelihood_at(z, law, table_of(law), fixed);
}

Information inverse_information(const Information& information, const std::array<bool, 4>& held) {
  Information m = information;
  for (std::size_t a = 0; a < 4; ++a) {
    if (!held[a]) continue;
    for (std::size_t b = 0; b < 4; ++b) m[a][b] = m[b][a] = 0;
    m[a][a] = 1;
  }
  const Cholesky<4> factor(m, 1e-12);
  Information inverse{};
  for (std::size_t a = 0; a < 4; ++a) {
    if (held[a]) continue;
    Score unit{};
    unit[a] = 1;
    inverse[a] = factor.backward(factor.forward(unit));
  }
  return inverse;
}

namespace {

// Where a tail has vanished (alpha = 2, beta = +-1), one number in it is all that the scores see,
// and the way back is long: a law with some of both tails, where that is likelier.
Shape inside(std::span<const double> z, const Shape& start, const std::array<bool, 4>& fixed) {
  constexpr double kAlpha = 1.99, kBeta = 0.95;
  Shape other = start;
  if (!fixed[0]) other.alpha = std::min(start.alpha, kAlpha);
  if (!fixed[1]) other.beta = std::clamp(start.beta, -kBeta, kBeta);
  if (other.alpha == start.alpha && other.beta == start.beta) return start;
  const double value = log_likelihood(z, table_of(start));
  return log_likelihood(z, table_of(other)) > value || !std::isfinite(value) ? other : start;
}

}  // namespace

// Newton's method with the sum of score score' for the Hessian (Berndt, Hall, Hall, Hausman 1974):
// their difference is of the order 1/sqrt(n), and each round makes the error that much smaller.
LikelihoodFit maximise_likelihood(std::span<const double> z, Shape start,
                                  const std::array<bool, 4>& fixed, double enough) {
  constexpr double kStalled = 0.01;  // a tenth of a standard error of one parameter is 0.005
  LikelihoodFit fit;
  fit.law = inside(z, clamped(start), fixed);
  fit.at = likelihood(z, fit.law, fixed);
  for (fit.rounds = 0; fit.rounds < 60; ++fit.rounds) {
    const Score& g = fit.at.score;
    const bool gaussian = fit.law.alpha >= kGaussian;
    fit.held = {
        fixed[0] || (gaussian && g[0] > 0) || (fit.law.alpha <= kLowestAlpha && g[0] < 0),
        fixed[1] || gaussian || (fit.law.beta >= 1 && g[1] > 0) || (fit.law.beta <= -1 && g[1] < 0),
        fixed[2], fixed[3]};
    const Information inverse = inverse_information(fit.at.information, fit.held);
    Score step{};
    double gain = 0;  // of the likelihood, that the step promises
    for (std::size_t a = 0; a < 4; ++a) {
      for (std::size_t b = 0; b < 4; ++b) step[a] += inverse[a][b] * g[b];
      gain += step[a] * (fit.held[a] ? 0 : g[a]) / 2;
    }
    fit.stalled = !(gain <= kStalled);
    if (!(gain > enough)) break;
    bool better = false;
    for (double part = 1; part > 1e-3; part /= 2) {
      const auto moved = [&](double by, double most) { return std::clamp(part * by, -most, most); };
      const Shape next =
          clamped({fit.law.alpha + moved(step[0], 0.3), fit.law.beta + moved(step[1], 0.5),
                   fit.law.log_scale + moved(step[2], 0.5), fit.law.location + moved(step[3], 1.0),
                   fit.law.form});
      const StableTable table = table_of(next);
      const double value = log_likelihood(z, table), before = fit.at.value;
      if (!(value > before)) continue;
      fit.law = next;
      fit.at = likelihood_at(z, next, table, fixed);
      better = value - before > enough / 10;
      break;
    }
    if (!better) break;
  }
  return fit;
}

bool LikelihoodFit::has_errors() const {
  bool finite = law.alpha > kLowestAlpha && std::isfinite(at.value);
  for (const Score& row : at.information) {
    for (const double v : row) finite = finite && std::isfinite(v);
  }
  return finite;
}

namespace {

double shift(const Shape& s) {  // of the location of S0 from that of S1
  return s.beta == 0 ? 0 : s.beta * std::exp(s.log_scale) * std::tan(kPi / 2 * s.alpha);
}

// Of the half that is closest together again the half that is (Robertson and Cryer, JASA 69, 1974).
double mode_of(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  std::size_t first = 0, count = x.size();
  while (count > 3) {
    const std::size_t half = (count + 1) / 2;
    std::size_t best = first;
    for (std::size_t i = first; i + half <= first + count; ++i) {
      if (x[i + half - 1] - x[i] < x[best + half - 1] - x[best]) best = i;
    }
    first = best;
    count = half;
  }
  return x[first + count / 2];
}

// Where a law of small alpha could have its peak: where the numbers are closest together, and, if
// it is an end, as far before the first of them as the first of so many numbers is likely to be.
// (At that number itself the density would be 0.)
std::vector<Shape> peaked_starts(std::span<const double> z, const Shape& start) {
  constexpr double kBeta = 0.9;
  Shape in_s1 = in_form(start, StableForm::S1);
  std::vector<Shape> starts = {in_s1};
  in_s1.location = mode_of(std::vector<double>(z.begin(), z.end()));
  starts.push_back(in_s1);
  if (std::fabs(start.beta) > kBeta) {
    const auto [first, last] = std::minmax_element(z.begin(), z.end());
    const double alpha = std::max(start.alpha, kLowestAlpha), scale = std::exp(start.log_scale);
    const Stable half_line({alpha, 1, scale, 0, StableForm::S1});
    const double before = half_line.quantile(0.5 / static_cast<double>(z.size()));
    in_s1.beta = start.beta > 0 ? 1 : -1;
    in_s1.location = start.beta > 0 ? *first - before : *last + before;
    starts.push_back(in_s1);
  }
  return starts;
}

}  // namespace

Shape in_form(const Shape& law, StableForm form) {
  if (law.form == form) return law;
  Shape other = law;
  other.location += form == StableForm::S0 ? shift(law) : -shift(law);
  other.form = form;
  return other;
}

Score variances(const LikelihoodFit& fit) {
  const Information inverse = inverse_information(fit.at.information, fit.held);
  Score result{};
  for (std::size_t a = 0; a < 4; ++a) result[a] = inverse[a][a];
  if (fit.law.form == StableForm::S0) return result;
  const Shape& law = fit.law;
  const double scale = std::exp(law.log_scale), cosine = std::cos(kPi / 2 * law.alpha);
  const Score slope = {law.beta * scale * kPi / 2 / (cosine * cosine),
                       scale * std::tan(kPi / 2 * law.alpha), shift(law), 1};
  result[3] = 0;
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = 0; b < 4; ++b) result[3] += slope[a] * inverse[a][b] * slope[b];
  }
  return result;
}

LikelihoodFit likeliest(std::span<const double> z) {
  const Shape start = fit_means(means_of(z)).law;
  std::vector<Shape> starts = {start};
  if (start.alpha < kPeaked) starts = peaked_starts(z, start);
  std::optional<LikelihoodFit> best;
  const auto climb = [&](const Shape& from) {
    LikelihoodFit fit = maximise_likelihood(z, from);
    const bool better = !best || !std::isfinite(best->at.value) || fit.at.value > best->at.value;
    if (better) best = fit;
  };
  // The likeliest start first, and the others where it leads nowhere.
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const double value = starts.size() > 1 ? log_likelihood(z, table_of(clamped(starts[i]))) : 0;
    order.emplace_back(std::isnan(value) ? kInfinity : -value, i);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [loss, i] : order) {
    climb(starts[i]);
    if (!best->stalled && (best->held[0] || best->has_errors())) return *best;
  }
  Shape inner = best->law;
  inner.beta *= 0.8;
  inner.alpha = std::max(inner.alpha, 1.2 * kLowestAlpha);
  climb(inner);
  return *best;
}

}  // namespace medgrad::noise
