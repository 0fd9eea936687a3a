// Rules that cut lengths: centered clipping, norm clipping, adaptive clipping.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/sample/plan.h"

namespace medgrad::estimators {
namespace {

// clip / length, at most 1.
double factor_for(double clip, const Scaled& length) {
  if (length.value == 0) return 1;
  const double ratio = std::ldexp(clip / length.value, -length.exponent);
  return std::min(1.0, ratio);
}

// The mixing matrix of x_i <- o + factor_i (x_i - o).
Mixing shortened(const Points& points, std::span<const double> factors) {
  const std::size_t n = points.size(), all = points.all();
  Mixing m(n * all);
  for (std::size_t i = 0; i < n; ++i) {
    m[i * all + i] = factors[i];
    m[i * all + n] = 1 - factors[i];
  }
  return m;
}

// The iteration of centered clipping. v - m = 2^unit sum_k w_k ŷ_k for points ŷ_k = y_k 2^-e_k of
// a length near 1.
class Clipping {
 public:
  Clipping(const Points& points, double clip) : gram_(points.gram()), clip_(clip) {
    const std::size_t all = gram_.points;
    w_.assign(all, 0.0);
    t_.assign(all, 0.0);
    factors_.assign(gram_.rows(), 1.0);
    if (!gram_.exponents.empty()) {
      // Where v can be: as far as the origin, or the rows as far as they can pull.
      int rows = std::numeric_limits<int>::min();
      for (const int e : gram_.exponents) rows = std::max(rows, e);
      unit_ = std::max(gram_.exponents.back(), std::min(rows, std::ilogb(clip) + 1));
    }
    w_.back() = std::ldexp(1.0, gram_.exponent(all - 1) - unit_);
  }

  // One iteration; false if nothing changed.
  bool step(std::span<const double> shares) {
    const std::size_t all = gram_.points, n = gram_.rows();
    double square = 0;
    for (std::size_t i = 0; i < all; ++i) {
      const double* const row = gram_.row(i);
      t_[i] = std::inner_product(w_.begin(), w_.end(), row, 0.0);
      square += w_[i] * t_[i];
    }
    std::vector<double> next = w_, pulls(n);
    double moved = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const Scaled r = distance(i, square);
      factors_[i] = factor_for(clip_, r);
      const double factor = factors_[i] * shares[i];
      moved += factor;
      // factor 2^(e_i - unit), in one step where the factor alone would vanish.
      pulls[i] =
          r.value > 0 && std::ldexp(r.value, r.exponent) > clip_
              ? std::ldexp(clip_ / r.value * shares[i], gram_.exponent(i) - r.exponent - unit_)
              : std::ldexp(factor, gram_.exponent(i) - unit_);
    }
    for (double& x : next) x *= 1 - moved;
    for (std::size_t i = 0; i < n; ++i) next[i] += pulls[i];
    const bool changed = next != w_;
    w_ = std::move(next);
    return changed;
  }

  // Those of the last iteration.
  [[nodiscard]] const std::vector<double>& factors() const { return factors_; }
  // The coefficients of the points; they add up to 1.
  [[nodiscard]] std::vector<double> coefficients() const {
    std::vector<double> c(w_.size());
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = std::ldexp(w_[i], unit_ - gram_.exponent(i));
    return c;
  }

 private:
  // |y_i - v|, in units in which neither overflows.
  [[nodiscard]] Scaled distance(std::size_t i, double square) const {
    const int own = gram_.exponent(i), e = std::max(own, unit_);
    const double a = std::ldexp(1.0, own - e), b = std::ldexp(1.0, unit_ - e);
    const double *row = gram_.row(i), mine = a * a * row[i], theirs = b * b * square;
    const double q = mine + theirs - 2 * a * b * t_[i];
    constexpr double kCancelled = 1e-4;
    if (q > kCancelled * (mine + theirs)) return {std::sqrt(q), e};
    // Where v is next to a row, it is nearly that row alone: the difference has small coefficients.
    double exact = 0;
    for (std::size_t k = 0; k < gram_.points; ++k) {
      const double ck = (k == i ? a : 0.0) - b * w_[k];
      if (ck == 0) continue;
      double sum = 0;
      for (std::size_t l = 0; l < gram_.points; ++l)
        sum += gram_.row(k)[l] * ((l == i ? a : 0.0) - b * w_[l]);
      exact += ck * sum;
    }
    return {std::sqrt(std::max(0.0, exact)), e};
  }

  const Gram& gram_;
  double clip_;
  int unit_ = 0;
  std::vector<double> w_, t_, factors_;
};

}  // namespace

Plan plan(const CenteredClipping& rule, const Points& points, std::span<const double> weights) {
  const std::size_t n = points.size();
  std::vector<double> shares(n, 1 / static_cast<double>(n));
  if (!weights.empty()) {
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (std::size_t i = 0; i < n; ++i) shares[i] = weights[i] / total;
  }
  Clipping clipping(points, rule.clip);
  Plan made;
  while (made.iterations < rule.iterations) {
    ++made.iterations;
    if (clipping.step(shares)) continue;
    made.stop = Stop::rounding;  // v no longer changes, nor would it later
    break;
  }
  made.coefficients = clipping.coefficients();
  made.factors = clipping.factors();
  return made;
}

Plan plan(const SampleClippedMean& rule, const Points& points) {
  return plan(CenteredClipping{.clip = rule.clip, .iterations = 1}, points);
}

Mixing mixing(const Clip& part, const Points& points, std::uint64_t) {
  std::vector<double> factors(points.size());
  for (std::size_t i = 0; i < factors.size(); ++i)
    factors[i] = factor_for(part.clip, points.distance(i, points.size()));
  return shortened(points, factors);
}

Mixing mixing(const Arc& part, const Points& points, std::uint64_t) {
  const std::size_t n = points.size(), cut = 2 * part.f * (n - part.f) / n;
  std::vector<Scaled> norms(n);
  for (std::size_t i = 0; i < n; ++i) {
    norms[i] = points.distance(i, n);
    int exponent = 0;  // the leading digits in one range, so that exponents can be compared
    norms[i].value = std::frexp(norms[i].value, &exponent);
    norms[i].exponent =
        norms[i].value == 0 ? std::numeric_limits<int>::min() / 2 : norms[i].exponent + exponent;
  }
  const auto longer = [](const Scaled& a, const Scaled& b) {
    return a.exponent > b.exponent || (a.exponent == b.exponent && a.value > b.value);
  };
  std::vector<Scaled> sorted = norms;
  std::sort(sorted.begin(), sorted.end(), longer);
  const Scaled most = sorted[cut];
  std::vector<double> factors(n, 1.0);
  for (std::size_t i = 0; i < n; ++i) {
    if (longer(norms[i], most))
      factors[i] = std::ldexp(most.value / norms[i].value, most.exponent - norms[i].exponent);
  }
  return shortened(points, factors);
}

}  // namespace medgrad::estimators
