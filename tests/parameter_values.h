// Values for every parameter of the registry: for tests that walk over all of it.
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "medgrad/registry.h"

namespace medgrad::testing {

// Two values in the range of a parameter.
inline std::pair<double, double> two_values(const Parameter& p) {
  if (p.range.whole) return {p.range.min, p.range.min + 1};
  const double low = std::isfinite(p.range.min) ? p.range.min : -1;
  const double high = std::isfinite(p.range.max) ? p.range.max : low + 4;
  return {low + (high - low) / 4, low + (high - low) / 2};
}

// Those that have to be given.
inline ParameterValues needed(std::span<const Parameter> parameters) {
  ParameterValues values;
  for (const Parameter& p : parameters)
    if (p.required()) values.emplace(p.name, two_values(p).first);
  return values;
}

}  // namespace medgrad::testing
