// Moments of sample medians, by quadrature over the density of the middle order statistic.
//
// A half-line x = from +- y is written y = e^v and summed by the trapezoidal rule in v, which for
// integrands that are analytic around the real axis gains digits in proportion to 1/h. Both ends
// of the integrand are pure exponentials in v: y^{k+1} on the left, and on the right, where the law
// is a power law to rounding, y^{k - alpha (r+1)}. There the rest of the infinite sum is a
// geometric series. So no tail is too heavy: alpha (r+1) - k may be as small as it likes.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "base/text.h"
#include "medgrad/error.h"
#include "medgrad/theory.h"

namespace medgrad::theory {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t kLargest = std::uint64_t{1} << 53;

void check_n(std::uint64_t n) {
  if (n % 2 == 1 && n < kLargest) return;
  throw Error("n", std::to_string(n), "it must be an odd number below 2^53");
}

// One n: r = (n-1)/2, and log of n!/(r!)^2 4^-r = (2r+1) Gamma(r+1/2) / (sqrt(pi) Gamma(r+1)).
struct Sample {
  double r, log_factor;
};

Sample sample_of(std::uint64_t n) {
  const std::uint64_t half = (n - 1) / 2;
  const double r = static_cast<double>(half);
  const double ratio = boost::math::tgamma_delta_ratio(r + 0.5, 0.5);
  return {r, std::log((2 * r + 1) * ratio * std::numbers::inv_sqrtpi)};
}

// E|M|^k is finite.
bool is_finite(double alpha, double r, double k) { return alpha == 2 || alpha * (r + 1) > k; }

// E (M - from)^k 1{M beyond from} for k = 1, 2; infinite where it is.
using Pair = std::array<double, 2>;

// From `from` to the right (sign = 1) or left (-1).
class HalfLine {
 public:
  HalfLine(const Stable& law, double from, int sign, double left, double right)
      : law_(law),
        from_(from),
        sign_(sign),
        left_(left),
        intervals_(static_cast<std::size_t>(std::ceil((right - left) / kStep))),
        first_(node(left)),
        last_(node(left + static_cast<double>(intervals_) * kStep)) {}

  // The moments for every sample. The step is halved until they stop changing, for each by itself:
  // what one sample gets does not depend on the others.
  [[nodiscard]] std::vector<Pair> moments(std::span<const Sample> samples) const {
    std::vector<Pair> sums(samples.size(), Pair{});
    double h = kStep;
    std::size_t intervals = intervals_;
    add(samples, left_, h, intervals + 1, sums);
    std::vector<Pair> result = with_ends(samples, sums, h);
    std::vector<bool> done(samples.size(), false);
    for (int level = 0; level < kMostHalvings; ++level) {
      add(samples, left_ + h / 2, h, intervals, sums);
      h /= 2;
      intervals *= 2;
      const std::vector<Pair> now = with_ends(samples, sums, h);
      for (std::size_t i = 0; i < samples.size(); ++i) {
        if (done[i]) continue;
        done[i] = close(result[i], now[i]);
        result[i] = now[i];
      }
      if (std::ranges::find(done, false) == done.end()) break;
    }
    return result;
  }

 private:
  static constexpr double kStep = 0.25;
  static constexpr double kClose = 1e-7;
  static constexpr int kMostHalvings = 5;

  // What all samples share of an abscissa: log of y f(x), and of 4 F(x) (1 - F(x)).
  struct Node {
    double v, log_density, log_kernel;
  };

  [[nodiscard]] Node node(double v) const {
    const double x = from_ + sign_ * std::exp(v);
    const double beyond = sign_ > 0 ? law_.survival(x) : law_.cdf(x);
    const double middle = 1 - 2 * beyond;
    const double log_kernel =
        beyond < 0.125 ? std::log(4 * beyond) + std::log1p(-beyond) : std::log1p(-middle * middle);
    return {v, v + law_.log_pdf(x), log_kernel};
  }

  // The integrand in v for k = 1, 2.
  static Pair integrand(const Sample& s, const Node& node) {
    // Where a law ends, its kernel is log 0; a single sample has none.
    const double log_m = s.log_factor + node.log_density + (s.r == 0 ? 0 : s.r * node.log_kernel);
    return {std::exp(log_m + node.v), std::exp(log_m + 2 * node.v)};
  }

  void add(std::span<const Sample> samples, double first, double h, std::size_t count,
           std::vector<Pair>& sums) const {
    for (std::size_t j = 0; j < count; ++j) {
      const Node here = node(first + static_cast<double>(j) * h);
      for (std::size_t i = 0; i < samples.size(); ++i) {
        const Pair g = integrand(samples[i], here);
        for (std::size_t k = 0; k < 2; ++k) sums[i][k] += g[k];
      }
    }
  }

