// MeaMed: per component, the mean of the values nearest to the median.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/sample/input.h"
#include "kernels/mean.h"
#include "kernels/select.h"
#include "kernels/sorted.h"
#include "medgrad/rules.h"

namespace medgrad {
namespace {

using estimators::Block;
using estimators::clamp_to_finite;
using estimators::Count;
using estimators::Input;

// One column, in row order, with room for as many values again. Of values that are equally far from
// the median the first ones are taken. Where that is between two of them, how far others are beyond
// those is compared: the middle itself may have to be rounded.
template <Real T>
T one_column(std::span<const T> values, std::size_t f, std::vector<T>& room) {
  const std::size_t n = values.size(), kept = n - std::min(f, (n - 1) / 2);
  room.assign(values.begin(), values.end());
  const auto half = room.begin() + static_cast<std::ptrdiff_t>(n / 2);
  std::nth_element(room.begin(), half, room.end());
  const T upper = *half, lower = n % 2 == 1 ? upper : *std::max_element(room.begin(), half);
  const auto distance = [&](T x) {
    return std::min(std::max(lower - x, x - upper), std::numeric_limits<T>::max());
  };
  for (std::size_t i = 0; i < n; ++i) room[i] = distance(values[i]);
  const auto last = room.begin() + static_cast<std::ptrdiff_t>(kept - 1);
  std::nth_element(room.begin(), last, room.end());
  const T most = *last;
  // How many of those that are just that far: nth_element left all nearer ones before it.
  std::size_t ties = 1 + static_cast<std::size_t>(std::count(room.begin(), last, most));
  const double count = static_cast<double>(kept);
  double sum = 0, shares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const T r = distance(values[i]);
    if (r > most || (r == most && ties == 0)) continue;
    if (r == most) --ties;
    sum += static_cast<double>(values[i]);
    shares += static_cast<double>(values[i]) / count;
  }
  return clamp_to_finite(std::isfinite(sum) ? kernels::Divisor<T>(count).mean(sum)
                                            : static_cast<T>(shares));
}

// What the kernels leave: ties, where the order of the rows counts, and sums that overflow.
template <Real T>
void finish_odd(const T* const* rows, std::size_t n, std::size_t begin, std::size_t count,
                std::size_t f, std::span<const T> odd, T* out) {
  std::vector<T> column, room;
  for (std::size_t j = 0; j < count; ++j) {
    if (odd[j] == 0) continue;
    column.clear();
    for (std::size_t i = 0; i < n; ++i) column.push_back(rows[i][begin + j]);
    out[j] = one_column<T>(column, f, room);
  }
}

// The columns of a block; false if an entry is not finite. With `odd` those that are not settled.
template <Real T>
bool near_by_counting(Block<T>& block, std::size_t n, std::size_t f, T* out, T* odd) {
  estimators::MatrixOf<T>& room = block.scratch();
  room.resize(std::max(room.size(), kernels::near_room<T>(n, block.count())));
  return kernels::near_columns<T>(block.rows(), n, block.count(), f, out, odd, room.data());
}

// The columns of a block by counting, or in networks; false if an entry is not finite.
template <Real T>
bool near_block(Block<T>& block, std::size_t n, std::size_t f, T* out) {
  T odd[estimators::kBlock];
  if (n > kernels::kMostCounted) {
    std::fill_n(odd, block.count(), T{1});
  } else if (n <= kernels::kSortedRows) {
    if (kernels::sorted_near_means<T>(block.rows(), n, 0, block.count(), f, out, odd).settled)
      return true;
  } else if (!near_by_counting<T>(block, n, f, out, odd)) {
    return false;
  }
  finish_odd<T>(block.rows(), n, 0, block.count(), f, odd, out);
  return true;
}

// A block with entries missing: they take no part in their columns.
template <Real T>
void with_missing(const Input<T>& in, std::size_t f, std::size_t begin, std::size_t end,
                  std::vector<T>& column, std::vector<T>& room, std::span<T> out) {
  for (std::size_t j = begin; j < end; ++j) {
    column.clear();
    for (std::size_t i = 0; i < in.n; ++i)
      if (!std::isnan(in.rows[i][j])) column.push_back(clamp_to_finite(in.rows[i][j]));
    out[j] = one_column<T>(column, f, room);
  }
}

}  // namespace

template <Real T>
SampleInfo MeaMed::estimate(const Input<T>& in, std::span<T> result) const {
  const Count seen = estimators::write_whole(in, result, [&](std::span<T> out) {
    return estimators::for_each_direct_step(
        in,
        [&](std::size_t begin, std::size_t end) {
          T odd[estimators::kDirectStep];
          const kernels::NearMeans means =
              kernels::sorted_near_means<T>(in.rows.data(), in.n, begin, end, f, &out[begin], odd);
          if (means.finite && !means.settled)
            finish_odd<T>(in.rows.data(), in.n, begin, end - begin, f, odd, &out[begin]);
          return means.finite;
        },
        [&](Block<T>& block, std::size_t begin, std::size_t end) {
          if (in.n > kernels::kSortedRows && in.n <= kernels::kMostCounted) {
            block.point_at(begin, end);
            if (near_block(block, in.n, f, &out[begin])) return;
          }
          block.load(begin, end);
          if (block.finite()) {
            (void)near_block(block, in.n, f, &out[begin]);
            return;
          }
          std::vector<T> column, room;
          with_missing(in, f, begin, end, column, room, out);
        },
        kernels::kSortedDirectly);
  });
  SampleInfo info;
  info.nan = seen.nan;
  info.inf = seen.inf;
  return info;
}

template SampleInfo MeaMed::estimate(const Input<float>&, std::span<float>) const;
template SampleInfo MeaMed::estimate(const Input<double>&, std::span<double>) const;

}  // namespace medgrad
