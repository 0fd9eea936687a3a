// Medians on a line: of numbers with weights, and of rows that lie on one.
//
// For a strictly convex norm (l_p, 1 < p < infinity), f(m) = sum omega_i |m - x_i| has more than
// one minimiser only if all rows are on a line: where f is constant between m and m', every
// |m + t (m' - m) - x_i| is affine in t, and so x_i on the line through m and m'. There f is the
// norm of the line's direction times a sum of weighted distances of numbers, its minimisers those
// between the lower and the upper weighted median, and we give the middle of them.
//
// The same for Huber's function H_mu: it is affine along a segment only if x_i is on its line and
// at least mu away from all of it. So all rows are on a line again, none is nearer to a minimiser
// than mu, each pulls with mu omega_i, and the weights on the two sides are equal: the minimisers
// are what is left of the segment between the lower and the upper median without mu at both ends,
// with the same middle. If those two are less than 2 mu apart, the minimiser is unique.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/sample/embedding.h"
#include "core/sample/input.h"

namespace medgrad::estimators {

struct Weighted {
  double value, weight;
};

// Sorts by value; equal ones by weight, so that sums do not depend on the order that was.
void sort_by_value(std::span<Weighted> entries);

// The places of the lower and the upper weighted median of sorted entries: no more than half of the
// weight is below the one and no more than half above the other, up to the rounding errors of
// weights (0.1 and 0.2 are 0.3). Entries between the two can only be lighter than those errors;
// then they decide among themselves.
struct Middle {
  std::size_t lower = 0, upper = 0;
};
[[nodiscard]] Middle weighted_middle(std::span<const Weighted> sorted);

// If the rows are on a line: those that are lower and upper median there. On a line means that
// changes of the size of rounding errors could put them there; rows that are a little off it are
// not. Costs a few operations for nearly all data that are not, and else up to two passes.
template <Real T>
[[nodiscard]] std::optional<Middle> median_on_line(const Input<T>& input);

// Writes the midpoint of two rows, or the row if they are the same.
template <Real T>
void write_midpoint(const Input<T>& input, Middle middle, std::span<T> out);

// |x_i|_p, and |<x_i, y>| for the y with |y|_q = 1 that is the dual of the longest x_i, of points
// on a line through 0 but for rounding. As |z|_p >= <z, y>, and 0 is a median of the <x_i, y>, the
// objective is for every z at least what it is at 0 with the latter in place of the norms.
struct LineNorms {
  std::vector<double> p, along;
};
[[nodiscard]] LineNorms line_norms(const Embedding& e, double p);

// What is known of such an estimate m from rows embedded around it: everything but the objective. f
// and bound are the objective at m and a lower bound of it.
[[nodiscard]] SampleInfo line_info(Middle middle, const Embedding& e, double f, double bound);

}  // namespace medgrad::estimators
