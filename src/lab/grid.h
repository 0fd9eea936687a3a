// Every list in an experiment's file is an axis of its grid.
//
//     {"noise": {"alpha": [1.1, 1.5]}, "steps": [100, 1000]}
//
// stands for four experiments, named by their values of `alpha` and `steps`. A list of objects is
// an axis too; its values are the objects' names. {"from": 1, "to": 101, "step": 2} stands for a
// list. An axis is called by its key, with the key above it in front ("eta.value") where the name
// would not tell it apart.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lab/reader.h"

namespace medgrad::lab {

using AxisValue = std::variant<double, std::string>;
// What names a point of the grid, in the order of the file: (name of the axis, value).
using Axes = std::vector<std::pair<std::string, AxisValue>>;

[[nodiscard]] std::string to_text(const AxisValue& value);
// The number on that axis; NaN where there is none.
[[nodiscard]] double number_on(const Axes& axes, std::string_view name);

// A point of the grid: the document without lists.
struct GridPoint {
  Axes axes;
  Node node;
};

// All points, the last axis running fastest. Keys named in `kept` are left as they are. Throws
// Error where a list is empty, or a range has no values or too many.
[[nodiscard]] std::vector<GridPoint> expand(const Node& node, const std::string& file,
                                            const std::vector<std::string>& kept = {});

}  // namespace medgrad::lab
