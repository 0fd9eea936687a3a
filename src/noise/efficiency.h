// Mean squared errors of estimators of a batch, by resampling.
#pragma once

#include <span>

#include "medgrad/tail_verdict.h"
#include "noise/noise_matrix.h"

namespace medgrad::noise {

// Rows of `width` entries (1 for numbers), of which those of a row may depend on each other; NaN is
// missing. Each component by itself, in units of its own spread; the errors are means over them.
// Error where no component has a spread. `skewed` where that is known already.
[[nodiscard]] Efficiency efficiency_of(std::span<const double> x, std::size_t width,
                                       std::size_t batch, bool skewed);

// The same of the geometric median of whole rows (not standardised), in `e.geometric`: from that of
// the componentwise median by the ratio of both in batches of rows.
void set_geometric(Efficiency& e, const NoiseMatrix& rows);

}  // namespace medgrad::noise
