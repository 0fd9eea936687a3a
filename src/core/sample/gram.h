// Inner products of all pairs of rows, in one pass over the data.
//
// Whatever depends on the rows through their mutual distances alone (the geometric median, Krum,
// nearest neighbours) works on this n x n matrix:  |x_i - x_k|^2 = g_ii + g_kk - 2 g_ik.
#pragma once

#include <cstddef>
#include <vector>

#include "core/sample/input.h"
#include "core/sample/norms.h"
#include "core/small_vector.h"
#include "kernels/gram.h"

namespace medgrad::estimators {

struct GramMatrix {
  SmallVector<double, 128> g;  // lower triangle, by kernels::pair_index
  Count seen;                  // what was not finite

  [[nodiscard]] double operator()(std::size_t i, std::size_t k) const {
    return g[i >= k ? kernels::pair_index(i, k) : kernels::pair_index(k, i)];
  }
};

// g_ik = s_i s_k <x_i - c, x_k - c>. The centre (length d; null: the componentwise median, found in
// the same pass) ought to be within the bulk, as distances are good to 1e-16 of the distance from
// it. Scales as in kernels::centred_tile; empty: none. Products are of doubles, fused; the bits
// depend on the rows, their order and nothing else, and equal rows have equal products.
template <Real T>
[[nodiscard]] GramMatrix gram_matrix(const Input<T>& input, const T* centre, const Scales& scales);

// How columns are cut for it: into runs, whose number depends on the number of points and d alone.
// Sums over runs are added in their order. A run is a chunk (thread_pool.h), or several, or a part
// of one: whoever has whole chunks, `group` of them at a time, has whole runs.
struct GramRuns {
  Chunks chunks;
  std::size_t group = 1;   // chunks of a run
  std::size_t pieces = 1;  // runs of a chunk; one of the two is 1
  std::size_t count;
  std::size_t slots;  // doubles for each pair while a run is summed up
  GramRuns(std::size_t points, std::size_t d);
  [[nodiscard]] std::size_t begin(std::size_t run) const;  // its first column
  [[nodiscard]] std::size_t end(std::size_t run) const { return begin(run + 1); }
};

// Of runs that were summed up before all columns were there: those of sum_runs() around the
// componentwise medians, with the rows in the caller's order.
struct KnownProducts {
  bool origin = false;
  std::vector<double> sums = {};
  Count seen = {};
};

// sums[run * pairs + pair] for all runs, pairs by kernels::pair_index. With `origin` there is one
// more point after the rows: the centre of the input, 0 where it has none. What the input knows
// already is taken from there.
template <Real T>
[[nodiscard]] Count sum_runs(const Input<T>& input, const GramRuns& runs, bool origin,
                             const T* centre, const Scales& scales, double* sums);

// The componentwise median of the rows, missing entries left out.
template <Real T>
[[nodiscard]] std::vector<T> column_medians(const Input<T>& input);

}  // namespace medgrad::estimators
