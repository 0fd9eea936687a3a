// The covariance filter CAF.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/sample/distinct.h"
#include "core/sample/eigen.h"
#include "core/sample/plan.h"
#include "core/sample/symmetric.h"
#include "kernels/matrix.h"

namespace medgrad::estimators {
namespace {

// Points that lie in different places, how many there are in each, and what is left of the weight c
// of one of them: rounds of the filter, until all weight is gone from some. Those leave.
//
// With p = c / sum c the covariance is Y'Y for Y of rows sqrt(p_i) (x_i - mu)', so that its
// eigenvalues other than 0 are those of YY', a matrix of inner products. Its eigenvector u gives
// (x_i - mu) . v = sum_k <x_i - mu, x_k - mu> sqrt(p_k) u_k / sqrt(lambda), which is sqrt(lambda /
// p_i) u_i.
class Filter {
 public:
  Filter(Matrix squares, std::size_t n, const Distinct& places, ThreadPool* pool)
      : m_(places.first.size()),
        squares_(std::move(squares)),
        c_(m_, 1.0),
        count_(m_),
        place_(m_),
        pool_(pool) {
    for (const std::size_t place : places.of) ++count_[place];
    std::iota(place_.begin(), place_.end(), std::size_t{0});
    if (m_ < n) keep(n, places.first);
    scaled_.resize(m_ * m_);
  }

  // The largest eigenvalue of the covariance.
  double find_widest();
  // c_i <- c_i (1 - tau_i / max tau) along its eigenvector; false where there is no spread.
  bool cut();

  [[nodiscard]] double total() const {
    return std::inner_product(c_.begin(), c_.end(), count_.begin(), 0.0);
  }
  // c by place, of one point there.
  [[nodiscard]] std::vector<double> weights(std::size_t places) const {
    std::vector<double> all(places);
    for (std::size_t i = 0; i < m_; ++i) all[place_[i]] = c_[i];
    return all;
  }

 private:
  // Leaves those rows and columns of a matrix of n x n, by their indices in it.
  void keep(std::size_t n, std::span<const std::size_t> chosen) {
    double* to = squares_.data();
    for (const std::size_t i : chosen)
      for (const std::size_t k : chosen) *to++ = squares_[i * n + k];
  }
  void leave_those_without_weight();

  std::size_t m_;
  Matrix squares_;  // m x m; the distances
  std::vector<double> c_, count_;
  std::vector<std::size_t> place_;
  std::vector<double> root_, mean_;
  Matrix scaled_;  // its lower triangle
  double all_ = 0;
  EigenPair widest_;
  ThreadPool* pool_;
};

double Filter::find_widest() {
  const double whole = total();
  std::vector<double> share(m_);
  root_.resize(m_);
  mean_.resize(m_);
  for (std::size_t i = 0; i < m_; ++i) {
    share[i] = count_[i] * c_[i] / whole;
    root_[i] = std::sqrt(share[i]);
  }
  SymmetricMatrix<double>(m_, squares_.data(), pool_).multiply(share.data(), mean_.data());
  all_ = std::inner_product(share.begin(), share.end(), mean_.begin(), 0.0);
  for_each_band(pool_, m_, [&](std::size_t begin, std::size_t end) {
    kernels::scale_centred(squares_.data(), m_, begin, end, mean_.data(), all_, root_.data(),
                           scaled_.data());
  });
  widest_ = largest_eigenpair(m_, std::span(scaled_).first(m_ * m_), pool_);
  return widest_.value = std::max(0.0, widest_.value);
}

bool Filter::cut() {
  // lambda u_i is that entry of YY' u, which has all its digits where little weight is left.
  std::vector<double> product(m_), tau(m_);
  SymmetricMatrix<double>(m_, scaled_.data(), pool_)
      .multiply(widest_.vector.data(), product.data());
  double most = 0;
  for (std::size_t i = 0; i < m_ && widest_.value > 0; ++i) {
    if (!(c_[i] > 0)) continue;
    const double along = product[i] / root_[i] / std::sqrt(widest_.value);
    tau[i] = along * along;
    most = std::max(most, tau[i]);
  }
  if (!(most > 0)) return false;
  for (std::size_t i = 0; i < m_; ++i) c_[i] *= 1 - tau[i] / most;
  leave_those_without_weight();
  return true;
}

// Their rows and columns are zeros: they are taken out when they are worth the trouble.
void Filter::leave_those_without_weight() {
  std::vector<std::size_t> active;
  for (std::size_t i = 0; i < m_; ++i)
    if (c_[i] > 0) active.push_back(i);
  if (active.size() > m_ - m_ / 8) return;
  keep(m_, active);
  m_ = active.size();
  for (std::size_t i = 0; i < m_; ++i) {
    c_[i] = c_[active[i]];
    count_[i] = count_[active[i]];
    place_[i] = place_[active[i]];
  }
  c_.resize(m_);
  count_.resize(m_);
}

}  // namespace

Plan plan(const Caf& rule, const Points& points) {
  const std::size_t n = points.size();
  Matrix squares = points.squared_distances();
  const Distinct places = distinct_rows(squares, n, n);
  const std::size_t count = places.first.size();
  Filter filter(std::move(squares), n, places, points.pool());
  Plan made;
  std::vector<double> best(count, 1.0);
  double least = kInfinity;
  const double enough = static_cast<double>(n - 2 * rule.f);
  for (; filter.total() > enough; ++made.iterations) {
    const double lambda = filter.find_widest();
    if (lambda < least) {
      least = lambda;
      best = filter.weights(count);
    }
    if (!filter.cut()) break;  // no spread is left: no other mean has a smaller one
  }
  double total = 0;
  made.coefficients.assign(points.all(), 0.0);
  for (std::size_t i = 0; i < n; ++i) total += best[places.of[i]];
  for (std::size_t i = 0; i < n; ++i) made.coefficients[i] = best[places.of[i]] / total;
  return made;
}

}  // namespace medgrad::estimators
