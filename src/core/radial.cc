#include "core/radial.h"

#include <algorithm>
#include <cmath>

#include "kernels/short_step.h"
#include "medgrad/thread_pool.h"

namespace medgrad {

using kernels::ScaledNorm;

RadialStep scale_far(double radius, const ScaledNorm& norm) {
  int of_radius = 0, of_value = 0;
  const double mantissa = std::frexp(radius, &of_radius) / std::frexp(norm.value, &of_value);
  const int exponent = of_value - std::ilogb(norm.scale);  // of |v|
  const double share = std::ldexp(mantissa, of_radius - exponent);
  // Small vectors: both may be denormal, the quotient is not.
  if (norm.scale >= 1 && share > 1 / kFactorRoom && share < kFactorRoom) return {{share, 1}, share};
  // Brings the norm to [1, 2) first, in two steps where it is below 2^-1022.
  const int all = 1 - exponent, up = std::min(all, 1022);
  return {{std::ldexp(mantissa, of_radius - 1), std::ldexp(1.0, up), std::ldexp(1.0, all - up)},
          share};
}

template <Real T>
ScaledNorm scaled_norm(std::span<const T> x) {
  // A cold run never looks at m; it is given g's address only to be some address.
  const auto run_of = [&](std::size_t begin, std::size_t end) {
    T* const unused = const_cast<T*>(x.data() + begin);
    return kernels::Run<T>{unused, unused, nullptr, end - begin};
  };
  if (x.size() <= kernels::kShort) {
    const kernels::Seen seen = kernels::measure_short(run_of(0, x.size()), {.cold = true});
    if (seen.ordinary) return {std::sqrt(seen.squares), 1};
  }
  const Chunks chunks = chunks_for(x.size());
  kernels::Squares squares{};
  for (std::size_t c = 0; c < chunks.count; ++c) {
    kernels::Tally tally;
    kernels::measure(run_of(chunks.begin(c), chunks.end(c)), {.cold = true}, tally);
    squares += tally.increment.sum();
  }
  return squares.norm();
}
template ScaledNorm scaled_norm(std::span<const float>);
template ScaledNorm scaled_norm(std::span<const double>);

}  // namespace medgrad
