// Centered clipping and the geometric median: claims and figure (paper, section 4).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "lab/experiments.h"
#include "lab/findings/lookup.h"

namespace medgrad::lab {
namespace {

constexpr double kNothing = 1e-12;  // distances below are drawn there

// Once the clip is below the distance of the nearest row, the fixed point is the median itself.
Claim exact_for_samples(const Results& r) {
  double farthest = 0;
  std::size_t below = 0, above = 0, apart = 0;
  for (const double d : values_on(r, "d")) {
    const Group* const nearest = find(r, "sample", "nearest", {{"d", d}});
    for (const double clip : values_on(r, "clip")) {
      const Group* const distance = find(r, "sample", "distance", {{"d", d}, {"clip", clip}});
      for (std::size_t run = 0; run < nearest->runs; ++run) {
        if (clip < nearest->values[run]) {
          farthest = std::max(farthest, distance->values[run]);
          ++below;
        } else {
          apart += distance->values[run] > 1e-6 ? 1 : 0;
          ++above;
        }
      }
    }
  }
  const std::string claim =
      "on a sample the fixed point is the geometric median once the clip is below its distance to "
      "the nearest row";
  if (below == 0) return undecided(claim);
  return {claim, farthest < 1e-6,
          fmt::format("in {} cases it is at most {} away; with larger clips it is more than 1e-06 "
                      "away in {} of {}.",
                      below, show(farthest), apart, above)};
}

// The order between the two smallest clips, and the factor at the smallest.
Claim rate_for_density(const Results& r, double d) {
  std::vector<double> clips = values_on(r, "clip");
  const std::string claim = fmt::format(
      "for a density in d = {} the distance goes to 0 like clip^{}, with the factor of the theory",
      show(d), show(d + 1));
  if (clips.size() < 2) return undecided(claim);
  std::ranges::sort(clips);
  const auto at = [&](std::string_view method, double clip) {
    return mean_of(r, method, "distance", {{"d", d}, {"clip", clip}});
  };
  const double order =
      std::log(at("density", clips[1]) / at("density", clips[0])) / std::log(clips[1] / clips[0]);
  const double ratio = at("density", clips[0]) / at("theory", clips[0]);
  return {claim, std::abs(order - d - 1) < 0.05 && std::abs(ratio - 1) < 0.02,
          fmt::format("order {} between clips of {} and {}; at {} the distance is {} times the "
                      "theory's.",
                      show(order), show(clips[0]), show(clips[1]), show(clips[0]), show(ratio))};
}

}  // namespace

void centered_clipping_findings(const Experiment&, Results& r) {
  const std::vector<double> dimensions = values_on(r, "d");
  if (dimensions.empty() || find(r, "sample", "nearest") == nullptr) return;
  Figure figure{.id = "distance",
                .title = "Distance from the geometric median",
                .caption =
                    "Of the fixed points of centered clipping, against the clip: for samples "
                    "of a few rows (median over the runs), and for a density. Distances "
                    "below 1e-12 are drawn as 1e-12.",
                .columns = 3,
                .statistic = Statistic::median};
  for (const double d : dimensions) {
    Panel panel{.id = "d-" + show(d),
                .title = "d = " + show(d),
                .x = {.label = "clip", .log = true},
                .y = {.label = "distance", .log = true}};
    for (const auto& [method, name] : {std::pair("sample", "samples"),
                                       {"density", "density"},
                                       {"theory", "theory: clip^(d+1)"}}) {
      Series series = over_axis(r, method, "distance", "clip", {{"d", d}});
      series.name = name;
      if (std::string_view(method) == "theory") series.style = SeriesStyle::dashed;
      for (auto* part :
           {&series.y, &series.low, &series.high, &series.median, &series.lower, &series.upper})
        for (double& y : *part) y = std::max(y, kNothing);
      panel.series.push_back(std::move(series));
    }
    figure.panels.push_back(std::move(panel));
  }
  r.figures.push_back(std::move(figure));
  r.claims.push_back(exact_for_samples(r));
  for (const double d : dimensions) r.claims.push_back(rate_for_density(r, d));
  r.notes.emplace_back(
      "Where the geometric median is one of the rows, there is no clip below its distance to the "
      "nearest row: that row itself is never clipped, and the fixed point stays away in "
      "proportion to the clip, by clip times the length of the mean direction of the other rows.");
}

}  // namespace medgrad::lab
