#include "noise/stable_test.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "noise/characteristic.h"
#include "noise/likelihood.h"
#include "noise/standardised.h"

namespace medgrad {
namespace noise {
namespace {

// Where chi-square alone turns all stable laws down, there is nothing to be saved by a nearer one.
constexpr double kTurnedDown = 0.005;
// Up to this alpha much of a law lies in a peak that is narrower than what its location and beta
// are off by, in a fit at eight points: 3,000 numbers are then farther from that fit than from the
// true law. From 0.7 on they are not.
constexpr double kNarrow = 0.75;

// In increasing order; of very many as many as tell distribution functions apart.
std::vector<double> ordered(std::span<const double> z) {
  constexpr std::size_t kMost = std::size_t{1} << 16;
  const std::size_t stride = (z.size() + kMost - 1) / kMost;
  std::vector<double> x;
  for (std::size_t i = 0; i < z.size(); i += stride) x.push_back(z[i]);
  std::sort(x.begin(), x.end());
  return x;
}

// P(sqrt(n) times the largest distance between both distribution functions is larger), if the law
// is given (Kolmogorov 1933); x in increasing order. It is for what eight points of a
// characteristic function do not see, as the edge of a Pareto law.
double kolmogorov(std::span<const double> x, const Shape& shape) {
  constexpr std::size_t kPoints = 128;
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

StableTest test_standardised(const Standardised& s) {
  const auto n = static_cast<double>(s.n);
  Means means = means_of(s.z);
  // What is infinite has any phase: its mean is 0.
  const double share = static_cast<double>(s.z.size()) / n;
  for (double& m : means) m *= share;
  const CharacteristicFit found = fit_means(means);

  StableTest test;
  test.distance = n * found.distance;
  test.degrees = static_cast<int>(kMeans) - 2 - (found.alpha_clamped ? 0 : 1) -
                 (found.beta_clamped || found.law.alpha >= 2 - 1e-6 ? 0 : 1);
  const std::vector<double> x = ordered(s.z);
  const double body = chi_square_above(test.distance, test.degrees);
  test.p_of_fit = test.p_value = std::min(body, kolmogorov(x, found.law));

  std::array<double, 4> errors{};
  for (std::size_t i = 0; i < 4; ++i)
    errors[i] = std::sqrt(std::max(found.covariance[i][i], 0.0) / n);
  test.fit = fit_of(s, found.law, errors);
  test.fit.alpha_clamped = found.alpha_clamped;
  test.fit.beta_clamped = found.beta_clamped;
  test.fit = as_given(s, test.fit);
  return test;
}

}  // namespace

StableTest test_of_fit(std::span<const double> sample) {
  return test_standardised(standardise(sample));
}

}  // namespace noise

// Kolmogorov's law is that of the true one, and errs on its side for laws that are fitted well. The
// first fit is not where the peak is narrow: the likeliest one is.
StableTest test_stable(std::span<const double> sample) {
  const noise::Standardised s = noise::standardise(sample);
  StableTest test = noise::test_standardised(s);
  const double body = noise::chi_square_above(test.distance, test.degrees);
  if (test.p_of_fit >= body || body < noise::kTurnedDown) return test;
  if (test.fit.parameters.alpha > noise::kNarrow) return test;
  const std::vector<double> x = noise::ordered(s.z);
  const noise::Shape likeliest = noise::in_form(noise::likeliest(x).law, StableForm::S0);
  test.p_value = std::clamp(noise::kolmogorov(x, likeliest), test.p_of_fit, body);
  return test;
}

}  // namespace medgrad
