#include "medgrad/stable.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "medgrad/stable_fit.h"
#include "noise/characteristic.h"
#include "noise/standardised.h"

namespace medgrad {
namespace {

// P(sqrt(n) times the largest distance between both distribution functions is larger), if the law
// is given (Kolmogorov 1933). A fitted law is nearer than that, so this errs on its side; it is for
// what eight points of a characteristic function do not see, as the edge of a Pareto law.
double kolmogorov(std::span<const double> z, const noise::Shape& shape) {
  constexpr std::size_t kMost = std::size_t{1} << 16, kPoints = 128;
  const std::size_t stride = (z.size() + kMost - 1) / kMost;
  std::vector<double> x;
  for (std::size_t i = 0; i < z.size(); i += stride) x.push_back(z[i]);
  std::sort(x.begin(), x.end());
  const Stable law(
      {shape.alpha, shape.alpha >= 2 ? 0 : shape.beta, std::exp(shape.log_scale), shape.location});
  const auto n = static_cast<double>(x.size());
  double largest = 0;
  for (std::size_t i = 0; i < kPoints; ++i) {
    const double at = x[(2 * i + 1) * x.size() / (2 * kPoints)];
    const auto [first, last] = std::equal_range(x.begin(), x.end(), at);
    const double p = law.cdf(at) * n;
    largest = std::max({largest, static_cast<double>(first - x.begin()) - p,
                        p - static_cast<double>(last - x.begin())});
  }
  const double distance = largest / std::sqrt(n);
  if (distance < 0.5) return 1;
  double sum = 0;
  for (int k = 1; k < 20; ++k)
    sum += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * distance * distance);
  return std::clamp(sum, 0.0, 1.0);
}

}  // namespace

StableTest test_stable(std::span<const double> sample) {
  const noise::Standardised s = noise::standardise(sample);
  const auto n = static_cast<double>(s.n);
  noise::Means means = noise::means_of(s.z);
  // What is infinite has any phase: its mean is 0.
  const double share = static_cast<double>(s.z.size()) / n;
  for (double& m : means) m *= share;
  const noise::CharacteristicFit found = noise::fit_means(means);

  StableTest test;
  test.distance = n * found.distance;
  test.degrees = static_cast<int>(noise::kMeans) - 2 - (found.alpha_clamped ? 0 : 1) -
                 (found.beta_clamped || found.law.alpha >= 2 - 1e-6 ? 0 : 1);
  test.p_value =
      std::min(noise::chi_square_above(test.distance, test.degrees), kolmogorov(s.z, found.law));

  std::array<double, 4> errors{};
  for (std::size_t i = 0; i < 4; ++i)
    errors[i] = std::sqrt(std::max(found.covariance[i][i], 0.0) / n);
  test.fit = noise::fit_of(s, found.law, errors);
  test.fit.alpha_clamped = found.alpha_clamped;
  test.fit.beta_clamped = found.beta_clamped;
  test.fit = noise::as_given(s, test.fit);
  return test;
}

}  // namespace medgrad
