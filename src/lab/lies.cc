#include "lab/lies.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "medgrad/rng.h"

namespace medgrad::lab {

void tell(const Lie& lie, const Rows<double>& honest, std::size_t f, std::uint64_t seed,
          std::uint64_t stream, std::uint64_t round, std::span<double> out) {
  using Kind = Lie::Kind;
  const std::size_t n = honest.n(), d = honest.d(), all = n + f;
  const auto first = out.first(d);
  if (lie.kind == Kind::gaussian) {
    Philox(seed, stream).fill_normal(out, round * f * d);
    for (double& x : out) x *= lie.strength;
    return;
  }
  double z = 0;
  if (lie.kind == Kind::alie) {
    const double s = std::floor(static_cast<double>(all) / 2 + 1) - static_cast<double>(f);
    const double p = (static_cast<double>(n) - s) / static_cast<double>(n);
    z = lie.strength * quantile(boost::math::normal(), std::clamp(p, 0.01, 0.99));
  }
  for (std::size_t j = 0; j < d; ++j) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < n; ++i) mean += honest.row(i)[j] / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i)
      square += (honest.row(i)[j] - mean) * (honest.row(i)[j] - mean) / static_cast<double>(n);
    first[j] = lie.kind == Kind::sign_flip ? -mean
               : lie.kind == Kind::ipm     ? -lie.strength * mean
               : lie.kind == Kind::alie    ? mean - z * std::sqrt(square)
               : lie.kind == Kind::mimic   ? honest.row(0)[j]
                                           : std::numeric_limits<double>::quiet_NaN();
  }
  for (std::size_t k = 1; k < f; ++k)
    std::ranges::copy(first, out.begin() + static_cast<std::ptrdiff_t>(k * d));
}

}  // namespace medgrad::lab
