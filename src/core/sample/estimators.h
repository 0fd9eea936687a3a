// The families of sample estimators, behind aggregate(): input is checked, out has length d.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "core/sample/input.h"

namespace medgrad::estimators {

// The gap at which an iteration stops before rounding stops it. There is none (0) for tolerances of
// 1e-8 and less: an objective within 1e-8 of its optimum means a point with half its digits,
// Newton's method has the others two steps later, and those cost nothing beside the passes over the
// data.
[[nodiscard]] inline double gap_to_stop_at(double tolerance) {
  return tolerance > 1e-8 ? tolerance : 0;
}
// A bound of (f - optimum) / f from a lower bound of the optimum, for sums over n rows. What cannot
// be computed bounds nothing, and a difference is not known better than to rounding, which grows
// like the root of n: 0 is for what is proved.
[[nodiscard]] inline double gap_of(double f, double bound, std::size_t n) {
  if (f == 0) return 0;  // every row is at m
  const double rounding =
      (4 + 2 * std::sqrt(static_cast<double>(n))) * std::numeric_limits<double>::epsilon();
  const double gap = (f - bound) / f;
  return std::isnan(gap) ? kInfinity : std::max(0.0, gap) + rounding;
}
// Why an iteration stopped, as the caller is told.
[[nodiscard]] inline Stop reason(Stop stop, double gap, double tolerance) {
  if (stop == Stop::data_point) return stop;
  if (gap <= tolerance) return Stop::tolerance;
  return stop == Stop::tolerance ? Stop::rounding : stop;
}

// columns.cc
template <Real T>
SampleInfo median(const Input<T>& input, std::span<T> out);
template <Real T>
SampleInfo trimmed_mean(std::size_t f, const Input<T>& input, std::span<T> out);

// means.cc
template <Real T>
SampleInfo mean(const Input<T>& input, std::span<T> out);
template <Real T>
SampleInfo clipped_mean(double clip, const Input<T>& input, std::span<T> out);
// The means of consecutive runs of rows, of which there are `blocks` (0: the square root of n,
// rounded up), and what was not finite.
template <Real T>
struct BlockMeans {
  std::size_t blocks;
  std::vector<T> means;
  Count seen;
  // The first row of a block; beyond the last one n.
  [[nodiscard]] std::size_t first(std::size_t block, std::size_t n) const {
    return block * n / blocks;
  }
  // The means as rows, for an estimator; they must outlive it.
  [[nodiscard]] Input<T> input_like(const Input<T>& input) const;
};
template <Real T>
[[nodiscard]] BlockMeans<T> block_means(std::size_t blocks, const Input<T>& input);
template <Real T>
SampleInfo median_of_means(std::size_t blocks, double p, const Input<T>& input, std::span<T> out);

// spatial.cc
template <Real T>
SampleInfo geometric_median(const GeometricMedian& method, const Input<T>& input, std::span<T> out);
template <Real T>
SampleInfo huber_location(const HuberLocation& method, const Input<T>& input, std::span<T> out);

// lp.cc: any p; minimax.cc: p = infinity.
template <Real T>
SampleInfo lp_median(const LpMedian& method, const Input<T>& input, std::span<T> out);
template <Real T>
SampleInfo minimax_median(const Input<T>& input, std::span<T> out);

}  // namespace medgrad::estimators
