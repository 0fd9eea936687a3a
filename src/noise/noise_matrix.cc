#include "noise/noise_matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "medgrad/rng.h"
#include "noise/tail_parts.h"

namespace medgrad::noise {
namespace {

// How many of the numbers are the one that is there most often. Reorders them.
std::size_t largest_tie(std::vector<double>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::size_t largest = 0, run = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    run = i > 0 && numbers[i] == numbers[i - 1] ? run + 1 : 1;
    largest = std::max(largest, run);
  }
  return largest;
}

}  // namespace

void centre_columns(NoiseMatrix& noise, Centre how) {
  std::vector<double> column;
  for (std::size_t j = 0; j < noise.width; ++j) {
    column.clear();
    for (std::size_t i = 0; i < noise.n; ++i) {
      const double v = noise.at(i, j);
      if (!std::isnan(v)) column.push_back(v);
    }
    if (column.empty()) continue;
    // Where half of a column is infinite it has no centre, and counts as missing.
    double middle = how == Centre::mean ? finite_mean(column) : median(column);
    if (std::isinf(middle)) middle = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 0; i < noise.n; ++i) noise.at(i, j) -= middle;
  }
}

void subtract_pairs(NoiseMatrix& noise) {
  const std::size_t pairs = noise.n / 2;
  for (std::size_t i = 0; i < pairs; ++i) {
    for (std::size_t j = 0; j < noise.width; ++j) {
      noise.at(i, j) = noise.at(2 * i, j) - noise.at(2 * i + 1, j);
    }
  }
  noise.n = pairs;
  noise.values.resize(pairs * noise.width);
}

void standardise_columns(NoiseMatrix& noise) {
  constexpr double kStill = 0.2;
  std::vector<double> column;
  for (std::size_t j = 0; j < noise.width; ++j) {
    column.clear();
    for (std::size_t i = 0; i < noise.n; ++i)
      if (!std::isnan(noise.at(i, j))) column.push_back(noise.at(i, j));
    const auto count = static_cast<double>(column.size());
    const std::size_t tie = largest_tie(column);
    const bool moves = tie < 3 || static_cast<double>(tie) < kStill * count;
    for (double& v : column) v = std::fabs(v);
    const double scale = column.empty() ? 0 : median(column);
    const bool usable = moves && scale > 0 && std::isfinite(scale);
    for (std::size_t i = 0; i < noise.n; ++i) {
      double& v = noise.at(i, j);
      v = usable ? v / scale : std::numeric_limits<double>::quiet_NaN();
    }
  }
}

NoiseMatrix project(const NoiseMatrix& noise, std::size_t count) {
  NoiseMatrix result{std::vector<double>(noise.n * count), noise.n, count};
  std::vector<double> direction(noise.width);
  for (std::size_t j = 0; j < count; ++j) {
    Philox(0x6469726563, j).fill_normal(direction);
    for (std::size_t i = 0; i < noise.n; ++i) {
      // Missing entries are as good as no noise at all, and what overflows is infinite.
      double sum = 0;
      for (std::size_t k = 0; k < noise.width; ++k) {
        const double v = noise.at(i, k);
        if (!std::isnan(v)) sum += direction[k] * v;
      }
      result.at(i, j) = std::isnan(sum) ? kInfinity : sum;
    }
  }
  return result;
}

}  // namespace medgrad::noise
