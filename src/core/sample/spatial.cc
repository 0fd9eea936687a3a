// Estimators that treat rows as vectors of Euclidean space: geometric median and Huber location.
//
// The minimiser is an affine combination of the rows, and its coefficients depend on the distances
// between rows alone. So: embed the rows in a small space (one pass over the data), solve there,
// and combine the rows (a second pass, which also measures the true distances).
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/sample/embedding.h"
#include "core/sample/estimators.h"
#include "core/sample/weber.h"
#include "kernels/gram.h"
#include "kernels/simd.h"

namespace medgrad::estimators {
namespace {

using kernels::kLanes;

// What the second pass finds, in units of the embedding.
struct Combined {
  SmallVector<double, 16> distances;  // |m - x_i|
  double rounding = 0;                // how far rounding to T moved m
};

template <Real T>
Combined combine_rows(const Input<T>& input, const Embedding& e, const WeberSolution& solution,
                      std::span<T> out) {
  const std::size_t n = input.n, chunks = chunks_for(input.d).count, slots = n + 1;
  const double* const scales = e.scales.empty() ? nullptr : e.scales.data();
  SmallVector<double, 32> parts(chunks * slots);
  auto coefficients = solution.coefficients;
  for (std::size_t i = 0; i < n; ++i) {  // of the points; a row is longer where it was cut
    const int own = scales == nullptr ? 0 : -std::ilogb(scales[i]);
    coefficients[i] = std::ldexp(coefficients[i], own - e.cut[i]);
  }
  for_each_chunk(input, static_cast<const T*>(nullptr), [&](std::size_t c, auto&& walk) {
    SmallVector<double, 256> lanes(slots * kLanes);
    double sum[kBlock];
    walk([&](Block<T>& block, std::size_t begin, std::size_t) {
      T* const m = &out[begin];
      kernels::combine<T>(block.rows(), n, block.count(), block.rows()[solution.anchor],
                          coefficients.data(), scales, sum, m, lanes.data() + n * kLanes);
      for (std::size_t j = 0; j < block.count(); ++j) m[j] = clamp_to_finite(m[j]);
      kernels::add_squared_distances<T>(block.rows(), n, block.count(), m, scales, lanes.data());
    });
    for (std::size_t i = 0; i < slots; ++i)
      parts[c * slots + i] = kernels::sum_lanes(lanes.data() + i * kLanes);
  });
  SmallVector<double, 32> sums(slots);
  for (std::size_t c = 0; c < chunks; ++c) {
    for (std::size_t i = 0; i < slots; ++i) sums[i] += parts[c * slots + i];
  }
  Combined combined;
  combined.distances.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const int own = scales == nullptr ? 0 : -std::ilogb(scales[i]);
    combined.distances[i] = std::ldexp(std::sqrt(sums[i]), own - e.exponent);
  }
  combined.rounding = std::ldexp(std::sqrt(sums[n]), -e.exponent);
  return combined;
}

// Do the distances agree with those of the embedding, as far as rounding allows? They do not where
// rows that matter lie much closer together than to the centre of the embedding.
bool agree(const Embedding& e, const WeberSolution& solution, const Combined& combined) {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  double moved = combined.rounding;
  for (std::size_t i = 0; i < e.n; ++i) {
    moved += 4 * kEpsilon * solution.coefficients[i] *
             (solution.distances[i] + solution.distances[solution.anchor]);
  }
  for (std::size_t i = 0; i < e.n; ++i) {
    const double a = combined.distances[i], b = solution.distances[i];
    if (e.cut[i] == 0 && !(std::abs(a - b) <= 1e-11 * std::max(a, b) + 4 * moved)) return false;
  }
  return true;
}

double objective_of(std::span<const double> weights, std::span<const double> distances, double mu) {
  double f = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double r = distances[i];
    f += weights[i] * (mu == 0 ? r : r <= mu ? r * r / 2 : mu * (r - mu / 2));
  }
  return f;
}

template <Real T>
SampleInfo locate(double mu, double tolerance, int max_iterations, const Input<T>& input,
                  std::span<T> out) {
  constexpr int kMostRounds = 4;
  SampleInfo info;
  std::vector<T> centre;  // empty: the componentwise median
  for (int round = 1;; ++round) {
    const Embedding e = embed<T>(input, centre.empty() ? nullptr : centre.data());
    // In units of the bulk; 0 stands for the geometric median, so mu itself must not vanish.
    const double threshold = mu == 0 ? 0 : std::clamp(std::ldexp(mu, -e.exponent), 1e-300, 1e300);
    const WeberProblem problem{
        e.n, e.k, e.points, input.weights, threshold, max_iterations, gap_to_stop_at(tolerance)};
    const WeberSolution solution = solve(problem);
    const Combined combined = combine_rows(input, e, solution, out);
    info.iterations += solution.iterations;
    info.nan = e.seen.nan;
    info.inf = e.seen.inf;
    const double f = objective_of(input.weights, combined.distances, problem.mu);
    info.objective = std::ldexp(f, mu == 0 ? e.exponent : 2 * e.exponent);
    const bool cut = std::any_of(e.cut.begin(), e.cut.end(), [](int c) { return c > 0; });
    const double reached = cut ? solution.objective : f;
    info.gap = reached > 0 && solution.stop != Stop::data_point
                   ? std::max(0.0, (reached - solution.bound) / reached)
                   : 0;
    const bool done =
        solution.stop == Stop::max_iterations ||
        (solution.stop == Stop::tolerance ? info.gap <= tolerance : agree(e, solution, combined));
    if (round < kMostRounds && !done) {
      centre.assign(out.begin(), out.end());  // look again from where the median seems to be
      continue;
    }
    info.stop = reason(solution.stop, info.gap, tolerance);
    return info;
  }
}

}  // namespace

template <Real T>
SampleInfo geometric_median(const GeometricMedian& method, const Input<T>& input,
                            std::span<T> out) {
  return locate(0.0, method.tolerance, method.max_iterations, input, out);
}

template <Real T>
SampleInfo huber_location(const HuberLocation& method, const Input<T>& input, std::span<T> out) {
  return locate(method.mu, method.tolerance, method.max_iterations, input, out);
}

template SampleInfo geometric_median(const GeometricMedian&, const Input<float>&, std::span<float>);
template SampleInfo geometric_median(const GeometricMedian&, const Input<double>&,
                                     std::span<double>);
template SampleInfo huber_location(const HuberLocation&, const Input<float>&, std::span<float>);
template SampleInfo huber_location(const HuberLocation&, const Input<double>&, std::span<double>);

}  // namespace medgrad::estimators
