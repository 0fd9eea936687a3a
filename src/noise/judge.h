// The verdict on grouped entries: see tail_parts.h.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "medgrad/tail_summary.h"

namespace medgrad::noise {

// A stream of which the entries are a sample: its farthest numbers on both sides, around the same
// centre, how many there are, how many of them are infinite, and the variance of the rest.
struct Whole {
  std::vector<double> far;
  std::size_t n = 0, infinite = 0;
  double variance = 0;
};

// Of entries that are centred already; `stable` is what the test says, where there is one.
[[nodiscard]] TailVerdict judge_grouped(std::span<const double> centred, std::size_t group,
                                        std::optional<StableTest> stable,
                                        const VerdictOptions& options,
                                        const Whole* whole = nullptr);

// Of a sample as it is.
[[nodiscard]] TailVerdict judge(std::span<const double> sample, const StableTest& stable,
                                const VerdictOptions& options);

// Every estimator on a sample, and the verdict that `judge` makes of the test of stable laws.
[[nodiscard]] TailSummary summarise(std::span<const double> sample,
                                    const std::function<TailVerdict(const StableTest&)>& judge);

// What one tail by itself says.
[[nodiscard]] Answer infinite_variance(const Peaks& tail);

}  // namespace medgrad::noise
