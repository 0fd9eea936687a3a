// Does the far tail go together with a stable law that describes the rest?
#pragma once

#include "medgrad/peaks.h"
#include "medgrad/stable_fit.h"

namespace medgrad::noise {

// By how many standard errors xi of the peaks is above what the same threshold would show of the
// fitted law: its own xi there, not 1/alpha, which is that of the limit. Well below 0, the tail is
// lighter than that of any stable law with such a body. `folded`: the peaks are those of |x| of a
// symmetric sample. Where alpha may be 2, the lightest law of its interval counts.
[[nodiscard]] double tail_excess(const StableFit& fit, const Peaks& peaks, bool folded);

}  // namespace medgrad::noise
