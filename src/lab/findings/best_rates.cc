#include "lab/findings/best_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lab/findings/lookup.h"

namespace medgrad::lab {

Claim rates_are_inside(const std::string& what, double start, std::span<const Tuned> tuned) {
  const std::string claim =
      fmt::format("no best learning rate lies at an edge of the grid ({})", what);
  if (std::isnan(start)) return undecided(claim);
  std::vector<std::string> at_edge;
  std::vector<std::pair<std::string, std::string>> hopeless;  // a method, and shares in %
  double least = std::numeric_limits<double>::infinity(), largest = 0;
  for (const Tuned& one : tuned) {
    if (!(one.value < start)) {
      const std::string share = fmt::format("{:.3g}", 100 * one.share);
      if (hopeless.empty() || hopeless.back().first != one.method) {
        hopeless.emplace_back(one.method, share);
      } else {
        hopeless.back().second += ", " + share;
      }
      continue;
    }
    least = std::min(least, one.rate);
    largest = std::max(largest, one.rate);
    if (one.rate == one.least || one.rate == one.largest)
      at_edge.push_back(
          fmt::format("{} at {:.3g} % ({})", one.method, 100 * one.share, show(one.rate)));
  }
  std::string evidence =
      at_edge.empty() ? fmt::format("the best are from {} to {}.", show(least), show(largest))
                      : fmt::format("at an edge: {}.", fmt::join(at_edge, "; "));
  if (!hopeless.empty()) {
    std::vector<std::string> texts;
    texts.reserve(hopeless.size());
    for (const auto& [method, shares] : hopeless)
      texts.push_back(fmt::format("{} at {} %", method, shares));
    evidence += fmt::format(" Left out, as no rate ends below the start ({}): {}.", show(start),
                            fmt::join(texts, "; "));
  }
  return {claim, at_edge.empty(), evidence};
}

}  // namespace medgrad::lab
