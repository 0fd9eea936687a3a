// Rules that cut lengths: centered clipping, norm clipping, adaptive clipping.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/sample/norms.h"
#include "core/sample/plan.h"
#include "kernels/combine.h"
#include "kernels/simd.h"

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
  Mixing m(n * all, 0.0);
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
  Clipping(double clip, std::vector<int> exponents, std::size_t all)
      : clip_(clip), exponents_(std::move(exponents)), w_(all), factors_(all - 1, 1.0) {
    if (!exponents_.empty()) {
      // Where v can be: as far as the origin, or the rows as far as they can pull.
      const int rows = *std::max_element(exponents_.begin(), exponents_.end());
      unit_ = std::max(exponents_.back(), std::min(rows, std::ilogb(clip) + 1));
    }
    w_.back() = std::ldexp(1.0, exponent(all - 1) - unit_);
  }

  // One iteration, given |y_i - v|; false if nothing changed.
  bool step(std::span<const double> shares, std::span<const Scaled> lengths) {
    std::vector<double> next = w_, pulls(lengths.size());
    double moved = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const Scaled& r = lengths[i];
      factors_[i] = factor_for(clip_, r);
      const double factor = factors_[i] * shares[i];
      moved += factor;
      // factor 2^(e_i - unit), in one step where the factor alone would vanish.
      pulls[i] = r.value > 0 && std::ldexp(r.value, r.exponent) > clip_
                     ? std::ldexp(clip_ / r.value * shares[i], exponent(i) - r.exponent - unit_)
                     : std::ldexp(factor, exponent(i) - unit_);
    }
    for (double& x : next) x *= 1 - moved;
    for (std::size_t i = 0; i < pulls.size(); ++i) next[i] += pulls[i];
    const bool changed = next != w_;
    w_ = std::move(next);
    return changed;
  }

  [[nodiscard]] int unit() const { return unit_; }
  [[nodiscard]] const std::vector<double>& weights() const { return w_; }
  // Those of the last iteration.
  [[nodiscard]] const std::vector<double>& factors() const { return factors_; }
  // The coefficients of the points; they add up to 1.
  [[nodiscard]] std::vector<double> coefficients() const {
    std::vector<double> c(w_.size());
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = std::ldexp(w_[i], unit_ - exponent(i));
    return c;
  }

 private:
  [[nodiscard]] int exponent(std::size_t i) const { return exponents_.empty() ? 0 : exponents_[i]; }

  double clip_;
  std::vector<int> exponents_;
  int unit_ = 0;
  std::vector<double> w_, factors_;
};

// |y_i - v| from inner products; none where they have lost its digits.
class ClippedLengths {
 public:
  ClippedLengths(const Points& points, const Clipping& clipping)
      : gram_(points.gram()),
        reach_(points.reach()),
        clipping_(clipping),
        enough_(points.mixture().empty() ? 1e-3 : 1e-5),  // means of many are near to each other
        t_(gram_.points) {}

