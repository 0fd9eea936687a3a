// The figures of the paper that stand on several experiments, put together from theirs.
#pragma once

#include <optional>
#include <span>

#include "lab/report/report.h"

namespace medgrad::lab {

// A section with the paper's figures whose experiments are all among the sections, once each; none
// where there is no such figure.
[[nodiscard]] std::optional<ReportSection> paper_figures(std::span<const ReportSection> sections);

}  // namespace medgrad::lab
