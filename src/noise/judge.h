// The verdict on grouped entries: see tail_parts.h.
#pragma once

#include <optional>
#include <span>

#include "medgrad/tail_verdict.h"

namespace medgrad::noise {

// Of entries that are centred already; `stable` is what the test says, where there is one.
[[nodiscard]] TailVerdict judge_grouped(std::span<const double> centred, std::size_t group,
                                        std::optional<StableTest> stable,
                                        const VerdictOptions& options);

// What one tail by itself says.
[[nodiscard]] Answer infinite_variance(const Peaks& tail);

}  // namespace medgrad::noise
