// Geometric median and Huber location of mixed rows, from the inner products of the rows.
//
// Points that are means of many of the same rows are close to each other, and far from the centre
// of the inner products. So theirs are computed from the differences of their mixtures, in which
// what they have in common is gone:
//
//     <y_i - c, y_k - c> = (w_i - w_c)' G (w_k - w_c).
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "core/sample/distinct.h"
#include "core/sample/embedding.h"
#include "core/sample/estimators.h"
#include "core/sample/near_line.h"
#include "core/sample/plan.h"
#include "core/sample/product.h"
#include "core/sample/weber.h"
#include "core/sample/weber_gram.h"
#include "kernels/gram.h"

namespace medgrad::estimators {
namespace {

constexpr std::size_t kManyPoints = 24;  // as in spatial.cc

// Points that lie in different places, and how many there are in each.
struct Places {
  std::vector<std::size_t> first;
  std::vector<double> weights;
};
Places places_of(const Points& points) {
  const std::size_t n = points.size(), rows = points.rows();
  Matrix w(points.mixture().begin(),
           points.mixture().begin() + static_cast<std::ptrdiff_t>(n * rows));
  merge_columns(w, points.row_same());
  Distinct kinds = distinct_rows(w, n, rows);
  Places places{std::move(kinds.first), {}};
  places.weights.resize(places.first.size());
  for (const std::size_t kind : kinds.of) ++places.weights[kind];
  return places;
}

// What mixtures are taken relative to: that of the place with the most points; where many are all
// different, the middle of each coefficient, as Newton's method then begins there and must not be
// at a point.
std::vector<double> middle_mixture(const Points& points, const Places& places) {
  const std::size_t rows = points.rows(), count = places.first.size();
  const double* const w = points.mixture().data();
  if (count <= kManyPoints) {
    const auto most = std::max_element(places.weights.begin(), places.weights.end());
    const double* const own =
        w + places.first[static_cast<std::size_t>(most - places.weights.begin())] * rows;
    return {own, own + rows};
  }
  std::vector<double> middle(rows), column(count);
  for (std::size_t k = 0; k < rows; ++k) {
    for (std::size_t i = 0; i < count; ++i) column[i] = w[places.first[i] * rows + k];
    middle[k] = median_of(std::span<double>(column));
  }
  return middle;
}

// None where a distance has lost its digits: places next to each other, far from what they are
// taken relative to.
std::optional<GramMatrix> products_of(const Points& points, const Places& places) {
  constexpr double kLeft = 1e-6;
  const std::size_t rows = points.rows(), count = places.first.size();
  const std::vector<double> middle = middle_mixture(points, places);
  Matrix w(count * rows), inner(count * count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < rows; ++k)
      w[i * rows + k] = points.mixture()[places.first[i] * rows + k] - middle[k];
  }
  multiply_both_sides(w.data(), points.row_products().data(), count, rows, inner.data(),
                      points.pool());
  GramMatrix gram;
  gram.g.resize(kernels::pair_index(count, 0));
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k <= i; ++k) gram.g[kernels::pair_index(i, k)] = inner[i * count + k];
    // A point at the middle has no length; rounding must not give it an imaginary one.
    double& square = gram.g[kernels::pair_index(i, i)];
    square = std::max(0.0, square);
  }
  std::vector<double> reach(count);  // what rounding errors are relative to
  for (std::size_t k = 0; k < rows; ++k) {
    const double length = std::sqrt(points.row_products()[k * rows + k]);
    for (std::size_t i = 0; i < count; ++i) reach[i] += std::abs(w[i * rows + k]) * length;
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const double square = gram(i, i) + gram(k, k) - 2 * gram(i, k), far = reach[i] + reach[k];
      if (square < kLeft * far * far) return std::nullopt;
    }
  }
  return gram;
}

// sum omega_i r_i, or of Huber's function of it.
double objective_of(std::span<const double> weights, std::span<const double> r, int exponent,
                    double mu) {
  double f = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double length = std::ldexp(r[i], exponent);
    f += weights[i] * (mu == 0        ? length
                       : length <= mu ? length * length / 2
                                      : mu * (length - mu / 2));
  }
  return f;
}

