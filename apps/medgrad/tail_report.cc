#include "tail_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "base/json.h"
#include "lab/findings/tail_panels.h"
#include "lab/report/figure.h"
#include "lab/report/origin.h"
#include "lab/report/report.h"
#include "medgrad/build_info.h"
#include "medgrad/stable.h"

namespace medgrad::app {
namespace {

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
                            .key = "law",
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
  lab::Figure figure{.id = "tails", .title = {}, .caption = {}, .columns = 2, .band = "95 %"};
  const std::optional<TailVerdict>& judged = fit.summary.judged;
  figure.panels.push_back(lab::hill_panel(y, judged ? std::optional(judged->index) : std::nullopt));
  std::optional<lab::ParetoTail> law;
  if (judged && judged->both)
    law = {judged->both->threshold, judged->both->pareto.sigma, judged->both->pareto.xi};
  figure.panels.push_back(lab::mean_excess_panel(y, law));
  if (fit.stable && fit.stable->parameters.alpha >= 0.1)
    figure.panels.push_back(quantile_plot(x, *fit.stable));
  Json rows = Json::array();
  for (const auto& [what, answer] : answers_of(fit))
    rows.push_back({{"what", what}, {"estimate", answer}});
  for (const Estimate& e : estimates_of(fit)) {
    rows.push_back({{"what", e.name}, {"estimate", json_number(e.value)}});
    if (std::isnan(e.interval.low)) continue;
    rows.back()["low"] = json_number(e.interval.low);
    rows.back()["high"] = json_number(e.interval.high);
  }
  // The sentence to act on comes first.
  const Json summary = {{"experiment", "tails"},
                        {"title", "Verdict"},
                        {"description", fit.summary.verdict()},
                        {"version", std::string(build_info().version)},
                        {"again", false},
                        {"claims", Json::array()},
                        {"rows", rows}};
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
