#include "lab/findings/tail_panels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
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

constexpr double kRanks = 1.06;  // from one rank of a quantile plot to the next

template <class Draw>
void for_ranks(double last, const Draw& draw) {
  for (double rank = 1; rank < last; rank = std::max(rank + 1, std::floor(rank * kRanks)))
    draw(rank);
}

// Points in increasing order, from ranks that go inwards, and the diagonal that they should be on.
class QuantilePoints {
 public:
  explicit QuantilePoints(Panel& panel) : panel_(panel) {}
  void begin(std::string name, std::string key) {
    series_ = {.name = std::move(name), .key = std::move(key), .style = SeriesStyle::points};
  }
  void add(double theirs, double ours) {
    if (!(theirs > 0) || !(ours > 0) || !std::isfinite(theirs)) return;
    series_.x.push_back(theirs);
    series_.y.push_back(ours);
    low_ = std::min(low_, theirs);
    high_ = std::max(high_, theirs);
  }
  void end() {
    std::reverse(series_.x.begin(), series_.x.end());
    std::reverse(series_.y.begin(), series_.y.end());
    if (!series_.x.empty()) panel_.series.push_back(series_);
  }
  void diagonal() {
    if (!(high_ > 0)) return;
    panel_.series.push_back({.name = "the law itself",
                             .key = "law",
                             .style = SeriesStyle::dashed,
                             .x = {low_, high_},
                             .y = {low_, high_}});
  }

 private:
  Panel& panel_;
  Series series_;
  double low_ = std::numeric_limits<double>::infinity(), high_ = 0;
};

constexpr auto kQuantileNote = "Points above the line are farther out than the law has them.";

}  // namespace

ParetoTail pareto_tail(const Peaks& peaks) {
  return {peaks.threshold, peaks.pareto.sigma, peaks.pareto.xi};
}

Panel quantile_panel(std::span<const double> x, const StableParameters& parameters) {
  Panel panel{.id = "law-quantiles",
              .title = "Quantiles against the fitted stable law",
              .x = {"distance of the law's quantile from its median", true},
              .y = {"of the sample's", true},
              .note = kQuantileNote};
  const Stable law(parameters);
  const double middle = law.quantile(0.5);
  const auto n = static_cast<double>(x.size());
  QuantilePoints points(panel);
  for (const bool right : {true, false}) {
    points.begin(right ? "right tail" : "left tail", right ? "right" : "left");
    for_ranks(n / 2, [&](double rank) {
      const double part = (rank - 0.5) / n;
      const auto i = static_cast<std::size_t>(rank) - 1;
      const double quantile = right ? law.survival_quantile(part) : law.quantile(part);
      points.add(right ? quantile - middle : middle - quantile,
                 right ? x[x.size() - 1 - i] : -x[i]);
    });
    points.end();
  }
  points.diagonal();
  return panel;
}

Panel quantile_panel(std::span<const double> y, const ParetoTail& law) {
  Panel panel{.id = "law-quantiles",
              .title = "Quantiles against the fitted generalised Pareto law",
              .x = {"the law's quantile", true},
              .y = {"the sample's", true},
              .note = kQuantileNote};
  const auto above = static_cast<double>(
      std::count_if(y.begin(), y.end(), [&](double v) { return v > law.threshold; }));
  QuantilePoints points(panel);
  points.begin("beyond the threshold", "far");
  for_ranks(above + 1, [&](double rank) {
    const double log_part = std::log((rank - 0.5) / above);
    // (part^-xi - 1) / xi, which is -log(part) for xi = 0.
    const double excess =
        std::fabs(law.xi) < 1e-9 ? -log_part : std::expm1(-law.xi * log_part) / law.xi;
    points.add(law.threshold + law.sigma * excess, y[static_cast<std::size_t>(rank) - 1]);
  });
  points.end();
  points.diagonal();
  return panel;
}

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
