// The l_p median: hands p = 1, 2 and infinity to their own methods, and brings the rest to the
// solver and back. Works on a copy of the rows in double.
#include "core/sample/lp.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "core/sample/embedding.h"
#include "core/sample/estimators.h"
#include "core/sample/line.h"
#include "core/sample/norms.h"

namespace medgrad::estimators {
namespace {

// Copies row k, cleaned, to out.
template <Real T>
void copy_row(const Input<T>& input, std::size_t k, std::span<T> out) {
  for_each_block(input, static_cast<const T*>(nullptr),
                 [&](std::size_t, Block<T>& block, std::size_t begin, std::size_t) {
                   std::copy_n(block.rows()[k], block.count(), &out[begin]);
                 });
}

// Brings rows that are farther away than 2^60 times all minimisers down to that, by powers of two:
// their pull does not change by a digit, and their rounding errors become shorter than the bulk.
void bring_nearer(Embedding& e, const LpProblem& problem) {
  constexpr int kFar = 60;
  const std::vector<double> norms = lp_norms(problem, std::vector<double>(e.k));
  const double radius = search_radius(norms, problem.weights);
  if (!(radius > 0)) return;  // all minimisers are at the centre
  for (std::size_t i = 0; i < e.n; ++i) {
    const int excess = norms[i] > 0 ? std::ilogb(norms[i]) - std::ilogb(radius) - kFar : 0;
    if (excess <= 0) continue;
    e.cut[i] += excess;
    for (std::size_t j = 0; j < e.k; ++j)
      e.points[i * e.k + j] = std::ldexp(e.points[i * e.k + j], -excess);
  }
}

// Writes c + z to `out` and to z what was written, less c.
template <Real T>
void write_estimate(const Embedding& e, std::vector<double>& z, std::span<T> out) {
  for (std::size_t j = 0; j < out.size(); ++j) {
    const double c = e.centre[j];
    out[j] = clamp_to_finite(static_cast<T>(c + std::ldexp(z[j], e.exponent)));
    const double moved = static_cast<double>(out[j]) - c;
    z[j] = std::isfinite(moved)
               ? std::ldexp(moved, -e.exponent)
               : std::ldexp(static_cast<double>(out[j]) / 2 - c / 2, 1 - e.exponent);
  }
}

// sum omega_i |z - x_i|_p in units of the data, from the norms of points that may have been cut.
template <Real T>
double objective_of(const Input<T>& input, const Embedding& e, const std::vector<double>& norms) {
  const int most = *std::max_element(e.cut.begin(), e.cut.end());
  double f = 0;
  for (std::size_t i = 0; i < e.n; ++i)
    f += input.weights[i] * std::ldexp(norms[i], e.cut[i] - most);
  return std::ldexp(f, e.exponent + most + input.weight_exponent);
}

// Rows on a line have a closed form (line.h).
template <Real T>
std::optional<SampleInfo> lp_on_line(double p, const Input<T>& input, std::span<T> out) {
  const std::optional<Middle> middle = median_on_line(input);
  if (!middle) return std::nullopt;
  write_midpoint(input, *middle, out);
  const Embedding e = embed_directly<T>(input, out.data());
  const LineNorms norms = line_norms(e, p);
  const auto f = [&](const std::vector<double>& r) {
    return std::inner_product(r.begin(), r.end(), input.weights.begin(), 0.0);
  };
  SampleInfo info = line_info(*middle, e, f(norms.p), f(norms.along));
  info.objective = objective_of(input, e, norms.p);
  return info;
}

template <Real T>
SampleInfo general_lp(const LpMedian& method, const Input<T>& input, std::span<T> out) {
  if (const auto info = lp_on_line(method.p, input, out)) return *info;
  Embedding e = embed_directly(input, static_cast<const T*>(nullptr));
  // Newton's method divides by weights; below this they make no difference.
  std::vector<double> weights(input.weights.begin(), input.weights.end());
  for (double& w : weights) w = std::max(w, std::numeric_limits<double>::min());
  const LpProblem problem{e.n,
                          e.k,
                          e.points,
                          weights,
                          method.p,
                          method.max_iterations,
                          gap_to_stop_at(method.tolerance),
                          input.pool};
  bring_nearer(e, problem);
  LpSolution solution = solve(problem);
  if (solution.stop == Stop::data_point) {
    copy_row(input, solution.row, out);
  } else {
    write_estimate(e, solution.z, out);
  }
  SampleInfo info;
  info.nan = e.seen.nan;
  info.inf = e.seen.inf;
  info.iterations = solution.iterations;
  const std::vector<double> norms = lp_norms(problem, solution.z);
  info.objective = objective_of(input, e, norms);
  // With far rows brought nearer: differences are the same, and f is not longer.
  const double f = std::inner_product(norms.begin(), norms.end(), weights.begin(), 0.0);
  if (solution.stop != Stop::data_point) {
    info.gap = gap_of(f, solution.bound, e.n);
  } else if (solution.bound > 0) {  // what it may be off by
    info.gap = solution.bound / f;
  }
  info.stop = reason(solution.stop, info.gap, method.tolerance);
  return info;
}

}  // namespace

template <Real T>
SampleInfo lp_median(const LpMedian& method, const Input<T>& input, std::span<T> out) {
  if (method.p == 1) return median(input, out);
  if (method.p == 2)
    return geometric_median(GeometricMedian{method.tolerance, method.max_iterations}, input, out);
  need_all_columns(input);
  if (method.p == kInfinity) return minimax_median(input, out);
  return general_lp(method, input, out);
}

template SampleInfo lp_median(const LpMedian&, const Input<float>&, std::span<float>);
template SampleInfo lp_median(const LpMedian&, const Input<double>&, std::span<double>);

}  // namespace medgrad::estimators
