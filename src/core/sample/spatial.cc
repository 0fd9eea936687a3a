// Estimators that treat rows as vectors of Euclidean space: geometric median and Huber location.
//
// The minimiser is an affine combination of the rows, and its coefficients depend on the distances
// between rows alone. So, unless the rows are on a line: embed the rows in a small space (one pass
// over the data), solve there, and combine the rows (a second pass, which also measures the true
// distances).
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/sample/embedding.h"
#include "core/sample/estimators.h"
#include "core/sample/line.h"
#include "core/sample/near_line.h"
#include "core/sample/weber.h"
#include "core/sample/weber_gram.h"
#include "kernels/combine.h"
#include "kernels/simd.h"

namespace medgrad::estimators {
namespace {

using kernels::kLanes;

// What the second pass finds, in units of the embedding.
struct Combined {
  SmallVector<double, 16> distances;  // |m - x_i|
  double objective = 0;               // in units of the data
  double rounding = 0;                // how far rounding to T moved m
};

// sum omega_i |m - x_i|, or of Huber's function of it, for |m - x_i| = lengths_i 2^exponents_i:
// they need not fit into one range of doubles, nor does their sum before the weights are what they
// were. Terms are taken in units of the longest, or of that times mu.
template <Real T>
double scaled_objective(const Input<T>& input, std::span<const double> lengths,
                        std::span<const int> exponents, double mu) {
  int unit = std::numeric_limits<int>::min();
  for (std::size_t i = 0; i < input.n; ++i) {
    if (lengths[i] > 0) unit = std::max(unit, std::ilogb(lengths[i]) + 1 + exponents[i]);
  }
  if (unit == std::numeric_limits<int>::min()) return 0;
  const bool norm = mu == 0, square = !norm && std::ilogb(mu) > unit;
  const double threshold = norm || square ? 0 : std::ldexp(mu, -unit);
  double f = 0;
  for (std::size_t i = 0; i < input.n; ++i) {
    const double r = std::ldexp(lengths[i], exponents[i] - unit);
    const double term = norm            ? r
                        : square        ? r * r / 2
                        : r < threshold ? r / threshold * r / 2
                                        : r - threshold / 2;
    f += input.weights[i] * term;
  }
  int other = square ? unit : 0;
  if (!norm && !square) f *= std::frexp(mu, &other);
  return std::ldexp(f, unit + other + input.weight_exponent);
}

// The same where the lengths fit, as nearly always. Huber's terms may vanish even then.
template <Real T>
double objective_of(const Input<T>& input, std::span<const double> lengths, double mu) {
  double f = 0;
  for (std::size_t i = 0; i < input.n; ++i) {
    const double r = lengths[i];
    f += input.weights[i] * (mu == 0 ? r : r <= mu ? r * r / 2 : mu * (r - mu / 2));
  }
  if (std::isnormal(f)) return std::ldexp(f, input.weight_exponent);
  return scaled_objective(input, lengths, SmallVector<int, 16>(input.n), mu);
}

template <Real T>
Combined combine_rows(const Input<T>& input, const Embedding& e, const WeberSolution& solution,
                      double mu, std::span<T> out) {
  const std::size_t n = input.n, slots = n + 1, pieces = pieces_of_chunks(input);
  const std::size_t chunks = chunks_of(input).count * pieces;
  const double* const scales = e.scales.empty() ? nullptr : e.scales.data();
  const bool finite = e.seen.nan == 0 && e.seen.inf == 0;
  SmallVector<double, 32> parts(chunks * slots);
  auto coefficients = solution.coefficients;
  for (std::size_t i = 0; i < n; ++i) {  // of the points; a row is longer where it was cut
    const int own = scales == nullptr ? 0 : -std::ilogb(scales[i]);
    coefficients[i] = std::ldexp(coefficients[i], own - e.cut[i]);
  }
  for_each_chunk(
      input, static_cast<const T*>(nullptr),
      [&](std::size_t c, auto&& walk) {
        SmallVector<double, 256> lanes(slots * kLanes);
        double sum[kDirectStep];
        walk([&](Block<T>& block, std::size_t begin, std::size_t) {
          T* const m = &out[begin];
          kernels::combine<T>(block.rows(), n, block.count(), block.rows()[solution.anchor],
                              coefficients.data(), scales, sum, m, lanes.data() + n * kLanes);
          clamp_all(m, block.count());
          kernels::add_squared_distances<T>(block.rows(), n, block.count(), m, scales,
                                            lanes.data());
        });
        for (std::size_t i = 0; i < slots; ++i)
          parts[c * slots + i] = kernels::sum_lanes(lanes.data() + i * kLanes);
      },
      finite, pieces);
  share(input, parts.data(), pieces * slots);
  SmallVector<double, 32> sums(slots);
  for (std::size_t c = 0; c < chunks; ++c) {
    for (std::size_t i = 0; i < slots; ++i) sums[i] += parts[c * slots + i];
  }
  Combined combined;
  combined.distances.resize(n);
  SmallVector<int, 16> exponents(n);
  for (std::size_t i = 0; i < n; ++i) {
    exponents[i] = scales == nullptr ? 0 : -std::ilogb(scales[i]);
    sums[i] = std::sqrt(sums[i]);
    combined.distances[i] = std::ldexp(sums[i], exponents[i] - e.exponent);
  }
  const std::span<const double> lengths(sums.data(), n);
  combined.objective = scales == nullptr ? objective_of(input, lengths, mu)
                                         : scaled_objective(input, lengths, exponents, mu);
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

// Rows on a line have a closed form (line.h), but for Huber's function only where the minimiser is
// not unique.
template <Real T>
std::optional<SampleInfo> locate_on_line(double mu, const Input<T>& input, std::span<T> out) {
  const std::optional<Middle> middle = median_on_line(input);
  if (!middle || (mu > 0 && middle->lower == middle->upper)) return std::nullopt;
  write_midpoint(input, *middle, out);
  const Embedding e = embed<T>(input, out.data(), mu);
  const double threshold = threshold_of(mu, e);
  const LineNorms norms = line_norms(e, 2);
  if (norms.p[middle->lower] < threshold || norms.p[middle->upper] < threshold)
    return std::nullopt;  // they are less than 2 mu apart
  SampleInfo info = line_info(*middle, e, value_of(input.weights, norms.p, threshold),
                              value_of(input.weights, norms.along, threshold));
  SmallVector<int, 16> exponents = e.cut;
  for (int& x : exponents) x += e.exponent;
  info.objective = scaled_objective(input, norms.p, exponents, mu);
  return info;
}

// The embedding with its solution. Many rows are left where they are: the Gram matrix is enough,
// unless it has too few digits.
struct Located {
  Embedding e;
  WeberSolution solution;
};
template <Real T>
Located solve_rows(const Input<T>& input, const T* centre, double mu, double tolerance,
                   int max_iterations) {
  // Fewer columns than that are fewer coordinates, and the matrix is not worth making.
  constexpr std::size_t kManyRows = 24, kMostRows = 1024, kFewColumns = 4;
  Located at;
  if (input.n > kManyRows && input.n <= kMostRows && input.n < kFewColumns * input.whole()) {
    Measured m = measure_by_gram<T>(input, centre, mu);
    const bool cut = std::any_of(m.e.cut.begin(), m.e.cut.end(), [](int c) { return c > 0; });
    if (m.scales.empty() && !cut && std::abs(m.e.exponent) < 400) {
      const auto solution = solve_by_gram({&m.gram, std::ldexp(1.0, -2 * m.e.exponent),
                                           input.weights, threshold_of(mu, m.e), max_iterations,
                                           gap_to_stop_at(tolerance), input.pool});
      if (solution) return {std::move(m.e), *solution};
    }
    at.e = by_gram(input) ? embed_measured(input, std::move(m), mu) : embed<T>(input, centre, mu);
  } else {
    at.e = embed<T>(input, centre, mu);
  }
  // The Gram matrix sees no angles below 1e-8, which is all there is next to a line.
  constexpr std::size_t kAffordable = std::size_t{1} << 24;
  if (at.e.centre.empty() && input.n * input.whole() <= kAffordable &&
      gap_near_line(at.e.points, at.e.k, input.weights))
    at.e = embed_directly<T>(input, centre, mu);
  at.solution = solve({at.e.n, at.e.k, at.e.points, input.weights, threshold_of(mu, at.e),
                       max_iterations, gap_to_stop_at(tolerance)});
  return at;
}

template <Real T>
SampleInfo locate(double mu, double tolerance, int max_iterations, const Input<T>& input,
                  std::span<T> out) {
  constexpr int kMostRounds = 4;
  if (const auto info = locate_on_line(mu, input, out)) return *info;
  SampleInfo info;
  std::vector<T> centre;  // empty: the componentwise median
  for (int round = 1;; ++round) {
    const Located at = solve_rows<T>(input, centre.empty() ? nullptr : centre.data(), mu, tolerance,
                                     max_iterations);
    const Embedding& e = at.e;
    const WeberSolution& solution = at.solution;
    const Combined combined = combine_rows(input, e, solution, mu, out);
    info.iterations += solution.iterations;
    info.nan = e.seen.nan;
    info.inf = e.seen.inf;
    info.objective = combined.objective;
    // Where rows were cut the objective was too, by the same at every point; rounding to T raises
    // it by no more than the distance.
    const bool cut = std::any_of(e.cut.begin(), e.cut.end(), [](int c) { return c > 0; });
    const double threshold = threshold_of(mu, e);
    const double slope = input.total * std::max(1.0, threshold);
    const double reached = cut ? solution.objective + slope * combined.rounding
                               : value_of(input.weights, combined.distances, threshold);
    info.gap = solution.stop == Stop::data_point ? 0 : gap_of(reached, solution.bound, e.n);
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
