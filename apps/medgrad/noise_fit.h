// What `noise fit` prints.
#pragma once

#include <cstddef>
#include <string>

#include "medgrad/tail_summary.h"

namespace medgrad::app {

// Lines of what,estimate,low,high.
[[nodiscard]] std::string tails_as_csv(const TailSummary& summary, StableForm form);
// `nan` and `inf` of the data's entries are not finite.
[[nodiscard]] std::string tails_as_json(const TailSummary& summary, StableForm form,
                                        std::size_t nan, std::size_t inf);

}  // namespace medgrad::app
