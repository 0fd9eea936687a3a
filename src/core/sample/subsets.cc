// Rules that look for the best subset of n - f rows: minimum diameter, minimum largest eigenvalue.
//
// Both measures grow with every row that is added to a subset: what has grown beyond the best so
// far is not followed any further. Subsets are tried in lexicographic order, so that the first of
// the best ones wins.
#include <algorithm>
#include <limits>
#include <numeric>

#include "core/sample/eigen.h"
#include "core/sample/plan.h"

namespace medgrad::estimators {
namespace {

// The `size` rows nearest to row i, for each i: good subsets to begin with.
template <class Visit>
void visit_neighbourhoods(std::span<const double> squares, std::size_t n, std::size_t size,
                          Visit&& visit) {
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(size - 1),
                     order.end(), [&](std::size_t a, std::size_t b) {
                       return squares[i * n + a] < squares[i * n + b] ||
                              (squares[i * n + a] == squares[i * n + b] && a < b);
                     });
    visit(std::span<const std::size_t>(order).first(size));
  }
}

// Measures that differ by that share are equal: eigenvalues and distances of mixtures are rounded.
constexpr double kTie = 1e-12;

// Searches subsets of `size` out of n rows. Measure has
//     bool beyond(chosen, limit, inclusive)   is the subset's measure above limit (at least it)?
//     double of(chosen)                       the measure of a whole subset
//     double lower(i, k)                      a lower bound of it for any subset with rows i and k
template <class Measure>
class Search {
 public:
  Search(std::size_t n, std::size_t size, const Measure& measure, double limit)
      : n_(n), size_(size), measure_(measure), best_(limit) {}

  std::vector<std::size_t> run() {
    std::vector<std::size_t> all(n_);
    std::iota(all.begin(), all.end(), std::size_t{0});
    chosen_.reserve(size_);
    follow(all);
    return found_;
  }

 private:
  [[nodiscard]] bool too_far(double bound) const {
    return found_.empty() ? bound > best_ : bound >= best_;
  }

  // `candidates` are those behind the last chosen row that are not too far from any chosen one.
  void follow(std::span<const std::size_t> candidates) {
    if (chosen_.size() == size_) {
      if (measure_.beyond(chosen_, best_, !found_.empty())) return;
      best_ = measure_.of(chosen_) * (1 - kTie);
      found_ = chosen_;
      return;
    }
    if (chosen_.size() > 2 && measure_.beyond(chosen_, best_, !found_.empty())) return;
    std::vector<std::size_t> next;
    for (std::size_t at = 0; at < candidates.size(); ++at) {
      if (chosen_.size() + (candidates.size() - at) < size_) return;
      const std::size_t i = candidates[at];
      next.clear();
      for (const std::size_t k : candidates.subspan(at + 1))
        if (!too_far(measure_.lower(i, k))) next.push_back(k);
      if (chosen_.size() + 1 + next.size() < size_) continue;
      bool near = true;  // the best may have improved since i became a candidate
      for (const std::size_t k : chosen_) near = near && !too_far(measure_.lower(i, k));
      if (!near) continue;
      chosen_.push_back(i);
      follow(next);
      chosen_.pop_back();
    }
  }

  std::size_t n_, size_;
  const Measure& measure_;
  double best_;  // what has to be undercut once something is found
  std::vector<std::size_t> chosen_, found_;
};

// max |x_i - x_k|^2.
struct Diameter {
  std::span<const double> squares;
  std::size_t n;

  [[nodiscard]] double lower(std::size_t i, std::size_t k) const { return squares[i * n + k]; }
  [[nodiscard]] double of(std::span<const std::size_t> chosen) const {
    double most = 0;
    for (const std::size_t i : chosen)
      for (const std::size_t k : chosen) most = std::max(most, squares[i * n + k]);
    return most;
  }
  // Pairs are all there is, and they have been looked at.
  [[nodiscard]] bool beyond(std::span<const std::size_t> chosen, double limit,
                            bool inclusive) const {
    if (!inclusive) return false;
    return of(chosen) >= limit;
  }
};

// The largest eigenvalue of sum (x_i - mean)(x_i - mean)', which is that of the matrix of the inner
// products of the x_i - mean. Two rows alone have |x_i - x_k|^2 / 2.
struct Spread {
  std::span<const double> squares;
  std::size_t n;

  [[nodiscard]] double lower(std::size_t i, std::size_t k) const { return squares[i * n + k] / 2; }
  [[nodiscard]] double of(std::span<const std::size_t> chosen) const {
    return largest_eigenvalue(chosen.size(), products(chosen));
  }
  [[nodiscard]] bool beyond(std::span<const std::size_t> chosen, double limit, bool) const {
    return limit > 0 && has_eigenvalue_from(limit, chosen.size(), products(chosen));
  }

 private:
  [[nodiscard]] std::vector<double> products(std::span<const std::size_t> chosen) const {
    const std::size_t m = chosen.size();
    std::vector<double> b(m * m), mean(m);
    double all = 0;
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t k = 0; k < m; ++k) mean[i] += squares[chosen[i] * n + chosen[k]];
      mean[i] /= static_cast<double>(m);
      all += mean[i];
    }
    all /= static_cast<double>(m);
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t k = 0; k < m; ++k)
        b[i * m + k] = (mean[i] + mean[k] - squares[chosen[i] * n + chosen[k]] - all) / 2;
    }
    return b;
  }
};

template <class Measure>
Plan best_subset(const Points& points, std::size_t f) {
  const std::size_t n = points.size(), size = n - f;
  const Matrix squares = points.squared_distances();
  const Measure measure{squares, n};
  double limit = std::numeric_limits<double>::infinity();
  visit_neighbourhoods(squares, n, size, [&](std::span<const std::size_t> chosen) {
    limit = std::min(limit, measure.of(chosen));
  });
  // The best one is no worse, but for rounding.
  limit += 1e-9 * limit;
  const std::vector<std::size_t> chosen = Search<Measure>(n, size, measure, limit).run();
  Plan made;
  made.coefficients.assign(points.all(), 0.0);
  for (const std::size_t i : chosen) made.coefficients[i] = 1 / static_cast<double>(size);
  return made;
}

}  // namespace

Plan plan(const Mda& rule, const Points& points) { return best_subset<Diameter>(points, rule.f); }

Plan plan(const Smea& rule, const Points& points) { return best_subset<Spread>(points, rule.f); }

}  // namespace medgrad::estimators
