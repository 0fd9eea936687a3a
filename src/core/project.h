// Internal to the distances: what norms and projections have in common.
#pragma once

#include "medgrad/distance.h"

namespace medgrad {

// out = x - Proj_{B_q(0,radius)}(x) = prox_{radius |.|_p}(x), 1/p + 1/q = 1.
template <Real T>
void subtract_projection(double q, double radius, std::span<const T> x, std::span<T> out);

// |x|_p / max for 1 <= p < infinity, max > 0 the largest |x_i|: at most n^{1/p}, so it cannot
// overflow.
template <Real T>
[[nodiscard]] double relative_norm(double p, std::span<const T> x, double max);

}  // namespace medgrad
