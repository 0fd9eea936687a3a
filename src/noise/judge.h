// The verdict on grouped entries: see tail_parts.h.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "medgrad/tail_summary.h"

namespace medgrad::noise {

// A stream of which the entries are a sample: its farthest numbers on both sides, how many there
// are, the sum of those that are infinite, mean and standard deviation of the rest.
struct Whole {
  std::vector<double> far;
  std::size_t n = 0, infinite = 0;
  double beyond = 0, mean = 0, deviation = 0;
};

// Of entries that are centred already; `stable` is what the test says, where there is one. Error
// for fewer than 20 numbers, and where none has a finite distance from the others.
[[nodiscard]] TailVerdict judge_grouped(std::span<const double> centred, std::size_t group,
                                        std::optional<StableTest> stable,
                                        const VerdictOptions& options,
                                        const Whole* whole = nullptr);

// The tails of rows that are not those of single components.
struct RowTails {
  const TailVerdict* directions = nullptr;
  const Peaks* norms = nullptr;
  const Peaks* scaled_norms = nullptr;
};
// The answers from all that is known; judge_grouped gives those without the tails of rows.
void conclude(TailVerdict& v, const RowTails& rows = {});

// Of a sample as it is, or of a stream that it was taken from.
[[nodiscard]] TailVerdict judge(std::span<const double> sample, const VerdictOptions& options,
                                Whole* whole = nullptr);

// Every estimator on a sample, and the verdict.
[[nodiscard]] TailSummary summarise(std::span<const double> sample, const VerdictOptions& options,
                                    Whole* whole = nullptr);

// What one tail by itself says.
[[nodiscard]] Answer infinite_variance(const Peaks& tail);

}  // namespace medgrad::noise
