// The Weber problem on n points of R^k: the z with the smallest sum of weighted distances,
//
//     f(z) = sum_i omega_i |z - x_i|,  or  sum_i omega_i H_mu(z - x_i) / min(1, mu)
//
// for Huber's function, which is divided so that its forces do not vanish with mu.
// Here n and k are small; the rows of the data enter as points with the same mutual distances.
#pragma once

#include <cstddef>
#include <span>

#include "core/small_vector.h"
#include "medgrad/sample.h"

namespace medgrad::estimators {

struct WeberProblem {
  std::size_t n = 0, k = 0;
  std::span<const double> points;   // n x k, by rows; norms up to 1e150
  std::span<const double> weights;  // positive
  double mu = 0;                    // 0 for |.|, else Huber's threshold, at least 1e-300
  int max_iterations = 1000;
  double enough = 0;  // the relative gap to stop at; 0: go on to rounding
};

// The minimiser in the form in which it carries over to any isometric copy of the points:
//
//     z = x_a + sum_i coefficients_i (x_i - x_a),   a = anchor, the nearest point.
//
// Where the iteration stopped before, the coefficients are of the point one step of Weiszfeld's
// further, which has a smaller objective.
struct WeberSolution {
  std::size_t anchor = 0;
  SmallVector<double, 16> coefficients;
  SmallVector<double, 16> distances;  // |z - x_i|
  double objective = 0;
  double bound = 0;  // a lower bound of f from the dual problem
  int iterations = 0;
  Stop stop = Stop::rounding;  // or data_point, tolerance, max_iterations
};

[[nodiscard]] WeberSolution solve(const WeberProblem& problem);

// f of points at those distances from z; mu is 0 for |.|.
[[nodiscard]] double value_of(std::span<const double> weights, std::span<const double> distances,
                              double mu);

}  // namespace medgrad::estimators
