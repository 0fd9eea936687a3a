#include "language/train_study.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "lab/study.h"
#include "language/gradient_settings.h"

namespace medgrad::language {
namespace {

using lab::Node;
using lab::Reader;

constexpr auto kMany = std::size_t{1} << 40;

std::vector<Method> read_methods(Reader& reader) {
  const Node* const node = reader.any("methods");
  if (node == nullptr || node->list() == nullptr || node->list()->empty())
    reader.fail(node == nullptr ? reader.node() : *node,
                "'methods' must be a list of methods, as [\"sgd-m\", \"vclip:tau=0.1\"].");
  std::vector<Method> methods;
  for (const Node& entry : *node->list()) {
    if (entry.text() == nullptr) reader.fail(entry, "'methods' must be a list of names.");
    methods.push_back(reader.located(entry, [&] { return parse_method(*entry.text()); }));
    if (std::ranges::count(methods, methods.back().word, &Method::word) > 1)
      reader.fail(entry, std::string("'").append(*entry.text()).append("' is named twice."));
  }
  return methods;
}

// One rate per method; those left out are the paper's.
std::vector<double> read_rates(Reader& reader, const TaskInfo& info,
                               const std::vector<Method>& methods) {
  std::vector<double> rates;
  if (const Node* const node = reader.any("lr")) {
    if (node->list() == nullptr || node->list()->size() != methods.size())
      reader.fail(*node, "'lr' must be a list with one learning rate per method.");
    for (const Node& entry : *node->list()) {
      if (entry.number() == nullptr || !(*entry.number() > 0) || std::isinf(*entry.number()))
        reader.fail(entry, "'lr' must hold numbers above 0.");
      rates.push_back(*entry.number());
    }
    return rates;
  }
  for (const Method& method : methods) {
    const auto found = std::ranges::find(info.rates, method.key,
                                         [](const auto& rate) { return std::string(rate.first); });
    if (found == info.rates.end())
      reader.fail(reader.node(), std::string("the paper has no learning rate for ")
                                     .append(method.word)
                                     .append("; give all of them as 'lr'."));
    rates.push_back(found->second);
  }
  return rates;
}

}  // namespace

TrainSettings read_train_settings(const Node& document, const std::string& file) {
  Reader reader(document, file, "the experiment");
  TrainSettings s;
  s.document = document;
  s.experiment = lab::read_name(reader);
  (void)reader.word("kind", {"training"}, "training");
  s.title = reader.text("title", s.experiment);
  s.description = reader.text("description", "");
  s.task = reader.text("task");
  const TaskInfo& info =
      reader.located(*reader.any("task"), [&]() -> const TaskInfo& { return find_task(s.task); });
  s.options.size =
      reader.word("size", {"paper", "small"}, "paper") == "small" ? Size::small : Size::paper;
  s.options.batch = reader.whole("batch", 0, 0, kMany);
  s.options.limit = reader.whole("limit", 0, 0, kMany);
  s.options.evaluation_limit = reader.whole("evaluation_limit", 0, 0, kMany);
  const double dropout = reader.number("dropout", info.dropout);
  if (!(dropout >= 0 && dropout < 1))
    reader.fail(*reader.any("dropout"), "'dropout' must be at least 0 and below 1.");
  s.options.dropout = dropout;
  s.accumulate = reader.whole("accumulate", 0, 0, kMany);
  s.methods = read_methods(reader);
  s.rates = read_rates(reader, info, s.methods);
  s.seeds = reader.whole("seeds", 1, 1, 1000);
  s.seed = reader.whole("seed", 0, 0, std::size_t{1} << 53);
  s.epochs = reader.whole("epochs", 1, 1, kMany);
  s.steps = reader.whole("steps", 0, 0, kMany);
  (void)reader.any("paper_scale");
  reader.finish();
  return s;
}

lab::Finished run_train_study(const TrainSettings& settings, const TrainContext& context) {
  const std::unique_ptr<Task> task = open_task(settings.task, settings.options);
  const std::size_t all = settings.methods.size() * settings.seeds;
  std::size_t done = 0;
  RunsOptions options;
  options.folder = context.work;
  options.stop = context.stop;
  options.base.epochs = settings.epochs;
  options.base.steps = settings.steps;
  options.base.accumulate = settings.accumulate;
  options.progress = [&](const RunKey&, const TrainingProgress& p) {
    const double share =
        static_cast<double>(p.step) / static_cast<double>(std::max<std::size_t>(p.steps, 1));
    if (context.progress)
      context.progress((static_cast<double>(done) + share) / static_cast<double>(all));
  };
  std::vector<FinishedRun> runs;
  for (std::size_t k = 0; k < settings.methods.size(); ++k) {
    for (std::uint64_t seed = 0; seed < settings.seeds; ++seed) {
      runs.push_back(
          run_once(*task, {settings.methods[k], settings.rates[k], settings.seed + seed}, options));
      ++done;
    }
  }
  lab::Finished finished{results_of(*task, settings.experiment, runs, true),
                         lab::to_text(settings.document)};
  lab::Results& results = finished.results;
  results.title = settings.title;
  if (!settings.description.empty())
    results.description = std::string(settings.description).append(" ").append(results.description);
  if (const std::string note = scaled_down(settings.document); !note.empty())
    results.notes.push_back(note);
  return finished;
}

}  // namespace medgrad::language
