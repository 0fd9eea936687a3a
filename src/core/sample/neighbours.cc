// Rules that average some of the points: those that ask who is near to whom (Krum, MoNNA,
// nearest-neighbour mixing), the mean, and buckets.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/sample/plan.h"
#include "core/sample/product.h"
#include "medgrad/rng.h"

namespace medgrad::estimators {
namespace {

// The `count` smallest of the values, by the lower index where they are equal, in that order.
std::vector<std::size_t> smallest(std::span<const double> values, std::size_t count) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto less = [&](std::size_t a, std::size_t b) {
    return values[a] < values[b] || (values[a] == values[b] && a < b);
  };
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(order.begin(), end, order.end(), less);
  std::sort(order.begin(), end, less);
  order.resize(count);
  return order;
}

// Squared distances with -1 on the diagonal, so that every point comes before those that are equal
// to it; and the count-th smallest of every row, all at once.
struct Near {
  std::size_t n;
  Matrix squares;
  std::vector<double> bound;

  Near(const Points& points, std::size_t count)
      : n(points.size()), squares(points.squared_distances()), bound(n) {
    for (std::size_t i = 0; i < n; ++i) squares[i * n + i] = -1;
    // The matrix is symmetric: its columns are its rows.
    select_of_columns(squares.data(), n, n, count, bound.data(), points.pool());
  }

  // Calls visit(k) for the `count` points that are nearest to point i: itself, and of those that
  // are equally far the ones of lower index.
  template <class Visit>
  void visit(std::size_t i, std::size_t count, Visit&& visit) const {
    const double* const row = &squares[i * n];
    std::size_t ties = count - static_cast<std::size_t>(std::count_if(
                                   row, row + n, [&](double x) { return x < bound[i]; }));
    for (std::size_t k = 0; k < n; ++k) {
      if (row[k] > bound[i] || (row[k] == bound[i] && ties == 0)) continue;
      if (row[k] == bound[i]) --ties;
      visit(k);
    }
  }
};

// A sum that does not depend on the order of its at most 2^14 terms, to the bit, so that points
// with equal distances have equal scores: every term from 0 to `most` is cut into multiples of a
// large unit, multiples of a small one, and what is below 2^-75 of `most`; sums of multiples are
// exact.
class AnyOrderSum {
 public:
  explicit AnyOrderSum(double most)
      : large_(std::ldexp(1.5, std::ilogb(most) + 15)), small_(std::ldexp(large_, -38)) {}
  void add(double x) {
    const double high = (x + large_) - large_;
    high_ += high;
    low_ += ((x - high) + small_) - small_;
  }
  [[nodiscard]] double value() const { return high_ + low_; }

 private:
  double large_, small_;  // adding and subtracting them rounds to multiples of 2^-52 of them
  double high_ = 0, low_ = 0;
};

// The sum of the squared distances of point i from the `count` - 1 points next to it.
double score_of(const Near& near, std::size_t i, std::size_t count) {
  if (!(near.bound[i] > 0)) return 0;  // all of them are the same point
  const double* const row = &near.squares[i * near.n];
  AnyOrderSum sum(near.bound[i]);
  near.visit(i, count, [&](std::size_t k) {
    if (k != i) sum.add(row[k]);
  });
  return sum.value();
}

std::vector<double> krum_scores(const Points& points, std::size_t f, std::size_t neighbours) {
  const std::size_t n = points.size();
  if (neighbours == 0) neighbours = n - f - 2;
  const Near near(points, neighbours + 1);
  std::vector<double> scores(n);
  for_each_band(points.pool(), n, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) scores[i] = score_of(near, i, neighbours + 1);
  });
  return scores;
}

Plan mean_of(const Points& points, std::span<const std::size_t> chosen) {
  Plan made;
  made.coefficients.assign(points.all(), 0.0);
  for (const std::size_t i : chosen) made.coefficients[i] = 1 / static_cast<double>(chosen.size());
  return made;
}

}  // namespace

Plan plan(const Krum& rule, const Points& points) {
  const std::vector<double> scores = krum_scores(points, rule.f, rule.neighbours);
  return mean_of(points, smallest(scores, 1));
}

Plan plan(const MultiKrum& rule, const Points& points) {
  const std::vector<double> scores = krum_scores(points, rule.f, rule.neighbours);
  return mean_of(points, smallest(scores, rule.select == 0 ? points.size() - rule.f : rule.select));
}

Plan plan(const Monna& rule, const Points& points) {
  const std::size_t n = points.size();
  std::vector<double> squares(n);
  const Matrix all = points.squared_distances();
  std::copy_n(&all[rule.pivot * n], n, squares.begin());
  squares[rule.pivot] = -1;
  return mean_of(points, smallest(squares, n - rule.f));
}

Plan plan(const Mean&, const Points& points) {
  Plan made;
  made.coefficients.assign(points.all(), 0.0);
  std::fill_n(made.coefficients.begin(), points.size(), 1 / static_cast<double>(points.size()));
  return made;
}

Mixing mixing(const Nnm& part, const Points& points, std::uint64_t) {
  const std::size_t n = points.size(), kept = n - part.f;
  const Near near(points, kept);
  const std::size_t all = points.all();
  Mixing m(n * all);
  for_each_band(points.pool(), n, [&](std::size_t begin, std::size_t end) {
    std::fill(&m[begin * all], m.data() + end * all, 0.0);
    for (std::size_t i = begin; i < end; ++i)
      near.visit(i, kept, [&](std::size_t k) { m[i * all + k] = 1 / static_cast<double>(kept); });
  });
  return m;
}

Mixing mixing(const Bucketing& part, const Points& points, std::uint64_t round) {
  const std::size_t n = points.size(), buckets = part.rows_after(n);
  std::vector<std::uint32_t> words(2 * n);
  Philox(part.seed, round).fill_bits(words);
  std::vector<std::pair<std::uint64_t, std::size_t>> keys(n);
  for (std::size_t i = 0; i < n; ++i)
    keys[i] = {words[2 * i] | std::uint64_t{words[2 * i + 1]} << 32, i};
  std::sort(keys.begin(), keys.end());
  Mixing m(buckets * points.all(), 0.0);
  for (std::size_t b = 0; b < buckets; ++b) {
    const std::size_t begin = b * part.bucket, end = std::min(n, begin + part.bucket);
    for (std::size_t k = begin; k < end; ++k)
      m[b * points.all() + keys[k].second] = 1 / static_cast<double>(end - begin);
  }
  return m;
}

}  // namespace medgrad::estimators
