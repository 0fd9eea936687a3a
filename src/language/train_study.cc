#include "language/train_study.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <set>

#include "base/text.h"
#include "lab/study.h"
#include "language/corrupted_results.h"
#include "language/gradient_settings.h"
#include "language/run_config.h"
#include "language/run_results.h"

namespace medgrad::language {
namespace {

using lab::Reader;

constexpr auto kMany = std::size_t{1} << 40;

std::vector<Method> read_methods(Reader& reader) {
  const Node* const node = reader.any("methods");
  if (node == nullptr || node->list() == nullptr || node->list()->empty())
    reader.fail(node == nullptr ? reader.node() : *node,
                "'methods' must be a list of methods, such as [\"sgd-m\", \"vclip:tau=0.1\"].");
  std::vector<Method> methods;
  for (const Node& entry : *node->list()) {
    methods.push_back(read_training_method(reader, entry));
    if (std::ranges::count(methods, methods.back().word, &Method::word) > 1)
      reader.fail(entry, fmt::format("'{}' is named twice.", methods.back().word));
  }
  return methods;
}

double read_rate(const Reader& reader, const Node& entry) {
  if (entry.number() == nullptr || !(*entry.number() > 0) || std::isinf(*entry.number()))
    reader.fail(entry, "'lr' must contain only numbers above 0.");
  return *entry.number();
}

// The rates of each method: one, or a list of those to try. Where all are left out, the paper's.
std::vector<std::vector<double>> read_rates(Reader& reader, const TaskInfo& info,
                                            const std::vector<Method>& methods) {
  std::vector<std::vector<double>> rates;
  if (const Node* const node = reader.any("lr")) {
    if (node->list() == nullptr || node->list()->size() != methods.size())
      reader.fail(*node, "'lr' must be a list with one learning rate per method.");
    for (const Node& entry : *node->list()) {
      std::vector<double>& of_method = rates.emplace_back();
      if (entry.list() == nullptr) {
        of_method.push_back(read_rate(reader, entry));
        continue;
      }
      for (const Node& one : *entry.list()) of_method.push_back(read_rate(reader, one));
      if (of_method.empty()) reader.fail(entry, "a method in 'lr' needs at least one rate.");
      std::ranges::sort(of_method);
      if (std::ranges::adjacent_find(of_method) != of_method.end())
        reader.fail(entry, "'lr' has a rate twice.");
    }
    return rates;
  }
  for (const Method& method : methods) {
    const auto found = std::ranges::find(info.rates, method.key,
                                         [](const auto& rate) { return std::string(rate.first); });
    if (found == info.rates.end())
      reader.fail(reader.node(),
                  fmt::format("the paper has no learning rate for {}; give all of them as 'lr'.",
                              method.word));
    rates.push_back({found->second});
  }
  return rates;
}

TrainSettings::Grid read_grid(const Node& node, const std::string& file) {
  Reader reader(node, file, "'sweep'");
  TrainSettings::Grid grid;
  if (const Node* const rates = reader.any("rates")) {
    if (rates->list() == nullptr) reader.fail(*rates, "'rates' must be a list of learning rates.");
    for (const Node& entry : *rates->list()) {
      if (entry.number() == nullptr || !(*entry.number() >= 1e-30 && *entry.number() <= 1e30))
        reader.fail(entry, "'rates' must contain only numbers from 1e-30 to 1e30.");
      grid.rates.push_back(*entry.number());
    }
  }
  grid.extensions = reader.whole("extend", SweepOptions().extensions, 0, 1000);
  reader.finish();
  return grid;
}

std::optional<TeamOptions> read_team(Reader& reader) {
  constexpr std::size_t kMostWorkers = 4096;
  const Node* const rule = reader.any("aggregate");
  if (rule == nullptr) {
    for (const char* const key : {"workers", "f", "topology", "byzantine", "attack", "events"})
      if (const Node* const node = reader.any(key))
        reader.fail(*node, fmt::format("'{}' is for workers that train together; say by which rule "
                                       "as 'aggregate'.",
                                       key));
    return std::nullopt;
  }
  TeamTexts texts;
  texts.aggregate = lab::read_method_text(*rule, reader.file(), "the rule", find_rule);
  texts.workers = reader.whole("workers", {}, 1, kMostWorkers);
  if (reader.any("f") != nullptr) texts.f = reader.whole("f", {}, 0, kMostWorkers);
  texts.topology = reader.word("topology", {"sharded", "server"}, "sharded");
  texts.byzantine = reader.whole("byzantine", 0, 0, kMostWorkers);
  if (const Node* const attack = reader.any("attack"))
    texts.attack = lab::read_method_text(*attack, reader.file(), "the attack", find_attack);
  texts.events = read_events(reader);
  return reader.located(*rule, [&] { return team_options(texts); });
}

// What is run with one kind and share of corrupted steps.
TrainSettings::Part read_part(const Node& node, const std::string& file, const TaskInfo& info,
                              const std::vector<Method>& methods) {
  Reader reader(node, file, "'corrupted'");
  TrainSettings::Part part;
  part.corrupted = lab::read_corruption(reader);
  if (reader.any("lr") != nullptr) part.rates = read_rates(reader, info, methods);
  reader.finish();
  return part;
}

// Do the same steps have the same thing wrong? Where no step is bad, it has no kind.
bool is_same(const lab::Corruption& a, const lab::Corruption& b) {
  return a.share == b.share && (a.share == 0 || a.kind == b.kind);
}

// One kind and share of corrupted steps, or a list of them, each with all methods; none where
// nothing is said.
std::vector<TrainSettings::Part> read_parts(Reader& reader, const TaskInfo& info,
                                            const std::vector<Method>& methods) {
  const Node* const node = reader.any("corrupted");
  if (node == nullptr) return {{}};
  if (const Node* const rule = reader.any("aggregate"))
    reader.fail(*rule, "'corrupted' is for one that trains alone; workers have an 'attack'.");
  if (node->list() == nullptr) return {read_part(*node, reader.file(), info, methods)};
  std::vector<TrainSettings::Part> parts;
  for (const Node& entry : *node->list()) {
    parts.push_back(read_part(entry, reader.file(), info, methods));
    const auto same = [&](const TrainSettings::Part& other) {
      return is_same(other.corrupted, parts.back().corrupted);
    };
    if (std::ranges::count_if(parts, same) > 1)
      reader.fail(entry, "'corrupted' has this kind and share twice.");
  }
  if (parts.empty()) reader.fail(*node, "'corrupted' must not be an empty list.");
  return parts;
}

// All rates of a method that were tried, in order.
std::set<double> rates_tried(const std::vector<FinishedRun>& runs, const Method& method) {
  std::set<double> all;
  for (const FinishedRun& run : runs)
    if (run.key.method.word == method.word) all.insert(run.key.lr);
  return all;
}

// `data` is what a task says of itself.
std::string sweep_config(const TaskInfo& info, const TaskOptions& of, const std::string& data,
                         const std::string& name, const SweepOptions& sweep,
                         const TrainingOptions& base, const std::vector<FinishedRun>& runs) {
  Json json = {{"experiment", name},
               {"kind", "training"},
               {"task", info.name},
               {"data", data},
               {"size", of.size == Size::paper ? "paper" : "small"},
               {"batch", of.batch == 0 ? info.batch : of.batch},
               {"dropout", of.dropout.value_or(info.dropout)},
               {"limit", of.limit},
               {"evaluation_limit", of.evaluation_limit},
               {"epochs", base.epochs},
               {"steps", base.steps},
               {"accumulate", base.accumulate == 0 ? info.accumulate : base.accumulate},
               {"per_tensor", base.per_tensor},
               {"lr_schedule", json_of(base.lr_schedule)},
               {"tau_schedule", json_of(base.tau_schedule)},
               {"seeds", sweep.seeds},
               {"seed", sweep.seed},
               {"methods", Json::array()},
               {"sweep", {{"rates", sweep.rates}, {"extend", sweep.extensions}}},
               {"tried", Json::array()}};
  if (base.corrupted.share != 0) json["corrupted"] = json_of(base.corrupted);
  if (base.workers) {
    for (const auto& [key, value] : json_of(*base.workers).items()) json[key] = value;
  }
  for (const Method& method : sweep.methods) {
    json["methods"].push_back(method.word);
    json["tried"].push_back({{"method", method.line}, {"rates", rates_tried(runs, method)}});
  }
  return json.dump(2) + "\n";
}

}  // namespace

std::string sweep_config(const Task& task, const std::string& name, const SweepOptions& sweep,
                         const TrainingOptions& base, const std::vector<FinishedRun>& runs) {
  return sweep_config(task.info(), task.options(), task.description(), name, sweep, base, runs);
}

Method read_training_method(const Reader& reader, const Node& node) {
  const std::string text =
      lab::read_method_text(node, reader.file(), "a method", find_training_method);
  return reader.located(node, [&] { return parse_method(text); });
}

std::vector<std::string> read_events(Reader& reader) {
  std::vector<std::string> events;
  const Node* const node = reader.any("events");
  if (node == nullptr) return events;
  if (node->list() == nullptr)
    reader.fail(*node, "'events' must be a list of texts, such as [\"4:killed@120-160\"].");
  for (const Node& entry : *node->list()) {
    if (entry.text() == nullptr) reader.fail(entry, "'events' must be a list of texts.");
    events.push_back(reader.located(entry, [&] { return parse_event(*entry.text()).text; }));
  }
  return events;
}

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
  s.per_tensor = reader.truth("per_tensor", false);
  s.methods = read_methods(reader);
  s.parts = read_parts(reader, info, s.methods);
  if (const Node* const sweep = reader.any("sweep")) {
    if (const Node* const rates = reader.any("lr"))
      reader.fail(*rates, "'lr' and 'sweep' cannot both be given.");
    if (s.parts.size() > 1 || !s.parts.front().rates.empty())
      reader.fail(*sweep,
                  "a sweep has one kind and share of corrupted steps, and rates of its own.");
    s.sweep = read_grid(*sweep, file);
  } else if (reader.any("lr") != nullptr ||
             std::ranges::any_of(s.parts, [](const auto& part) { return part.rates.empty(); })) {
    const std::vector<std::vector<double>> rates = read_rates(reader, info, s.methods);
    for (TrainSettings::Part& part : s.parts)
      if (part.rates.empty()) part.rates = rates;
  }
  s.lr_schedule = lab::read_schedule(reader, "lr_schedule", {});
  s.tau_schedule = lab::read_schedule(reader, "tau_schedule", {}, {.value = range::positive});
  s.workers = read_team(reader);
  s.seeds = reader.whole("seeds", 1, 1, 1000);
  s.seed = reader.whole("seed", 0, 0, std::size_t{1} << 53);
  s.epochs = reader.whole("epochs", 1, 1, kMany);
  s.steps = reader.whole("steps", 0, 0, kMany);
  for (const char* const unread : {"findings", "paper_scale", "data", "tried"})
    (void)reader.any(unread);
  reader.finish();
  return s;
}

