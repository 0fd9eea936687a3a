// Mean squared errors of estimators of a batch, by resampling.
#pragma once

#include <span>

#include "medgrad/tail_verdict.h"

namespace medgrad::noise {

// Entries without NaN, one at least; those of one group (see tail_parts.h) may depend on each
// other. Error for a sample without spread. `skewed` where that is known already.
[[nodiscard]] Efficiency efficiency_of(std::span<const double> x, std::size_t group,
                                       std::size_t batch, bool skewed);

}  // namespace medgrad::noise
