#include "core/sample/input.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>

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

// Rows during their sorting.
template <Real T>
struct Numbered {
  const T* row;
  double weight;
  std::size_t number;
};

// Orders all bit patterns, those that are not numbers as well.
template <Real T>
auto key(T x) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  const Bits bits = std::bit_cast<Bits>(x);
  return bits < 0 ? std::numeric_limits<Bits>::min() - bits - 1 : bits;
}

// Sorts rows that agree before column j. Reads no more than the columns in which some agree.
template <Real T>
void sort_from(std::span<Numbered<T>> rows, std::size_t j, std::size_t d) {
  while (rows.size() > 1) {
    std::size_t differ = d;  // the first column that is not the same in all of them
    for (std::size_t i = 1; i < rows.size(); ++i) {
      std::size_t c = j;
      while (c < differ && key(rows[i].row[c]) == key(rows[0].row[c])) ++c;
      differ = c;
      if (differ == j) break;
    }
    if (differ == d) {
      std::sort(rows.begin(), rows.end(), [](const Numbered<T>& a, const Numbered<T>& b) {
        return a.weight < b.weight || (a.weight == b.weight && a.number < b.number);
      });
      return;
    }
    std::sort(rows.begin(), rows.end(), [&](const Numbered<T>& a, const Numbered<T>& b) {
      return key(a.row[differ]) < key(b.row[differ]);
    });
    j = differ + 1;
    // The runs that agree here too; the longest goes on in the loop, so that calls nest log n deep.
    std::span<Numbered<T>> longest = rows.first(0);
    for (std::size_t begin = 0, end = 1; begin < rows.size(); begin = end++) {
      while (end < rows.size() && key(rows[end].row[differ]) == key(rows[begin].row[differ])) ++end;
      std::span<Numbered<T>> run = rows.subspan(begin, end - begin);
      if (run.size() > longest.size()) std::swap(run, longest);
      if (run.size() > 1) sort_from(run, j, d);
    }
    rows = longest;
  }
}

}  // namespace

template <Real T>
void normalise_weights(Input<T>& input) {
  const double largest = *std::max_element(input.weights.begin(), input.weights.end());
  input.weight_exponent = std::ilogb(largest);
  if (input.weight_exponent != 0) {
    for (double& w : input.weights) w = std::ldexp(w, -input.weight_exponent);
  }
  input.total = std::accumulate(input.weights.begin(), input.weights.end(), 0.0);
}

template <Real T>
void sort_rows(Input<T>& input) {
  SmallVector<Numbered<T>, 16> rows(input.n);
  for (std::size_t i = 0; i < input.n; ++i) rows[i] = {input.rows[i], input.weights[i], i};
  sort_from(std::span(rows.data(), input.n), 0, input.d);
  input.order.resize(input.n);
  for (std::size_t i = 0; i < input.n; ++i) {
    input.rows[i] = rows[i].row;
    input.weights[i] = rows[i].weight;
    input.order[i] = rows[i].number;
  }
  input.total = std::accumulate(input.weights.begin(), input.weights.end(), 0.0);
}

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
        if (input_->policy == NonFinite::reject)
          reject(input_->order.empty() ? i : input_->order[i], j, static_cast<double>(x));
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

template void normalise_weights(Input<float>&);
template void normalise_weights(Input<double>&);
template void sort_rows(Input<float>&);
template void sort_rows(Input<double>&);
template float median_of(std::span<float>);
template double median_of(std::span<double>);
template class ColumnMedian<float>;
template class ColumnMedian<double>;
template class Block<float>;
template class Block<double>;

}  // namespace medgrad::estimators
