#include "core/automatic.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace medgrad {
namespace {

// Positive and finite, whatever it was multiplied by.
double in_range(double x) {
  using Limits = std::numeric_limits<double>;
  return std::clamp(x, Limits::denorm_min(), Limits::max());
}

}  // namespace

double next_size(const AutomaticTau& how, double size, const kernels::ScaledNorm& norm,
                 bool unbounded) {
  const double seen = norm.get();
  if (unbounded || seen == 0 || !std::isfinite(seen)) return size;
  if (size == 0) return seen;
  const double down = std::exp(-how.rate * (1 - how.level)), up = std::exp(how.rate * how.level);
  return in_range(std::clamp(seen, size * down, size * up));
}

double next_size(const AutomaticTau& how, double size, std::uint64_t within, std::uint64_t moving) {
  if (moving == 0) return size;
  const double share = static_cast<double>(within) / static_cast<double>(moving);
  return in_range(size * std::exp(how.rate * (how.level - share)));
}

template <Real T>
double first_size(const AutomaticTau& how, std::span<T> x) {
  for (T& v : x) v = std::fabs(v);
  const auto end = std::remove(x.begin(), x.end(), T{0});
  const auto n = static_cast<std::size_t>(end - x.begin());
  if (n == 0) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(how.level * static_cast<double>(n)));
  const auto found =
      x.begin() + static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(rank, 1, n) - 1);
  std::nth_element(x.begin(), found, end);
  return *found < std::numeric_limits<T>::max() ? static_cast<double>(*found) : 0;
}

double tau_at(const AutomaticTau& how, double size) { return in_range(how.theta * size); }

Huber huber_at(const Huber& huber, double size) { return Huber(in_range(huber.mu() * size)); }

template double first_size(const AutomaticTau&, std::span<float>);
template double first_size(const AutomaticTau&, std::span<double>);

}  // namespace medgrad
