// medgrad gradients TASK: the full gradient at fixed weights, how methods follow it, and its noise.
#include <fmt/core.h>

#include "language/gradient_settings.h"
#include "language/task_table.h"
#include "medgrad/error.h"
#include "text.h"
#include "torch/commands.h"
#include "torch/experiment_options.h"
#include "torch/experiments.h"
#include "torch/task_choice.h"

namespace medgrad::app {
namespace {

class Gradients final : public LanguageExperiments {
 public:
  std::string_view name() const override { return "gradients"; }
  std::string_view summary() const override {
    return "measure the gradient of a language task at fixed weights: how noisy it is, and how "
           "well methods track it from batch to batch";
  }
  std::string_view usage() const override { return "TASK [options]"; }
  void declare(Options& options) override {
    options.argument("TASK", task_, "a language task (medgrad list tasks)");
    options.offer("TASK", task_names());
    settings_.declare(options, ExperimentOptions::Offered::of_gradients);
    LanguageExperiments::declare(options);
  }
  std::string details() const override {
    return fmt::format(
        "\n{}\n", wrapped("By default: the paper's batch size; momentum, vclip and cclip with tau "
                          "0.01 for 400 steps; no dropout; the noise is not measured.",
                          0));
  }
  void run(const Common& common) override {
    if (task_.empty()) throw Error("TASK is missing; medgrad list tasks shows all of them.");
    const language::TaskInfo& task = language::find_task(task_);
    language::GradientSettings settings;
    settings.experiment = fmt::format("gradients-{}", task_);
    settings.title = fmt::format("Gradients at fixed weights: {}", task.title);
    settings.task = task_;
    settings.batch = {task.batch};
    Node document = language::to_document(settings);
    settings_.apply(document, common);
    (void)language::read_gradient_settings(document, "");  // there is no file to name
    run_all({{"the settings", document}}, common);
  }

 private:
  std::string task_;
  ExperimentOptions settings_;
};

}  // namespace

std::unique_ptr<Command> make_gradients() { return std::make_unique<Gradients>(); }

}  // namespace medgrad::app
