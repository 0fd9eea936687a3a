#include "core/sample/distinct.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <unordered_map>

namespace medgrad::estimators {

Distinct distinct_rows(std::span<const double> matrix, std::size_t rows, std::size_t columns) {
  Distinct found;
  std::unordered_multimap<std::uint64_t, std::size_t> seen;  // by a checksum
  for (std::size_t i = 0; i < rows; ++i) {
    const std::span<const double> row = matrix.subspan(i * columns, columns);
    std::uint64_t sum = 0;
    for (const double x : row)
      sum = std::rotl(sum ^ std::bit_cast<std::uint64_t>(x), 29) * 0x9e3779b97f4a7c15u;
    const auto [begin, end] = seen.equal_range(sum);
    const auto same = std::find_if(begin, end, [&](const auto& other) {
      return std::equal(row.begin(), row.end(), &matrix[found.first[other.second] * columns]);
    });
    if (same != end) {
      found.of.push_back(same->second);
      continue;
    }
    seen.emplace(sum, found.first.size());
    found.of.push_back(found.first.size());
    found.first.push_back(i);
  }
  return found;
}

}  // namespace medgrad::estimators
