// The covariance filter CAF.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/sample/eigen.h"
#include "core/sample/plan.h"

namespace medgrad::estimators {
namespace {

// The widest direction of weighted points: the largest eigenvalue of their covariance and
// tau_i = ((x_i - mu) . v)^2 for the active rows.
//
// With p = c / sum c the covariance is Y'Y for Y of rows sqrt(p_i) (x_i - mu)', so that its
// eigenvalues other than 0 are those of YY', a matrix of inner products. Its eigenvector u gives
// (x_i - mu) . v = sum_k <x_i - mu, x_k - mu> sqrt(p_k) u_k / sqrt(lambda).
struct Widest {
  double lambda = 0;
  std::vector<double> tau;
};

Widest widest(std::span<const double> squares, std::size_t n, std::span<const std::size_t> active,
              std::span<const double> c) {
  const std::size_t m = active.size();
  double total = 0;
  for (const std::size_t i : active) total += c[i];
  std::vector<double> share(m), root(m), mean(m), inner(m * m), scaled(m * m);
  for (std::size_t i = 0; i < m; ++i) {
    share[i] = c[active[i]] / total;
    root[i] = std::sqrt(share[i]);
  }
  double all = 0;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t k = 0; k < m; ++k) mean[i] += share[k] * squares[active[i] * n + active[k]];
    all += share[i] * mean[i];
  }
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t k = 0; k < m; ++k) {
      const double product = (mean[i] + mean[k] - squares[active[i] * n + active[k]] - all) / 2;
      inner[i * m + k] = product;
      scaled[i * m + k] = root[i] * root[k] * product;
    }
  }
  const EigenPair pair = largest_eigenpair(m, scaled);
  Widest found{std::max(0.0, pair.value), std::vector<double>(m)};
  for (std::size_t i = 0; i < m && found.lambda > 0; ++i) {
    double product = 0;
    for (std::size_t k = 0; k < m; ++k) product += inner[i * m + k] * root[k] * pair.vector[k];
    const double along = product / std::sqrt(found.lambda);
    found.tau[i] = along * along;
  }
  return found;
}

}  // namespace

Plan plan(const Caf& rule, const Points& points) {
  const std::size_t n = points.size();
  const std::vector<double> squares = points.squared_distances();
  Plan made;
  std::vector<double> c(n, 1.0), best(n, 1.0);
  double least = kInfinity;
  const double enough = static_cast<double>(n - 2 * rule.f);
  for (double total = static_cast<double>(n); total > enough; ++made.iterations) {
    std::vector<std::size_t> active;
    for (std::size_t i = 0; i < n; ++i)
      if (c[i] > 0) active.push_back(i);
    const Widest found = widest(squares, n, active, c);
    if (found.lambda < least) {
      least = found.lambda;
      best = c;
    }
    const double most = *std::max_element(found.tau.begin(), found.tau.end());
    if (!(most > 0)) break;  // no spread is left: no other mean has a smaller one
    for (std::size_t i = 0; i < active.size(); ++i) c[active[i]] *= 1 - found.tau[i] / most;
    total = std::accumulate(c.begin(), c.end(), 0.0);
  }
  const double total = std::accumulate(best.begin(), best.end(), 0.0);
  made.coefficients.assign(points.all(), 0.0);
  for (std::size_t i = 0; i < n; ++i) made.coefficients[i] = best[i] / total;
  return made;
}

}  // namespace medgrad::estimators
