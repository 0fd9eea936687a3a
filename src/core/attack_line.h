// Attacks along a line: what is made of the mean and the standard deviations of the honest rows.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>

#include "medgrad/attack.h"

namespace medgrad {

template <Real T>
[[nodiscard]] T to_finite(double x) {
  constexpr double kMost = std::numeric_limits<T>::max();
  return static_cast<T>(std::clamp(x, -kMost, kMost));
}

// Throws Error where there is no honest row.
void check_honest(std::size_t h, std::string_view name);

// Copies the first d entries to the rows after them.
template <Real T>
void repeat_first(std::span<T> out, std::size_t d) {
  for (std::size_t at = d; at < out.size(); at += d)
    std::copy_n(out.begin(), d, out.begin() + static_cast<std::ptrdiff_t>(at));
}

// mu - strength sigma, or -strength mu: Alie, and Ipm with SignFlip.
enum class Along : std::uint8_t { sigma, mu };

template <Real T>
[[nodiscard]] AttackInfo attack_along(Along along, std::string_view name, double strength,
                                      const Rows<T>& honest, std::size_t f, std::span<T> out,
                                      const AttackOptions<T>& options);

}  // namespace medgrad
