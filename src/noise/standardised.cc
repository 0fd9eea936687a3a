#include "noise/standardised.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/text.h"
#include "medgrad/error.h"
#include "noise/tail_parts.h"

namespace medgrad::noise {
namespace {

// The lower quartile is minus that of -x: mirrored data have the same quartiles, mirrored.
double upper_quartile(std::vector<double>& x) {
  const double place = 0.75 * static_cast<double>(x.size() - 1), below = std::floor(place);
  const auto at = x.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(x.begin(), at, x.end());
  const double low = *at, w = place - below;
  if (w == 0) return low;
  const double high = *std::min_element(at + 1, x.end());
  return low == high ? low : (1 - w) * low + w * high;
}

}  // namespace

Standardised standardise(std::span<const double> sample) {
  Cleaned cleaned = clean(sample);
  Standardised s;
  s.n = cleaned.values.size();
  s.missing = cleaned.missing;
  s.infinite = cleaned.infinite;
  if (s.n < kFewest) {
    throw Error(fmt::format("the sample has {}; a fit needs at least {}.", counted(s.n, "number"),
                            kFewest));
  }
  std::vector<double>& x = cleaned.values;
  s.centre = median(x);
  const double upper = upper_quartile(x);
  for (double& v : x) v = -v;
  const double lower = -upper_quartile(x);
  s.unit = upper / 2 - lower / 2;
  if (!(s.unit > 0) || !std::isfinite(s.unit)) {
    throw Error(fmt::format(
        "the sample has no spread that could be fitted: its 25 % and 75 % quantiles are {} and {}.",
        number(lower), number(upper)));
  }
  s.mirrored = leans_left(sample, s.centre);
  const double way = s.mirrored ? -1 : 1;
  s.z.reserve(s.n);
  for (const double v : sample) {
    const double z = (v / 2 - s.centre / 2) / s.unit * 2;
    if (std::isfinite(z)) s.z.push_back(way * z);
  }
  s.centre *= way;
  return s;
}

bool leans_left(std::span<const double> x, double centre) {
  double farthest = 0;
  for (const double v : x) {
    const double off = v - centre;
    if (std::fabs(off) > std::fabs(farthest)) farthest = off;
  }
  return farthest < 0;
}

StableFit mirrored(StableFit fit) {
  const auto turned = [](const Interval& i) { return Interval{0 - i.high, 0 - i.low}; };
  fit.parameters.beta = 0 - fit.parameters.beta;
  fit.parameters.location = 0 - fit.parameters.location;
  fit.beta = turned(fit.beta);
  fit.location = turned(fit.location);
  return fit;
}

StableFit fit_of(const Standardised& s, const Shape& law, const std::array<double, 4>& errors) {
  StableFit fit;
  const bool gaussian = law.alpha >= 2 - 1e-6;
  const double scale = s.unit * std::exp(law.log_scale);
  fit.parameters = {law.alpha, gaussian ? 0 : law.beta, scale, s.centre + s.unit * law.location,
                    StableForm::S0};
  fit.errors = {errors[0], gaussian ? 0 : errors[1], scale * errors[2], s.unit * errors[3]};
  const auto around = [](double at, double error, double low, double high) {
    return Interval{std::max(at - kZ95 * error, low), std::min(at + kZ95 * error, high)};
  };
  fit.alpha = around(law.alpha, errors[0], 0, 2);
  fit.beta = gaussian ? Interval{-1, 1} : around(law.beta, errors[1], -1, 1);
  fit.scale = {scale * std::exp(-kZ95 * errors[2]), scale * std::exp(kZ95 * errors[2])};
  const double off = kZ95 * fit.errors.location;
  fit.location = {fit.parameters.location - off, fit.parameters.location + off};
  fit.n = s.n;
  fit.missing = s.missing;
  fit.infinite = s.infinite;
  return fit;
}

}  // namespace medgrad::noise
