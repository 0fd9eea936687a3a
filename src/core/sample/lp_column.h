// One column of the l_p median with the norms given: a monotone equation in one unknown.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace medgrad::estimators {

// A number z as the sum of an entry of its column and what is left. For p < 2 a gradient grows like
// |z - x|^(p-1) next to an entry x: the digits of z - x count, and z alone does not hold them.
struct Place {
  double origin = 0, offset = 0;
  [[nodiscard]] double value() const { return origin + offset; }
  [[nodiscard]] double from(double x) const { return (origin - x) + offset; }
};

// Finds the z with  sum_i weights_i sign(z - x_i) (|z - x_i| / units_i)^(p-1) = 0.
class ColumnSolver {
 public:
  ColumnSolver(std::span<const double> weights, std::span<const double> units, double p);
  // x (of the length of the weights) is the column.
  [[nodiscard]] Place solve(std::span<const double> x, Place guess);

 private:
  // The sum at `offset`, up to a positive factor, and what its steps follow from.
  struct Balance {
    double value = 0;      // of the sum
    double magnitude = 0;  // of its terms
    double slope = 0;      // terms at z left out
    double scale = 0;      // the largest |z - x_i| / units_i; terms are relative to its power
    double above = 0, below = 0, above_slope = 0, below_slope = 0;  // value = above - below
    double least = std::numeric_limits<double>::infinity();         // the smallest |z - x_i|
  };

  [[nodiscard]] bool zero(const Balance& b) const;  // but for rounding
  [[nodiscard]] double rooted(double x) const;
  void anchor(std::size_t a);
  void anchor_nearest(double& offset);
  Balance balance_at(double offset);
  [[nodiscard]] double smooth_root(double guess);
  [[nodiscard]] double kinked_root(double guess);
  [[nodiscard]] bool next_kink(double side, double& kink, std::size_t& row) const;
  [[nodiscard]] double root_within(double start, double far, double side);
  [[nodiscard]] bool polish(double& offset);

  std::span<const double> weights_;
  double p_, root_;  // root_ = 1 / (p - 1)
  std::vector<double> inverse_;
  std::span<const double> x_;
  std::size_t a_ = 0;
  std::vector<double> shift_;      // x_a - x_i
  std::vector<double> v_, power_;  // z - x_i; (|v_i| / units_i / scale)^(p-1), padded
};

}  // namespace medgrad::estimators