  // h times the sum, with what lies beyond both ends as geometric series.
  [[nodiscard]] std::vector<Pair> with_ends(std::span<const Sample> samples,
                                            const std::vector<Pair>& sums, double h) const {
    const double alpha = law_.parameters().alpha;
    std::vector<Pair> result(sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const Pair at_first = integrand(samples[i], first_), at_last = integrand(samples[i], last_);
      for (std::size_t k = 0; k < 2; ++k) {
        const double order = static_cast<double>(k + 1);
        const double decay = alpha * (samples[i].r + 1) - order;
        const double right = at_last[k] == 0 ? 0 : at_last[k] / std::expm1(decay * h);
        result[i][k] = is_finite(alpha, samples[i].r, order)
                           ? h * (at_first[k] / std::expm1((order + 1) * h) + sums[i][k] + right)
                           : kInf;
      }
    }
    return result;
  }

  // The error is about squared when the step is halved.
  static bool close(const Pair& a, const Pair& b) {
    for (std::size_t k = 0; k < 2; ++k)
      if (a[k] != b[k] && !(std::fabs(a[k] - b[k]) <= kClose * b[k])) return false;
    return true;
  }

  const Stable& law_;
  double from_;
  int sign_;
  double left_;
  std::size_t intervals_;  // of the widest step
  Node first_, last_;      // both ends
};

// How far, as log y / scale, the law has to be followed until it is a power law to rounding. Its
// expansion is in z^-alpha with z = x - zeta, the location in S1; the first coefficient has the
// factors 2 - alpha and 1 +- beta.
double power_law_from(const StableParameters& law, double from, int sign) {
  constexpr double kDigits = 36;  // e^-36 = 2e-16
  constexpr double kFarthest = 690;
  const double zeta = law.alpha == 2 ? law.location : convert(law, StableForm::S1).location;
  const double off = std::log1p(std::fabs(from - zeta) / law.scale);
  const double weight = (2 - law.alpha) * (1 + sign * law.beta);
  if (weight == 0) return off + 8;  // no power law: past e^8 scales nothing is left
  double far = (kDigits - std::min(0.0, std::log(weight))) / law.alpha;
  if (law.beta != 0 || off != 0) far = std::max(far, kDigits + off);
  return std::min(far, kFarthest);
}

}  // namespace

std::uint64_t smallest_n(double alpha, double order) {
  check("alpha", alpha, kTailIndex);
  if (!(order > 0 && order / alpha < 1e15))
    throw Error("order", number(order), "it must be positive and finite");
  if (alpha == 2) return 1;
  std::uint64_t half = static_cast<std::uint64_t>(order / alpha);  // (n+1)/2
  half = std::max<std::uint64_t>(half, 2) - 1;                     // division may have rounded up
  while (!(alpha * static_cast<double>(half) > order)) ++half;
  return 2 * half - 1;
}

std::vector<MedianMoments> median_moments(const StableParameters& law,
                                          std::span<const std::uint64_t> n) {
  const Stable stable(law);
  std::vector<Sample> samples;
  for (const std::uint64_t value : n) {
    check_n(value);
    samples.push_back(sample_of(value));
  }
  if (samples.empty()) return {};

  const bool symmetric = law.beta == 0 || law.alpha == 2;
  const double median = symmetric ? law.location : stable.quantile(0.5);
  // A median of n is 1/(2 f sqrt(n)) wide; a ten-thousandth of that is negligible to second order.
  // A million stands for every smaller n, so that those do not depend on each other.
  const double most = std::max(1e6, static_cast<double>(*std::ranges::max_element(n)));
  const double left = -std::log(stable.pdf(median) * std::sqrt(most)) - 10;
  const auto side = [&](double from, int sign) {
    const double right = std::log(law.scale) + power_law_from(law, from, sign);
    return HalfLine(stable, from, sign, left, std::max(right, left + 12)).moments(samples);
  };
  const std::vector<Pair> above = side(median, 1);
  const std::vector<Pair> below = symmetric ? above : side(median, -1);
  // E|M| = s E M + 2 E|M| 1{s M < 0}, with s the sign of the median.
  std::vector<Pair> across(samples.size(), Pair{});
  if (median != 0) across = side(0, median > 0 ? -1 : 1);

  std::vector<MedianMoments> result;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    MedianMoments m{.n = n[i]};
    const double shift = symmetric ? 0 : above[i][0] - below[i][0];
    const bool has_mean = is_finite(law.alpha, samples[i].r, 1);
    m.mean = has_mean ? median + shift : kNaN;
    m.variance = above[i][1] + below[i][1];
    m.C_n = m.variance;
    if (has_mean && std::isfinite(m.variance)) {
      m.variance -= shift * shift;
      m.C_n = m.variance + m.mean * m.mean;
    }
    if (median == 0) {
      m.E_abs = above[i][0] + below[i][0];
    } else {
      m.E_abs = has_mean ? std::copysign(1, median) * m.mean + 2 * across[i][0] : kInf;
    }
    result.push_back(m);
  }
  return result;
}

double C_n(double alpha, std::uint64_t n) {
  const std::uint64_t list[] = {n};
  return median_moments({.alpha = alpha}, list)[0].C_n;
}

double E_abs(double alpha, std::uint64_t n) {
  const std::uint64_t list[] = {n};
  return median_moments({.alpha = alpha}, list)[0].E_abs;
}

}  // namespace medgrad::theory
