// Inner products of rows of any size: what rules on whole rows are computed from.
#pragma once

#include <cstddef>
#include <vector>

#include "core/sample/gram.h"
#include "core/sample/input.h"
#include "core/sample/matrix.h"
#include "core/sample/norms.h"

namespace medgrad::estimators {

// A length or its square that may be outside the range of doubles: value 2^exponent.
struct Scaled {
  double value;
  int exponent;
};

// The inner products of points y_i = x_i - m around the componentwise median m of the rows, as
// distances between rows are good to 1e-16 of the distance from m, which is within the bulk. The
// points are the rows and, where a rule needs norms, the origin after them: the centre of the
// options, or 0.
//
//     <y_i, y_k> = g[i * points + k] 2^(exponents_i + exponents_k)
//
// Exponents are there for rows whose squares overflow or vanish, and empty elsewhere. Points that
// are near to each other and far from m have lost the digits of their distance in g: where there
// are any, squares has the distances of all pairs, those of near ones from the data
// (close_pairs.h), and same the first point that each is equal to.
struct Gram {
  std::size_t points = 0;
  bool origin = false;
  Matrix g;
  std::vector<int> exponents;
  MatrixOf<Scaled> squares;       // points x points; empty where g is enough
  std::vector<std::size_t> same;  // empty: no two points are known to be equal
  Count seen;

  [[nodiscard]] std::size_t rows() const { return points - (origin ? 1 : 0); }
  [[nodiscard]] const double* row(std::size_t i) const { return g.data() + i * points; }
  [[nodiscard]] int exponent(std::size_t i) const { return exponents.empty() ? 0 : exponents[i]; }
  // |y_i - y_k|^2.
  [[nodiscard]] Scaled square(std::size_t i, std::size_t k) const;
};

// The matrix from the sums of all runs (sum_runs of gram.h) with the scales that they had.
[[nodiscard]] Gram add_up(std::size_t points, bool origin, const GramRuns& runs,
                          std::span<const double> sums, const Scales& scales,
                          ThreadPool* pool = nullptr);

// All of it, in one pass; three where squares overflow or vanish, and one more over rows that are
// near to others but not to m.
template <Real T>
[[nodiscard]] Gram gram_of(const Input<T>& input, bool origin);

}  // namespace medgrad::estimators
