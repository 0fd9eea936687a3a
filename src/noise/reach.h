// Does any component of rows reach farther than the stable law that was fitted to all of them?
#pragma once

#include "medgrad/tail_index.h"
#include "noise/noise_matrix.h"

namespace medgrad::noise {

// All components are looked at, however many there are. Over its own median size, each has a number
// of entries beyond a point that is binomial if the law is right, as rows are independent of each
// other; what components have to do with each other does not matter to the smallest p-value times
// their number. The law is taken as heavy as its interval allows, and the medians as small. 1 where
// no component is farther out than that.
[[nodiscard]] double p_of_reach(const NoiseMatrix& noise, const StableFit& law);

}  // namespace medgrad::noise
