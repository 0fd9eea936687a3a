#include "lab/findings/tail_panels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace medgrad::lab {
namespace {

constexpr double kZ95 = 1.959963984540054;
constexpr std::size_t kFewest = 10;  // numbers that a point of a curve rests on
constexpr double kDensity = 1.08;    // from one k to the next

std::vector<std::size_t> counts(std::size_t last) {
  std::vector<std::size_t> k;
  for (double at = kFewest; at < static_cast<double>(last); at = std::max(at + 1, at * kDensity))
    k.push_back(static_cast<std::size_t>(at));
  return k;
}

}  // namespace

Panel hill_panel(std::span<const double> y, std::optional<double> index) {
  Panel panel{.id = "hill",
              .title = "Hill plot",
              .x = {"k, of the farthest numbers", true},
              .y = {"tail index"}};
  Series series{.name = "Hill's estimate with its 95 % interval", .key = "hill"};
  double logs = 0;
  std::size_t used = 0;
  const std::size_t most = y.size() / 2;
  for (const std::size_t k : counts(most)) {
    for (; used < k; ++used) logs += std::log(y[used]);
    const double mean = logs / static_cast<double>(k) - std::log(y[k]);
    if (!(mean > 0) || !std::isfinite(mean)) continue;
    const double alpha = 1 / mean, half = kZ95 * alpha / std::sqrt(static_cast<double>(k));
    series.x.push_back(static_cast<double>(k));
    series.y.push_back(alpha);
    series.low.push_back(std::max(alpha - half, 0.0));
    series.high.push_back(alpha + half);
  }
  panel.series.push_back(series);
  if (index && std::isfinite(*index) && !series.x.empty()) {
    panel.series.push_back({.name = "tail index that was found",
                            .key = "index",
                            .style = SeriesStyle::dashed,
                            .x = {series.x.front(), series.x.back()},
                            .y = {*index, *index}});
  }
  panel.note = "A power tail shows as a level stretch; below 2 the variance is infinite.";
  return panel;
}

Panel mean_excess_panel(std::span<const double> y, const std::optional<ParetoTail>& law) {
  Panel panel{.id = "mean-excess",
              .title = "Mean excess over a threshold",
              .x = {"threshold", true},
              .y = {"mean excess", true}};
  Series series{.name = "of the sample", .key = "excess", .style = SeriesStyle::points};
  double sum = 0;
  std::size_t used = 0;
  for (const std::size_t k : counts(y.empty() ? 0 : y.size() - 1)) {
    for (; used < k; ++used) sum += y[used];
    const double u = y[k], excess = sum / static_cast<double>(k) - u;
    if (!(u > 0) || !(excess > 0) || !std::isfinite(excess)) continue;
    series.x.push_back(u);
    series.y.push_back(excess);
  }
  std::reverse(series.x.begin(), series.x.end());
  std::reverse(series.y.begin(), series.y.end());
  panel.series.push_back(series);
  if (law) {
    Series curve{.name = "generalised Pareto law", .key = "pareto", .style = SeriesStyle::dashed};
    for (const double u : series.x) {
      const double excess = (law->sigma + law->xi * (u - law->threshold)) / (1 - law->xi);
      if (u < law->threshold || !(excess > 0) || law->xi >= 1) continue;
      curve.x.push_back(u);
      curve.y.push_back(excess);
    }
    if (!curve.x.empty()) panel.series.push_back(curve);
  }
  panel.note =
      "A power tail rises along a straight line, an exponential one is level, lighter tails fall.";
  return panel;
}

}  // namespace medgrad::lab
