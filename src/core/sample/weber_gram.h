// The Weber problem (weber.h) for many points, on their Gram matrix alone.
//
// A point z = sum_i a_i x_i is its coefficients a; v = G a has <x_i, z>, and
//
//     |z - x_i|^2 = |z|^2 - 2 v_i + G_ii,   |z|^2 = <a, v>.
//
// So a step of Newton's method costs a few products of G with a vector, n^2 each, where factorising
// G takes n^3: the method for hundreds of rows. Distances are differences of squares, so that one
// that is much shorter than |x_i| has lost its digits; then, and where the minimiser may be a data
// point or the points nearly are on a line, this gives up and the embedding is made after all.
#pragma once

#include <optional>
#include <span>

#include "core/sample/gram.h"
#include "core/sample/weber.h"
#include "medgrad/thread_pool.h"

namespace medgrad::estimators {

struct GramProblem {
  const GramMatrix* gram = nullptr;  // of the points in units of their own
  double unit = 1;                   // squares are multiplied by it: a power of two
  std::span<const double> weights;   // positive
  double mu = 0;                     // 0 for |.|, else Huber's threshold
  int max_iterations = 1000;
  double enough = 0;  // the relative gap to stop at; 0: go on to rounding
  ThreadPool* pool = nullptr;
};

// None where it cannot be had to the accuracy that the embedding gives.
[[nodiscard]] std::optional<WeberSolution> solve_by_gram(const GramProblem& problem);

}  // namespace medgrad::estimators
