// The l_p median of n points of R^d for 1 < p < infinity.
#pragma once

#include <span>
#include <vector>

#include "medgrad/sample.h"

namespace medgrad::estimators {

struct LpProblem {
  std::size_t n = 0, d = 0;
  std::span<const double> points;   // n x d, by rows, around their componentwise median
  std::span<const double> weights;  // positive
  double p = 3;
  int max_iterations = 1000;
  double enough = 0;  // the relative gap to stop at; 0: go on to rounding
  ThreadPool* pool = nullptr;
};

struct LpSolution {
  std::vector<double> z;
  std::size_t row = 0;  // the data point, if that is where it stopped
  double bound = 0;     // a lower bound of the objective; at a data point, what it may be off by
  int iterations = 0;
  Stop stop = Stop::rounding;  // or data_point, tolerance, max_iterations
};

[[nodiscard]] LpSolution solve(const LpProblem& problem);

// |z - x_i|_p.
[[nodiscard]] std::vector<double> lp_norms(const LpProblem& problem, const std::vector<double>& z);

}  // namespace medgrad::estimators
