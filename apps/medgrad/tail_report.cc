#include "tail_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "lab/findings/tail_panels.h"
#include "lab/report/figure.h"
#include "lab/report/origin.h"
#include "lab/report/report.h"
#include "medgrad/build_info.h"
#include "medgrad/error.h"
#include "medgrad/stable_fit.h"
#include "medgrad/tail_summary.h"

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

// Their sizes, farthest first.
std::vector<double> sizes_of(std::vector<double> x) {
  std::erase_if(x, [](double v) { return !std::isfinite(v); });
  for (double& v : x) v = std::fabs(v);
  std::sort(x.begin(), x.end(), std::greater<>());
  return x;
}

std::optional<lab::ParetoTail> law_of(const std::optional<Peaks>& peaks) {
  return peaks ? std::optional(lab::pareto_tail(*peaks)) : std::nullopt;
}

// Of numbers: Hill plot, mean excess, and quantiles against the stable law where there is one.
lab::Figure figure_of(std::span<const double> sample, const std::optional<TailVerdict>& judged,
                      const std::optional<StableFit>& stable) {
  lab::Figure figure{.id = "tails", .title = {}, .caption = {}, .columns = 2, .band = "95 %"};
  const std::vector<double> x = centred(sample), y = sizes_of(x);
  figure.panels.push_back(lab::hill_panel(y, judged ? std::optional(judged->index) : std::nullopt));
  figure.panels.push_back(lab::mean_excess_panel(y, judged ? law_of(judged->both) : std::nullopt));
  if (stable && stable->parameters.alpha >= 0.1)
    figure.panels.push_back(lab::quantile_panel(x, stable->parameters));
  return figure;
}

Json rows_of(const NoiseFit& fit) {
  Json rows = Json::array();
  for (const auto& [what, answer] : answers_of(fit))
    rows.push_back({{"what", what}, {"estimate", answer}});
  for (const Estimate& e : estimates_of(fit)) {
    rows.push_back({{"what", e.name}, {"estimate", json_number(e.value)}});
    if (std::isnan(e.interval.low)) continue;
    rows.back()["low"] = json_number(e.interval.low);
    rows.back()["high"] = json_number(e.interval.high);
  }
  return rows;
}

void write_page(const std::string& file, const NoiseFit& fit, Json rows,
                std::span<const lab::Figure> figures, const std::string& name,
                const std::string& command) {
  // The sentence to act on comes first.
  const Json summary = {{"experiment", "tails"},
                        {"title", "Verdict"},
                        {"description", fit.summary.verdict()},
                        {"version", std::string(build_info().version)},
                        {"again", false},
                        {"claims", Json::array()},
                        {"rows", std::move(rows)}};
  const lab::ReportSection section{.name = "tails",
                                   .label = name,
                                   .config = {},
                                   .summary = summary.dump(),
                                   .figures = lab::to_json_text(figures)};
  lab::write_report(
      file, std::span(&section, 1),
      {.title = "Tails of " + name, .command = command, .origin = lab::origin_here()});
}

// One component of rows by itself.
struct Component {
  std::size_t place = 0;
  std::vector<double> numbers;
  TailVerdict judged;
  [[nodiscard]] double xi() const {
    return judged.both ? judged.both->pareto.xi : -std::numeric_limits<double>::infinity();
  }
};

// All components, or the heaviest where there are many, or evenly spaced ones where that is not
// known.
std::vector<std::size_t> places_of(std::span<const ComponentTail> heaviest, std::size_t d) {
  constexpr std::size_t kMost = 32;
  std::vector<std::size_t> places;
  if (d > kMost && !heaviest.empty()) {
    for (const ComponentTail& c : heaviest) places.push_back(c.place);
    return places;
  }
  const std::size_t count = std::min(d, kMost);
  for (std::size_t i = 0; i < count; ++i) places.push_back(i * d / count);
  return places;
}

template <Real T>
std::optional<Component> component_of(const Rows<T>& rows, std::size_t place) {
  Component c{.place = place, .numbers = {}, .judged = {}};
  for (std::size_t i = 0; i < rows.n(); ++i)
    c.numbers.push_back(static_cast<double>(rows.row(i)[place]));
  try {
    c.judged = judge_tails(c.numbers);
  } catch (const Error&) {  // too few numbers, or all alike
    return std::nullopt;
  }
  return c;
}

}  // namespace

void write_tail_report(const std::string& file, std::span<const double> sample, const NoiseFit& fit,
                       const std::string& name, const std::string& command) {
  const lab::Figure figure = figure_of(sample, fit.summary.judged, fit.stable);
  write_page(file, fit, rows_of(fit), std::span(&figure, 1), name, command);
}

template <Real T>
void write_tail_report(const std::string& file, const Rows<T>& rows, const NoiseFit& fit,
                       const std::string& name, const std::string& command) {
  const std::vector<double> y = sizes_of(noise_norms(rows));
  const std::optional<Peaks>& norms = fit.summary.norms;
  std::vector<lab::Figure> figures = {{.id = "norms",
                                       .title = "Norms of rows around their median",
                                       .caption = {},
                                       .columns = 2,
                                       .band = "95 %"}};
  std::vector<lab::Panel>& panels = figures[0].panels;
  panels.push_back(lab::hill_panel(y, norms ? std::optional(norms->index()) : std::nullopt));
  panels.push_back(lab::mean_excess_panel(y, law_of(norms)));
  if (norms) panels.push_back(lab::quantile_panel(y, lab::pareto_tail(*norms)));

  Json lines = rows_of(fit);
  std::optional<Component> heaviest;
  for (const std::size_t place : places_of(fit.summary.components, rows.d())) {
    std::optional<Component> one = component_of(rows, place);
    if (!one) continue;
    const TailVerdict& v = one->judged;
    lines.push_back(
        {{"what", fmt::format("component {} (infinite variance: {}, advice: {})", one->place + 1,
                              medgrad::name(v.infinite_variance), medgrad::name(v.advice))},
         {"estimate", json_number(v.index)},
         {"low", json_number(v.index_interval.low)},
         {"high", json_number(v.index_interval.high)}});
    if (!heaviest || one->xi() > heaviest->xi()) heaviest = std::move(one);
  }
  if (heaviest) {
    std::optional<StableFit> stable;
    try {
      stable = fit_stable(heaviest->numbers, StableFitOptions{});
    } catch (const Error&) {  // half of them are one number
    }
    lab::Figure figure = figure_of(heaviest->numbers, heaviest->judged, stable);
    figure.id = "component";
    figure.title = fmt::format("Component {}, whose tail is the heaviest", heaviest->place + 1);
    figures.push_back(std::move(figure));
  }
  write_page(file, fit, std::move(lines), figures, name, command);
}

template void write_tail_report(const std::string&, const Rows<float>&, const NoiseFit&,
                                const std::string&, const std::string&);
template void write_tail_report(const std::string&, const Rows<double>&, const NoiseFit&,
                                const std::string&, const std::string&);

}  // namespace medgrad::app
