#include "medgrad/peaks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/text.h"
#include "medgrad/error.h"
#include "noise/pareto_fit.h"
#include "noise/peaks.h"
#include "noise/tail_parts.h"

namespace medgrad {
namespace noise {
namespace {

constexpr std::size_t kFewestExcesses = 25;
constexpr double kFirstOfBoth = 0.6, kFirstOfOne = 0.45, kNext = 0.75;  // of n; of the k before
constexpr double kRejects = 0.1, kRulesOut = 0.01;
constexpr double kFarShare = 0.05, kFarthestShare = 0.02;

// The values in decreasing order, as far down as any threshold reaches.
struct Ordered {
  std::vector<double> y;
  std::size_t n = 0, infinite = 0;
};

Ordered largest_of(std::span<const double> x, Tail tail, std::size_t k, std::size_t total) {
  Ordered result;
  double largest = 0;
  for (const double v : x) {
    const double y = fold(v, tail);
    if (std::isnan(y)) continue;
    ++result.n;
    if (std::isinf(y) && y > 0) ++result.infinite;
    if (std::isfinite(y)) largest = std::max(largest, y);
    result.y.push_back(y);
  }
  if (result.n < kFewestForPeaks) {
    throw Error(fmt::format("the sample has {}; peaks over a threshold need at least {}.",
                            counted(result.n, "number"), kFewestForPeaks));
  }
  const double first = tail == Tail::both ? kFirstOfBoth : kFirstOfOne;
  const std::size_t seen = result.n;
  result.n = std::max(seen, total);
  const auto most = static_cast<std::size_t>(first * static_cast<double>(result.n));
  const std::size_t keep = std::min(k != 0 ? k + 1 : std::min(most, kMostExcesses) + 1, seen);
  const auto end = result.y.begin() + static_cast<std::ptrdiff_t>(keep);
  std::partial_sort(result.y.begin(), end, result.y.end(), std::greater<>());
  result.y.resize(keep);
  for (double& v : result.y) v = std::min(v, largest);
  return result;
}

// What the k largest have above the next.
std::vector<double> excesses(const Ordered& o, std::size_t k) {
  std::vector<double> y(o.y.begin(), o.y.begin() + static_cast<std::ptrdiff_t>(k));
  for (double& v : y) v -= o.y[k];
  return y;
}

bool has_spread(const Ordered& o, std::size_t k) { return o.y.front() > o.y[k - 1]; }

TailShape shape(double xi, double error) { return {xi, {xi - kZ95 * error, xi + kZ95 * error}}; }

// Means of the first two powers of log(y_i / u) over the k largest, u the next.
struct LogMoments {
  double first = 0, second = 0;
};
LogMoments log_moments(const Ordered& o, std::size_t k) {
  LogMoments m;
  for (std::size_t i = 0; i < k; ++i) {
    const double l = std::log(o.y[i]) - std::log(o.y[k]);
    m.first += l / static_cast<double>(k);
    m.second += l * l / static_cast<double>(k);
  }
  return m;
}

// Hill's and the moment estimator, which need a positive threshold. Hill's has its own: that of the
// Pareto law may lie in the body, where it takes anything for a power.
void set_log_moments(Peaks& peaks, const Ordered& o, bool given) {
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  peaks.hill = peaks.moment = {nothing, {nothing, nothing}};
  std::size_t positive = 0;
  while (positive < o.y.size() && o.y[positive] > 0) ++positive;
  peaks.hill_k = given ? peaks.k : hill_count(std::span(o.y).first(positive));
  if (peaks.hill_k > 0 && peaks.hill_k < positive) {
    const double xi = log_moments(o, peaks.hill_k).first;
    peaks.hill = shape(xi, xi / std::sqrt(static_cast<double>(peaks.hill_k)));
  }
  if (peaks.k >= positive) return;
  const auto [first, second] = log_moments(o, peaks.k);
  const auto k = static_cast<double>(peaks.k);
  const double xi = first + 1 - 0.5 / (1 - first * first / second);
  const double g = 1 - xi;
  const double variance =
      xi >= 0 ? 1 + xi * xi
              : g * g * (1 - 2 * xi) * (1 - xi + 6 * xi * xi) / ((1 - 3 * xi) * (1 - 4 * xi));
  peaks.moment = shape(xi, std::sqrt(variance / k));
}

// The standard error of xi where entries of one group depend on each other.
double grouped_error(std::span<const double> x, std::size_t group, Tail tail, double threshold,
                     double largest, const GeneralisedParetoFit& fit) {
  const std::size_t groups = (x.size() + group - 1) / group;
  double squares = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    double s = 0;
    for (const double v : x.subspan(g * group, std::min(group, x.size() - g * group))) {
      const double y = std::min(fold(v, tail), largest) - threshold;
      if (y > 0) s += influence_on_shape(y, fit.xi, fit.sigma);
    }
    squares += s * s;
  }
  const auto count = static_cast<double>(groups);
  return std::sqrt(squares * count / (count - 1)) / static_cast<double>(fit.n) *
         (student95(groups - 1) / kZ95);
}

}  // namespace

Peaks peaks_grouped(std::span<const double> sample, std::size_t group, const PeaksOptions& options,
                    std::size_t total) {
  const Ordered o = largest_of(sample, options.tail, options.k, total);
  const std::size_t most = o.y.size() - 1;
  if (options.k != 0 && (options.k < 10 || options.k > most)) {
    throw Error("k", std::to_string(options.k),
                fmt::format("peaks over a threshold need from 10 to {} for this sample", most));
  }
  if (!has_spread(o, std::min(kFewestExcesses, most))) {
    throw Error(fmt::format("the {} farthest numbers are alike: a tail without spread.",
                            std::min(kFewestExcesses, most)));
  }
  Peaks peaks;
  peaks.tail = options.tail;
  peaks.n = o.n;
  peaks.infinite = o.infinite;
  const auto fitted = [&](std::size_t k) {
    GeneralisedParetoFit fit = fit_excesses(excesses(o, k));
    if (group > 1) {
      const double error = grouped_error(sample, group, options.tail, o.y[k], o.y.front(), fit);
      fit.xi_interval = shape(fit.xi, error).interval;
    }
    return fit;
  };
  peaks.k = options.k != 0 ? options.k : most;
  while (true) {
    peaks.pareto = fitted(peaks.k);
    if (options.k != 0 || peaks.pareto.p_value >= kRejects) break;
    const auto next = static_cast<std::size_t>(kNext * static_cast<double>(peaks.k));
    if (next < kFewestExcesses) break;
    if (peaks.pareto.p_value >= kRulesOut)
      peaks.doubted.push_back({peaks.pareto.xi, peaks.pareto.xi_interval});
    peaks.k = next;
  }
  peaks.threshold = o.y[peaks.k];
  set_log_moments(peaks, o, options.k != 0);
  const auto deeper = [&](double part) -> TailShape {
    const std::size_t k = std::clamp(static_cast<std::size_t>(part * static_cast<double>(o.n)),
                                     std::min(kFewestExcesses, peaks.k), peaks.k);
    const GeneralisedParetoFit fit = k == peaks.k ? peaks.pareto : fitted(k);
    return {fit.xi, fit.xi_interval};
  };
  peaks.far = deeper(kFarShare);
  peaks.farthest = deeper(kFarthestShare);
  return peaks;
}

}  // namespace noise

Interval Peaks::index_interval() const {
  const auto index_of = [](double xi) { return xi > 0 ? 1 / xi : kInfinite; };
  return {index_of(pareto.xi_interval.high), index_of(pareto.xi_interval.low)};
}

Peaks peaks_over_threshold(std::span<const double> sample, const PeaksOptions& options) {
  noise::Cleaned cleaned = noise::clean(sample);
  noise::centre(cleaned.values, options.centre);
  Peaks peaks = noise::peaks_grouped(cleaned.values, 1, options);
  peaks.missing = cleaned.missing;
  return peaks;
}

}  // namespace medgrad
