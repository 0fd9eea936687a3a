#include "core/radial.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "medgrad/thread_pool.h"

namespace medgrad {

using kernels::ScaledNorm;

// Brings the norm to [1, 2) first; below 2^-1022 as far as powers of two go. A radius near the
// largest double over a norm near the smallest is cut to the largest factor: infinity times a
// component that is 0 would be no number.
RadialStep scale_far(double radius, const ScaledNorm& norm) {
  const int exponent = std::ilogb(norm.value) - std::ilogb(norm.scale);
  const double scale = std::ldexp(1.0, std::min(-exponent, 1022));
  const double scaled = norm.value * std::ldexp(1.0, std::ilogb(scale) - std::ilogb(norm.scale));
  return {{std::min(radius / scaled, std::numeric_limits<double>::max()), scale},
          radius / norm.get()};
}

template <Real T>
ScaledNorm scaled_norm(std::span<const T> x) {
  const Chunks chunks = chunks_for(x.size());
  kernels::Squares squares{};
  for (std::size_t c = 0; c < chunks.count; ++c) {
    kernels::Tally tally;
    // A cold run never looks at m; it is given g's address only to be some address.
    T* const unused = const_cast<T*>(x.data() + chunks.begin(c));
    kernels::measure<T>({unused, unused, nullptr, chunks.end(c) - chunks.begin(c)}, {.cold = true},
                        tally);
    squares += tally.increment.sum();
  }
  return squares.norm();
}
template ScaledNorm scaled_norm(std::span<const float>);
template ScaledNorm scaled_norm(std::span<const double>);

}  // namespace medgrad
