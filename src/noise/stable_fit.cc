#include "medgrad/stable_fit.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text.h"
#include "medgrad/error.h"
#include "noise/likelihood.h"
#include "noise/regression_fit.h"
#include "noise/stable_test.h"
#include "noise/standardised.h"
#include "noise/tail_parts.h"

namespace medgrad {
namespace {

using noise::LikelihoodFit;
using noise::Shape;

constexpr double kNearGaussian = 1.95;

double& parameter(Shape& s, std::size_t i) { return i == 0 ? s.alpha : s.beta; }

// What the others change by where parameter i does, all along the ridge of the likelihood.
Shape slope_of(const LikelihoodFit& best, std::size_t i) {
  std::array<bool, 4> held = best.held;
  held[i] = false;
  const noise::Score column = noise::inverse_information(best.at.information, held)[i];
  const bool told =
      std::all_of(column.begin(), column.end(), [](double v) { return std::isfinite(v); });
  if (!told || !(column[i] > 0)) return {0, 0, 0, 0};
  return {column[0] / column[i], column[1] / column[i], column[2] / column[i],
          column[3] / column[i]};
}

// A way from the best value of alpha or beta to an end of its range, in a coordinate in which the
// square root of the loss of likelihood is nearly straight: beta itself, and the root of 2 - alpha,
// since what lies far out comes in numbers that are Poisson's, with a mean in proportion to it.
class Way {
 public:
  Way(std::size_t i, double start, double last)
      : by_alpha_(i == 0), start_(coordinate(start)), last_(last), end_(coordinate(last)) {}
  [[nodiscard]] double length() const { return std::fabs(end_ - start_); }
  [[nodiscard]] double at(double way) const {
    if (way >= length()) return last_;
    const double c = start_ + (end_ > start_ ? way : -way);
    return by_alpha_ ? 2 - c * c : c;
  }
  // How far a step of the parameter leads.
  [[nodiscard]] double of_step(double step) const {
    if (!by_alpha_) return step;
    const double square = start_ * start_ + (end_ > start_ ? step : -step);
    return std::fabs(std::sqrt(std::max(square, start_ * start_ / 16)) - start_);
  }

