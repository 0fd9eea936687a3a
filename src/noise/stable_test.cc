#include <algorithm>
#include <array>
#include <cmath>

#include "medgrad/stable_fit.h"
#include "noise/characteristic.h"
#include "noise/standardised.h"

namespace medgrad {

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
  test.p_value = noise::chi_square_above(test.distance, test.degrees);

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
