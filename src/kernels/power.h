// Powers of many numbers at once, the same bits on every SIMD target.
#pragma once

#include <cstddef>

namespace medgrad::kernels {

// out_i = t_i^a for finite t_i >= 0 and a > 0; in place is allowed. 1^a is 1 and 0^a is 0. The
// relative error is below 2 (1 + |log t^a|) 2^-52: beside a power near one, that of a smaller one
// is less than an ulp. Powers below 2^-1022 become zero, those above 2^1023 may be anything from
// there on.
void powers(const double* t, std::size_t count, double a, double* out);

// The next multiple of the longest vector: rows padded to it (with anything) have no slow rest.
[[nodiscard]] constexpr std::size_t padded(std::size_t count) { return (count + 7) / 8 * 8; }

}  // namespace medgrad::kernels
