#include "kernels/power.h"

#include <cmath>

namespace medgrad::kernels {

void powers(const double* t, std::size_t count, double a, double* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = std::pow(t[i], a);
}

}  // namespace medgrad::kernels
