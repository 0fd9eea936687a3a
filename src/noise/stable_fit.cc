#include "medgrad/stable_fit.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "medgrad/error.h"
#include "noise/likelihood.h"
#include "noise/regression_fit.h"
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

StableFit fit_likelihood(const noise::Standardised& s, bool profile) {
  const Shape start = noise::fit_means(noise::means_of(s.z)).law;
  const LikelihoodFit best = noise::maximise_likelihood(s.z, start);
  const noise::Information inverse = noise::inverse_information(best.at.information, best.held);
  std::array<double, 4> errors{};
  for (std::size_t i = 0; i < 4; ++i) errors[i] = std::sqrt(std::max(inverse[i][i], 0.0));
  const Shape& law = best.law;
  StableFit fit = noise::fit_of(s, law, errors);
  const bool gaussian = law.alpha >= 2 - 1e-6;
  const auto width = [&](std::size_t i) {
    return std::max(noise::kZ95 * errors[i], 0.2 / std::sqrt(static_cast<double>(s.z.size())));
  };
  if (profile || law.alpha > kNearGaussian) {
    fit.alpha = {profile_end(s.z, best, 0, width(0), 0.2),
                 gaussian ? 2 : profile_end(s.z, best, 0, width(0), 2)};
  }
  if (profile && !gaussian) {
    fit.beta = {law.beta <= -1 ? -1 : profile_end(s.z, best, 1, width(1), -1),
                law.beta >= 1 ? 1 : profile_end(s.z, best, 1, width(1), 1)};
  }
  fit.n = s.z.size();
  fit.alpha_clamped = best.held[0];
  fit.beta_clamped = best.held[1] && !gaussian;
  return fit;
}

StableFit fit_regression(const noise::Standardised& s, FitMethod method) {
  const auto n = static_cast<double>(s.n);
  const double share = static_cast<double>(s.z.size()) / n;
  const noise::RegressionFit found = method == FitMethod::koutrouvelis
                                         ? noise::fit_koutrouvelis(s.z, share)
                                         : noise::fit_kogon_williams(s.z, share);
  std::array<double, 4> errors = found.errors;
  for (double& e : errors) e /= std::sqrt(n);
  StableFit fit = noise::fit_of(s, found.law, errors);
  fit.alpha_clamped = found.alpha_clamped;
  fit.beta_clamped = found.beta_clamped;
  return fit;
}

struct Named {
  FitMethod method;
  std::string_view name, other;
};
constexpr std::array<Named, 5> kMethods = {
    {{FitMethod::likelihood, "ml", "likelihood"},
     {FitMethod::characteristic, "cf", "characteristic"},
     {FitMethod::koutrouvelis, "koutrouvelis", "koutrouvelis"},
     {FitMethod::kogon_williams, "kogon-williams", "kogon_williams"},
     {FitMethod::quantiles, "quantiles", "mcculloch"}}};

}  // namespace

std::string_view name(FitMethod method) { return kMethods[static_cast<std::size_t>(method)].name; }

std::span<const std::string_view> fit_methods() {
  static constexpr auto kNames = [] {
    std::array<std::string_view, kMethods.size()> names{};
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = kMethods[i].name;
    return names;
  }();
  return kNames;
}

FitMethod fit_method(std::string_view text) {
  for (const Named& one : kMethods) {
    if (text == one.name || text == one.other) return one.method;
  }
  throw Error(fmt::format("method is '{}'; it must be {}.", text, one_of(fit_methods(), "or")));
}

StableFit fit_stable(std::span<const double> sample, const StableFitOptions& options) {
  if (options.method == FitMethod::quantiles) return fit_stable(sample);
  if (options.method == FitMethod::characteristic) return test_stable(sample).fit;
  const noise::Standardised s = noise::standardise(sample);
  return noise::as_given(s, options.method == FitMethod::likelihood
                                ? fit_likelihood(s, options.profile)
                                : fit_regression(s, options.method));
}

}  // namespace medgrad