  [[nodiscard]] std::optional<std::vector<Scaled>> operator()() {
    const std::vector<double>& w = clipping_.weights();
    square_ = far_ = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      t_[i] = std::inner_product(w.begin(), w.end(), gram_.row(i), 0.0);
      square_ += w[i] * t_[i];
      far_ += w[i] * reach_[i];
    }
    const bool at_origin =
        std::count(w.begin(), w.end(), 0.0) + 1 == static_cast<std::ptrdiff_t>(w.size()) &&
        w.back() != 0;
    std::vector<Scaled> lengths(gram_.rows());
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const std::optional<Scaled> square =
          at_origin && !gram_.squares.empty() ? gram_.square(i, w.size() - 1) : squared(i);
      if (!square) return std::nullopt;
      lengths[i] = {std::sqrt(square->value), square->exponent / 2};
    }
    return lengths;
  }

 private:
  // In units in which neither y_i nor v overflows.
  [[nodiscard]] std::optional<Scaled> squared(std::size_t i) const {
    constexpr double kPlenty = 1e-2;
    const int own = gram_.exponent(i), e = std::max(own, clipping_.unit());
    const double a = std::ldexp(1.0, own - e), b = std::ldexp(1.0, clipping_.unit() - e);
    const double q = a * a * gram_.row(i)[i] + b * b * square_ - 2 * a * b * t_[i];
    const double far = a * reach_[i] + b * far_;
    if (q > kPlenty * far * far) return Scaled{q, 2 * e};
    // Where v is next to a row, it is nearly that row alone: the difference has small coefficients.
    const std::vector<double>& w = clipping_.weights();
    double exact = 0, size = 0;
    for (std::size_t k = 0; k < w.size(); ++k) {
      const double ck = (k == i ? a : 0.0) - b * w[k];
      if (ck == 0) continue;
      double sum = 0;
      for (std::size_t l = 0; l < w.size(); ++l)
        sum += gram_.row(k)[l] * ((l == i ? a : 0.0) - b * w[l]);
      exact += ck * sum;
      size += std::abs(ck) * reach_[k];
    }
    if (exact < enough_ * size * size) return std::nullopt;
    return Scaled{exact, 2 * e};
  }

  const Gram& gram_;
  const std::vector<double>& reach_;
  const Clipping& clipping_;
  double enough_;  // the share of a square that has to be left
  double square_ = 0, far_ = 0;
  std::vector<double> t_;
};

std::vector<double> shares_of(std::size_t n, std::span<const double> weights) {
  if (weights.empty()) return std::vector<double>(n, 1 / static_cast<double>(n));
  std::vector<double> shares(weights.begin(), weights.end());
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= total;
  return shares;
}

// |x_i - v|^2 for v = o + sum_k c_k (x_k - o), o the origin, in one pass: v is there a block of
// columns at a time, with all digits. `finite` as in for_each_chunk.
template <Real T>
std::vector<double> squares_around(const Input<T>& input, std::span<const double> c, bool finite) {
  const std::size_t n = input.n, pieces = pieces_of_chunks(input);
  const std::size_t chunks = chunks_of(input).count * pieces;
  const std::span<const double> of_rows = c.first(n);
  const bool at_origin =
      std::all_of(of_rows.begin(), of_rows.end(), [](double x) { return x == 0; });
  std::vector<double> parts(chunks * n);
  const auto body = [&](std::size_t chunk, auto&& walk) {
    std::vector<double> lanes(n * kernels::kLanes);
    double v[kDirectStep], unused[kernels::kLanes] = {};
    T rounded[kDirectStep];
    walk([&](Block<T>& block, std::size_t begin, std::size_t) {
      const std::size_t count = block.count();
      const T* const origin = input.center.empty() ? nullptr : &input.center[begin];
      if (at_origin) {
        kernels::add_squared_distances(block.rows(), n, count, origin, nullptr, lanes.data());
        return;
      }
      kernels::combine<T>(block.rows(), n, count, origin, c.data(), nullptr, v, rounded, unused);
      for (std::size_t j = 0; j < count && origin != nullptr; ++j) v[j] += origin[j];
      kernels::add_squared_distances(block.rows(), n, count, static_cast<const double*>(v), nullptr,
                                     lanes.data());
    });
    for (std::size_t i = 0; i < n; ++i)
      parts[chunk * n + i] = kernels::sum_lanes(lanes.data() + i * kernels::kLanes);
  };
  for_each_chunk(input, static_cast<const T*>(nullptr), body, finite, pieces);
  share(input, parts.data(), pieces * n);
  std::vector<double> sums(n);
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::size_t i = 0; i < n; ++i) sums[i] += parts[chunk * n + i];
  }
  return sums;
}

