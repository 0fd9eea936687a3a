#include "core/sample/inner_products.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/sample/gram.h"
#include "kernels/gram.h"
#include "kernels/simd.h"

namespace medgrad::estimators {
namespace {

using kernels::kLanes;
using kernels::pair_index;

template <Real T>
Scales scales_around(const Input<T>& input, const std::vector<T>& medians, bool origin) {
  std::vector<double> largest =
      largest_entries(input, medians.data(), static_cast<const T*>(nullptr));
  if (origin) {
    double most = 0;
    for (std::size_t j = 0; j < input.d; ++j) {
      const double o = input.center.empty() ? 0.0 : static_cast<double>(input.center[j]);
      most = std::max(most, std::abs(o - static_cast<double>(medians[j])));
    }
    largest.push_back(most);
  }
  return scales_for(largest);
}

}  // namespace

GramRuns::GramRuns(std::size_t points, std::size_t columns)
    : d(columns), blocks((columns + kBlock - 1) / kBlock) {
  const std::size_t bytes = pair_index(points, 0) * sizeof(double);
  count = std::clamp<std::size_t>((std::size_t{64} << 20) / bytes, 1, 32);
  count = std::max<std::size_t>(1, std::min(count, (blocks + 63) / 64));
}

std::size_t GramRuns::begin(std::size_t run) const {
  return std::min(run * blocks / count * kBlock, d);
}

template <Real T>
Count sum_runs(const Input<T>& input, const GramRuns& runs, std::size_t first, std::size_t last,
               bool origin, const T* centre, const Scales& scales, double* sums) {
  const std::size_t points = input.n + (origin ? 1 : 0), pairs = pair_index(points, 0);
  const std::size_t start = runs.begin(first);
  const ColumnMedian<T> column_median(input.n);
  std::vector<Count> seen(last - first);
  for_each(input.pool, last - first, [&](std::size_t at) {
    Block<T> block(input);
    const std::size_t width = block_width(input.d);
    SmallVector<double, 256> tile(points * width), lanes(pairs * kLanes);
    SmallVector<const T*, 16> rows(points);
    T medians[kBlock];
    const T zero[kBlock] = {};
    const std::size_t end = runs.end(first + at) - start;
    for (std::size_t begin = runs.begin(first + at) - start; begin < end; begin += kBlock) {
      block.load(begin, std::min(begin + kBlock, end));
      const T* const c = centre == nullptr ? medians : centre + begin;
      if (centre == nullptr) column_median(block.rows(), block.count(), medians, block.scratch());
      std::copy_n(block.rows(), input.n, rows.begin());
      if (origin) rows[input.n] = input.center.empty() ? zero : input.center.data() + begin;
      kernels::centred_tile(rows.data(), points, block.count(), c,
                            scales.empty() ? nullptr : scales.data(), width, tile.data());
      kernels::add_gram(tile.data(), points, width, lanes.data());
    }
    for (std::size_t p = 0; p < pairs; ++p)
      sums[at * pairs + p] = kernels::sum_lanes(lanes.data() + p * kLanes);
    seen[at] = block.seen();
  });
  Count all;
  for (const Count& one : seen) all += one;
  return all;
}

Gram add_up(std::size_t points, bool origin, const GramRuns& runs, std::span<const double> sums,
            const Scales& scales) {
  const std::size_t pairs = pair_index(points, 0);
  Gram gram;
  gram.points = points;
  gram.origin = origin;
  gram.g.resize(points * points);
  for (std::size_t i = 0; i < points; ++i) {
    for (std::size_t k = 0; k <= i; ++k) {
      double sum = 0;
      for (std::size_t run = 0; run < runs.count; ++run)
        sum += sums[run * pairs + pair_index(i, k)];
      gram.g[i * points + k] = gram.g[k * points + i] = sum;
    }
  }
  // A point at m has no size: it gets the smallest one, which it does not spoil.
  int least = std::numeric_limits<int>::max();
  for (std::size_t i = 0; i < scales.size(); ++i) {
    gram.exponents.push_back(-std::ilogb(scales[i]));
    if (gram.row(i)[i] > 0) least = std::min(least, gram.exponents[i]);
  }
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (gram.row(i)[i] == 0)
      gram.exponents[i] = least == std::numeric_limits<int>::max() ? 0 : least;
  }
  return gram;
}

template <Real T>
Gram gram_of(const Input<T>& input, bool origin) {
  const std::size_t points = input.n + (origin ? 1 : 0);
  const GramRuns runs(points, input.d);
  std::vector<double> sums(runs.count * pair_index(points, 0));
  Count seen =
      sum_runs(input, runs, 0, runs.count, origin, static_cast<const T*>(nullptr), {}, sums.data());
  Gram gram = add_up(points, origin, runs, sums, {});
  bool safe = true;
  for (std::size_t i = 0; i < points; ++i) safe = safe && safe_square(gram.row(i)[i]);
  if (!safe) {
    const std::vector<T> medians = column_medians(input);
    const Scales scales = scales_around(input, medians, origin);
    seen = sum_runs(input, runs, 0, runs.count, origin, medians.data(), scales, sums.data());
    gram = add_up(points, origin, runs, sums, scales);
  }
  gram.seen = seen;
  return gram;
}

template Count sum_runs(const Input<float>&, const GramRuns&, std::size_t, std::size_t, bool,
                        const float*, const Scales&, double*);
template Count sum_runs(const Input<double>&, const GramRuns&, std::size_t, std::size_t, bool,
                        const double*, const Scales&, double*);
template Gram gram_of(const Input<float>&, bool);
template Gram gram_of(const Input<double>&, bool);

}  // namespace medgrad::estimators
