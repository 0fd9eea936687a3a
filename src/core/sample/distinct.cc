#include "core/sample/distinct.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <unordered_map>

namespace medgrad::estimators {

namespace {

// Four at a time, which do not wait for each other.
std::uint64_t checksum(std::span<const double> row) {
  const auto add = [](std::uint64_t sum, double x) {
    return std::rotl(sum ^ std::bit_cast<std::uint64_t>(x), 29) * 0x9e3779b97f4a7c15u;
  };
  std::uint64_t a = 0, b = 1, c = 2, d = 3;
  std::size_t k = 0;
  for (; k + 4 <= row.size(); k += 4) {
    a = add(a, row[k]);
    b = add(b, row[k + 1]);
    c = add(c, row[k + 2]);
    d = add(d, row[k + 3]);
  }
  for (; k < row.size(); ++k) a = add(a, row[k]);
  for (const std::uint64_t other : {b, c, d}) a = add(a, std::bit_cast<double>(other));
  return a;
}

}  // namespace

Distinct distinct_rows(std::span<const double> matrix, std::size_t rows, std::size_t columns) {
  Distinct found;
  std::unordered_multimap<std::uint64_t, std::size_t> seen;  // by a checksum
  for (std::size_t i = 0; i < rows; ++i) {
    const std::span<const double> row = matrix.subspan(i * columns, columns);
    const std::uint64_t sum = checksum(row);
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
