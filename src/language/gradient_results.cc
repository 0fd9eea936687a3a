#include "language/gradient_results.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "lab/findings/lookup.h"
#include "language/noise_findings.h"
#include "language/tracking_findings.h"
#include "medgrad/registry.h"

namespace medgrad::language {
namespace {

using lab::Axes;
using lab::Group;
using lab::Results;

void add(Results& r, Group group) {
  lab::summarise(group);
  r.groups.push_back(std::move(group));
}

Group one_value(std::string metric, double value, Axes axes) {
  return {.axes = std::move(axes), .metric = std::move(metric), .runs = 1, .values = {value}};
}

// Steps that go into the results: each of the first 20, then every fifth, and the last.
std::vector<std::size_t> recorded(std::size_t steps) {
  std::vector<std::size_t> chosen;
  for (std::size_t t = 1; t <= steps; ++t)
    if (t <= 20 || t % 5 == 0 || t == steps) chosen.push_back(t);
  return chosen;
}

void add_tracking(Results& r, const Tracking& tracking, std::span<const TrackedMethod> tracked,
                  std::size_t batch) {
  const auto number = static_cast<double>(batch);
  for (std::size_t i = 0; i < tracked.size(); ++i) {
    const std::vector<double>& errors = tracking.errors[i];
    const bool automatic = tracked[i].tau == kAutomaticNumber;
    const Axes axes = {{"batch", number},
                       {"tau", automatic ? lab::AxisValue("auto") : tracked[i].tau}};
    Group curve{.method = tracked[i].name,
                .key = tracked[i].key,
                .axes = axes,
                .metric = "relative_error",
                .steps = recorded(errors.size()),
                .runs = 1};
    for (const std::size_t t : curve.steps) curve.values.push_back(errors[t - 1]);
    add(r, std::move(curve));
    const auto add_one = [&](const char* metric, double value) {
      Group group = one_value(metric, value, axes);
      group.method = tracked[i].name;
      group.key = tracked[i].key;
      add(r, std::move(group));
    };
    add_one("final_relative_error", errors.back());
    const double early = std::ceil(1 / tracked[i].tau);
    if (!automatic && early <= static_cast<double>(errors.size()))
      add_one("early_relative_error", errors[static_cast<std::size_t>(early) - 1]);
    add_one("steps_to_half", steps_below(errors, 0.5));
    if (tracked[i].key != "momentum") continue;
    for (std::size_t j = 0; j < tracked.size(); ++j)
      if (tracked[j].key == "vclip" && tracked[j].tau == tracked[i].tau)
        add_one("overtakes_vclip", overtakes(errors, tracking.errors[j]));
  }
}

// "At batch 64: …": what was measured, in a sentence.
std::string in_words(const MeasuredBatch& measured, std::span<const double> errors) {
  double mean = 0;
  for (const double x : errors) mean += x / static_cast<double>(errors.size());
  return fmt::format(
      "At batch {} ({}, {}) the full gradient has norm {} and largest component {}; the mean "
      "distance of {} from it is {}.",
      measured.batch, counted(measured.batches, "batch", "batches"),
      counted(measured.dimension, "parameter"), lab::show(measured.norm),
      lab::show(measured.largest), counted(errors.size(), "batch gradient"), lab::show(mean));
}

void add_batch_size(Results& r, const GradientSettings& settings, const MeasuredBatch& measured) {
  const Axes axes = {{"batch", static_cast<double>(measured.batch)}};
  r.notes.push_back(measured.data);
  add(r, one_value("gradient_norm", measured.norm, axes));
  add(r, one_value("largest_component", measured.largest, axes));
  if (measured.noise)
    add_noise_findings(r, *measured.noise, measured.batch, settings.batch.size() > 1);
  add_tracking(r, measured.tracking, tracked_methods(settings), measured.batch);
  const std::vector<double>& errors =
      measured.noise ? measured.noise->errors : measured.tracking.distances;
  add(r, {.axes = axes, .metric = "gradient_error", .runs = errors.size(), .values = errors});
  r.notes.push_back(in_words(measured, errors));
}

}  // namespace

std::vector<TrackedMethod> tracked_methods(const GradientSettings& settings) {
  // The exponential average is called momentum, as in the paper, unless momentum itself is there.
  const bool as_paper = std::ranges::none_of(
      settings.methods, [](const FollowedMethod& one) { return one.key == "momentum"; });
  std::vector<TrackedMethod> tracked;
  const auto add = [&](const FollowedMethod& one, double tau) {
    tracked.push_back({one.name, one.key, tau, tracking_method(one.key, tau, one.values)});
    if (!as_paper || one.key != "ema") return;
    tracked.back().key = "momentum";
    if (!one.labelled) tracked.back().name = "momentum";
  };
  for (std::size_t i = 0; i < settings.tau.size(); ++i) {
    for (const FollowedMethod& one : settings.methods) {
      const bool own = one.values.contains("tau");
      if (!own || i == 0) add(one, own ? one.values.find("tau")->second : settings.tau[i]);
    }
  }
  return tracked;
}

lab::Finished gradient_results(const GradientSettings& settings,
                               std::span<const MeasuredBatch> measured) {
  Node document = to_document(settings);
  Results results{.experiment = settings.experiment,
                  .title = settings.title,
                  .description = settings.description,
                  .notes = {},
                  .groups = {},
                  .claims = {},
                  .figures = {}};
  if (std::string scaled = scaled_down(document); !scaled.empty())
    results.notes.push_back(std::move(scaled));
  if (settings.limit != 0)
    results.notes.push_back(fmt::format(
        "The full gradient is that of the first {} of the training part, not of all of it.",
        counted(settings.limit, "batch", "batches")));
  if (settings.size == Size::small)
    results.notes.emplace_back("The model is a small one of the same kind as the paper's.");
  Node::List data;
  for (const MeasuredBatch& one : measured) {
    add_batch_size(results, settings, one);
    data.push_back({one.data, 1});
  }
  put(document, "data", {std::move(data), 1});
  return {std::move(results), to_text(document)};
}

}  // namespace medgrad::language
