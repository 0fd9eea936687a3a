// One column of the l_p median with the norms given: a monotone equation in one unknown.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/sample/lp.h"

namespace medgrad::sample {
namespace {

struct Balance {
  double value, step;  // the sum up to a positive factor, and Newton's step -value / slope
};

// Powers are taken relative to the largest ratio, so that none of them that counts vanishes.
Balance balance_at(std::span<const double> x, std::span<const double> weights,
                   std::span<const double> units, double p, double z) {
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(z - x[i]) / units[i]);
  if (most == 0) return {0, 0};
  double value = 0, slope = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double t = std::abs(z - x[i]) / units[i] / most;
    if (t == 0) {
      if (p < 2) slope = std::numeric_limits<double>::infinity();
      continue;
    }
    const double power = p == 3 ? t * t : p == 1.5 ? std::sqrt(t) : std::pow(t, p - 1);
    value += std::copysign(weights[i] * power, z - x[i]);
    slope += weights[i] * (p - 1) * power / (t * units[i] * most);
  }
  return {value, slope > 0 ? -value / slope : 0};
}

}  // namespace

double balance_column(std::span<const double> x, std::span<const double> weights,
                      std::span<const double> units, double p, double guess) {
  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  double low = *least, high = *most, z = std::clamp(guess, low, high);
  Balance at = balance_at(x, weights, units, p, z);
  // Bracket: doubling steps from the guess, as an outlier makes [least, most] very wide.
  const double side = at.value < 0 ? 1 : -1;
  double stride = std::abs(at.step);
  if (!(stride > 0 && std::isfinite(stride))) stride = std::ldexp(std::max(1.0, std::abs(z)), -20);
  while (at.value != 0) {
    (side > 0 ? low : high) = z;
    const double next = std::clamp(z + side * stride, low, high);
    if (next == z) return z;
    z = next;
    at = balance_at(x, weights, units, p, z);
    if (at.value * side >= 0) break;
    stride *= 2;
  }
  (side > 0 ? high : low) = z;
  // Newton within the bracket; half of it where Newton does not halve its own steps.
  double before = high - low;
  for (int trial = 0; trial < 200 && at.value != 0; ++trial) {
    (at.value < 0 ? low : high) = z;
    double next = z + at.step;
    double move = std::abs(at.step);
    if (!(next > low && next < high && 2 * move <= before && move > 0)) {
      next = low + (high - low) / 2;
      move = (high - low) / 2;
    }
    if (!(next > low && next < high)) break;
    before = move;
    const double last = z;
    z = next;
    at = balance_at(x, weights, units, p, z);
    if (std::abs(z - last) <= 2e-16 * std::abs(z)) break;
  }
  return z;
}

}  // namespace medgrad::sample
