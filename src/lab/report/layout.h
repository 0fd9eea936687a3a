// What a drawing of a figure needs to know beyond its description: ranges, legend, colours.
#pragma once

#include <map>
#include <optional>
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
[[nodiscard]] Range y_range(const Panel& panel, Statistic statistic = Statistic::mean);

// What is drawn of a series: its curve, and a band, which may be empty. The other statistic where
// it has only that.
struct Drawn {
  std::vector<double> y, low, high;
};
[[nodiscard]] Drawn drawn(const Series& series, Statistic statistic);

struct LegendEntry {
  std::string key, name;
  SeriesStyle style;
  std::optional<double> shade = {};
};

// One entry per key, in order of appearance. Where curves of one key have different names, theirs
// is what the names begin with. Where curves differ in shade, what the shades mean follows: at most
// twelve entries of the key "shades".
[[nodiscard]] std::vector<LegendEntry> legend(const Figure& figure);

// Looks of all keys in the figures.
[[nodiscard]] std::map<std::string, Look> looks_of(std::span<const Figure> figures);

// The colour on paper: "#rrggbb".
[[nodiscard]] std::string colour_of(const Look& look, std::optional<double> shade);
// Families are solid, whatever else their key has.
[[nodiscard]] Dash dash_of(const Look& look, SeriesStyle style, std::optional<double> shade);

}  // namespace medgrad::lab
