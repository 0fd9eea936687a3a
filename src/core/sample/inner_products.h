// Inner products of all rows: what rules on whole rows are computed from.
#pragma once

#include <cstddef>
#include <vector>

#include "core/sample/input.h"
#include "core/sample/norms.h"

namespace medgrad::estimators {

// The inner products of points y_i = x_i - m around the componentwise median m of the rows, as
// distances between rows are good to 1e-16 of the distance from m, which is within the bulk. The
// points are the rows and, where a rule needs norms, the origin after them: the centre of the
// options, or 0.
//
//     <y_i, y_k> = g[i * points + k] 2^(exponents_i + exponents_k)
//
// Exponents are there for rows whose squares overflow or vanish, and empty elsewhere.
struct Gram {
  std::size_t points = 0;
  bool origin = false;
  std::vector<double> g;
  std::vector<int> exponents;
  Count seen;

  [[nodiscard]] std::size_t rows() const { return points - (origin ? 1 : 0); }
  [[nodiscard]] const double* row(std::size_t i) const { return g.data() + i * points; }
  [[nodiscard]] int exponent(std::size_t i) const { return exponents.empty() ? 0 : exponents[i]; }
};

// The columns are cut into runs whose number depends on the number of points and d alone, and sums
// of runs are added in their order: whoever adds up all runs has the same bits, wherever each was
// computed.
struct GramRuns {
  std::size_t d, blocks, count;
  GramRuns(std::size_t points, std::size_t d);
  [[nodiscard]] std::size_t begin(std::size_t run) const;  // its first column
  [[nodiscard]] std::size_t end(std::size_t run) const { return begin(run + 1); }
};

// The inner products over the columns of runs [first, last): sums[(run - first) * pairs + pair],
// the lower triangle by kernels::pair_index. `input` has the columns from begin(first) on, `centre`
// the componentwise median there, or null to find it on the way; scales as for the kernels, one for
// each point.
template <Real T>
[[nodiscard]] Count sum_runs(const Input<T>& input, const GramRuns& runs, std::size_t first,
                             std::size_t last, bool origin, const T* centre, const Scales& scales,
                             double* sums);

// The matrix from the sums of all runs.
[[nodiscard]] Gram add_up(std::size_t points, bool origin, const GramRuns& runs,
                          std::span<const double> sums, const Scales& scales);

// All of it, in one pass; three where squares overflow or vanish.
template <Real T>
[[nodiscard]] Gram gram_of(const Input<T>& input, bool origin);

}  // namespace medgrad::estimators
