#include "core/sample/inner_products.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/sample/close_pairs.h"
#include "kernels/gram.h"
#include "kernels/matrix.h"

namespace medgrad::estimators {
namespace {

using kernels::pair_index;

template <Real T>
Scales scales_around(const Input<T>& input, const std::vector<T>& medians, bool origin) {
  std::vector<double> largest =
      largest_entries(input, medians.data(), static_cast<const T*>(nullptr));
  if (origin) {
    std::vector<double> parts(chunks_of(input).count);
    for (std::size_t k = 0; k < chunks_here(input); ++k) {
      const ChunkHere chunk = chunk_here(input, k);
      double& most = parts[chunk.number];
      for (std::size_t j = chunk.begin; j < chunk.end; ++j) {
        const double o = input.center.empty() ? 0.0 : static_cast<double>(input.center[j]);
        most = std::max(most, std::abs(o - static_cast<double>(medians[j])));
      }
    }
    share(input, parts.data(), 1);
    largest.push_back(parts.empty() ? 0.0 : *std::max_element(parts.begin(), parts.end()));
  }
  return scales_for(largest);
}

}  // namespace

Scaled Gram::square(std::size_t i, std::size_t k) const {
  if (!squares.empty()) return squares[i * points + k];
  const double *gi = row(i), *gk = row(k);
  if (exponents.empty()) return {std::max(0.0, gi[i] + gk[k] - 2 * gi[k]), 0};
  const int e = std::max(exponents[i], exponents[k]);
  const double a = std::ldexp(1.0, exponents[i] - e), b = std::ldexp(1.0, exponents[k] - e);
  return {std::max(0.0, a * a * gi[i] + b * b * gk[k] - 2 * a * b * gi[k]), 2 * e};
}

Gram add_up(std::size_t points, bool origin, const GramRuns& runs, std::span<const double> sums,
            const Scales& scales, ThreadPool* pool) {
  const std::size_t pairs = pair_index(points, 0);
  Gram gram;
  gram.points = points;
  gram.origin = origin;
  gram.g.resize(points * points);
  const std::vector<double> ones(runs.count, 1.0);
  Matrix all(pairs);
  // The upper triangle a few columns at a time, as a line of the cache has them.
  constexpr std::size_t kColumns = 8;
  for_each_band(pool, points, [&](std::size_t from, std::size_t to) {
    const std::size_t first = pair_index(from, 0), count = pair_index(to, 0) - first;
    kernels::add_lines(sums.data() + first, runs.count, count, pairs, ones.data(), &all[first]);
    for (std::size_t begin = from; begin < to; begin += kColumns) {
      const std::size_t end = std::min(begin + kColumns, to);
      for (std::size_t i = begin; i < end; ++i)
        std::copy_n(&all[pair_index(i, 0)], i + 1, &gram.g[i * points]);
      for (std::size_t k = 0; k < end; ++k)
        for (std::size_t i = std::max(begin, k); i < end; ++i)
          gram.g[k * points + i] = gram.g[i * points + k];
    }
  });
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
  const GramRuns runs(points, input.whole());
  Matrix sums(runs.count * pair_index(points, 0));
  Count seen = sum_runs(input, runs, origin, static_cast<const T*>(nullptr), {}, sums.data());
  Gram gram = add_up(points, origin, runs, sums, {}, input.pool);
  bool safe = true;
  for (std::size_t i = 0; i < points; ++i) safe = safe && safe_square(gram.row(i)[i]);
  if (!safe) {
    const std::vector<T> medians = column_medians(input);
    const Scales scales = scales_around(input, medians, origin);
    seen = sum_runs(input, runs, origin, medians.data(), scales, sums.data());
    gram = add_up(points, origin, runs, sums, scales, input.pool);
  }
  gram.seen = seen;
  measure_close_pairs(input, gram);
  return gram;
}

template Gram gram_of(const Input<float>&, bool);
template Gram gram_of(const Input<double>&, bool);

}  // namespace medgrad::estimators
