#include <algorithm>
#include <cmath>

#include "medgrad/stable_fit.h"
#include "noise/characteristic.h"
#include "noise/standardised.h"
#include "noise/tail_parts.h"

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

  const auto error = [&](std::size_t i) {
    return noise::kZ95 * std::sqrt(std::max(found.covariance[i][i], 0.0) / n);
  };
  const noise::Shape& law = found.law;
  const double scale = s.unit * std::exp(law.log_scale);
  StableFit& fit = test.fit;
  const bool gaussian = law.alpha >= 2 - 1e-6;
  fit.parameters = {law.alpha, gaussian ? 0 : law.beta, scale, s.centre + s.unit * law.location,
                    StableForm::S0};
  fit.alpha = {std::max(law.alpha - error(0), 0.0), std::min(law.alpha + error(0), 2.0)};
  fit.beta =
      gaussian ? Interval{-1, 1}
               : Interval{std::max(law.beta - error(1), -1.0), std::min(law.beta + error(1), 1.0)};
  fit.scale = {scale * std::exp(-error(2)), scale * std::exp(error(2))};
  const double off = s.unit * error(3);
  fit.location = {fit.parameters.location - off, fit.parameters.location + off};
  fit.n = s.n;
  fit.missing = s.missing;
  fit.infinite = s.infinite;
  fit.alpha_clamped = found.alpha_clamped;
  fit.beta_clamped = found.beta_clamped;
  return test;
}

}  // namespace medgrad
