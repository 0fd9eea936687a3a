// Elliptical stable laws: densities of vectors, and their fit to rows.
//
// X = location + sqrt(A) G with G ~ N(0, shape) and A ~ S1(alpha/2, 1, 2 cos(pi alpha/4)^{2/alpha},
// 0) has log E exp(i t'(X - location)) = -(t' shape t)^{alpha/2}: every component is stable with
// scale sqrt(shape_jj), and alpha = 2 is N(location, 2 shape). Its density depends on x through the
// radius r^2 = (x - location)' shape^-1 (x - location) alone,
//
//     f(x) = |shape|^{-1/2} h(r),   h(r) = int (2 pi a)^{-d/2} e^{-r^2 / 2a} f_A(a) da,
//
// integrated in log a with f_A from stable.h. It is taken once per law; a point costs microseconds.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "medgrad/export.h"
#include "medgrad/rows.h"
#include "medgrad/tail_index.h"

#pragma GCC visibility push(default)
namespace medgrad {

class EllipticalDensity {
 public:
  // The shape is d x d, row by row, symmetric and positive definite; 0.2 <= alpha <= 2 (else an
  // Error).
  EllipticalDensity(double alpha, std::span<const double> location, std::span<const double> shape);

  [[nodiscard]] double alpha() const { return alpha_; }
  [[nodiscard]] std::size_t dimension() const { return location_.size(); }

  // log f(x), x of d entries; NaN where an entry is, and -inf where one is infinite.
  [[nodiscard]] double log_pdf(std::span<const double> x) const;
  // r, and log h of one.
  [[nodiscard]] double radius(std::span<const double> x) const;
  [[nodiscard]] double log_radial(double r) const;

 private:
  friend class EllipticalFitter;
  EllipticalDensity(double alpha, std::size_t dimension);  // location 0, shape 1
  void prepare();

  double alpha_;
  std::vector<double> location_, factor_;  // the lower Cholesky factor of the shape
  double log_determinant_ = 0;             // of the factor
  std::vector<double> logs_, inverses_;    // at the nodes: log of all but e^{-r^2/2a}; 1/(2a)
};

struct EllipticalFit {
  double alpha = 2;
  Interval alpha_interval;  // 95 %
  double alpha_error = 0;
  std::vector<double> location, shape;  // d; d x d, row by row
  // The shape is that of rows / unit: a power of two where squares of spreads would be no numbers
  // (beyond 2^500 or below 2^-500), 1 elsewhere.
  double unit = 1;
  double log_likelihood = 0;  // of the radii
  std::size_t n = 0, d = 0, left_out = 0;
};

// Location: componentwise median. Shape: Tyler's estimator (Ann. Stat. 15, 1987), which sees the
// directions of the rows alone and is the same for every elliptical law. alpha and the size of the
// shape: maximum likelihood of the radii. Rows with an entry that is not finite, and those that are
// the median itself, are left out. Error for fewer than 20 rows or fewer than 2 d, where the rows
// lie in a subspace, and where spreads of components are 2^500 times as large as others.
template <Real T>
[[nodiscard]] MEDGRAD_EXPORT EllipticalFit fit_elliptical(const Rows<T>& rows);

extern template EllipticalFit fit_elliptical(const Rows<float>&);
extern template EllipticalFit fit_elliptical(const Rows<double>&);

}  // namespace medgrad
#pragma GCC visibility pop
