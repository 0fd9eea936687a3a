// Estimators that average: the mean, the Catoni-Giulini clipped mean, the median of means.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/sample/estimators.h"
#include "core/sample/norms.h"
#include "core/sample/plan.h"
#include "kernels/columns.h"
#include "kernels/combine.h"
#include "kernels/simd.h"

namespace medgrad::estimators {
namespace {

// sum omega_i x_ij / sum omega_i over the rows [first, last) that have an entry in column j; NaN if
// none has. Where the sum overflows, the weights are divided first.
template <Real T>
T mean_of_column(const Input<T>& input, std::size_t first, std::size_t last, std::size_t j) {
  double sum = 0, total = 0;
  for (std::size_t i = first; i < last; ++i) {
    const T x = input.rows[i][j];
    if (std::isnan(x)) continue;
    sum += input.weights[i] * static_cast<double>(clamp_to_finite(x));
    total += input.weights[i];
  }
  if (total == 0) return std::numeric_limits<T>::quiet_NaN();
  if (std::isfinite(sum)) return static_cast<T>(sum / total);
  sum = 0;
  for (std::size_t i = first; i < last; ++i) {
    const T x = input.rows[i][j];
    if (!std::isnan(x)) sum += input.weights[i] / total * static_cast<double>(clamp_to_finite(x));
  }
  return clamp_to_finite(static_cast<T>(sum));
}

// The means of the rows [first, last) in the columns of a block that starts at `begin`.
template <Real T>
void mean_of_block(const Input<T>& input, std::size_t first, std::size_t last,
                   const Block<T>& block, std::size_t begin, T* out) {
  const std::size_t count = block.count();
  double sum[kBlock], unused[kernels::kLanes] = {}, total = 0;
  for (std::size_t i = first; i < last; ++i) total += input.weights[i];
  if (block.finite()) {
    kernels::combine<T>(block.rows() + first, last - first, count, nullptr,
                        input.weights.data() + first, nullptr, sum, out, unused);
  }
  for (std::size_t j = 0; j < count; ++j) {
    if (block.finite() && std::isfinite(sum[j])) {
      out[j] = static_cast<T>(sum[j] / total);
    } else {
      out[j] = mean_of_column(input, first, last, begin + j);
    }
  }
}

// Columns that the mean works on at a time. Many rows are read a few at a time, which pays where
// their pieces are long; sums of the most columns stay in the second-level cache. Steps are about
// as long as each other, and as many for each thread.
constexpr std::size_t kLeastColumns = 4 * kBlock, kMostColumns = 32 * kBlock;
template <Real T>
std::size_t mean_step(const Input<T>& input) {
  const std::size_t threads = input.pool == nullptr ? 1 : input.pool->size();
  const std::size_t rounds = (input.d + kMostColumns * threads - 1) / (kMostColumns * threads);
  const std::size_t steps = std::max<std::size_t>(1, rounds * threads);
  const std::size_t columns = std::max((input.d + steps - 1) / steps, kLeastColumns);
  return (columns + kernels::kLanes - 1) / kernels::kLanes * kernels::kLanes;
}

// The kernel finds non-finite entries under way, so that all is read once.
template <Real T>
Count means(const Input<T>& input, std::span<T> out) {
  const double* const weights = input.weighted ? input.weights.data() : nullptr;
  const auto add_up = [&](Block<T>& block, std::size_t begin, std::size_t end) {
    double sum[kMostColumns];
    if (kernels::column_means(input.rows.data(), input.n, weights, input.total, begin, end, sum,
                              &out[begin]))
      return;
    for (std::size_t b = begin; b < end; b += kBlock) {
      block.load(b, std::min(b + kBlock, end));
      mean_of_block(input, 0, input.n, block, b, &out[b]);
    }
  };
  return for_each_step(input, mean_step(input), add_up);
}

}  // namespace

template <Real T>
SampleInfo mean(const Input<T>& input, std::span<T> out) {
  const Count seen = write_whole(input, out, [&](std::span<T> to) { return means(input, to); });
  SampleInfo info;
  info.nan = seen.nan;
  info.inf = seen.inf;
  return info;
}

template <Real T>
SampleInfo clipped_mean(double clip, const Input<T>& input, std::span<T> out) {
  const std::size_t n = input.n;
  const std::vector<T> zero(input.center.empty() ? input.d : 0);
  const T* const centre = input.center.empty() ? zero.data() : input.center.data();
  const Norms norms = row_norms(input, centre, centre);

  std::vector<double> coefficients(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double scale = norms.scales.empty() ? 1.0 : norms.scales[i];
    const double cut = norms.scaled[i] > clip * scale ? clip * scale / norms.scaled[i] : 1.0;
    coefficients[i] = input.weights[i] / input.total * cut / scale;
  }
  for_each_block(input, centre, [&](std::size_t, Block<T>& block, std::size_t begin, std::size_t) {
    double sum[kBlock], unused[kernels::kLanes] = {};
    kernels::combine<T>(block.rows(), n, block.count(), centre + begin, coefficients.data(),
                        norms.scales.empty() ? nullptr : norms.scales.data(), sum, &out[begin],
                        unused);
    // A huge clip threshold leaves the plain mean, which may touch the largest number.
    for (T& x : out.subspan(begin, block.count())) x = clamp_to_finite(x);
  });
  SampleInfo info;
  info.nan = norms.seen.nan;
  info.inf = norms.seen.inf;
  return info;
}

template <Real T>
BlockMeans<T> block_means(std::size_t blocks, const Input<T>& input) {
  if (blocks == 0) blocks = static_cast<std::size_t>(std::ceil(std::sqrt(input.n)));
  BlockMeans<T> made{blocks, std::vector<T>(blocks * input.d), {}};
  made.seen =
      for_each_block(input, static_cast<const T*>(nullptr),
                     [&](std::size_t, Block<T>& block, std::size_t begin, std::size_t) {
                       for (std::size_t b = 0; b < blocks; ++b) {
                         mean_of_block(input, made.first(b, input.n), made.first(b + 1, input.n),
                                       block, begin, made.means.data() + b * input.d + begin);
                       }
                     });
  return made;
}

template <Real T>
Input<T> BlockMeans<T>::input_like(const Input<T>& input) const {
  // A column that is missing in a whole run of rows is missing in that mean.
  Input<T> of_means = unweighted<T>(blocks, input.d, means.data(), input.d);
  of_means.policy = NonFinite::robust;
  of_means.pool = input.pool;
  of_means.part = input.part;
  of_means.objective = input.objective;
  return of_means;
}

template <Real T>
SampleInfo median_of_means(std::size_t blocks, double p, const Input<T>& input, std::span<T> out) {
  const BlockMeans<T> made = block_means(blocks, input);
  Input<T> of_means = made.input_like(input);
  const LpMedian median{.p = p};
  if (ignores_order(median)) sort_rows(of_means);
  SampleInfo info = median.estimate(of_means, out);
  info.nan = made.seen.nan;
  info.inf = made.seen.inf;
  return info;
}

template struct BlockMeans<float>;
template struct BlockMeans<double>;
template BlockMeans<float> block_means(std::size_t, const Input<float>&);
template BlockMeans<double> block_means(std::size_t, const Input<double>&);
template SampleInfo mean(const Input<float>&, std::span<float>);
template SampleInfo mean(const Input<double>&, std::span<double>);
template SampleInfo clipped_mean(double, const Input<float>&, std::span<float>);
template SampleInfo clipped_mean(double, const Input<double>&, std::span<double>);
template SampleInfo median_of_means(std::size_t, double, const Input<float>&, std::span<float>);
template SampleInfo median_of_means(std::size_t, double, const Input<double>&, std::span<double>);

}  // namespace medgrad::estimators
