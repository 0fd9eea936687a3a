#include "medgrad/stable_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "noise/likelihood.h"
#include "noise/standardised.h"
#include "noise/tail_parts.h"

namespace medgrad {
namespace {

using noise::LikelihoodFit;
using noise::Shape;

constexpr double kWilks = 3.841458820694124;  // chi-square with one degree of freedom, 95 %
constexpr double kNearGaussian = 1.95;

double& parameter(Shape& s, std::size_t i) { return i == 0 ? s.alpha : s.beta; }

// Where twice the loss of likelihood is kWilks, going from the best value in steps of `width`, and
// then by regula falsi (Illinois).
double profile_end(std::span<const double> z, const LikelihoodFit& best, std::size_t i,
                   double width, double last) {
  Shape from = best.law;
  const double start = parameter(from, i), way = last > start ? 1 : -1;
  const auto loss = [&](double at) {
    parameter(from, i) = at;
    const LikelihoodFit fit = noise::maximise_likelihood(z, from, {i == 0, i == 1, false, false});
    from = fit.law;
    return 2 * (best.at.value - fit.at.value) - kWilks;
  };
  double inside = start, at_inside = -kWilks, outside = start, at_outside = -kWilks;
  for (double reach = width; at_outside < 0; reach *= 1.6) {
    if (outside == last) return last;
    inside = outside;
    at_inside = at_outside;
    outside = way > 0 ? std::min(start + reach, last) : std::max(start - reach, last);
    at_outside = loss(outside);
  }
  for (int round = 0; round < 12 && std::fabs(outside - inside) > 1e-3 * width; ++round) {
    const double at = inside - at_inside * (outside - inside) / (at_outside - at_inside);
    const double value = loss(at);
    if (std::fabs(value) < 1e-2) return at;
    if (value < 0) {
      inside = at;
      at_inside = value;
      at_outside /= 2;
    } else {
      outside = at;
      at_outside = value;
      at_inside /= 2;
    }
  }
  return inside;
}

StableFit fit_likelihood(std::span<const double> sample, bool profile) {
  const noise::Standardised s = noise::standardise(sample);
  const Shape start = noise::fit_means(noise::means_of(s.z)).law;
  const LikelihoodFit best = noise::maximise_likelihood(s.z, start);
  const noise::Information inverse = noise::inverse_information(best.at.information, best.held);
  const Shape& law = best.law;
  const bool gaussian = law.alpha >= 2 - 1e-6;
  const auto error = [&](std::size_t i) {
    return noise::kZ95 * std::sqrt(std::max(inverse[i][i], 0.0));
  };
  StableFit fit;
  const double scale = s.unit * std::exp(law.log_scale);
  fit.parameters = {law.alpha, gaussian ? 0 : law.beta, scale, s.centre + s.unit * law.location,
                    StableForm::S0};
  const double n = static_cast<double>(s.z.size());
  if (profile || law.alpha > kNearGaussian) {
    const double width = std::max(error(0), 0.2 / std::sqrt(n));
    fit.alpha = {profile_end(s.z, best, 0, width, 0.2),
                 gaussian ? 2 : profile_end(s.z, best, 0, width, 2)};
  } else {
    fit.alpha = {std::max(law.alpha - error(0), 0.0), std::min(law.alpha + error(0), 2.0)};
  }
  if (gaussian) {
    fit.beta = {-1, 1};
  } else if (profile) {
    const double width = std::max(error(1), 0.2 / std::sqrt(n));
    fit.beta = {law.beta <= -1 ? -1 : profile_end(s.z, best, 1, width, -1),
                law.beta >= 1 ? 1 : profile_end(s.z, best, 1, width, 1)};
  } else {
    fit.beta = {std::max(law.beta - error(1), -1.0), std::min(law.beta + error(1), 1.0)};
  }
  fit.scale = {scale * std::exp(-error(2)), scale * std::exp(error(2))};
  const double off = s.unit * error(3);
  fit.location = {fit.parameters.location - off, fit.parameters.location + off};
  fit.n = s.z.size();
  fit.missing = s.missing;
  fit.infinite = s.infinite;
  fit.alpha_clamped = best.held[0];
  fit.beta_clamped = best.held[1] && !gaussian;
  return fit;
}

}  // namespace

std::string_view name(FitMethod method) {
  constexpr std::array<std::string_view, 3> kNames = {"likelihood", "characteristic", "quantiles"};
  return kNames[static_cast<std::size_t>(method)];
}

StableFit fit_stable(std::span<const double> sample, const StableFitOptions& options) {
  if (options.method == FitMethod::quantiles) return fit_stable(sample);
  if (options.method == FitMethod::characteristic) return test_stable(sample).fit;
  return fit_likelihood(sample, options.profile);
}

}  // namespace medgrad
