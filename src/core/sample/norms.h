// Norms of the rows around a centre, for entries of any finite size.
#pragma once

#include <vector>

#include "core/sample/input.h"

namespace medgrad::estimators {

// Powers of two that bring rows into a range where squares neither overflow nor vanish. Empty where
// that is so without them, as nearly always.
using Scales = std::vector<double>;

// 1 / scale for each row from its largest |x_ij - c_j| (infinity allowed: the difference
// overflows).
[[nodiscard]] Scales scales_for(const std::vector<double>& largest);

// Can a sum of squares be trusted? Squares of entries below 1e-162 vanish, so zero is suspect too.
[[nodiscard]] bool safe_square(double sum);

// max_j |x_ij - c_j| for each row; infinity where the difference overflows. `centre` is null for 0;
// `fill` as in Block::load.
template <Real T>
[[nodiscard]] std::vector<double> largest_entries(const Input<T>& input, const T* centre,
                                                  const T* fill);

struct Norms {
  std::vector<double> scaled;  // |x_i - c|_2 times the scale of the row
  Scales scales;
  Count seen;            // in the columns that are here
  bool missing = false;  // is any entry NaN, here or elsewhere?
};

// One pass over the data; three where scales are needed.
template <Real T>
[[nodiscard]] Norms row_norms(const Input<T>& input, const T* centre, const T* fill);

// A radius around the centre within which f(m) = sum omega_i |m - x_i| has all its minimisers, from
// |x_i| and omega_i, for any norm: where rows of norms up to r have the weight V > W/2 of W, f(m)
// <= f(0) gives (2V - W) |m| <= 2 sum omega_i |x_i| over those rows.
[[nodiscard]] double search_radius(std::span<const double> norms, std::span<const double> weights);

}  // namespace medgrad::estimators
