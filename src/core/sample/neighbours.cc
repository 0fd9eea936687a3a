// Rules that average some of the points: those that ask who is near to whom (Krum, MoNNA,
// nearest-neighbour mixing), the mean, and buckets.
#include <algorithm>
#include <numeric>

#include "core/sample/plan.h"
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

std::vector<double> krum_scores(const Points& points, std::size_t f, std::size_t neighbours) {
  const std::size_t n = points.size();
  if (neighbours == 0) neighbours = n - f - 2;
  const std::vector<double> squares = points.squared_distances();
  std::vector<double> scores(n), others;
  for (std::size_t i = 0; i < n; ++i) {
    others.assign(squares.begin() + static_cast<std::ptrdiff_t>(i * n),
                  squares.begin() + static_cast<std::ptrdiff_t>((i + 1) * n));
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    // Sorted, so that equal distances give equal scores, to the bit.
    std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(neighbours),
                      others.end());
    scores[i] = std::accumulate(others.begin(),
                                others.begin() + static_cast<std::ptrdiff_t>(neighbours), 0.0);
  }
  return scores;
}

// The `count` rows that are nearest to row i: that row itself, then the others.
std::vector<std::size_t> nearest(std::span<const double> squares, std::size_t n, std::size_t i,
                                 std::size_t count) {
  std::vector<double> row(squares.begin() + static_cast<std::ptrdiff_t>(i * n),
                          squares.begin() + static_cast<std::ptrdiff_t>((i + 1) * n));
  row[i] = -1;
  return smallest(row, count);
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
  return mean_of(points, nearest(points.squared_distances(), n, rule.pivot, n - rule.f));
}

Plan plan(const Mean&, const Points& points) {
  Plan made;
  made.coefficients.assign(points.all(), 0.0);
  std::fill_n(made.coefficients.begin(), points.size(), 1 / static_cast<double>(points.size()));
  return made;
}

Mixing mixing(const Nnm& part, const Points& points, std::uint64_t) {
  const std::size_t n = points.size(), kept = n - part.f;
  const std::vector<double> squares = points.squared_distances();
  Mixing m(n * points.all());
  for (std::size_t i = 0; i < n; ++i) {
    for (const std::size_t k : nearest(squares, n, i, kept))
      m[i * points.all() + k] = 1 / static_cast<double>(kept);
  }
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
  Mixing m(buckets * points.all());
  for (std::size_t b = 0; b < buckets; ++b) {
    const std::size_t begin = b * part.bucket, end = std::min(n, begin + part.bucket);
    for (std::size_t k = begin; k < end; ++k)
      m[b * points.all() + keys[k].second] = 1 / static_cast<double>(end - begin);
  }
  return m;
}

}  // namespace medgrad::estimators