// Does the gradient vanish where the coefficients say, as far as the inner products tell? Next to a
// line, or with points of very different size, the embedding may have lost digits that they have.
bool stationary(const GramMatrix& gram, const Places& places, const WeberSolution& solution,
                double mu) {
  const std::size_t count = places.first.size();
  std::vector<double> a(solution.coefficients.begin(), solution.coefficients.end()), v(count),
      b(count);
  a[solution.anchor] = 1 - std::accumulate(a.begin(), a.end(), 0.0);
  const auto times = [&](const std::vector<double>& x, std::size_t i) {
    double sum = 0;
    for (std::size_t k = 0; k < count; ++k) sum += gram(i, k) * x[k];
    return sum;
  };
  double square = 0, stiffness = 0, force = 0;
  for (std::size_t i = 0; i < count; ++i) {
    v[i] = times(a, i);
    square += a[i] * v[i];
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double r = std::sqrt(std::max(0.0, square - 2 * v[i] + gram(i, i)));
    if (!(r > 0)) return false;
    const double size = mu == 0 ? 1 : std::min(r, mu);
    b[i] = -places.weights[i] * size / r;
    stiffness -= b[i];
    force += places.weights[i] * size;
  }
  for (std::size_t i = 0; i < count; ++i) b[i] += stiffness * a[i];
  double slope = 0;
  for (std::size_t i = 0; i < count; ++i) slope += b[i] * times(b, i);
  return std::sqrt(std::max(0.0, slope)) <= 1e-12 * force;
}

struct Found {
  Embedding e;
  WeberSolution solution;
};
std::optional<Found> find(const GramMatrix& gram, const Places& places, double mu, double tolerance,
                          int max_iterations) {
  constexpr int kMostExponent = 400;  // beyond, squares of distances leave the range of doubles
  const std::size_t count = places.first.size();
  Embedding e = measure_products(gram, places.weights, mu);
  if (std::abs(e.exponent) > kMostExponent) return std::nullopt;
  if (count > kManyPoints) {
    const auto solution =
        solve_by_gram({&gram, std::ldexp(1.0, -2 * e.exponent), places.weights, threshold_of(mu, e),
                       max_iterations, gap_to_stop_at(tolerance)});
    if (solution) return Found{std::move(e), *solution};
  }
  e = embed_products(gram, places.weights, mu);
  if (count > 2 && gap_near_line(e.points, e.k, places.weights)) return std::nullopt;
  WeberSolution solution = solve({count, e.k, e.points, places.weights, threshold_of(mu, e),
                                  max_iterations, gap_to_stop_at(tolerance)});
  return Found{std::move(e), std::move(solution)};
}

std::optional<Plan> locate_mixed(double mu, double tolerance, int max_iterations,
                                 const Points& points) {
  const Places places = places_of(points);
  const std::size_t count = places.first.size();
  Plan made;
  made.coefficients.assign(points.all(), 0.0);
  made.certificate.emplace();
  made.certificate->tolerance = tolerance;
  if (count == 1) {
    made.coefficients[places.first[0]] = 1;
    made.stop = Stop::data_point;
    return made;
  }
  const std::optional<GramMatrix> products = products_of(points, places);
  if (!products) return std::nullopt;
  const GramMatrix& gram = *products;
  for (std::size_t i = 0; i < count; ++i)
    if (gram(i, i) > 0 && !safe_square(gram(i, i))) return std::nullopt;
  const std::optional<Found> found = find(gram, places, mu, tolerance, max_iterations);
  if (!found) return std::nullopt;
  const WeberSolution& solution = found->solution;
  if (solution.stop == Stop::rounding && !stationary(gram, places, solution, mu))
    return std::nullopt;
  double rest = 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (i == solution.anchor) continue;
    made.coefficients[places.first[i]] = solution.coefficients[i];
    rest -= solution.coefficients[i];
  }
  made.coefficients[places.first[solution.anchor]] = rest;
  made.iterations = solution.iterations;
  made.stop = solution.stop;
  const double threshold = threshold_of(mu, found->e);
  Certificate& c = *made.certificate;
  c.exponent = found->e.exponent;
  c.objective = objective_of(places.weights, solution.distances, c.exponent, mu);
  c.value = value_of(places.weights, solution.distances, threshold);
  c.bound = solution.bound;
  c.slope = static_cast<double>(points.size()) * std::max(1.0, threshold);
  return made;
}

}  // namespace

std::optional<Plan> plan_mixed(const GeometricMedian& rule, const Points& points) {
  return locate_mixed(0.0, rule.tolerance, rule.max_iterations, points);
}

std::optional<Plan> plan_mixed(const HuberLocation& rule, const Points& points) {
  return locate_mixed(rule.mu, rule.tolerance, rule.max_iterations, points);
}

}  // namespace medgrad::estimators
