// The noise of rows as a matrix of doubles, and what is done to its columns.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "medgrad/tail_summary.h"

namespace medgrad::noise {

// n x width numbers, row-major: the noise in some coordinates.
struct NoiseMatrix {
  std::vector<double> values;
  std::size_t n, width;
  [[nodiscard]] double& at(std::size_t i, std::size_t j) { return values[i * width + j]; }
  [[nodiscard]] double at(std::size_t i, std::size_t j) const { return values[i * width + j]; }
};

// `column(j)` tells which coordinate of the rows the j-th of `width` is.
template <Real T, class Column>
NoiseMatrix take(const Rows<T>& rows, std::span<const double> centre, std::size_t width,
                 Column column) {
  NoiseMatrix noise{std::vector<double>(rows.n() * width), rows.n(), width};
  for (std::size_t i = 0; i < rows.n(); ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      const double c = centre.empty() ? 0 : centre[column(j)];
      noise.at(i, j) = static_cast<double>(rows.row(i)[column(j)]) - c;
    }
  }
  return noise;
}

// Each coordinate around its own centre.
void centre_columns(NoiseMatrix& noise, Centre how);
// Rows 2i minus 2i + 1; an odd one at the end is left out.
void subtract_pairs(NoiseMatrix& noise);
// Each coordinate over its median absolute value. A coordinate that often stands still, as the
// gradient of a word's embedding does where the word does not occur, has no scale: its median would
// be that of standing still, and all the rest look enormous beside it. Where a fifth of its entries
// or more are the same number (0, or minus the centre), it is left out as missing. Where all of
// them are like that, the scale of each is that of the entries that are not that number.
void standardise_columns(NoiseMatrix& noise);

// |row|_2 without what is missing.
[[nodiscard]] std::vector<double> norms_of(const NoiseMatrix& noise);

// Projections of the rows on `count` random directions, the same whenever the width is the same.
[[nodiscard]] NoiseMatrix project(const NoiseMatrix& noise, std::size_t count);

}  // namespace medgrad::noise
