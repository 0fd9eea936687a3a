// Distances that inner products around one centre do not have.
//
// |x_i - x_k|^2 = g_ii + g_kk - 2 g_ik is good to 1e-16 of g_ii + g_kk. Where two points are much
// nearer to each other than to the centre, as a few rows next to the origin while the bulk is far
// away, little is left of it, and the distance is taken from the data: a pass over the rows that
// are concerned.
#pragma once

#include "core/sample/inner_products.h"
#include "core/sample/input.h"

namespace medgrad::estimators {

// Fills in squares and same, where there are such points.
template <Real T>
void measure_close_pairs(const Input<T>& input, Gram& gram);

}  // namespace medgrad::estimators
