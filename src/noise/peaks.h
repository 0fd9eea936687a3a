// Peaks over a threshold of grouped entries: see tail_parts.h.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "medgrad/peaks.h"

namespace medgrad::noise {

// Of which tail: |x|, -x or x.
[[nodiscard]] inline double fold(double x, Tail tail) {
  return tail == Tail::both ? std::fabs(x) : tail == Tail::left ? -x : x;
}

inline constexpr std::size_t kMostExcesses = 10000;
inline constexpr std::size_t kFewestForPeaks = 60;

// Of entries that are centred already. Where there is a `total`, they are the farthest of so many:
// more than kMostExcesses on either side.
[[nodiscard]] Peaks peaks_grouped(std::span<const double> sample, std::size_t group,
                                  const PeaksOptions& options, std::size_t total = 0);

}  // namespace medgrad::noise
