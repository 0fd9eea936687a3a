#include "tail_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "base/json.h"
#include "lab/report/figure.h"
#include "lab/report/origin.h"
#include "lab/report/report.h"
#include "medgrad/build_info.h"
#include "medgrad/stable.h"

namespace medgrad::app {
namespace {

constexpr double kZ95 = 1.959963984540054;
constexpr std::size_t kFewest = 10;  // numbers that a point of a curve rests on
constexpr double kDensity = 1.08;    // from one k to the next

// The finite numbers around their median, in increasing order.
std::vector<double> centred(std::span<const double> sample) {
  std::vector<double> x;
  for (const double v : sample) {
    if (std::isfinite(v)) x.push_back(v);
  }
  std::sort(x.begin(), x.end());
  const double middle = x[(x.size() - 1) / 2] / 2 + x[x.size() / 2] / 2;
  for (double& v : x) v -= middle;
  return x;
}

std::vector<std::size_t> counts(std::size_t last) {
  std::vector<std::size_t> k;
  for (double at = kFewest; at < static_cast<double>(last); at = std::max(at + 1, at * kDensity))
    k.push_back(static_cast<std::size_t>(at));
  return k;
}

// 1 / mean of log(y_i / y_{k+1}) over the k largest, for all k.
lab::Panel hill_plot(const std::vector<double>& y, const TailSummary& summary) {
  lab::Panel panel{.id = "hill",
                   .title = "Hill plot",
                   .x = {"k, of the farthest numbers", true},
                   .y = {"tail index"}};
  lab::Series series{.name = "Hill's estimate with its 95 % interval", .key = "hill"};
  double logs = 0;
  std::size_t used = 0;
  const std::size_t most = std::min(y.size() / 2, y.size() - 1);
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
  if (summary.judged && std::isfinite(summary.judged->index) && !series.x.empty()) {
    panel.series.push_back({.name = "tail index of the verdict",
                            .key = "verdict",
                            .style = lab::SeriesStyle::dashed,
                            .x = {series.x.front(), series.x.back()},
                            .y = {summary.judged->index, summary.judged->index}});
  }
  panel.note = "A power tail shows as a level stretch; below 2 the variance is infinite.";
  return panel;
}

// Mean of y - u over the y above u, at u = the k-th largest.
lab::Panel mean_excess(const std::vector<double>& y, const TailSummary& summary) {
  lab::Panel panel{.id = "mean-excess",
                   .title = "Mean excess over a threshold",
                   .x = {"threshold, from the median", true},
                   .y = {"mean excess", true}};
  lab::Series series{.name = "of the sample", .key = "excess", .style = lab::SeriesStyle::points};
  double sum = 0;
  std::size_t used = 0;
  for (const std::size_t k : counts(y.size() - 1)) {
    for (; used < k; ++used) sum += y[used];
    const double u = y[k], excess = sum / static_cast<double>(k) - u;
    if (!(u > 0) || !(excess > 0) || !std::isfinite(excess)) continue;
    series.x.push_back(u);
    series.y.push_back(excess);
  }
  std::reverse(series.x.begin(), series.x.end());
  std::reverse(series.y.begin(), series.y.end());
  panel.series.push_back(series);
  if (summary.judged && summary.judged->both) {
    // Of a generalised Pareto law from the threshold on: (sigma + xi (u - threshold)) / (1 - xi).
    const Peaks& p = *summary.judged->both;
    lab::Series law{
        .name = "generalised Pareto law", .key = "verdict", .style = lab::SeriesStyle::dashed};
    for (const double u : series.x) {
      const double excess = (p.pareto.sigma + p.pareto.xi * (u - p.threshold)) / (1 - p.pareto.xi);
      if (u < p.threshold || !(excess > 0) || p.pareto.xi >= 1) continue;
      law.x.push_back(u);
      law.y.push_back(excess);
    }
    if (!law.x.empty()) panel.series.push_back(law);
  }
  panel.note =
      "A power tail rises along a straight line, an exponential one is level, lighter tails fall.";
  return panel;
}

// Both tails from the median on, on logarithmic axes.
lab::Panel quantile_plot(const std::vector<double>& x, const StableFit& fit) {
  lab::Panel panel{.id = "quantiles",
                   .title = "Quantiles against the fitted stable law",
                   .x = {"distance of the law's quantile from its median", true},
                   .y = {"of the sample's", true}};
  const Stable law(fit.parameters);
  const double middle = law.quantile(0.5);
  const auto n = static_cast<double>(x.size());
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const bool right : {true, false}) {
    lab::Series series{.name = right ? "right tail" : "left tail",
                       .key = right ? "right" : "left",
                       .style = lab::SeriesStyle::points};
    for (double rank = 1; rank < n / 2; rank = std::max(rank + 1, std::floor(rank * 1.06))) {
      const double part = (rank - 0.5) / n;
      const auto i = static_cast<std::size_t>(rank) - 1;
      const double theirs =
          right ? law.survival_quantile(part) - middle : middle - law.quantile(part);
      const double ours = right ? x[x.size() - 1 - i] : -x[i];
      if (!(theirs > 0) || !(ours > 0) || !std::isfinite(theirs)) continue;
      series.x.push_back(theirs);
      series.y.push_back(ours);
      low = std::min(low, theirs);
      high = std::max(high, theirs);
    }
    std::reverse(series.x.begin(), series.x.end());
    std::reverse(series.y.begin(), series.y.end());
    if (!series.x.empty()) panel.series.push_back(series);
  }
  if (high > 0)
    panel.series.push_back({.name = "the law itself",
                            .key = "verdict",
                            .style = lab::SeriesStyle::dashed,
                            .x = {low, high},
                            .y = {low, high}});
  panel.note = "Points above the line are farther out than the law has them.";
  return panel;
}

}  // namespace

void write_tail_report(const std::string& file, std::span<const double> sample, const NoiseFit& fit,
                       const std::string& name, const std::string& command) {
  const std::vector<double> x = centred(sample);
  std::vector<double> y = x;
  for (double& v : y) v = std::fabs(v);
  std::sort(y.begin(), y.end(), std::greater<>());
  lab::Figure figure{.id = "tails",
                     .title = fmt::format("Tails of {}", name),
                     .caption = fit.summary.verdict(),
                     .columns = 2};
  figure.panels.push_back(hill_plot(y, fit.summary));
  figure.panels.push_back(mean_excess(y, fit.summary));
  if (fit.stable && fit.stable->parameters.alpha >= 0.1)
    figure.panels.push_back(quantile_plot(x, *fit.stable));
  Json summary = {{"experiment", "tails"},
                  {"version", std::string(build_info().version)},
                  {"claims", Json::array()},
                  {"rows", Json::array()}};
  const lab::ReportSection section{.name = "tails",
                                   .label = name,
                                   .config = {},
                                   .summary = summary.dump(),
                                   .figures = lab::to_json_text(std::span(&figure, 1))};
  lab::write_report(
      file, std::span(&section, 1),
      {.title = "Tails of " + name, .command = command, .origin = lab::origin_here()});
}

}  // namespace medgrad::app
