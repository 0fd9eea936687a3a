#include "language/noise_findings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "lab/findings/lookup.h"
#include "lab/findings/tail_panels.h"
#include "medgrad/error.h"
#include "medgrad/peaks.h"
#include "medgrad/rng.h"
#include "medgrad/stable.h"

namespace medgrad::language {
namespace {

using lab::Claim;
using lab::Figure;
using lab::Panel;
using lab::Results;
using lab::Series;
using lab::SeriesStyle;
using lab::show;

std::vector<double> normal_quantiles(std::size_t n) {
  const Stable normal({.alpha = 2, .scale = 1 / std::numbers::sqrt2});  // N(0, 1)
  std::vector<double> q(n);
  for (std::size_t i = 0; i < n; ++i)
    q[i] = normal.quantile((static_cast<double>(i) + 0.5) / static_cast<double>(n));
  return q;
}

// Sorts and standardises. False where there is no spread.
bool standardise(std::vector<double>& x) {
  std::ranges::sort(x);
  if (x.front() == x.back()) return false;
  const auto n = static_cast<double>(x.size());
  double mean = 0, square = 0;
  for (const double v : x) mean += v / n;
  for (const double v : x) square += (v - mean) * (v - mean) / (n - 1);
  const double sd = std::sqrt(square);
  for (double& v : x) v = (v - mean) / sd;
  return true;
}

double upper_excess(std::span<const double> sorted, std::span<const double> normal,
                    std::size_t count) {
  double sum = 0;
  for (std::size_t i = sorted.size() - count; i < sorted.size(); ++i) sum += sorted[i] - normal[i];
  return sum / static_cast<double>(count);
}

// The outline of the bars.
Series bars(const Histogram& h) {
  Series series{.name = "batches", .key = "errors", .style = SeriesStyle::area};
  const auto point = [&](double x, double y) {
    series.x.push_back(x);
    series.y.push_back(y);
  };
  point(h.low, 0);
  for (std::size_t i = 0; i < h.counts.size(); ++i) {
    const double left = h.low + h.width * static_cast<double>(i);
    point(left, static_cast<double>(h.counts[i]));
    point(left + h.width, static_cast<double>(h.counts[i]));
  }
  point(h.low + h.width * static_cast<double>(h.counts.size()), 0);
  return series;
}

Panel quantile_panel(const QuantilePlot& plot) {
  Panel panel{.id = "quantiles",
              .title = "Q–Q plot",
              .x = {.label = "quantile of N(0, 1)"},
              .y = {.label = "standardised error"}};
  panel.series.push_back({.name = "errors",
                          .key = "errors",
                          .style = SeriesStyle::points,
                          .x = plot.normal,
                          .y = plot.values});
  const double ends[] = {plot.normal.front(), plot.normal.back()};
  panel.series.push_back({.name = "Gaussian",
                          .key = "exact",
                          .style = SeriesStyle::dashed,
                          .x = {ends[0], ends[1]},
                          .y = {ends[0], ends[1]}});
  return panel;
}

Claim tail_claim(const QuantilePlot& plot, const libtorch::GradientNoise& noise,
                 const std::string& where) {
  std::string evidence = fmt::format(
      "the largest {} of {} standardised errors are {} above the Gaussian quantiles on average "
      "(99 % of Gaussian samples of that size stay below {}), the largest is {} where {} is "
      "expected",
      plot.largest, plot.values.size(), show(plot.excess), show(plot.gaussian_excess),
      show(plot.values.back()), show(plot.normal.back()));
  if (noise.norms) evidence += "; Hill: " + noise.norms->verdict();
  if (evidence.back() != '.') evidence += ".";
  return {"errors of gradients have a heavier upper tail than a Gaussian law" + where,
          plot.heavier_than_gaussian(), evidence};
}

// Do two estimates of the tail index exclude each other? Then no stable law describes the sample,
// and neither of them is its tail index.
bool contradict(const StableFit& fit, const std::optional<TailIndex>& other) {
  return other && (fit.alpha.high < other->interval.low || fit.alpha.low > other->interval.high);
}

bool stable_fits(const libtorch::GradientNoise& noise) {
  return noise.components.judged && noise.components.judged->stable_fits();
}

// Holds where the 95 % interval of the index by quantiles lies below 2, that is, where the outer
// quantiles lie farther out, beside the inner ones, than those of a Gaussian law: a point estimate
// below 2 is what Gaussian noise gives half of the time. The number itself means something for
// stable laws only. Components of language models are none: a word that occurs in some batches
// makes its components jump there, and how the index comes out depends on the batch size.
Claim component_claim(const libtorch::GradientNoise& noise, const std::string& where) {
  std::string claim = "single components of gradients are heavier-tailed than Gaussian" + where;
  if (!noise.components.quantiles) return {std::move(claim), {}, noise.components.quantiles_error};
  const StableFit& fit = *noise.components.quantiles;
  std::string evidence = fmt::format(
      "it holds where the 95 % interval of the index by quantiles, 2 for Gaussian noise, lies "
      "below 2; "
      "of {} entries from {} batches, each component over its own scale and without the {} of "
      "components that often stand still, it is ",
      fit.n, noise.errors.size(), fit.missing);
  if (const auto& other = noise.components.log_moment; contradict(fit, other)) {
    evidence += fmt::format(
        "{} ({}-{}), where log-moments say {}: no stable law describes them, and neither number is "
        "a "
        "tail index.",
        show(fit.parameters.alpha), show(fit.alpha.low), show(fit.alpha.high), show(other->alpha));
  } else if (!stable_fits(noise)) {
    evidence +=
        fmt::format("{} ({}-{}), but no stable law describes them, and that is no tail index. {}",
                    show(fit.parameters.alpha), show(fit.alpha.low), show(fit.alpha.high),
                    noise.components.verdict());
  } else {
    evidence += fmt::format("{} ({}-{}). {}", show(fit.parameters.alpha), show(fit.alpha.low),
                            show(fit.alpha.high), noise.components.verdict());
  }
  return {std::move(claim), fit.alpha.high < 2, evidence};
}

// An estimate of a tail index with the ends of its interval, as numbers for the results.
void add_index(Results& r, std::string_view metric, std::size_t batch, double alpha,
               const Interval& interval) {
  const std::pair<const char*, double> values[] = {
      {"", alpha}, {"_low", interval.low}, {"_high", interval.high}};
  for (const auto& [suffix, value] : values) {
    lab::Group group{.axes = {{"batch", static_cast<double>(batch)}},
                     .metric = fmt::format("{}{}", metric, suffix),
                     .runs = 1,
                     .values = {value}};
    lab::summarise(group);
    r.groups.push_back(std::move(group));
  }
}

}  // namespace

Histogram histogram(std::span<const double> values, std::size_t bins) {
  const auto [low, high] = std::ranges::minmax(values);
  Histogram h{low, (high - low) / static_cast<double>(bins), std::vector<std::size_t>(bins)};
  for (const double x : values) {
    const double place = h.width > 0 ? (x - low) / h.width : 0;
    ++h.counts[std::min(static_cast<std::size_t>(place), bins - 1)];
  }
  return h;
}

QuantilePlot quantile_plot(std::span<const double> values) {
  if (values.size() < 8) throw Error("a Q-Q plot needs at least 8 values.");
  QuantilePlot plot{.normal = normal_quantiles(values.size()),
                    .values = {values.begin(), values.end()},
                    .largest = std::max<std::size_t>(3, values.size() / 100)};
  if (!standardise(plot.values)) throw Error("a Q-Q plot needs values that differ.");
  plot.excess = upper_excess(plot.values, plot.normal, plot.largest);
  constexpr std::size_t kTrials = 1000;
  std::vector<double> sample(values.size()), excesses;
  for (std::size_t trial = 0; trial < kTrials; ++trial) {
    Philox(0, trial).fill_normal(sample);
    if (standardise(sample)) excesses.push_back(upper_excess(sample, plot.normal, plot.largest));
  }
  std::ranges::sort(excesses);
  plot.gaussian_excess = excesses[excesses.size() * 99 / 100];
  return plot;
}

void add_noise_findings(Results& r, const libtorch::GradientNoise& noise, std::size_t batch,
                        bool several) {
  const std::string name = std::to_string(batch);
  const std::string where = several ? fmt::format(" (batch {})", name) : "";
  if (noise.norms)
    add_index(r, "tail_index_norms", batch, noise.norms->alpha, noise.norms->interval);
  // Its alpha is a tail index where a stable law describes the components, and only there.
  if (const auto& fit = noise.components.quantiles; fit && stable_fits(noise))
    add_index(r, "tail_index_components", batch, fit->parameters.alpha, fit->alpha);
  const Histogram h = histogram(noise.errors);
  Panel counts{.id = "histogram",
               .title = "Histogram",
               .x = {.label = "|g − ∇|"},
               .y = {.label = "batches", .min = 0}};
  counts.series.push_back(bars(h));
  Panel tail = counts;
  tail.id = "tail";
  tail.title = "Its upper tail";
  tail.x.min = noise.quantile(0.9);
  tail.y.max = 14;
  Figure figure{.id = several ? "noise-" + name : "noise",
                .title = "Distances of batch gradients from the full gradient, batch " + name,
                .caption = noise.verdict(),
                .columns = 3,
                .panels = {std::move(counts), std::move(tail)}};
  try {
    const QuantilePlot plot = quantile_plot(noise.errors);
    figure.panels.push_back(quantile_panel(plot));
    r.claims.push_back(tail_claim(plot, noise, where));
  } catch (const Error&) {  // too few, or all alike
    r.claims.push_back(lab::undecided(
        "errors of gradients have a heavier upper tail than a Gaussian law" + where));
  }
  r.claims.push_back(component_claim(noise, where));
  constexpr std::size_t kEnough = 40;  // for pictures of the tail
  std::vector<double> far = noise.errors;
  std::ranges::sort(far, std::greater<>());
  if (far.size() >= kEnough) {
    figure.panels.push_back(
        lab::hill_panel(far, noise.norms ? std::optional(noise.norms->alpha) : std::nullopt));
    std::optional<lab::ParetoTail> law;
    try {
      law = lab::pareto_tail(
          peaks_over_threshold(far, {.tail = Tail::right, .centre = Centre::none}));
    } catch (const Error&) {  // too few, or all alike
    }
    figure.panels.push_back(lab::mean_excess_panel(far, law));
    if (law) figure.panels.push_back(lab::quantile_panel(far, *law));
  }
  r.figures.push_back(std::move(figure));
}

}  // namespace medgrad::language
