#include "core/sample/close_pairs.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "core/sample/distinct.h"
#include "core/sample/norms.h"

namespace medgrad::estimators {
namespace {

using Pair = std::pair<std::size_t, std::size_t>;  // the larger index first

// Those whose square of the distance has lost more than two digits.
std::vector<Pair> cancelled(const Gram& gram, ThreadPool* pool) {
  constexpr double kLeast = 1e-2;
  const std::size_t points = gram.points;
  std::vector<double> own(points);
  for (std::size_t i = 0; i < points; ++i) own[i] = gram.row(i)[i];
  std::vector<char> lost(points, 1);
  if (gram.exponents.empty()) {  // nearly always none has
    for_each_band(pool, points, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const double* const g = gram.row(i);
        double most = 0;
        for (std::size_t k = 0; k < i; ++k)
          most = std::max(most, 2 * g[k] - (1 - kLeast) * (own[i] + own[k]));
        lost[i] = most == 0 ? 0 : 1;
      }
    });
  }
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < points; ++i) {
    if (lost[i] == 0) continue;
    for (std::size_t k = 0; k < i; ++k) {
      const Scaled square = gram.square(i, k);
      const double sum = std::ldexp(own[i], 2 * gram.exponent(i) - square.exponent) +
                         std::ldexp(own[k], 2 * gram.exponent(k) - square.exponent);
      if (square.value < kLeast * sum) pairs.emplace_back(i, k);
    }
  }
  return pairs;
}

// Finite rows, and the origin after them.
template <Real T>
class Data {
 public:
  Data(const Input<T>& input, const Gram& gram) : input_(input), points_(gram.points) {
    input_.order.resize(0);
    input_.known = nullptr;
    if (gram.origin) input_.rows.push_back(input.center.data());  // null for 0
    if (gram.seen.nan + gram.seen.inf == 0) return;
    copy_.resize(input.n * input.d);
    for_each_block(input, static_cast<const T*>(nullptr),
                   [&](std::size_t, Block<T>& block, std::size_t begin, std::size_t) {
                     for (std::size_t i = 0; i < input.n; ++i)
                       std::copy_n(block.rows()[i], block.count(), &copy_[i * input.d + begin]);
                   });
    for (std::size_t i = 0; i < input.n; ++i) input_.rows[i] = copy_.data() + i * input.d;
  }

  // Which of the pairs are of points that are equal.
  [[nodiscard]] std::vector<bool> equal(std::span<const Pair> pairs) const {
    const std::size_t count = pairs.size();
    std::vector<std::uint8_t> differ(chunks_of(input_).count * count);
    for_each(input_.pool, chunks_here(input_), [&](std::size_t at) {
      const ChunkHere chunk = chunk_here(input_, at);
      for (std::size_t p = 0; p < count; ++p) {
        const T *a = input_.rows[pairs[p].first], *b = input_.rows[pairs[p].second];
        const auto zero = [](T x) { return x == 0; };
        const bool same = a != nullptr ? std::equal(a + chunk.begin, a + chunk.end, b + chunk.begin)
                                       : std::all_of(b + chunk.begin, b + chunk.end, zero);
        differ[chunk.number * count + p] = same ? 0 : 1;
      }
    });
    share(input_, differ.data(), count);
    std::vector<bool> all(count, true);
    for (std::size_t k = 0; k < differ.size(); ++k)
      if (differ[k] != 0) all[k % count] = false;
    return all;
  }

  // Fills in the squares of the distances of pairs, sorted by their first.
  void measure(std::span<const Pair> pairs, Gram& gram) const {
    for (std::size_t begin = 0, end = 0; begin < pairs.size(); begin = end) {
      const std::size_t centre = pairs[begin].first;
      while (end < pairs.size() && pairs[end].first == centre) ++end;
      Input<T> some = input_;
      some.n = end - begin;
      some.rows.resize(some.n);
      for (std::size_t p = 0; p < some.n; ++p) some.rows[p] = input_.rows[pairs[begin + p].second];
      const Norms norms = row_norms(some, input_.rows[centre], static_cast<const T*>(nullptr));
      for (std::size_t p = 0; p < some.n; ++p) {
        const int exponent = norms.scales.empty() ? 0 : std::ilogb(norms.scales[p]);
        const Scaled square{norms.scaled[p] * norms.scaled[p], -2 * exponent};
        const std::size_t other = pairs[begin + p].second;
        gram.squares[centre * points_ + other] = gram.squares[other * points_ + centre] = square;
      }
    }
  }

 private:
  Input<T> input_;
  std::size_t points_;
  std::vector<T> copy_;
};

}  // namespace

template <Real T>
void measure_close_pairs(const Input<T>& input, Gram& gram) {
  const std::size_t points = gram.points;
  std::vector<Pair> close = cancelled(gram, input.pool);
  if (close.empty()) return;
  const Data<T> data(input, gram);

  // Equal points have equal inner products; of those that have, the first one stands for all.
  const Distinct kinds = distinct_rows(gram.g, points, points);
  std::vector<Pair> alike;
  for (std::size_t i = 0; i < points; ++i)
    if (kinds.first[kinds.of[i]] < i) alike.emplace_back(i, kinds.first[kinds.of[i]]);
  const std::vector<bool> equal = data.equal(alike);
  gram.same.resize(points);
  std::iota(gram.same.begin(), gram.same.end(), std::size_t{0});
  for (std::size_t p = 0; p < alike.size(); ++p)
    if (equal[p]) gram.same[alike[p].first] = alike[p].second;

  MatrixOf<Scaled> squares(points * points);
  for (std::size_t i = 0; i < points; ++i) {
    if (gram.exponents.empty()) {
      const double *const g = gram.row(i), own = g[i];
      for (std::size_t k = 0; k < points; ++k)
        squares[i * points + k] = {std::max(0.0, own + gram.row(k)[k] - 2 * g[k]), 0};
    } else {
      for (std::size_t k = 0; k < points; ++k) squares[i * points + k] = gram.square(i, k);
    }
  }
  gram.squares = std::move(squares);
  std::erase_if(close, [&](const Pair& pair) {
    return gram.same[pair.first] != pair.first || gram.same[pair.second] != pair.second;
  });
  data.measure(close, gram);
  if (alike.empty()) return;
  for (std::size_t i = 0; i < points; ++i)
    for (std::size_t k = 0; k < points; ++k)
      gram.squares[i * points + k] = gram.squares[gram.same[i] * points + gram.same[k]];
}

template void measure_close_pairs(const Input<float>&, Gram&);
template void measure_close_pairs(const Input<double>&, Gram&);

}  // namespace medgrad::estimators
