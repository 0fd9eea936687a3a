#include "core/sample/line.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "core/sample/estimators.h"

namespace medgrad::estimators {
namespace {

// A sum of positive numbers with an error of one rounding.
class Sum {
 public:
  void add(double x) {
    const double sum = high_ + x, part = sum - high_;
    low_ += (high_ - (sum - part)) + (x - part);
    high_ = sum;
  }
  [[nodiscard]] double value() const { return high_ + low_; }

 private:
  double high_ = 0, low_ = 0;
};

// How far numbers may be from where they should be, by the rounding of a few of them.
template <Real T>
constexpr double kRounding = 4 * static_cast<double>(std::numeric_limits<T>::epsilon());

// The line through rows a and b, for rows x with a_J <= x_J <= b_J; column J tells where on it. The
// numbers are those of column J; `half` is 1/2 where differences overflow without.
struct Along {
  double a, b, x, half = 1;

  // Is x_j off the line by more than `slack` times what rounding can do? Those of a_j and b_j count
  // as far as x is from the other end, and those of column J move x_j by the slope.
  template <Real T>
  [[nodiscard]] bool missed(const T& a_j, const T& b_j, const T& x_j, double slack) const {
    const double start = half * static_cast<double>(a_j), end = half * static_cast<double>(b_j);
    const double entry = half * static_cast<double>(x_j);
    const double to_b = (x - a) / (b - a), to_a = (b - x) / (b - a), rise = end - start;
    const double off = to_b < to_a ? (entry - start) - to_b * rise : (entry - end) + to_a * rise;
    const double here = std::abs(entry) + to_a * std::abs(start) + to_b * std::abs(end);
    const double along = std::abs(x) + to_a * std::abs(a) + to_b * std::abs(b);
    const double rounding = slack * kRounding<T>;
    return std::abs(off) > rounding * here + rounding * along * std::abs(rise / (b - a));
  }
};

// Shows that rows are not on a line by looking at a few entries, as nearly always it can; false
// means nothing.
template <Real T>
bool surely_no_line(const Input<T>& input) {
  constexpr std::size_t kFew = 16;
  const std::size_t n = std::min(input.n, kFew), d = std::min(input.d, kFew);
  for (std::size_t along = 0; along + 1 < d; ++along) {
    const T *low = input.rows[0], *high = low;
    for (std::size_t i = 1; i < n; ++i) {
      if (input.rows[i][along] < low[along]) low = input.rows[i];
      if (input.rows[i][along] > high[along]) high = input.rows[i];
    }
    const double a = static_cast<double>(low[along]), b = static_cast<double>(high[along]);
    if (!(a < b && std::isfinite(b - a))) continue;
    for (std::size_t i = 0; i < n; ++i) {
      const T* const x = input.rows[i];
      const Along at{a, b, static_cast<double>(x[along])};
      if (!(at.a <= at.x && at.x <= at.b)) continue;  // not a number
      for (std::size_t j = along + 1; j < d; ++j) {
        if (std::isfinite(low[j]) && std::isfinite(high[j]) && std::isfinite(x[j]) &&
            at.missed(low[j], high[j], x[j], 4))
          return true;
      }
    }
    return false;
  }
  return false;
}

// The column in which the rows are farthest apart; counted here, in its chunk.
struct Widest {
  double width = -1;
  std::size_t column = 0, chunk = 0;
};
template <Real T>
Widest widest_column(const Input<T>& input) {
  std::vector<Widest> parts(chunks_of(input).count);
  for_each_block(input, static_cast<const T*>(nullptr),
                 [&](std::size_t c, Block<T>& block, std::size_t begin, std::size_t) {
                   for (std::size_t j = 0; j < block.count(); ++j) {
                     double low = static_cast<double>(block.rows()[0][j]), high = low;
                     for (std::size_t i = 1; i < input.n; ++i) {
                       low = std::min(low, static_cast<double>(block.rows()[i][j]));
                       high = std::max(high, static_cast<double>(block.rows()[i][j]));
                     }
                     if (high - low > parts[c].width) parts[c] = {high - low, begin + j, c};
                   }
                 });
  share(input, parts.data(), 1);
  Widest widest;
  for (const Widest& part : parts) widest = part.width > widest.width ? part : widest;
  return widest;
}

// Are they all on the line from row a to row b? x is their widest column.
template <Real T>
bool on_a_line(const Input<T>& input, const std::vector<double>& x, std::size_t a, std::size_t b,
               double half) {
  std::atomic<bool> off = false;
  for_each_block(input, static_cast<const T*>(nullptr),
                 [&](std::size_t, Block<T>& block, std::size_t, std::size_t) {
                   for (std::size_t i = 0; i < input.n && !off; ++i) {
                     const Along at{half * x[a], half * x[b], half * x[i], half};
                     const T* const* const rows = block.rows();
                     bool missed = false;
                     for (std::size_t j = 0; j < block.count(); ++j)
                       missed = missed || at.missed(rows[a][j], rows[b][j], rows[i][j], 1);
                     if (missed) off = true;
                   }
                 });
  if (input.part == nullptr) return !off;
  std::vector<std::uint8_t> parts(chunks_of(input).count, off ? 1 : 0);
  share(input, parts.data(), 1);
  return std::find(parts.begin(), parts.end(), 1) == parts.end();
}

// The entries of column j of a chunk, cleaned, wherever it is.
template <Real T>
std::vector<double> entries_of(const Input<T>& input, std::size_t chunk, std::size_t j) {
  const std::size_t n = input.n;
  std::vector<double> parts(input.part == nullptr ? n : chunks_of(input).count * n);
  double* const x = parts.data() + (input.part == nullptr ? 0 : chunk * n);
  if (input.part == nullptr ||
      std::binary_search(input.part->chunks().begin(), input.part->chunks().end(), chunk)) {
    Block<T> block(input);
    block.load(j, j + 1);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<double>(block.rows()[i][0]);
  }
  share(input, parts.data(), n);
  return {x, x + n};
}

}  // namespace

void sort_by_value(std::span<Weighted> entries) {
  std::sort(entries.begin(), entries.end(), [](const Weighted& a, const Weighted& b) {
    return a.value < b.value || (a.value == b.value && a.weight < b.weight);
  });
}

Middle weighted_middle(std::span<const Weighted> sorted) {
  std::size_t begin = 0, end = sorted.size();
  while (true) {
    Sum total;
    for (std::size_t i = begin; i < end; ++i) total.add(sorted[i].weight);
    const double half = total.value() / 2 * (1 - 2 * std::numeric_limits<double>::epsilon());
    Middle m{begin, end - 1};
    Sum below, above;
    for (; m.lower + 1 < end; ++m.lower) {
      below.add(sorted[m.lower].weight);
      if (below.value() >= half) break;
    }
    for (; m.upper > begin; --m.upper) {
      above.add(sorted[m.upper].weight);
      if (above.value() >= half) break;
    }
    const auto after = [&](std::size_t i) {
      while (i < end && sorted[i].value == sorted[m.lower].value) ++i;
      return i;
    };
    const auto before = [&](std::size_t i) {
      while (i > begin && sorted[i - 1].value == sorted[m.upper].value) --i;
      return i;
    };
    const std::size_t inner = after(m.lower), rest = before(m.upper);
    if (inner >= rest) return m;
    begin = inner;
    end = rest;
  }
}

template <Real T>
std::optional<Middle> median_on_line(const Input<T>& input) {
  const std::size_t n = input.n;
  if (input.whole() == 0) return std::nullopt;
  std::uint8_t no_line = 0;
  if (chunks_here(input) > 0 && chunk_here(input, 0).number == 0) no_line = surely_no_line(input);
  share_first(input, no_line);
  if (no_line != 0) return std::nullopt;
  const Widest widest = widest_column(input);
  if (widest.width == 0) return Middle{0, 0};  // all rows are the same
  const std::vector<double> x = entries_of(input, widest.chunk, widest.column);
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  if (n > 2 && input.whole() > 1 &&
      !on_a_line(input, x, static_cast<std::size_t>(low - x.begin()),
                 static_cast<std::size_t>(high - x.begin()), std::isfinite(widest.width) ? 1 : 0.5))
    return std::nullopt;
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t k) { return x[i] < x[k] || (x[i] == x[k] && i < k); });
  std::vector<Weighted> sorted(n);
  for (std::size_t i = 0; i < n; ++i) sorted[i] = {x[order[i]], input.weights[order[i]]};
  const Middle middle = weighted_middle(sorted);
  const bool one = sorted[middle.lower].value == sorted[middle.upper].value;
  return Middle{order[middle.lower], order[one ? middle.lower : middle.upper]};
}

