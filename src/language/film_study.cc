#include "language/film_study.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <fstream>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "language/checkpoint.h"
#include "language/method.h"
#include "language/task.h"
#include "language/train_study.h"
#include "language/training.h"

namespace medgrad::language {
namespace {

using lab::Reader;
constexpr std::size_t kInterval = 4;  // steps of a picture of the blame

struct Film {
  std::string experiment, title, description, task;
  TaskOptions options;
  Method method;
  double lr = 0;
  std::size_t steps = 0;
  std::uint64_t seed = 0;
  struct Scene {
    std::string name;  // in results
    std::string key;   // of its colour
    TeamOptions team;
  };
  std::vector<Scene> scenes;
};

// Of "nnm+median:f=3": median.
std::string key_of(const std::string& rule) {
  const std::string name = rule.substr(0, rule.find(':'));
  return name.substr(name.find_last_of('+') + 1);
}

void read_scenes(Reader& reader, Film& film) {
  constexpr std::size_t kMostWorkers = 4096;
  TeamTexts texts;
  texts.workers = reader.whole("workers", {}, 2, kMostWorkers);
  const std::vector<std::string> events = read_events(reader);
  const Node* const rules = reader.any("rules");
  if (rules == nullptr || rules->list() == nullptr || rules->list()->empty())
    reader.fail(rules == nullptr ? reader.node() : *rules,
                "'rules' must be a list of rules, such as [\"mean\", \"nnm+median:f=3\"].");
  for (const Node& entry : *rules->list()) {
    texts.aggregate = lab::read_method_text(entry, reader.file(), "a rule", find_rule);
    if (std::ranges::count(film.scenes, texts.aggregate, &Film::Scene::name) > 0)
      reader.fail(entry, fmt::format("'{}' is named twice.", texts.aggregate));
    texts.events = events;
    film.scenes.push_back({texts.aggregate, key_of(texts.aggregate),
                           reader.located(entry, [&] { return team_options(texts); })});
  }
  Film::Scene calm = film.scenes.front();
  calm.name = kNobodyFails;
  calm.key = "exact";
  calm.team.events.clear();
  film.scenes.push_back(std::move(calm));
}

Film read_film(Reader& reader) {
  constexpr auto kMany = std::size_t{1} << 40;
  Film film;
  film.experiment = lab::read_name(reader);
  film.title = reader.text("title", film.experiment);
  film.description = reader.text("description", "");
  film.task = reader.text("task");
  const TaskInfo& info = reader.located(*reader.any("task"),
                                        [&]() -> const TaskInfo& { return find_task(film.task); });
  film.options.size =
      reader.word("size", {"paper", "small"}, "paper") == "small" ? Size::small : Size::paper;
  film.options.batch = reader.whole("batch", 0, 0, kMany);
  film.options.dropout = info.dropout;
  const Node* const method = reader.any("method");
  film.method = method == nullptr ? parse_method("sgd-m") : read_training_method(reader, *method);
  film.lr = reader.number("lr");
  if (!(film.lr > 0) || std::isinf(film.lr))
    reader.fail(*reader.any("lr"), "'lr' must be a number above 0.");
  film.steps = reader.whole("steps", {}, 1, kMany);
  film.seed = lab::read_seed(reader);
  read_scenes(reader, film);
  reader.finish();
  return film;
}

// ---- What the metrics of a run say --------------------------------------------------------------

std::vector<Json> lines_of(const std::filesystem::path& folder) {
  std::vector<Json> lines;
  std::ifstream in(folder / "metrics.jsonl");
  for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
  return lines;
}

lab::Group group_of(const Film::Scene& scene, const std::string& metric) {
  return {.method = scene.name, .key = scene.key, .metric = metric, .runs = 1};
}

void add_point(lab::Group& group, std::size_t step, double value) {
  group.steps.push_back(step);
  group.values.push_back(value);
}

void put(std::vector<lab::Group>& groups, lab::Group group) {
  if (group.values.empty()) return;
  lab::summarise(group);
  groups.push_back(std::move(group));
}

// Up to where the run diverged, if it did; from there on there is no loss.
lab::Group losses(const Film::Scene& scene, const TrainingResult& result, std::size_t steps) {
  lab::Group group = group_of(scene, "training_loss");
  for (const Evaluation& one : result.evaluations)
    if (is_usable(one, result.evaluations.front()))
      add_point(group, one.step, score(one.scores, "training_loss"));
  if (result.diverged)
    add_point(group, std::clamp(result.steps, group.steps.back() + 1, steps), lab::kDiverged);
  return group;
}

// Sums over steps become means over the steps between two lines.
void add_blame(const Film::Scene& scene, const std::vector<Json>& lines,
               std::vector<lab::Group>& groups) {
  const std::size_t n = scene.team.workers;
  std::vector<dist::Record> before(n);
  std::vector<lab::Group> distance, weight, not_finite;
  for (std::size_t i = 0; i < n; ++i) {
    for (auto* const all : {&distance, &weight, &not_finite}) {
      all->push_back(group_of(scene, all == &distance ? "distance"
                                     : all == &weight ? "weight"
                                                      : "not_finite"));
      all->back().axes = {{"worker", static_cast<double>(i)}};
    }
  }
  lab::Group workers = group_of(scene, "workers");
  for (const Json& line : lines) {
    if (line.at("event") != "step") continue;
    std::vector<dist::Record> now = records_of(line.at("blame"));
    now.resize(n);
    const std::size_t step = line.at("step");
    double here = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (now[i].steps == before[i].steps) continue;
      const auto steps = static_cast<double>(now[i].steps - before[i].steps);
      add_point(distance[i], step, (now[i].distance - before[i].distance) / steps);
      add_point(weight[i], step, (now[i].weight - before[i].weight) / steps);
      add_point(not_finite[i], step,
                static_cast<double>(now[i].nan + now[i].inf - before[i].nan - before[i].inf));
      here += 1;
    }
    add_point(workers, step, here);
    before = std::move(now);
  }
  for (auto* const all : {&distance, &weight, &not_finite})
    for (lab::Group& one : *all) put(groups, std::move(one));
  put(groups, std::move(workers));
}

void add_verdicts(const Film::Scene& scene, const dist::Blame& blame,
                  std::vector<lab::Group>& groups) {
  for (const dist::Blamed& one : blame.table()) {
    lab::Group group = group_of(scene, "blamed");
    group.axes = {{"worker", static_cast<double>(one.worker)}};
    group.values = {one.reason.empty() ? 0.0 : 1.0};
    put(groups, std::move(group));
  }
}

// ---- Running it ---------------------------------------------------------------------------------

class FilmStudy final : public lab::Study {
 public:
  explicit FilmStudy(Film film) : film_(std::move(film)) {}