namespace {

// Titles, descriptions and notes of the file, over those that the results have of themselves.
void put_words(lab::Results& results, const TrainSettings& settings) {
  if (settings.document.find("title") != nullptr || !settings.sweep) results.title = settings.title;
  if (!settings.description.empty())
    results.description = fmt::format("{} {}", settings.description, results.description);
  if (const std::string note = scaled_down(settings.document); !note.empty())
    results.notes.push_back(note);
}

SweepOptions sweep_of(const TrainSettings& settings) {
  SweepOptions sweep;
  sweep.methods = settings.methods;
  sweep.seeds = settings.seeds;
  sweep.seed = settings.seed;
  if (settings.sweep) {
    sweep.rates = settings.sweep->rates;
    sweep.extensions = settings.sweep->extensions;
  }
  return sweep;
}

TrainingOptions base_of(const TrainSettings& settings) {
  TrainingOptions base;
  base.epochs = settings.epochs;
  base.steps = settings.steps;
  base.accumulate = settings.accumulate;
  base.per_tensor = settings.per_tensor;
  base.lr_schedule = settings.lr_schedule;
  base.tau_schedule = settings.tau_schedule;
  base.workers = settings.workers;
  base.corrupted = settings.parts.front().corrupted;
  return base;
}

}  // namespace

