#include "core/sample/input.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <type_traits>

#include "kernels/columns.h"
#include "kernels/select.h"
#include "kernels/sorted.h"
#include "medgrad/error.h"

namespace medgrad::estimators {

void reject_entry(std::size_t row, std::size_t column, double value) {
  const char* const what = std::isnan(value) ? "not a number" : value > 0 ? "inf" : "-inf";
  throw NonFiniteInput(
      fmt::format("The entry in row {}, column {} is {}; entries must be finite unless the policy "
                  "for non-finite ones is robust.",
                  row + 1, column + 1, what),
      column, row);
}

void fail_unobserved(std::size_t column) {
  throw NoObservation(
      fmt::format("Column {} has no observation: it is not a number in every row.", column + 1),
      column);
}

namespace {

template <Real T>
std::uint64_t bits_of(T x) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<Bits>(x);
}

// One key for each bit pattern, in an order that has nothing to do with their size: sums over
// sorted numbers would have rounding errors that add up.
template <Real T>
std::uint64_t key_of(T x) {
  std::uint64_t key = bits_of(x);
  key = (key ^ (key >> 32)) * 0x9e3779b97f4a7c15;  // each of these can be undone
  return key ^ (key >> 32);
}

// Rows during their sorting.
template <Real T>
struct Numbered {
  std::uint64_t key;  // of the entry in the column that is looked at
  const T* row;
  double weight;
  std::size_t number;
};

// The first column from j on that is not the same in all rows, or d.
template <Real T>
std::size_t first_difference(std::span<const Numbered<T>> rows, std::size_t j, std::size_t d) {
  const T* const first = rows[0].row;
  for (std::size_t i = 1; i < rows.size() && d > j; ++i) {
    std::size_t c = j;
    while (c < d && bits_of(rows[i].row[c]) == bits_of(first[c])) ++c;  // 0 and -0 differ
    d = c;
  }
  return d;
}

// Sorts by keys. Many go to buckets by their leading bits first, which are as good as random.
template <Real T>
void sort_by_key(std::span<Numbered<T>> rows) {
  constexpr std::size_t kMany = 512;
  const auto less = [](const Numbered<T>& a, const Numbered<T>& b) { return a.key < b.key; };
  if (rows.size() < kMany) {
    std::sort(rows.begin(), rows.end(), less);
    return;
  }
  const std::size_t shift = 64 - std::bit_width(rows.size() / 4);
  std::vector<std::size_t> end((~std::uint64_t{0} >> shift) + 1);
  for (const Numbered<T>& one : rows) ++end[one.key >> shift];
  std::partial_sum(end.begin(), end.end(), end.begin());
  std::vector<std::size_t> next(end.size());
  std::copy(end.begin(), end.end() - 1, next.begin() + 1);
  const std::vector<Numbered<T>> copy(rows.begin(), rows.end());
  for (const Numbered<T>& one : copy) rows[next[one.key >> shift]++] = one;
  for (std::size_t b = 0, begin = 0; b < end.size(); begin = end[b++]) {
    const auto bucket = rows.subspan(begin, end[b] - begin);
    std::sort(bucket.begin(), bucket.end(), less);
  }
}

// Sorts rows that agree before column j. Reads no more than the columns in which some agree.
template <Real T>
void sort_from(std::span<Numbered<T>> rows, std::size_t j, std::size_t d) {
  while (rows.size() > 1) {
    const std::size_t differ = first_difference<T>(rows, j, d);
    if (differ == d) {
      std::sort(rows.begin(), rows.end(), [](const Numbered<T>& a, const Numbered<T>& b) {
        return a.weight < b.weight || (a.weight == b.weight && a.number < b.number);
      });
      return;
    }
    for (Numbered<T>& one : rows) one.key = key_of(one.row[differ]);
    sort_by_key(rows);
    j = differ + 1;
    // The runs that agree here too; the longest goes on in the loop, so that calls nest log n deep.
    std::span<Numbered<T>> longest = rows.first(0);
    for (std::size_t begin = 0, end = 1; begin < rows.size(); begin = end++) {
      while (end < rows.size() && rows[end].key == rows[begin].key) ++end;
      std::span<Numbered<T>> run = rows.subspan(begin, end - begin);
      if (run.size() > longest.size()) std::swap(run, longest);
      if (run.size() > 1) sort_from(run, j, d);
    }
    rows = longest;
  }
}

// Where columns are in different places, no place can compare two rows by itself. Each numbers the
// rows of its chunks in their order there, equal ones alike, and those numbers are compared.
template <Real T>
void sort_in_parts(std::span<Numbered<T>> rows, const Input<T>& input) {
  const std::size_t n = rows.size(), count = chunks_of(input).count;
  std::vector<std::uint32_t> classes(count * n);
  for_each(input.pool, chunks_here(input), [&](std::size_t k) {
    const ChunkHere chunk = chunk_here(input, k);
    std::vector<Numbered<T>> here(rows.begin(), rows.end());
    for (Numbered<T>& one : here) one.weight = 0;
    sort_from(std::span(here), chunk.begin, chunk.end);
    std::uint32_t* const to = classes.data() + chunk.number * n;
    for (std::size_t i = 1; i < n; ++i) {
      const std::span<const Numbered<T>> two(here.data() + i - 1, 2);
      const bool same = first_difference(two, chunk.begin, chunk.end) == chunk.end;
      to[here[i].number] = to[here[i - 1].number] + (same ? 0 : 1);
    }
  });
  share(input, classes.data(), n);
  std::sort(rows.begin(), rows.end(), [&](const Numbered<T>& a, const Numbered<T>& b) {
    for (std::size_t c = 0; c < count; ++c) {
      const std::uint32_t x = classes[c * n + a.number], y = classes[c * n + b.number];
      if (x != y) return x < y;
    }
    return a.weight < b.weight || (a.weight == b.weight && a.number < b.number);
  });
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
  for (std::size_t i = 0; i < input.n; ++i) rows[i] = {0, input.rows[i], input.weights[i], i};
  if (input.part == nullptr) {
    sort_from(std::span(rows.data(), input.n), 0, input.d);
  } else {
    sort_in_parts(std::span(rows.data(), input.n), input);
  }
  input.order.resize(input.n);
  for (std::size_t i = 0; i < input.n; ++i) {
    input.rows[i] = rows[i].row;
    input.weights[i] = rows[i].weight;
    input.order[i] = rows[i].number;
  }
  // Many short rows, read in an order like this, would be as many misses of the cache in each pass.
  constexpr std::size_t kManyRows = 4096, kShort = 32;
  if (input.n >= kManyRows && input.whole() <= kShort) {
    input.copy.resize(input.n * input.d);
    for (std::size_t i = 0; i < input.n; ++i) {
      std::copy_n(input.rows[i], input.d, input.copy.data() + i * input.d);
      input.rows[i] = input.copy.data() + i * input.d;
    }
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
void ColumnMedian<T>::operator()(const T* const* rows, std::size_t count, T* out,
                                 MatrixOf<T>& scratch) const {
  if (n_ <= kernels::kRegisterRows) {
    (void)kernels::register_medians(rows, n_, 0, count, out);  // entries are finite: no news
  } else if (n_ <= kernels::kSortedRows) {
    (void)kernels::sorted_medians(rows, n_, 0, count, out);
  } else if (by_counting()) {
    (void)try_counting(rows, count, out, scratch);
  } else {
    visit_columns(rows, n_, count, scratch,
                  [&](std::size_t j, std::span<T> values) { out[j] = median_of(values); });
  }
}

template <Real T>
bool ColumnMedian<T>::by_counting() const {
  return n_ > kernels::kSortedRows && n_ <= kernels::kMostCounted;
}

template <Real T>
bool ColumnMedian<T>::try_counting(const T* const* rows, std::size_t count, T* out,
                                   MatrixOf<T>& scratch) const {
  T above[kDirectStep];
  const bool even = n_ % 2 == 0;
  scratch.resize(std::max(scratch.size(), kernels::select_room<T>(n_, count)));
  if (!kernels::select_columns<T>(rows, n_, count, (n_ + 1) / 2, out, even ? above : nullptr,
                                  scratch.data()))
    return false;
  if (even) kernels::midpoints<T>(out, above, count, out);
  return true;
}

template <Real T>
void Block<T>::load(std::size_t begin, std::size_t end, const T* fill) {
  count_ = end - begin;
  // Many rows whose addresses differ by a power of two share a few places of the cache: a copy of
  // what is read anyway can be read again.
  constexpr std::size_t kFew = 16;
  const std::size_t n = input_->n;
  if (n > kFew && end - begin >= kernels::kLanes) {
    const std::size_t stride = block_width(end - begin) + kernels::kLanes;
    copy_.resize(std::max(copy_.size(), n * stride));
    finite_ = kernels::copy_finite(input_->rows.data(), n, begin, end, stride, copy_.data());
    for (std::size_t i = 0; i < n; ++i) pointers_[i] = copy_.data() + i * stride;
  } else {
    finite_ = kernels::all_finite(input_->rows.data(), n, begin, end);
    for (std::size_t i = 0; i < n; ++i) pointers_[i] = input_->rows[i] + begin;
  }
  if (!finite_) clean(begin, end, fill);
}

template <Real T>
void Block<T>::point_at(std::size_t begin, std::size_t end) {
  count_ = end - begin;
  finite_ = true;
  for (std::size_t i = 0; i < input_->n; ++i) pointers_[i] = input_->rows[i] + begin;
}

// Names the first entry of column j that is not finite, in the caller's order of the rows.
template <Real T>
void Block<T>::reject_column(std::size_t j) const {
  std::size_t first = input_->n, place = 0;
  for (std::size_t i = 0; i < input_->n; ++i) {
    const std::size_t number = input_->order.empty() ? i : input_->order[i];
    if (std::isfinite(input_->rows[i][j]) || number >= first) continue;
    first = number;
    place = i;
  }
  reject_entry(first, j, static_cast<double>(input_->rows[place][j]));
}

template <Real T>
void Block<T>::clean(std::size_t begin, std::size_t end, const T* fill) {
  const std::size_t n = input_->n;
  copy_.resize(std::max(copy_.size(), n * kBlock));
  scratch_.resize(n);
  for (std::size_t j = begin; j < end; ++j) {
    std::size_t observed = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const T x = input_->rows[i][j];
      if (!std::isfinite(x)) {
        if (input_->policy == NonFinite::reject) reject_column(j);
        ++(std::isnan(x) ? seen_.nan : seen_.inf);
      }
      if (!std::isnan(x)) scratch_[observed++] = clamp_to_finite(x);
    }
    if (observed == 0) fail_unobserved(j);
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