 private:
  [[nodiscard]] double coordinate(double x) const { return by_alpha_ ? std::sqrt(2 - x) : x; }
  bool by_alpha_;
  double start_, last_, end_;
};

// Where the loss of likelihood is that of 1.96 standard errors: by chords, kept between what is
// inside and what is outside.
double profile_end(std::span<const double> z, const LikelihoodFit& best, std::size_t i,
                   double width, double last) {
  constexpr double kEnough = 1e-3;  // of the likelihood, where 1.92 is looked for
  constexpr int kMost = 25;
  Shape from = best.law;
  const double start = parameter(from, i);
  const Way way(i, start, last);
  // How the other parameters follow, in units of the way: at first by the information, then as they
  // did.
  Shape follow = slope_of(best, i);
  const auto root_of_loss = [&](double at) {
    const double moved = at - start;
    from = {best.law.alpha + moved * follow.alpha, best.law.beta + moved * follow.beta,
            best.law.log_scale + moved * follow.log_scale,
            best.law.location + moved * follow.location, best.law.form};
    parameter(from, i) = at;
    const LikelihoodFit fit =
        noise::maximise_likelihood(z, from, {i == 0, i == 1, false, false}, kEnough);
    if (moved != 0 && std::isfinite(fit.at.value)) {
      follow = {(fit.law.alpha - best.law.alpha) / moved, (fit.law.beta - best.law.beta) / moved,
                (fit.law.log_scale - best.law.log_scale) / moved,
                (fit.law.location - best.law.location) / moved};
    }
    return std::sqrt(std::max(2 * (best.at.value - fit.at.value), 0.0)) - noise::kZ95;
  };
  double inside = 0, at_inside = -noise::kZ95;
  double outside = way.length(), at_outside = 0;
  bool bracketed = false;
  int same = 0;  // how often one side has been what moved: the other one weighs half of it then
  double next = std::min(way.of_step(width), outside);
  for (int round = 0; round < kMost; ++round) {
    const double value = root_of_loss(way.at(next));
    if (std::fabs(value) < 0.01) break;
    if (value > 0) {
      same = std::max(same, 0) + 1;
      outside = next;
      at_outside = value;
      bracketed = true;
      if (same > 1) at_inside /= 2;
    } else {
      if (next >= outside) return last;
      same = std::min(same, 0) - 1;
      inside = next;
      at_inside = value;
      if (same < -1) at_outside /= 2;
    }
    if (bracketed) {
      const double part = at_inside / (at_inside - at_outside);
      next = inside + std::clamp(std::isfinite(part) ? part : 0.5, 0.02, 0.98) * (outside - inside);
      if (outside - inside < 1e-3 * way.of_step(width)) break;
    } else {
      const double slope = (value + noise::kZ95) / inside;  // from where nothing is lost
      next = slope > 0 ? inside - value / slope : 2 * inside;
      next = std::min({std::max(next, 1.05 * inside), 4 * inside, outside});
    }
  }
  return way.at(next);
}

// How far beta can go from its end before the profile has lost as much as by 1.96 standard errors:
// by its slope there and the information, g d + d^2 / (2 v) = 1.96^2 / 2.
double way_inside(const LikelihoodFit& best) {
  std::array<bool, 4> held = best.held;
  held[1] = false;
  const double v = noise::inverse_information(best.at.information, held)[1][1];
  const double g = std::fabs(best.at.score[1]);
  const double root = std::sqrt(g * g + noise::kZ95 * noise::kZ95 / v);
  return noise::kZ95 * noise::kZ95 / (g + root);
}

// What is not known: no error, and intervals that leave nothing out.
StableFit without_errors(StableFit fit) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  constexpr double kEnd = std::numeric_limits<double>::infinity();
  fit.errors = {kNone, kNone, kNone, kNone};
  fit.alpha = {0, 2};
  fit.beta = {-1, 1};
  fit.scale = {0, kEnd};
  fit.location = {-kEnd, kEnd};
  return fit;
}

StableFit fit_likelihood(const noise::Standardised& s, bool profile) {
  const LikelihoodFit best = noise::likeliest(s.z);
  std::array<double, 4> errors = noise::variances(best);
  for (double& e : errors) e = std::sqrt(std::max(e, 0.0));
  const Shape law = noise::in_form(best.law, StableForm::S0);
  StableFit fit = noise::fit_of(s, law, errors);
  fit.n = s.z.size();
  fit.alpha_clamped = best.held[0];
  if (!best.has_errors()) return without_errors(fit);
  const bool gaussian = law.alpha >= 2 - 1e-6;
  const auto width = [&](std::size_t i) {
    return std::max(noise::kZ95 * errors[i], 0.2 / std::sqrt(static_cast<double>(s.z.size())));
  };
  if (profile || law.alpha > kNearGaussian) {
    fit.alpha = {profile_end(s.z, best, 0, width(0), noise::kLowestAlpha),
                 gaussian ? 2 : profile_end(s.z, best, 0, width(0), 2)};
  }
  const double inside = best.held[1] ? way_inside(best) : 0;
  if (best.held[1] && !profile && !gaussian && std::isfinite(inside)) {
    fit.beta = {std::max(law.beta - inside, -1.0), std::min(law.beta + inside, 1.0)};
  } else if ((profile || best.held[1]) && !gaussian) {
    fit.beta = {law.beta <= -1 ? -1 : profile_end(s.z, best, 1, width(1), -1),
                law.beta >= 1 ? 1 : profile_end(s.z, best, 1, width(1), 1)};
  }
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
  if (found.beta_clamped && found.law.alpha < 2) {
    const double half = noise::kZ95 * found.free_beta_error / std::sqrt(n);
    fit.beta = {std::max(found.law.beta - half, -1.0), std::min(found.law.beta + half, 1.0)};
  }
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
  throw Error("method", fmt::format("'{}'", text),
              fmt::format("it must be {}", one_of(fit_methods())));
}

StableFit fit_stable(std::span<const double> sample, const StableFitOptions& options) {
  if (options.method == FitMethod::quantiles) return fit_stable(sample);
  if (options.method == FitMethod::characteristic) return noise::test_of_fit(sample).fit;
  const noise::Standardised s = noise::standardise(sample);
  return noise::as_given(s, options.method == FitMethod::likelihood
                                ? fit_likelihood(s, options.profile)
                                : fit_regression(s, options.method));
}

}  // namespace medgrad