// `lengths` gives |y_i - v| for the weights so far, or nothing.
template <class Lengths>
std::optional<Plan> iterate(const CenteredClipping& rule, Clipping& clipping,
                            std::span<const double> shares, Lengths&& lengths) {
  Plan made;
  while (made.iterations < rule.iterations) {
    const std::optional<std::vector<Scaled>> r = lengths();
    if (!r) return std::nullopt;
    ++made.iterations;
    if (clipping.step(shares, *r)) continue;
    made.stop = Stop::rounding;  // v no longer changes, nor would it later
    break;
  }
  made.coefficients = clipping.coefficients();
  made.factors = clipping.factors();
  return made;
}

}  // namespace

std::optional<Plan> plan(const CenteredClipping& rule, const Points& points,
                         std::span<const double> weights) {
  Clipping clipping(rule.clip, points.gram().exponents, points.all());
  return iterate(rule, clipping, shares_of(points.size(), weights),
                 ClippedLengths(points, clipping));
}

std::optional<Plan> plan(const SampleClippedMean& rule, const Points& points) {
  return plan(CenteredClipping{.clip = rule.clip, .iterations = 1}, points);
}

template <Real T>
Plan clip_rows(const CenteredClipping& rule, const Points& points, const Input<T>& input) {
  Clipping clipping(rule.clip, points.gram().exponents, points.all());
  std::vector<T> v(input.d);
  const auto lengths = [&]() -> std::optional<std::vector<Scaled>> {
    write_combination<T>(combination_of(points, clipping.coefficients()), true, input, v);
    const Norms norms = row_norms(input, v.data(), static_cast<const T*>(nullptr));
    std::vector<Scaled> r(input.n);
    for (std::size_t i = 0; i < input.n; ++i)
      r[i] = {norms.scaled[i], norms.scales.empty() ? 0 : -std::ilogb(norms.scales[i])};
    return r;
  };
  return *iterate(rule, clipping, shares_of(input.n, input.weights), lengths);
}

bool clips_directly(const Rule& rule, std::size_t n, std::size_t d) {
  // Less data than that takes no time either way.
  constexpr std::size_t kWorth = std::size_t{1} << 14;
  // One more pass costs as much as the inner products with so many rows.
  constexpr std::size_t kRowsOfPass = 20;
  const auto* const clipping = std::get_if<CenteredClipping>(&rule.method);
  return rule.before.empty() && clipping != nullptr && d >= kWorth / std::max<std::size_t>(n, 1) &&
         static_cast<std::size_t>(clipping->iterations) <= 1 + n / kRowsOfPass;
}

template <Real T>
std::optional<Plan> clip_directly(const CenteredClipping& rule, const Input<T>& input,
                                  bool& finite) {
  Clipping clipping(rule.clip, {}, input.n + 1);
  const auto lengths = [&]() -> std::optional<std::vector<Scaled>> {
    std::vector<double> squares = squares_around(input, clipping.weights(), finite);
    const auto is_finite = [](double x) { return std::isfinite(x); };
    if (finite && !std::all_of(squares.begin(), squares.end(), is_finite)) {
      finite = false;
      squares = squares_around(input, clipping.weights(), finite);
    }
    std::vector<Scaled> r(input.n);
    for (std::size_t i = 0; i < r.size(); ++i) {
      // Squares of floats are far from the ends of the range of doubles.
      if (std::is_same_v<T, double> && !safe_square(squares[i])) return std::nullopt;
      r[i] = {std::sqrt(squares[i]), 0};
    }
    return r;
  };
  finite = true;  // until a sum says something else
  return iterate(rule, clipping, shares_of(input.n, input.weights), lengths);
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

template std::optional<Plan> clip_directly(const CenteredClipping&, const Input<float>&, bool&);
template std::optional<Plan> clip_directly(const CenteredClipping&, const Input<double>&, bool&);
template Plan clip_rows(const CenteredClipping&, const Points&, const Input<float>&);
template Plan clip_rows(const CenteredClipping&, const Points&, const Input<double>&);

}  // namespace medgrad::estimators
