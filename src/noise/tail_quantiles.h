// The inside of McCulloch's fit, apart from where the five quantiles come from.
#pragma once

#include <array>

#include "medgrad/tail_index.h"
#include "noise/tail_table.h"

namespace medgrad::noise {

// Covariances of the empirical distribution function at the five probabilities.
using FiveByFive = std::array<FiveQuantiles, 5>;

// The law with these (finite, increasing, q25 < q75) quantiles, and its intervals. Counts are left
// to the caller.
[[nodiscard]] StableFit fit_quantiles(const FiveQuantiles& q, const FiveByFive& covariance);

}  // namespace medgrad::noise
