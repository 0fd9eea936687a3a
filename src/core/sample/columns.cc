// Estimators that take each column by itself: the componentwise median and the trimmed mean.
#include "kernels/columns.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/sample/estimators.h"
#include "core/sample/line.h"
#include "kernels/mean.h"
#include "kernels/select.h"
#include "kernels/sorted.h"

namespace medgrad::estimators {
namespace {

template <Real T>
Count weighted_medians(const Input<T>& input, std::span<T> out) {
  return for_each_block(input, static_cast<const T*>(nullptr),
                        [&](std::size_t, Block<T>& block, std::size_t begin, std::size_t end) {
                          (void)block;  // loaded for its checks; a missing entry has no weight
                          std::vector<Weighted> column(input.n);
                          for (std::size_t j = begin; j < end; ++j) {
                            std::size_t m = 0;
                            for (std::size_t i = 0; i < input.n; ++i) {
                              const T x = input.rows[i][j];
                              if (!std::isnan(x))
                                column[m++] = {double{clamp_to_finite(x)}, input.weights[i]};
                            }
                            const std::span<Weighted> entries = std::span(column).first(m);
                            sort_by_value(entries);
                            const Middle middle = weighted_middle(entries);
                            out[j] = static_cast<T>(std::midpoint(entries[middle.lower].value,
                                                                  entries[middle.upper].value));
                          }
                        });
}

// The mean of finite values; halved and doubled again where the sum would overflow.
template <Real T>
T mean_of(std::span<const T> values) {
  const double m = static_cast<double>(values.size());
  double sum = 0;
  for (const T x : values) sum += static_cast<double>(x);
  if (!std::isfinite(sum)) {
    sum = 0;
    for (const T x : values) sum += static_cast<double>(x) / m;
    return clamp_to_finite(static_cast<T>(sum));
  }
  return kernels::Divisor<T>(m).mean(sum);
}

// One column, by sorting. With entries missing, no more is cut off than leaves the median.
template <Real T>
T trimmed_column(std::span<T> values, std::size_t f) {
  std::sort(values.begin(), values.end());
  f = std::min(f, (values.size() - 1) / 2);
  return mean_of<T>(values.subspan(f, values.size() - 2 * f));
}

template <Real T>
void trim_missing(const Input<T>& input, std::size_t f, std::size_t begin, std::size_t end,
                  std::span<T> out) {
  std::vector<T> values(input.n);
  for (std::size_t j = begin; j < end; ++j) {
    std::size_t m = 0;
    for (std::size_t i = 0; i < input.n; ++i) {
      if (!std::isnan(input.rows[i][j])) values[m++] = clamp_to_finite(input.rows[i][j]);
    }
    out[j] = trimmed_column(std::span(values).first(m), f);
  }
}

// Is it done by counting (kernels/select.h), and not in networks?
template <Real T>
bool trims_by_counting(std::size_t n, std::size_t f) {
  return n > kernels::kSortedRows && !kernels::halves_are_enough<T>(n, f) &&
         n <= kernels::kMostCounted;
}
// The columns of a block; false if an entry is not finite or a sum overflows.
template <Real T>
bool trim_by_counting(Block<T>& block, std::size_t n, std::size_t f, T* out) {
  MatrixOf<T>& room = block.scratch();
  room.resize(std::max(room.size(), kernels::select_room<T>(n, block.count())));
  return kernels::trimmed_columns<T>(block.rows(), n, block.count(), f, out, room.data());
}

// The columns of a finite block; false if a sum overflows, or there are too many rows to count.
template <Real T>
bool trim_block(Block<T>& block, std::size_t n, std::size_t f, T* out) {
  if (n > kernels::kMostCounted) return false;
  if (trims_by_counting<T>(n, f)) return trim_by_counting(block, n, f, out);
  return kernels::sorted_means<T>(block.rows(), n, 0, block.count(), f, out);
}

// sum omega_i |m - x_i|_1 over the columns of a block, entries times `unit`.
template <Real T>
double l1_distances(const Input<T>& input, const Block<T>& block, const T* m, double unit) {
  double sum = 0;
  for (std::size_t i = 0; i < input.n; ++i) {
    double row = 0;
    for (std::size_t j = 0; j < block.count(); ++j)
      row += std::abs(unit * static_cast<double>(m[j]) -
                      unit * static_cast<double>(block.rows()[i][j]));
    sum += input.weights[i] * row;
  }
  return sum;
}

// In units where it cannot overflow, if it does in those of the data.
template <Real T>
double l1_objective(const Input<T>& input, std::span<const T> m) {
  for (const int exponent : {0, 200}) {
    std::vector<double> parts(chunks_of(input).count);
    for_each_block(input, m.data(),
                   [&](std::size_t c, Block<T>& block, std::size_t begin, std::size_t) {
                     parts[c] += l1_distances(input, block, &m[begin], std::ldexp(1.0, -exponent));
                   });
    share(input, parts.data(), 1);
    const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
    if (std::isfinite(sum)) return std::ldexp(sum, exponent + input.weight_exponent);
  }
  return std::numeric_limits<double>::infinity();
}

template <Real T>
Count medians(const Input<T>& input, std::span<T> out) {
  if (input.weighted) return weighted_medians(input, out);
  // A result beyond the second-level cache would be read from memory before it is written there.
  constexpr std::size_t kLargeResult = std::size_t{4} << 20;
  const bool stream = out.size_bytes() >= kLargeResult;
  const ColumnMedian<T> column_median(input.n);
  return for_each_direct_step(
      input,
      [&](std::size_t begin, std::size_t end) {
        if (input.n > kernels::kRegisterRows)
          return kernels::sorted_medians(input.rows.data(), input.n, begin, end, &out[begin]);
        return kernels::register_medians(input.rows.data(), input.n, begin, end, &out[begin],
                                         stream);
      },
      [&](Block<T>& block, std::size_t begin, std::size_t end) {
        if (column_median.by_counting()) {
          block.point_at(begin, end);
          if (column_median.try_counting(block.rows(), end - begin, &out[begin], block.scratch()))
            return;
        }
        block.load(begin, end);
        column_median(block.rows(), block.count(), &out[begin], block.scratch());
      },
      kernels::kSortedDirectly);
}

template <Real T>
Count trimmed_means(std::size_t f, const Input<T>& input, std::span<T> out) {
  const std::size_t n = input.n;
  const auto trim = [&](Block<T>& block, std::size_t begin, std::size_t end) {
    if (trims_by_counting<T>(n, f)) {
      block.point_at(begin, end);
      if (trim_by_counting(block, n, f, &out[begin])) return;
    }
    block.load(begin, end);
    if (!block.finite()) {
      trim_missing(input, f, begin, end, out);
    } else if (!trim_block(block, n, f, &out[begin])) {
      visit_columns(
          block.rows(), n, block.count(), block.scratch(),
          [&](std::size_t j, std::span<T> values) { out[begin + j] = trimmed_column(values, f); });
    }
  };
  return for_each_direct_step(
      input,
      [&](std::size_t begin, std::size_t end) {
        return kernels::sorted_means<T>(input.rows.data(), n, begin, end, f, &out[begin]);
      },
      trim, kernels::kSortedDirectly);
}

}  // namespace

template <Real T>
SampleInfo median(const Input<T>& input, std::span<T> out) {
  const Count seen = write_whole(input, out, [&](std::span<T> to) { return medians(input, to); });
  SampleInfo info;
  info.nan = seen.nan;
  info.inf = seen.inf;
  if (input.objective) info.objective = l1_objective<T>(input, out);
  return info;
}

template <Real T>
SampleInfo trimmed_mean(std::size_t f, const Input<T>& input, std::span<T> out) {
  const Count seen =
      write_whole(input, out, [&](std::span<T> to) { return trimmed_means(f, input, to); });
  SampleInfo info;
  info.nan = seen.nan;
  info.inf = seen.inf;
  return info;
}

template SampleInfo median(const Input<float>&, std::span<float>);
template SampleInfo median(const Input<double>&, std::span<double>);
template SampleInfo trimmed_mean(std::size_t, const Input<float>&, std::span<float>);
template SampleInfo trimmed_mean(std::size_t, const Input<double>&, std::span<double>);

}  // namespace medgrad::estimators