template <Real T>
void write_midpoint(const Input<T>& input, Middle middle, std::span<T> out) {
  for_each_block(input, static_cast<const T*>(nullptr),
                 [&](std::size_t, Block<T>& block, std::size_t begin, std::size_t) {
                   const T *const a = block.rows()[middle.lower], *const b =
                                                                      block.rows()[middle.upper];
                   for (std::size_t j = 0; j < block.count(); ++j)
                     out[begin + j] = std::midpoint(a[j], b[j]);
                 });
}

LineNorms line_norms(const Embedding& e, double p) {
  LineNorms norms{std::vector<double>(e.n), std::vector<double>(e.n)};
  std::size_t longest = 0;
  double most = 0;
  for (std::size_t i = 0; i < e.n; ++i) {
    double entry = 0, sum = 0;
    for (std::size_t j = 0; j < e.k; ++j) entry = std::max(entry, std::abs(e.points[i * e.k + j]));
    for (std::size_t j = 0; j < e.k && entry > 0; ++j)
      sum += std::pow(std::abs(e.points[i * e.k + j]) / entry, p);
    norms.p[i] = entry * std::pow(sum, 1 / p);
    if (norms.p[i] > most) longest = i;
    most = std::max(most, norms.p[i]);
  }
  std::vector<double> y(e.k);
  for (std::size_t j = 0; j < e.k && most > 0; ++j) {
    const double x = e.points[longest * e.k + j];
    y[j] = std::copysign(std::pow(std::abs(x) / most, p - 1), x);
  }
  for (std::size_t i = 0; i < e.n; ++i) {
    double product = 0;
    for (std::size_t j = 0; j < e.k; ++j) product += e.points[i * e.k + j] * y[j];
    norms.along[i] = std::abs(product);
  }
  return norms;
}

SampleInfo line_info(Middle middle, const Embedding& e, double f, double bound) {
  SampleInfo info;
  // A proof, unless rounding of the rows or of m itself is what is left of them.
  const double gap = gap_of(f, bound, e.n), rounding = gap_of(1, 1, e.n);
  info.gap = gap <= 4 * rounding ? 0 : gap;
  info.stop = middle.lower == middle.upper ? Stop::data_point : Stop::closed_form;
  info.nan = e.seen.nan;
  info.inf = e.seen.inf;
  return info;
}

template void write_midpoint(const Input<float>&, Middle, std::span<float>);
template void write_midpoint(const Input<double>&, Middle, std::span<double>);
template std::optional<Middle> median_on_line(const Input<float>&);
template std::optional<Middle> median_on_line(const Input<double>&);

}  // namespace medgrad::estimators
