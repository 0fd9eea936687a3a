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
  Standardised s{{}, 0, 1, cleaned.values.size(), cleaned.missing, cleaned.infinite};
  if (s.n < kFewest) {
    throw Error(fmt::format("the sample has {}; a fit of a stable law needs at least {}.",
                            counted(s.n, "number"), kFewest));
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
  s.z.reserve(s.n);
  for (const double v : sample) {
    const double z = (v / 2 - s.centre / 2) / s.unit * 2;
    if (std::isfinite(z)) s.z.push_back(z);
  }
  return s;
}

}  // namespace medgrad::noise
