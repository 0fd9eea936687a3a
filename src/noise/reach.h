// Do numbers, or any component of rows, reach farther than the stable law that was fitted to them?
#pragma once

#include <cstddef>
#include <vector>

#include "medgrad/tail_index.h"
#include "noise/noise_matrix.h"

namespace medgrad::noise {

// All components are looked at, however many there are. Over its own median size, each has a number
// of entries beyond a point that is binomial if the law is right, as rows are independent of each
// other; what components have to do with each other does not matter to the smallest p-value times
// their number. The law is taken as heavy as its interval allows, and the medians as small. 1 where
// no component is farther out than that.
[[nodiscard]] double p_of_reach(const NoiseMatrix& noise, const StableFit& law);

// Of n independent numbers, by those that lie farthest out: how probable it is that the first, the
// third, the tenth and the thirtieth reach so far, the smallest p-value times four. `distances`
// from the median are those of the farthest numbers or of all; `unit` is their median size, found
// from `seen` of the n. Again the law is as heavy as its interval allows.
[[nodiscard]] double p_of_reach(std::vector<double> distances, std::size_t n, double unit,
                                std::size_t seen, const StableFit& law);

}  // namespace medgrad::noise
