#include "language/experiments.h"

#include <vector>

#include "core/suggest.h"
#include "language/gradient_settings.h"
#include "language/gradient_study.h"
#include "language/train_study.h"

namespace medgrad::language {
namespace {

LanguageExperiment read_gradients(const lab::Node& document, const std::string& file) {
  const GradientSettings settings = read_gradient_settings(document, file);
  return {settings.experiment, settings.task, [settings](const RunContext& context) {
            const auto progress = [&context](double share) {
              if (context.stop != nullptr && *context.stop) throw Interrupted();
              if (context.progress) context.progress(share);
            };
            return run_gradient_study(
                settings, {.memory = context.memory, .pool = context.pool, .progress = progress});
          }};
}

LanguageExperiment read_training(const lab::Node& document, const std::string& file) {
  const TrainSettings settings = read_train_settings(document, file);
  return {settings.experiment, settings.task, [settings](const RunContext& context) {
            return run_train_study(settings, {.work = context.work / settings.experiment,
                                              .progress = context.progress,
                                              .stop = context.stop});
          }};
}

struct Kind {
  std::string_view name;
  LanguageExperiment (*read)(const lab::Node&, const std::string&);
};
constexpr Kind kKinds[] = {{"gradients", read_gradients}, {"training", read_training}};

}  // namespace

LanguageExperiment read_language_experiment(const lab::Node& document, const std::string& file) {
  lab::Reader reader(document, file, "the experiment");
  const std::string kind = reader.text("kind");
  std::vector<std::string_view> known;
  for (const Kind& one : kKinds) {
    if (one.name == kind) return one.read(document, file);
    known.push_back(one.name);
  }
  reader.fail(*document.find("kind"),
              std::string("'kind' is '").append(kind).append("'").append(instead_of(kind, known)));
}

}  // namespace medgrad::language
