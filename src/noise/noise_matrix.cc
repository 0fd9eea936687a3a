#include "noise/noise_matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "medgrad/rng.h"
#include "noise/tail_parts.h"

namespace medgrad::noise {
namespace {

// The number that is there most often, and how often. Reorders them.
struct Tie {
  double value = 0;
  std::size_t count = 0;
};
Tie largest_tie(std::vector<double>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  Tie largest;
  std::size_t run = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    run = i > 0 && numbers[i] == numbers[i - 1] ? run + 1 : 1;
    if (run > largest.count) largest = {numbers[i], run};
  }
  return largest;
}

// The median absolute value of a column, 0 where it has none; of one that stands still (see
// standardise_columns) only if `still`, and that of what moves.
double scale_of(std::vector<double> column, bool still) {
  constexpr double kStill = 0.2;
  if (column.empty()) return 0;
  const Tie tie = largest_tie(column);
  const bool moves =
      tie.count < 3 || static_cast<double>(tie.count) < kStill * static_cast<double>(column.size());
  if (moves == still) return 0;
  if (still) std::erase(column, tie.value);
  if (column.size() < 2) return 0;
  for (double& v : column) v = std::fabs(v);
  const double scale = median(std::move(column));
  return std::isfinite(scale) ? scale : 0;
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
  std::vector<double> scales(noise.width), column;
  bool any = false;
  for (const bool still : {false, true}) {
    for (std::size_t j = 0; j < noise.width; ++j) {
      column.clear();
      for (std::size_t i = 0; i < noise.n; ++i)
        if (!std::isnan(noise.at(i, j))) column.push_back(noise.at(i, j));
      scales[j] = scale_of(column, still);
      any = any || scales[j] > 0;
    }
    if (any) break;
  }
  for (std::size_t i = 0; i < noise.n; ++i) {
    for (std::size_t j = 0; j < noise.width; ++j) {
      double& v = noise.at(i, j);
      v = scales[j] > 0 ? v / scales[j] : std::numeric_limits<double>::quiet_NaN();
    }
  }
}

std::vector<double> norms_of(const NoiseMatrix& noise) {
  std::vector<double> norms(noise.n), row;
  for (std::size_t i = 0; i < noise.n; ++i) {
    const std::span<const double> all =
        std::span(noise.values).subspan(i * noise.width, noise.width);
    row.assign(all.begin(), all.end());
    std::erase_if(row, [](double v) { return std::isnan(v); });
    const bool infinite =
        std::any_of(row.begin(), row.end(), [](double v) { return std::isinf(v); });
    norms[i] = infinite ? kInfinity : L2{}.value(std::span<const double>(row));
  }
  return norms;
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
