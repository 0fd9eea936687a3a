// Internal to the distances: x minus its projection, without losing it to cancellation.
#pragma once

#include "medgrad/distance.h"

namespace medgrad {

// out = x - Proj_{B_q(0,radius)}(x) = prox_{radius |.|_p}(x), 1/p + 1/q = 1.
template <Real T>
void subtract_projection(double q, double radius, std::span<const T> x, std::span<T> out);

}  // namespace medgrad
