// Powers of many numbers at once.
#pragma once

#include <cstddef>

namespace medgrad::kernels {

// out_i = t_i^a for t_i >= 0, finite, and a > 0; in place is allowed.
void powers(const double* t, std::size_t count, double a, double* out);

}  // namespace medgrad::kernels
