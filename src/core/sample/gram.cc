#include "core/sample/gram.h"

#include <algorithm>

#include "kernels/gram.h"
#include "kernels/simd.h"

namespace medgrad::estimators {
namespace {

using kernels::kLanes;
using kernels::pair_index;

// Up to this many rows every pair keeps its lanes from block to block; beyond, they would not stay
// in the cache, and are added up after each block.
constexpr std::size_t kKeptLanes = 32;

// The blocks of [0, d) in a few runs, each with its own sums: as many as fit into 64 MiB, and a
// number that depends on n and d alone.
struct Runs {
  std::size_t blocks, count, slots;  // slots: doubles for each pair
  Runs(std::size_t n, std::size_t d)
      : blocks((d + kBlock - 1) / kBlock), slots(n <= kKeptLanes ? kLanes : 1) {
    const std::size_t bytes = pair_index(n, 0) * slots * sizeof(double);
    count = std::clamp<std::size_t>((std::size_t{64} << 20) / bytes, 1, 32);
    count = std::min(count, n <= kKeptLanes ? (blocks + 63) / 64 : (blocks + 1) / 2);
  }
  [[nodiscard]] std::size_t begin(std::size_t run) const { return run * blocks / count; }
};

}  // namespace

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
GramMatrix gram_matrix(const Input<T>& input, const T* centre, const Scales& scales) {
  const std::size_t n = input.n, pairs = pair_index(n, 0);
  const Runs runs(n, input.d);
  const ColumnMedian<T> column_median(n);
  const std::size_t room = pairs * runs.slots;
  SmallVector<double, 256> sums(runs.count * room);
  SmallVector<Count, 2> seen(runs.count);
  for_each(input.pool, runs.count, [&](std::size_t run) {
    Block<T> block(input);
    const std::size_t width = block_width(input.d);
    const std::size_t rows = (n + kernels::kGramRows - 1) / kernels::kGramRows * kernels::kGramRows;
    SmallVector<double, 256> tile(rows * width);
    T medians[kBlock];
    for (std::size_t b = runs.begin(run); b < runs.begin(run + 1); ++b) {
      const std::size_t begin = b * kBlock;
      block.load(begin, std::min(begin + kBlock, input.d));
      const T* c = centre == nullptr ? medians : centre + begin;
      if (centre == nullptr) column_median(block.rows(), block.count(), medians, block.scratch());
      kernels::centred_tile(block.rows(), n, block.count(), c,
                            scales.empty() ? nullptr : scales.data(), width, tile.data());
      double* const to = sums.data() + run * room;
      if (runs.slots == 1) {
        kernels::sum_gram(tile.data(), n, width, to);
      } else {
        kernels::add_gram(tile.data(), n, width, to);
      }
    }
    seen[run] = block.seen();
  });
  GramMatrix gram;
  gram.g.assign(pairs, 0.0);
  for (std::size_t run = 0; run < runs.count; ++run) {
    const double* const from = sums.data() + run * room;
    for (std::size_t p = 0; p < pairs; ++p)
      gram.g[p] += runs.slots == 1 ? from[p] : kernels::sum_lanes(from + p * kLanes);
    gram.seen += seen[run];
  }
  return gram;
}

template std::vector<float> column_medians(const Input<float>&);
template std::vector<double> column_medians(const Input<double>&);
template GramMatrix gram_matrix(const Input<float>&, const float*, const Scales&);
template GramMatrix gram_matrix(const Input<double>&, const double*, const Scales&);

}  // namespace medgrad::estimators