  void require_data() const override { language::require_data(film_.task); }

  Collect run(const lab::Experiment& experiment, const lab::StudyContext& context) const override {
    assert(!context.work.empty());  // runs are folders
    const std::unique_ptr<Task> task = open_task(film_.task, film_.options);
    lab::Finished finished;
    lab::Results& results = finished.results;
    results.experiment = film_.experiment;
    results.title = film_.title;
    results.description = fmt::format("{} {}", film_.description, task->description());
    std::size_t done = 0;
    for (const Film::Scene& scene : film_.scenes) {
      const TrainingResult result = play(*task, scene, done, context);
      if (result.interrupted)
        throw lab::Interrupted{
            fmt::format("{} of {} trainings are finished", done, film_.scenes.size())};
      ++done;
      put(results.groups, losses(scene, result, film_.steps));
      if (scene.name == kNobodyFails) continue;
      add_blame(scene, lines_of(folder(context, scene)), results.groups);
      add_verdicts(scene, result.blame, results.groups);
      for (const dist::Blamed& one : result.blame.table())
        if (!one.reason.empty() && !result.diverged)
          results.notes.push_back(
              fmt::format("{}: worker {} is blamed: {}.", scene.name, one.worker, one.reason));
    }
    finished.config = config(experiment);
    return [finished = std::move(finished)] { return finished; };
  }

 private:
  [[nodiscard]] static std::filesystem::path folder(const lab::StudyContext& context,
                                                    const Film::Scene& scene) {
    std::string name = scene.name;
    for (char& c : name) c = c == ':' || c == '=' || c == ' ' || c == '+' ? '-' : c;
    return context.work / name;
  }

  [[nodiscard]] TrainingResult play(const Task& task, const Film::Scene& scene, std::size_t done,
                                    const lab::StudyContext& context) const {
    TrainingOptions options;
    options.method = film_.method.line;
    options.gradient = film_.method.gradient;
    options.lr = film_.lr;
    options.steps = film_.steps;
    options.seed = film_.seed;
    options.workers = scene.team;
    options.log_every = kInterval;
    options.folder = folder(context, scene);
    options.resume = has_checkpoint(options.folder);
    return train(
        task, options,
        [&](const TrainingProgress& p) {
          if (!context.progress) return;
          const double share =
              static_cast<double>(p.step) / static_cast<double>(std::max<std::size_t>(p.steps, 1));
          context.progress((static_cast<double>(done) + share) /
                           static_cast<double>(film_.scenes.size()));
        },
        context.stop);
  }

  Film film_;
};

}  // namespace

std::unique_ptr<lab::Study> read_film_study(Reader& reader) {
  return std::make_unique<FilmStudy>(read_film(reader));
}

}  // namespace medgrad::language
