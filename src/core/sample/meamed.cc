// MeaMed: per component, the mean of the values nearest to the median.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/sample/input.h"
#include "kernels/columns.h"
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
// the median the first ones are taken.
template <Real T>
T one_column(std::span<const T> values, std::size_t f, std::vector<T>& room) {
  const std::size_t n = values.size(), kept = n - std::min(f, (n - 1) / 2);
  room.assign(values.begin(), values.end());
  const T middle = estimators::median_of(std::span<T>(room));
  const auto distance = [&](T x) {
    const T r = std::abs(x - middle);
    return r <= std::numeric_limits<T>::max() ? r : std::numeric_limits<T>::max();
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
  return clamp_to_finite(static_cast<T>(std::isfinite(sum) ? sum / count : shares));
}

// A cache line of columns at a time. What is left to one_column are ties, where the order of the
// rows counts, and sums that overflow.
template <Real T>
class Lines {
 public:
  Lines(std::size_t n, std::size_t f)
      : n_(n), f_(f), kept_(n - f), tile_(kWidth * std::max(n, kernels::kSortedRows)), column_(n) {
    if (n_ <= kernels::kSortedRows) return;
    room_.resize(kernels::select_room<T>(n_));
    pointers_.resize(n_);
    for (std::size_t i = 0; i < n_; ++i) pointers_[i] = &tile_[i * kWidth];
  }

  void operator()(const T* const* rows, std::size_t count, T* out) {
    std::vector<const T*> at(rows, rows + n_);
    for (std::size_t begin = 0; begin < count; begin += kWidth) {
      const std::size_t width = std::min(kWidth, count - begin);
      std::fill_n(sum_, kWidth, 0.0);
      std::fill_n(odd_, kWidth, T(0));
      if (n_ <= kernels::kSortedRows) {
        sum_sorted(at.data(), width);
      } else {
        sum_near(at.data(), width);
      }
      for (std::size_t j = 0; j < width; ++j) {
        if (odd_[j] == 0 && std::isfinite(sum_[j])) {
          out[begin + j] = static_cast<T>(sum_[j] / static_cast<double>(kept_));
          continue;
        }
        for (std::size_t i = 0; i < n_; ++i) column_[i] = at[i][j];
        out[begin + j] = one_column<T>(column_, f_, scratch_);
      }
      for (const T*& row : at) row += width;
    }
  }

 private:
  static constexpr std::size_t kWidth = kernels::kLineColumns<T>;

  // In sorted order the kept values are a window, and of the f values at either end x_i and
  // x_{i + n - f} one is in it: the one that is nearer.
  void sum_sorted(const T* const* rows, std::size_t width) {
    kernels::sort_columns<T>(rows, n_, width, tile_.data());
    const auto sorted = [&](std::size_t i) { return &tile_[i * kWidth]; };
    T middle[kWidth];
    kernels::midpoints(sorted((n_ - 1) / 2), sorted(n_ / 2), width, middle);
    for (std::size_t j = width; j < kWidth; ++j) middle[j] = 0;
    for (std::size_t i = 0; i < f_; ++i) {
      const T *low = sorted(i), *high = sorted(i + kept_);
      for (std::size_t j = 0; j < kWidth; ++j) {
        const T below = middle[j] - low[j], above = high[j] - middle[j];
        sum_[j] += static_cast<double>(above < below ? high[j] : low[j]);
        odd_[j] = above == below && below != 0 ? T(1) : odd_[j];
      }
    }
    for (std::size_t i = f_; i < kept_; ++i) {
      const T* const x = sorted(i);
      for (std::size_t j = 0; j < kWidth; ++j) sum_[j] += static_cast<double>(x[j]);
    }
  }

  // Many rows: the distances from the median, and the largest of those that are kept.
  void sum_near(const T* const* rows, std::size_t width) {
    T middle[kWidth] = {}, most[kWidth] = {}, near[kWidth] = {};
    const std::size_t half = (n_ + 1) / 2;
    kernels::select_columns<T>(rows, n_, width, half, middle, most, room_.data());
    if (n_ % 2 == 0) kernels::midpoints(middle, most, width, middle);
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < width; ++j) {
        const T r = std::abs(rows[i][j] - middle[j]);
        tile_[i * kWidth + j] = std::min(r, std::numeric_limits<T>::max());
      }
    }
    kernels::select_columns<T>(pointers_.data(), n_, width, kept_, most, nullptr, room_.data());
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < width; ++j) {
        const bool in = tile_[i * kWidth + j] <= most[j];
        sum_[j] += in ? static_cast<double>(rows[i][j]) : 0.0;
        near[j] += in ? T(1) : T(0);
      }
    }
    for (std::size_t j = 0; j < width; ++j)
      odd_[j] = near[j] == static_cast<T>(kept_) ? T(0) : T(1);
  }

  std::size_t n_, f_, kept_;
  std::vector<T> tile_, column_, scratch_, room_;
  std::vector<const T*> pointers_;
  double sum_[kWidth];
  T odd_[kWidth];
};

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
SampleInfo MeaMed::estimate(const Input<T>& in, std::span<T> out) const {
  estimators::check_small(in);
  const bool counted = in.n <= kernels::kMostCounted;
  const Count seen =
      estimators::for_each_chunk(in, static_cast<const T*>(nullptr), [&](std::size_t, auto&& walk) {
        Lines<T> lines(in.n, f);
        std::vector<T> column, room;
        walk([&](Block<T>& block, std::size_t begin, std::size_t end) {
          if (!block.finite()) {
            with_missing(in, f, begin, end, column, room, out);
          } else if (counted) {
            lines(block.rows(), block.count(), &out[begin]);
          } else {
            estimators::visit_columns(block.rows(), in.n, block.count(), block.scratch(),
                                      [&](std::size_t j, std::span<T> values) {
                                        out[begin + j] = one_column<T>(values, f, room);
                                      });
          }
        });
      });
  SampleInfo info;
  info.nan = seen.nan;
  info.inf = seen.inf;
  return info;
}

template SampleInfo MeaMed::estimate(const Input<float>&, std::span<float>) const;
template SampleInfo MeaMed::estimate(const Input<double>&, std::span<double>) const;

}  // namespace medgrad
