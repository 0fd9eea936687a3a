#include "core/sample/gram.h"

#include <algorithm>
#include <cmath>

#include "kernels/gram.h"
#include "kernels/simd.h"

namespace medgrad::estimators {
namespace {

using kernels::kLanes;
using kernels::pair_index;

// Up to this many rows every pair keeps its lanes from block to block; beyond, they would not stay
// in the cache, and are added up after each block.
constexpr std::size_t kKeptLanes = 32;
// Up to this many, rows are centred on the way to the products, and not copied before.
constexpr std::size_t kDirectRows = kKeptLanes;

// The known sums, for the rows in the order of the input. An inner product has the same bits
// whichever of the two comes first.
template <Real T>
void take_known(const Input<T>& input, std::size_t points, std::size_t runs, double* sums) {
  const std::size_t pairs = pair_index(points, 0);
  const auto number = [&](std::size_t i) {
    return i < input.order.size() ? input.order[i] : i;  // the origin is after them
  };
  for (std::size_t i = 0; i < points; ++i) {
    for (std::size_t k = 0; k <= i; ++k) {
      const std::size_t a = std::max(number(i), number(k)), b = std::min(number(i), number(k));
      for (std::size_t run = 0; run < runs; ++run)
        sums[run * pairs + pair_index(i, k)] = input.known->sums[run * pairs + pair_index(a, b)];
    }
  }
}

}  // namespace

// Few rows: chunk by chunk. Many: some 32 runs, but no more than have room for their sums in 64
// MiB, and none of less than two blocks.
GramRuns::GramRuns(std::size_t points, std::size_t columns)
    : chunks(chunks_for(columns)), slots(points <= kKeptLanes ? kLanes : 1) {
  if (points > kKeptLanes) {
    const std::size_t bytes = pair_index(points, 0) * sizeof(double);
    const std::size_t most = std::clamp<std::size_t>((std::size_t{64} << 20) / bytes, 1, 32);
    while ((chunks.count + group - 1) / group > most) group *= 2;
    const std::size_t blocks = (std::min(chunks.size, columns) + kBlock - 1) / kBlock;
    if (chunks.count > 0)
      pieces =
          std::clamp<std::size_t>(most / chunks.count, 1, std::max<std::size_t>(1, blocks / 2));
  }
  count = (chunks.count + group - 1) / group * pieces;
}

std::size_t GramRuns::begin(std::size_t run) const {
  if (run >= count) return chunks.n;
  const std::size_t chunk = run / pieces * group, begin = chunks.begin(chunk);
  const std::size_t blocks = (chunks.end(chunk) - begin + kBlock - 1) / kBlock;
  return begin + run % pieces * blocks / pieces * kBlock;
}

template <Real T>
std::vector<T> column_medians(const Input<T>& input) {
  std::vector<T> centre(input.d);
  const ColumnMedian<T> column_median(input.n);
  for_each_block(input, static_cast<const T*>(nullptr),
                 [&](std::size_t, Block<T>& block, std::size_t begin, std::size_t) {
                   column_median(block.rows(), block.count(), &centre[begin], block.scratch());
                 });
  return centre;
}

template <Real T>
Count sum_runs(const Input<T>& input, const GramRuns& runs, bool origin, const T* centre,
               const Scales& scales, double* sums) {
  const std::size_t points = input.n + (origin ? 1 : 0), pairs = pair_index(points, 0);
  if (input.known != nullptr && input.known->origin == origin && centre == nullptr &&
      scales.empty()) {
    take_known(input, points, runs.count, sums);
    share(input, sums, runs.pieces * pairs, runs.group);
    return input.known->seen;
  }
  const std::size_t padded =
      (points + kernels::kGramRows - 1) / kernels::kGramRows * kernels::kGramRows;
  const std::size_t width = block_width(input.whole()), chunks = chunks_here(input);
  const std::size_t here = (chunks + runs.group - 1) / runs.group * runs.pieces;
  const bool direct = points <= kDirectRows && scales.empty();
  const ColumnMedian<T> column_median(input.n);
  SmallVector<Count, 2> seen(here);
  for_each(input.pool, here, [&](std::size_t at) {
    const ChunkHere chunk = chunk_here(input, at / runs.pieces * runs.group);
    const std::size_t run = chunk.number / runs.group * runs.pieces + at % runs.pieces;
    Block<T> block(input);
    double* const to = sums + run * pairs;
    SmallVector<double, 256> tile(padded * width), lanes(runs.slots == 1 ? 0 : pairs * kLanes);
    SmallVector<double, 256> before;
    SmallVector<const T*, 16> rows(points);
    T medians[kDirectStep];
    const T zero[kDirectStep] = {};
    std::fill_n(to, pairs, 0.0);
    const std::size_t first = chunk.begin + runs.begin(run) - runs.chunks.begin(chunk.number);
    const std::size_t end = first + runs.end(run) - runs.begin(run);
    const double* const factors = scales.empty() ? nullptr : scales.data();
    const auto point_at = [&](const T* const* of, std::size_t offset, std::size_t begin) {
      for (std::size_t i = 0; i < input.n; ++i) rows[i] = of[i] + offset;
      if (origin) rows[input.n] = input.center.empty() ? zero : input.center.data() + begin;
    };
    const auto centre_at = [&](std::size_t begin, std::size_t count) {
      if (centre != nullptr) return centre + begin;
      column_median(rows.data(), count, medians, block.scratch());
      return static_cast<const T*>(medians);
    };
    const auto add = [&](std::size_t begin, std::size_t count) {
      kernels::add_gram(rows.data(), points, count, centre_at(begin, count), factors, width,
                        tile.data(), lanes.data());
    };
    // A few finite rows are read once: what was not finite shows in the squares.
    const auto add_directly = [&](std::size_t begin, std::size_t count) {
      point_at(input.rows.data(), begin, begin);
      before = lanes;
      add(begin, count);
      for (std::size_t i = 0; i < points; ++i) {
        const double* const squares = lanes.data() + pair_index(i, i) * kLanes;
        if (std::isfinite(kernels::sum_lanes(squares))) continue;
        lanes = before;
        return false;
      }
      return true;
    };
    const std::size_t step = direct ? kDirectStep : kBlock;
    for (std::size_t start = first; start < end; start += step) {
      const std::size_t stop = std::min(start + step, end);
      if (direct && add_directly(start, stop - start)) continue;
      for (std::size_t begin = start; begin < stop; begin += kBlock) {
        block.load(begin, std::min(begin + kBlock, stop));
        point_at(block.rows(), 0, begin);
        if (runs.slots > 1) {
          add(begin, block.count());
          continue;
        }
        kernels::centred_tile(rows.data(), points, block.count(), centre_at(begin, block.count()),
                              factors, width, tile.data());
        kernels::sum_gram(tile.data(), points, width, to);
      }
    }
    for (std::size_t p = 0; p < pairs && runs.slots > 1; ++p)
      to[p] = kernels::sum_lanes(lanes.data() + p * kLanes);
    seen[at] = block.seen();
  });
  share(input, sums, runs.pieces * pairs, runs.group);
  Count all;
  for (const Count& one : seen) all += one;
  return all;
}

template <Real T>
GramMatrix gram_matrix(const Input<T>& input, const T* centre, const Scales& scales) {
  const std::size_t pairs = pair_index(input.n, 0);
  const GramRuns runs(input.n, input.whole());
  SmallVector<double, 256> sums(runs.count * pairs);
  GramMatrix gram;
  gram.seen = sum_runs(input, runs, false, centre, scales, sums.data());
  gram.g.assign(pairs, 0.0);
  for (std::size_t run = 0; run < runs.count; ++run) {
    for (std::size_t p = 0; p < pairs; ++p) gram.g[p] += sums[run * pairs + p];
  }
  return gram;
}

template std::vector<float> column_medians(const Input<float>&);
template std::vector<double> column_medians(const Input<double>&);
template Count sum_runs(const Input<float>&, const GramRuns&, bool, const float*, const Scales&,
                        double*);
template Count sum_runs(const Input<double>&, const GramRuns&, bool, const double*, const Scales&,
                        double*);
template GramMatrix gram_matrix(const Input<float>&, const float*, const Scales&);
template GramMatrix gram_matrix(const Input<double>&, const double*, const Scales&);

}  // namespace medgrad::estimators
