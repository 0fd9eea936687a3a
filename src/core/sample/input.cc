#include "core/sample/input.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "kernels/columns.h"
#include "medgrad/error.h"

namespace medgrad::estimators {
namespace {

[[noreturn]] void reject(std::size_t row, std::size_t column, double value) {
  const char* const what = std::isnan(value) ? "not a number" : value > 0 ? "inf" : "-inf";
  throw Error("The entry in row " + std::to_string(row + 1) + ", column " +
              std::to_string(column + 1) + " is " + what +
              "; entries must be finite unless the policy for non-finite ones is robust.");
}

}  // namespace

template <Real T>
T median_of(std::span<T> values) {
  const std::size_t half = values.size() / 2;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(half);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

template <Real T>
ColumnMedian<T>::ColumnMedian(std::size_t n) : n_(n) {
  if (n > kernels::kRegisterRows && n <= kNetworkRows)
    network_ = kernels::selection_network(n, (n - 1) / 2, n / 2);
}

template <Real T>
void ColumnMedian<T>::operator()(const T* const* rows, std::size_t count, T* out,
                                 std::vector<T>& scratch) const {
  if (n_ <= kernels::kRegisterRows) {
    (void)kernels::register_medians(rows, n_, 0, count, out);  // entries are finite: no news
    return;
  }
  if (n_ > kNetworkRows) {
    visit_columns(rows, n_, count, scratch,
                  [&](std::size_t j, std::span<T> values) { out[j] = median_of(values); });
    return;
  }
  const std::size_t most = tile_width<T>(n_);
  scratch.resize(most * n_);
  for (std::size_t begin = 0; begin < count; begin += most) {
    const std::size_t width = std::min(most, count - begin);
    for (std::size_t i = 0; i < n_; ++i)
      std::copy_n(rows[i] + begin, width, scratch.data() + i * width);
    kernels::run_network<T>(network_, scratch.data(), width);
    kernels::midpoints(scratch.data() + (n_ - 1) / 2 * width, scratch.data() + n_ / 2 * width,
                       width, out + begin);
  }
}

template <Real T>
void Block<T>::load(std::size_t begin, std::size_t end, const T* fill) {
  count_ = end - begin;
  finite_ = kernels::all_finite(input_->rows.data(), input_->n, begin, end);
  for (std::size_t i = 0; i < input_->n; ++i) pointers_[i] = input_->rows[i] + begin;
  if (!finite_) clean(begin, end, fill);
}

template <Real T>
void Block<T>::clean(std::size_t begin, std::size_t end, const T* fill) {
  const std::size_t n = input_->n;
  copy_.resize(n * kBlock);
  scratch_.resize(n);
  for (std::size_t j = begin; j < end; ++j) {
    std::size_t observed = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const T x = input_->rows[i][j];
      if (!std::isfinite(x)) {
        if (input_->policy == NonFinite::reject) reject(i, j, static_cast<double>(x));
        ++(std::isnan(x) ? seen_.nan : seen_.inf);
      }
      if (!std::isnan(x)) scratch_[observed++] = clamp_to_finite(x);
    }
    if (observed == 0) {
      throw Error("Column " + std::to_string(j + 1) +
                  " has no observation: it is not a number in every row.");
    }
    const T missing =
        fill != nullptr ? fill[j - begin] : median_of(std::span<T>(scratch_).first(observed));
    for (std::size_t i = 0; i < n; ++i) {
      const T x = input_->rows[i][j];
      copy_[i * kBlock + (j - begin)] = std::isnan(x) ? missing : clamp_to_finite(x);
    }
  }
  for (std::size_t i = 0; i < n; ++i) pointers_[i] = copy_.data() + i * kBlock;
}

template float median_of(std::span<float>);
template double median_of(std::span<double>);
template class ColumnMedian<float>;
template class ColumnMedian<double>;
template class Block<float>;
template class Block<double>;

}  // namespace medgrad::estimators
