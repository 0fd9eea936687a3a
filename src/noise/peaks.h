// Peaks over a threshold of grouped entries: see tail_parts.h.
#pragma once

#include <cmath>
#include <span>

#include "medgrad/peaks.h"

namespace medgrad::noise {

// Of which tail: |x|, -x or x.
[[nodiscard]] inline double fold(double x, Tail tail) {
  return tail == Tail::both ? std::fabs(x) : tail == Tail::left ? -x : x;
}

// Of entries that are centred already.
[[nodiscard]] Peaks peaks_grouped(std::span<const double> sample, std::size_t group,
                                  const PeaksOptions& options);

}  // namespace medgrad::noise
