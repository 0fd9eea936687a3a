// The picture of one step: claim and figure (paper, fig. proj).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lab/experiments.h"
#include "lab/findings/lookup.h"

namespace medgrad::lab {
namespace {

struct Point2 {
  double x, y;
};

// How far `at` is from the projection of g onto the ball of radius tau around m, computed the other
// way round: for the 1-norm component by component, for the 2-norm along the straight line.
double projection_error(std::string_view key, Point2 m, Point2 g, double tau, Point2 at) {
  Point2 expected = g;
  if (key == "cclip") {
    expected = {std::clamp(g.x, m.x - tau, m.x + tau), std::clamp(g.y, m.y - tau, m.y + tau)};
  } else if (key == "vclip") {
    const double distance = std::hypot(g.x - m.x, g.y - m.y);
    const double share = std::min(1.0, tau / distance);
    expected = {m.x + share * (g.x - m.x), m.y + share * (g.y - m.y)};
  } else {
    return 0;
  }
  return std::hypot(at.x - expected.x, at.y - expected.y);
}

}  // namespace

void projection_findings(const Experiment&, Results& r) {
  const Point2 m{mean_of(r, "m", "x"), mean_of(r, "m", "y")};
  const Point2 g{mean_of(r, "g", "x"), mean_of(r, "g", "y")};
  Panel panel{.id = "projection",
              .title = "Projections of g for all τ",
              .x = {.label = "x"},
              .y = {.label = "y"},
              .equal_aspect = true};
  // Balls of the dual norm: squares for the 1-norm, discs for the 2-norm.
  for (const double tau : {1.0, 2.0}) {
    Series square{.name = "|y − m|∞ ≤ " + show(tau),
                  .key = "cclip",
                  .style = SeriesStyle::area,
                  .x = {},
                  .y = {},
                  .shade = 0.3};
    for (const auto& [x, y] : {std::pair(-1, -1), {1, -1}, {1, 1}, {-1, 1}, {-1, -1}}) {
      square.x.push_back(m.x + tau * x);
      square.y.push_back(m.y + tau * y);
    }
    Series disc{.name = "|y − m|₂ ≤ " + show(tau),
                .key = "vclip",
                .style = SeriesStyle::area,
                .x = {},
                .y = {},
                .shade = 0.3};
    for (int i = 0; i <= 90; ++i) {
      disc.x.push_back(m.x + tau * std::cos(std::numbers::pi * i / 45));
      disc.y.push_back(m.y + tau * std::sin(std::numbers::pi * i / 45));
    }
    panel.series.push_back(std::move(square));
    panel.series.push_back(std::move(disc));
  }
  double worst = 0;
  for (const auto& [method, key] : methods_of(r, "x")) {
    if (method == "m" || method == "g") continue;
    Series path{.name = method, .key = key, .style = SeriesStyle::line, .x = {m.x}, .y = {m.y}};
    for (const double tau : values_on(r, "tau")) {
      const Point2 at{mean_of(r, method, "x", {{"tau", tau}}),
                      mean_of(r, method, "y", {{"tau", tau}})};
      if (std::isnan(at.x)) continue;
      path.x.push_back(at.x);
      path.y.push_back(at.y);
      worst = std::max(worst, projection_error(key, m, g, tau, at));
    }
    panel.series.push_back(std::move(path));
  }
  panel.series.push_back(
      {.name = "m", .key = "m", .style = SeriesStyle::points, .x = {m.x}, .y = {m.y}});
  panel.series.push_back(
      {.name = "g", .key = "g", .style = SeriesStyle::points, .x = {g.x}, .y = {g.y}});
  r.figures.push_back(
      {.id = "projection",
       .title = "One step for every τ",
       .caption = "The thick lines are where a step takes m for τ from 0 on: straight to g "
                  "for the 2-norm; along the diagonal of the square, then along the "
                  "component that is left, for the 1-norm.",
       .columns = 1,
       .panels = {std::move(panel)}});
  r.claims.push_back({"a step is the projection of g onto the dual ball of radius tau around m",
                      worst < 1e-12, fmt::format("largest deviation {}.", show(worst))});
}

}  // namespace medgrad::lab
