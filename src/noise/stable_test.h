// The test of stable laws against one fit alone: see stable_fit.h.
#pragma once

#include <span>

#include "medgrad/stable_fit.h"

namespace medgrad::noise {

// test_stable without a look at the likeliest law, in a millisecond: p_value is p_of_fit. For the
// fit, and for samples that are compared with each other.
[[nodiscard]] StableTest test_of_fit(std::span<const double> sample);

}  // namespace medgrad::noise