std::string planned_config(const TrainSettings& settings) {
  if (!settings.sweep) return to_text(settings.document);
  return sweep_config(find_task(settings.task), settings.options, "", settings.experiment,
                      sweep_of(settings), base_of(settings), {});
}

namespace {

// Where the runs of a part are, within those of the experiment: "share-0.05",
// "share-0.05-bit-flip".
std::string folder_of(const lab::Corruption& corrupted) {
  const bool named = corrupted.share != 0 && corrupted.kind != lab::Corruption::Kind::scaled;
  return fmt::format("share-{}{}{}", number(corrupted.share), named ? "-" : "",
                     named ? lab::name(corrupted.kind) : "");
}

// Every method at its rates, over the seeds.
std::vector<FinishedRun> run_part(const Task& task, const TrainSettings& settings,
                                  const TrainSettings::Part& part, const RunsOptions& options,
                                  std::size_t& done) {
  std::vector<FinishedRun> runs;
  for (std::size_t k = 0; k < settings.methods.size(); ++k) {
    for (const double lr : part.rates[k]) {
      for (std::uint64_t seed = 0; seed < settings.seeds; ++seed) {
        runs.push_back(run_once(task, {settings.methods[k], lr, settings.seed + seed}, options));
        ++done;
      }
    }
  }
  return runs;
}

lab::Finished run_train_study(const TrainSettings& settings, const lab::StudyContext& context,
                              std::size_t& done) {
  assert(!context.work.empty());  // runs are folders
  const std::unique_ptr<Task> task = open_task(settings.task, settings.options);
  const SweepOptions sweep = sweep_of(settings);
  // Of a sweep, as many as are planned; it may come to be more.
  constexpr std::size_t kPapersGrid = 3;
  std::size_t planned = 0;
  for (const TrainSettings::Part& part : settings.parts)
    for (std::size_t k = 0; k < settings.methods.size(); ++k)
      planned += !settings.sweep       ? part.rates[k].size()
                 : sweep.rates.empty() ? kPapersGrid
                                       : sweep.rates.size();
  const std::size_t all = planned * settings.seeds;
  RunsOptions options;
  options.folder = context.work;
  options.stop = context.stop;
  options.base = base_of(settings);
  options.progress = [&](const RunKey&, const TrainingProgress& p) {
    const double share =
        static_cast<double>(p.step) / static_cast<double>(std::max<std::size_t>(p.steps, 1));
    if (context.progress)
      context.progress(
          std::min(1.0, (static_cast<double>(done) + share) / static_cast<double>(all)));
  };
  lab::Finished finished;
  if (settings.sweep) {
    options.finished = [&](const FinishedRun&) { ++done; };
    const std::vector<FinishedRun> runs = language::sweep(*task, sweep, options);
    finished.results = sweep_results(*task, settings.experiment, runs);
    finished.config = sweep_config(*task, settings.experiment, sweep, options.base, runs);
  } else {
    std::vector<CorruptedRuns> runs;
    bool tuned = false;
    for (const TrainSettings::Part& part : settings.parts) {
      options.base.corrupted = part.corrupted;
      if (settings.parts.size() > 1) options.folder = context.work / folder_of(part.corrupted);
      runs.push_back({part.corrupted, run_part(*task, settings, part, options, done)});
      for (const std::vector<double>& rates : part.rates) tuned = tuned || rates.size() > 1;
    }
    finished.results = runs.size() > 1 ? corrupted_results(*task, settings.experiment, runs)
                       : tuned ? sweep_results(*task, settings.experiment, runs.front().runs)
                               : results_of(*task, settings.experiment, runs.front().runs);
    Node document = settings.document;
    put(document, "data", {task->description(), 1});
    finished.config = to_text(document);
  }
  put_words(finished.results, settings);
  return finished;
}

class TrainStudy final : public lab::Study {
 public:
  explicit TrainStudy(TrainSettings settings) : settings_(std::move(settings)) {}

  std::string config(const lab::Experiment&) const override { return planned_config(settings_); }
  void require_data() const override { language::require_data(settings_.task); }

  Collect run(const lab::Experiment&, const lab::StudyContext& context) const override {
    std::size_t done = 0;
    try {
      lab::Finished finished = run_train_study(settings_, context, done);
      return [finished = std::move(finished)] { return finished; };
    } catch (const lab::Interrupted&) {
      throw lab::Interrupted{
          counted(done, "training run is finished", "training runs are finished")};
    }
  }

 private:
  TrainSettings settings_;
};

}  // namespace

std::unique_ptr<lab::Study> read_train_study(lab::Reader& reader) {
  return std::make_unique<TrainStudy>(read_train_settings(reader.node(), reader.file()));
}

}  // namespace medgrad::language
