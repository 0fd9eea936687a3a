// From a sum in double to a mean in T.
#pragma once

#include <type_traits>

namespace medgrad::kernels {

// What a sum is divided by. A sum of floats is multiplied by the inverse, a tenth of the time of a
// division: what that is off, 2^-52 of the mean, is nothing beside rounding to float, and the mean
// of equal floats is still that float.
template <class T>
struct Divisor {
  double count, inverse;
  explicit Divisor(double n) : count(n), inverse(1 / n) {}

  [[nodiscard]] T mean(double sum) const {
    if constexpr (std::is_same_v<T, float>) return static_cast<float>(sum * inverse);
    return static_cast<T>(sum / count);
  }
};

}  // namespace medgrad::kernels
