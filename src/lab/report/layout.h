// What a drawing of a figure needs to know beyond its description: ranges, legend, colours.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lab/report/figure.h"
#include "lab/report/palette.h"

namespace medgrad::lab {

struct Range {
  double min = 0, max = 1;
};

// What of x and y can be drawn on the panel's axes, with bands and a margin; the axes' own limits
// where they are set. Never empty.
[[nodiscard]] Range x_range(const Panel& panel);
[[nodiscard]] Range y_range(const Panel& panel);

struct LegendEntry {
  std::string key, name;
  SeriesStyle style;
  double shade = 1;
};

// One entry per key, in order of appearance. Where curves of one key have different names, theirs
// is what the names begin with.
[[nodiscard]] std::vector<LegendEntry> legend(const Figure& figure);

// Looks of all keys in the figures.
[[nodiscard]] std::map<std::string, Look> looks_of(std::span<const Figure> figures);

// The light colour, paler for a shade below 1: "#rrggbb".
[[nodiscard]] std::string shaded(const Look& look, double shade);

}  // namespace medgrad::lab
