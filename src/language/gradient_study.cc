#include "language/gradient_study.h"

#include <fmt/core.h>

#include <exception>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "language/measurement_file.h"
#include "medgrad/error.h"

namespace medgrad::language {
namespace {

std::unique_ptr<Task> open_at(const GradientSettings& s, std::size_t batch) {
  std::unique_ptr<Task> task = open_task(s.task, {.size = s.size,
                                                  .batch = batch,
                                                  .dropout = s.dropout,
                                                  .drop_last = true,
                                                  .data_seed = s.seed,
                                                  .limit = s.limit});
  if (task->batches() < (s.noise ? 2U : 1U))
    throw Error("batch", std::to_string(batch),
                fmt::format("there {} only {} of that size, so it must be smaller",
                            task->batches() == 1 ? "is" : "are",
                            counted(task->batches(), "whole batch", "whole batches")));
  return task;
}

MeasurementPlan plan_of(const GradientSettings& s, ThreadPool* pool) {
  MeasurementPlan plan{.noise = s.noise,
                       .tracking = {.methods = {},
                                    .steps = s.steps,
                                    .random_order = s.random_order,
                                    .seed = s.seed,
                                    .pool = pool}};
  for (TrackedMethod& one : tracked_methods(s)) plan.tracking.methods.push_back(one.method);
  return plan;
}

// Everything the numbers of one batch size depend on: neither words nor other batch sizes.
std::string identity_of(GradientSettings s, std::size_t batch, const Task& task) {
  s.experiment = s.title = s.description = s.findings = "";
  s.paper_scale = {};
  s.batch = {batch};
  return fmt::format("{}\n{}\n{}\n", to_text(to_document(s)), task.description(),
                     task.data_checksum());
}

// Measures at one batch size after the other.
class Measuring {
 public:
  Measuring(const GradientSettings& settings, const lab::StudyContext& context)
      : settings_(settings), context_(context) {}

  MeasuredBatch next() {
    const std::size_t batch = settings_.batch[done_];
    const std::unique_ptr<Task> task = open_at(settings_, batch);
    const std::shared_ptr<libtorch::Model> model = task->make_model(settings_.seed);
    BatchGradients gradients(*task, *model, settings_.dropout == 0, context_.memory);
    Measurement measurement(gradients, plan_of(settings_, context_.pool));
    MeasurementFile file(
        context_.work.empty() ? context_.work : context_.work / fmt::format("batch-{}", batch),
        identity_of(settings_, batch, *task));
    file.restore(measurement);
    // With dropout every gradient has masks of its own, and the model has run once for each.
    model->reseed(settings_.seed, measurement.position());
    run(measurement, gradients, file);
    ++done_;
    MeasuredBatch measured{.batch = batch,
                           .data = task->description(),
                           .batches = gradients.batches(),
                           .dimension = gradients.dimension(),
                           .norm = measurement.full().norm,
                           .largest = measurement.full().largest,
                           .noise = {},
                           .tracking = measurement.tracking()};
    if (settings_.noise) measured.noise = measurement.noise();
    return measured;
  }

 private:
  void run(Measurement& measurement, const BatchGradients& gradients, MeasurementFile& file) const {
    // What takes time is running the model. Gradients that were kept have to be computed again.
    const std::size_t before = gradients.kept() ? 0 : measurement.position();
    const auto all = static_cast<double>(
        before + gradients.runs_for(measurement.total() - measurement.position()));
    while (!measurement.finished()) {
      if (context_.stopped()) stop(measurement, file);
      const std::size_t runs = gradients.runs();
      measurement.advance();
      file.save_now_and_then(measurement);
      if (!context_.progress || gradients.runs() == runs) continue;
      const double within = static_cast<double>(before + gradients.runs()) / all;
      context_.progress((static_cast<double>(done_) + within) /
                        static_cast<double>(settings_.batch.size()));
    }
  }

  [[noreturn]] void stop(const Measurement& measurement, MeasurementFile& file) const {
    if (context_.work.empty()) throw lab::Interrupted{"nothing is kept"};
    if (done_ == 0 && measurement.position() == 0) throw lab::Interrupted{"nothing is done yet"};
    try {
      file.save(measurement);
    } catch (const std::exception& failure) {
      throw lab::Interrupted{fmt::format("the last part is lost ({})", failure.what())};
    }
    std::string sizes, next;
    if (settings_.batch.size() > 1) {
      sizes = fmt::format("{} of {} batch sizes and ", done_, settings_.batch.size());
      next = " of the next";
    }
    throw lab::Interrupted{fmt::format("{}{} of {} gradients{} are done", sizes,
                                       measurement.position(), measurement.total(), next)};
  }

  const GradientSettings& settings_;
  const lab::StudyContext& context_;
  std::size_t done_ = 0;  // batch sizes
};

class GradientStudy final : public lab::Study {
 public:
  explicit GradientStudy(GradientSettings settings) : settings_(std::move(settings)) {}

  std::string config(const lab::Experiment&) const override {
    return to_text(to_document(settings_));
  }
  void require_data() const override { language::require_data(settings_.task); }

  Collect run(const lab::Experiment&, const lab::StudyContext& context) const override {
    return [this, measured = measure_gradients(settings_, context)] {
      return gradient_results(settings_, measured);
    };
  }

 private:
  GradientSettings settings_;
};

}  // namespace

std::vector<MeasuredBatch> measure_gradients(const GradientSettings& settings,
                                             const lab::StudyContext& context) {
  Measuring measuring(settings, context);
  std::vector<MeasuredBatch> measured;
  while (measured.size() < settings.batch.size()) measured.push_back(measuring.next());
  return measured;
}

std::unique_ptr<lab::Study> read_gradient_study(lab::Reader& reader) {
  return std::make_unique<GradientStudy>(read_gradient_settings(reader.node(), reader.file()));
}

}  // namespace medgrad::language
