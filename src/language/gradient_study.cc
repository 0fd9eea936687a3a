#include "language/gradient_study.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/text.h"
#include "lab/findings/lookup.h"
#include "language/gradients.h"
#include "language/noise_findings.h"
#include "language/tracking_findings.h"
#include "medgrad/error.h"
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

// The part of the progress that one batch size is.
class Share {
 public:
  Share(const GradientStudyOptions& options, std::size_t part, std::size_t parts)
      : options_(options), part_(part), parts_(parts) {}
  void expect(std::size_t runs) { runs_ = runs; }
  void operator()() {
    ++done_;
    if (!options_.progress) return;
    const double within =
        std::min(1.0, static_cast<double>(done_) / static_cast<double>(std::max(runs_, done_)));
    options_.progress((static_cast<double>(part_) + within) / static_cast<double>(parts_));
  }

 private:
  const GradientStudyOptions& options_;
  std::size_t part_, parts_, runs_ = 1, done_ = 0;
};

// What results call a tracked method: name and tau.
struct Tracked {
  std::string name, key;
  double tau;
};

// The exponential average is called momentum, as in the paper, unless momentum itself is there too.
Tracked named(const std::string& name, double tau, const std::vector<std::string>& all) {
  const std::string key(find_online_method(name).name);
  const bool as_paper = key == "ema" && std::ranges::none_of(all, [](const std::string& other) {
                          return find_online_method(other).name == "momentum";
                        });
  return as_paper ? Tracked{"momentum", "momentum", tau} : Tracked{name, key, tau};
}

void add_tracking(Results& r, const Tracking& tracking, const std::vector<Tracked>& tracked,
                  std::size_t batch) {
  const auto number = static_cast<double>(batch);
  for (std::size_t i = 0; i < tracked.size(); ++i) {
    const std::vector<double>& errors = tracking.errors[i];
    const Axes axes = {{"batch", number}, {"tau", tracked[i].tau}};
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
    if (early <= static_cast<double>(errors.size()))
      add_one("early_relative_error", errors[static_cast<std::size_t>(early) - 1]);
    add_one("steps_to_half", steps_below(errors, 0.5));
    if (tracked[i].key != "momentum") continue;
    for (std::size_t j = 0; j < tracked.size(); ++j)
      if (tracked[j].key == "vclip" && tracked[j].tau == tracked[i].tau)
        add_one("overtakes_vclip", overtakes(errors, tracking.errors[j]));
  }
}

void add_errors(Results& r, std::span<const double> errors, std::size_t batch) {
  add(r, {.axes = {{"batch", static_cast<double>(batch)}},
          .metric = "gradient_error",
          .runs = errors.size(),
          .values = {errors.begin(), errors.end()}});
}

// "At batch 64: …": what was measured, in a sentence.
std::string measured(std::size_t batch, const BatchGradients& gradients, const FullGradient& full,
                     std::span<const double> errors) {
  double mean = 0;
  for (const double x : errors) mean += x / static_cast<double>(errors.size());
  return fmt::format(
      "At batch {} ({}, {}) the full gradient has norm {} and largest component {}; the mean "
      "distance of {} from it is {}.",
      batch, counted(gradients.batches(), "batch", "batches"),
      counted(gradients.dimension(), "parameter"), lab::show(full.norm), lab::show(full.largest),
      counted(errors.size(), "batch gradient"), lab::show(mean));
}

// Gives what the data and the model were.
std::string run_batch_size(Results& r, const GradientSettings& s, std::size_t batch, Share& share,
                           const GradientStudyOptions& options) {
  const std::unique_ptr<Task> task = open_task(s.task, {.size = s.size,
                                                        .batch = batch,
                                                        .dropout = s.dropout,
                                                        .drop_last = true,
                                                        .data_seed = s.seed,
                                                        .limit = s.limit});
  if (task->batches() < (s.noise ? 2U : 1U))
    throw Error(fmt::format("there {} only {} of size {}; choose a smaller --batch.",
                            task->batches() == 1 ? "is" : "are",
                            counted(task->batches(), "whole batch", "whole batches"), batch));
  const std::shared_ptr<libtorch::Model> model = task->make_model(s.seed);
  BatchGradients gradients(*task, *model, s.dropout == 0, options.memory);
  const std::size_t steps = s.methods.empty() ? 0 : s.steps;
  share.expect(gradients.runs_for((s.noise ? gradients.batches() : 0) + steps));
  const GradientDone computed = [&] { share(); };
  const GradientDone& again = gradients.kept() ? GradientDone() : computed;

  r.notes.push_back(task->description());
  const FullGradient full = full_gradient(gradients, computed);
  const Axes axes = {{"batch", static_cast<double>(batch)}};
  add(r, one_value("gradient_norm", full.norm, axes));
  add(r, one_value("largest_component", full.largest, axes));
  std::vector<double> errors;
  if (s.noise) {
    const libtorch::GradientNoise noise = gradient_noise(gradients, full, again);
    errors = noise.errors;
    add_noise_findings(r, noise, batch, s.batch.size() > 1);
  }
  if (!s.methods.empty()) {
    std::vector<Tracked> tracked;
    TrackingOptions how{.methods = {},
                        .steps = s.steps,
                        .random_order = s.random_order,
                        .seed = s.seed,
                        .pool = options.pool};
    for (const double tau : s.tau) {
      for (const std::string& name : s.methods) {
        tracked.push_back(named(name, tau, s.methods));
        how.methods.push_back(tracking_method(name, tau));
      }
    }
    const Tracking tracking = track(gradients, full, how, again);
    if (errors.empty()) errors = tracking.distances;
    add_tracking(r, tracking, tracked, batch);
  }
  add_errors(r, errors, batch);
  r.notes.push_back(measured(batch, gradients, full, errors));
  return task->description();
}

}  // namespace

lab::Finished run_gradient_study(const GradientSettings& settings,
                                 const GradientStudyOptions& options) {
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
  for (std::size_t i = 0; i < settings.batch.size(); ++i) {
    Share share(options, i, settings.batch.size());
    data.push_back({run_batch_size(results, settings, settings.batch[i], share, options), 1});
  }
  put(document, "data", {std::move(data), 1});
  return {std::move(results), to_text(document)};
}

namespace {

class GradientStudy final : public lab::Study {
 public:
  explicit GradientStudy(GradientSettings settings) : settings_(std::move(settings)) {}

  std::string config(const lab::Experiment&) const override {
    return to_text(to_document(settings_));
  }
  void require_data() const override { language::require_data(settings_.task); }

  Collect run(const lab::Experiment&, const lab::StudyContext& context) const override {
    const auto progress = [&context](double share) {
      if (context.stopped()) throw lab::Interrupted{"nothing is kept"};
      if (context.progress) context.progress(share);
    };
    lab::Finished finished = run_gradient_study(
        settings_, {.memory = context.memory, .pool = context.pool, .progress = progress});
    return [finished = std::move(finished)] { return finished; };
  }

 private:
  GradientSettings settings_;
};

}  // namespace

std::unique_ptr<lab::Study> read_gradient_study(lab::Reader& reader) {
  return std::make_unique<GradientStudy>(read_gradient_settings(reader.node(), reader.file()));
}

}  // namespace medgrad::language
