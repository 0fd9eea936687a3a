// Which rows of a matrix are equal.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace medgrad::estimators {

// The first of each kind, and of which kind row i is.
struct Distinct {
  std::vector<std::size_t> first, of;
};
[[nodiscard]] Distinct distinct_rows(std::span<const double> matrix, std::size_t rows,
                                     std::size_t columns);

}  // namespace medgrad::estimators
