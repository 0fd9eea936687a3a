// Methods at the best of several learning rates: whether the rates tried were enough.
#pragma once

#include <span>
#include <string>

#include "lab/results.h"

namespace medgrad::lab {

// A method at its best rate for a share of bad steps.
struct Tuned {
  std::string method;
  double share = 0;
  double value = 0;               // what it ends at; not finite where it has diverged
  double rate = 0;                // the best one,
  double least = 0, largest = 0;  // of those from here to there
};

// No best rate lies at an edge of the grid: it could be better beyond it, and comparisons of
// methods are void. Left out are those that no rate leads below the start, where standing still is
// best, and every grid has that at its edge. `what` is tried: "bit-flip".
[[nodiscard]] Claim rates_are_inside(const std::string& what, double start,
                                     std::span<const Tuned> tuned);

}  // namespace medgrad::lab
