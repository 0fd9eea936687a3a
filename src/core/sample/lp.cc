// The l_p median: hands p = 1, 2 and infinity to their own methods, and brings the rest to the
// solver and back. Works on a copy of the rows in double.
#include "core/sample/lp.h"

#include <algorithm>
#include <cmath>

#include "core/sample/embedding.h"
#include "core/sample/estimators.h"

namespace medgrad::sample {
namespace {

// Copies row k, cleaned, to out.
template <Real T>
void copy_row(const Input<T>& input, std::size_t k, std::span<T> out) {
  for_each_block(input, static_cast<const T*>(nullptr),
                 [&](std::size_t, Block<T>& block, std::size_t begin, std::size_t) {
                   std::copy_n(block.rows()[k], block.count(), &out[begin]);
                 });
}

template <Real T>
SampleInfo general_lp(const LpMedian& method, const Input<T>& input, std::span<T> out) {
  const Embedding e = embed_directly(input, static_cast<const T*>(nullptr));
  const LpProblem problem{e.n,       e.k, e.points, input.weights, method.p, method.max_iterations,
                          input.pool};
  LpSolution solution = solve(problem);
  if (solution.stop == Stop::data_point) {
    copy_row(input, solution.row, out);
  } else {
    for (std::size_t j = 0; j < input.d; ++j) {
      const double c = e.centre[j];
      out[j] = clamp_to_finite(static_cast<T>(c + std::ldexp(solution.z[j], e.exponent)));
      const double moved = static_cast<double>(out[j]) - c;  // with its rounding
      solution.z[j] = std::isfinite(moved)
                          ? std::ldexp(moved, -e.exponent)
                          : std::ldexp(static_cast<double>(out[j]) / 2 - c / 2, 1 - e.exponent);
    }
  }
  SampleInfo info;
  info.nan = e.seen.nan;
  info.inf = e.seen.inf;
  info.iterations = solution.iterations;
  info.stop = solution.stop;
  const double f = lp_objective(problem, solution.z);
  info.objective = std::ldexp(f, e.exponent);
  if (info.stop == Stop::data_point) {
    info.gap = f > 0 ? solution.bound / f : 0;
  } else {
    info.gap = f > 0 ? std::max(0.0, (f - solution.bound) / f) : 0;
    if (info.gap <= method.tolerance) info.stop = Stop::tolerance;
  }
  return info;
}

}  // namespace

template <Real T>
SampleInfo lp_median(const LpMedian& method, const Input<T>& input, std::span<T> out) {
  if (method.p == 1) return median(input, out);
  if (method.p == 2)
    return geometric_median(GeometricMedian{method.tolerance, method.max_iterations}, input, out);
  if (method.p == kInfinity) return minimax_median(input, out);
  return general_lp(method, input, out);
}

template SampleInfo lp_median(const LpMedian&, const Input<float>&, std::span<float>);
template SampleInfo lp_median(const LpMedian&, const Input<double>&, std::span<double>);

}  // namespace medgrad::sample
