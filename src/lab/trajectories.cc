// Reading what methods are tried on: the problems of an experiment's grid. (Their runs are
// trajectory_study.cc.)
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/suggest.h"
#include "lab/study.h"
#include "lab/trajectory.h"
#include "medgrad/io.h"
#include "medgrad/rng.h"

namespace medgrad::lab {
namespace {

constexpr std::size_t kMaxDimension = 1'000'000, kMaxSteps = 100'000'000, kMaxRuns = 1'000'000;

// One method of the list; lists among its parameters make several of it.
void read_method(const Node& node, const std::string& file, const Schedule& eta,
                 std::vector<MethodCase>& methods) {
  for (const GridPoint& point : expand(method_object(node, file, "a method"), file)) {
    Reader reader(point.node, file, "a method");
    const std::string name = reader.text("name");
    const auto& entry = reader.located(
        *point.node.find("name"), [&]() -> const auto& { return find_optimizer(name); });
    MethodCase method{.label = reader.label(name),
                      .key = std::string(entry.name),
                      .axes = point.axes,
                      .method = {},
                      .eta = read_schedule(reader, "eta", eta, {.said = true}),
                      .tau = {}};
    ParameterValues values;
    for (const Parameter& parameter : entry.parameters) {
      const Node* given = reader.any(parameter.name);
      if (given == nullptr) continue;
      const bool automatic =
          parameter.range.automatic && given->text() != nullptr && *given->text() == "auto";
      // tau, or where it is auto theta, may change over a run.
      if ((parameter.name == "tau" || parameter.name == "theta") && !automatic &&
          (given->object() != nullptr || given->text() != nullptr)) {
        if (const auto tau = values.find("tau");
            parameter.name == "theta" && (tau == values.end() || tau->second != kAutomaticNumber))
          reader.fail(*given, "a schedule of 'theta' is for tau = auto.");
        ScheduleUse use{.value = parameter.range, .said = true};
        use.value.automatic = false;
        method.tau = read_schedule(reader, std::string(parameter.name), {}, use);
        values.emplace(parameter.name, largest(*method.tau));
      } else {
        values.emplace(parameter.name, reader.number(parameter));
      }
    }
    reader.finish();
    method.method = reader.located(point.node, [&] {
      GradientMethod made = entry.make(values);
      validate(made);
      return made;
    });
    methods.push_back(std::move(method));
  }
}

std::vector<MethodCase> read_methods(Reader& reader, const Schedule& eta) {
  const Node* node = reader.any("methods");
  if (node == nullptr) reader.fail(reader.node(), "the experiment has no 'methods'.");
  const Node::List* list = node->list();
  if (list == nullptr || list->empty())
    reader.fail(*node, "'methods' must be a list with at least one method.");
  std::vector<MethodCase> methods;
  MethodNames names;
  for (const Node& item : *list) {
    const std::size_t before = methods.size();
    read_method(item, reader.file(), eta, methods);
    for (std::size_t i = before; i < methods.size(); ++i)
      names.add(reader, item, methods[i].label, methods[i].axes);
  }
  return methods;
}

void read_data(const std::string& path, Regression& made) {
  RowReader rows(path);
  if (rows.dimension() < 2)
    throw Error(fmt::format("{} has one column; data and a target are needed.", rows.name()));
  made.dimension = rows.dimension() - 1;
  std::vector<double> row(rows.dimension());
  while (rows.next(std::span<double>(row))) {
    made.a.insert(made.a.end(), row.begin(), row.end() - 1);
    made.b.push_back(row.back());
  }
}

// Rows of a file, the last column being the target; or rows drawn at random.
Regression read_regression(Reader& reader, Regression::Loss loss, std::uint64_t seed) {
  Regression made{.loss = loss};
  made.ridge = reader.number("ridge", 0);
  if (loss == Regression::Loss::huber) made.mu = reader.number("mu", 1.345);
  if (const Node* file = reader.any("file")) {
    const std::string path = reader.text("file");
    reader.located(*file, [&] { read_data(path, made); });
    return made;
  }
  made.dimension = reader.whole("d", 10, 1, kMaxDimension);
  const std::size_t n = reader.whole("rows", 100, 1, kMaxDimension);
  made.a.resize(n * made.dimension);
  Philox(seed, ~std::uint64_t{0}).fill_normal(made.a);
  std::vector<double> truth(made.dimension), errors(n);
  Philox(seed, ~std::uint64_t{1}).fill_normal(truth);
  Philox(seed, ~std::uint64_t{2}).fill_normal(errors);
  for (std::size_t i = 0; i < n; ++i) {
    double z = reader.number("error", 0.1) * errors[i];
    for (std::size_t j = 0; j < made.dimension; ++j) z += made.a[i * made.dimension + j] * truth[j];
    made.b.push_back(loss != Regression::Loss::logistic ? z : z < 0 ? -1 : 1);
  }
  return made;
}

// Pictures of side x side pixels, of which a network is to tell two kinds apart: lines across (+1)
// or down (-1) at a place and of a strength that differ from picture to picture, and noise. No
// single pixel tells, and no sum of pixels.
Network read_pictures(Reader& reader, std::uint64_t seed) {
  const std::size_t side = reader.whole("side", 5, 2, 100),
                    n = reader.whole("rows", 200, 1, 100000);
  Network made{.inputs = side * side, .hidden = reader.whole("hidden", 6, 1, Network::kMostHidden)};
  made.ridge = reader.number("ridge", 0);
  made.a.resize(n * made.inputs);
  Philox(seed, ~std::uint64_t{0}).fill_normal(made.a);
  std::vector<double> u(3 * n);
  Philox(seed, ~std::uint64_t{1}).fill_uniform(u);
  const double noise = reader.number("error", 0.3);
  for (double& x : made.a) x *= noise;
  for (std::size_t i = 0; i < n; ++i) {
    const bool across = u[3 * i] < 0.5;
    const auto place = static_cast<std::size_t>(u[3 * i + 1] * static_cast<double>(side));
    for (std::size_t k = 0; k < side; ++k)
      made.a[i * made.inputs + (across ? place * side + k : k * side + place)] += 1 + u[3 * i + 2];
    made.b.push_back(across ? 1 : -1);
  }
  return made;
}

Objective read_objective(const Node& node, const std::string& file, std::uint64_t seed) {
  using Loss = Regression::Loss;
  const Node object = method_object(node, file, "the objective");
  Reader reader(object, file, "the objective");
  const std::string name =
      reader.word("name",
                  {"quadratic", "fixed-target", "l1-norm", "least-squares", "logistic",
                   "l1-regression", "huber-regression", "pictures"},
                  "quadratic");
  Objective made;
  if (name == "quadratic") {
    // Curvatures from 1 to the condition number, evenly spaced in their logarithm.
    const std::size_t d = reader.whole("d", 10, 1, kMaxDimension);
    const double condition = reader.number("condition", 1);
    if (!(condition >= 1)) reader.fail(node, "'condition' must be at least 1.");
    Quadratic quadratic{std::vector<double>(d, 1)};
    for (std::size_t j = 0; d > 1 && j < d; ++j)
      quadratic.curvature[j] =
          std::pow(condition, static_cast<double>(j) / static_cast<double>(d - 1));
    made = quadratic;
  } else if (name == "fixed-target") {
    made = FixedTarget{std::vector<double>(reader.whole("d", 10, 1, kMaxDimension))};
  } else if (name == "l1-norm") {
    made = L1Norm{reader.whole("d", 10, 1, kMaxDimension)};
  } else if (name == "pictures") {
    made = read_pictures(reader, seed);
  } else {
    made = read_regression(reader,
                           name == "least-squares"   ? Loss::squared
                           : name == "logistic"      ? Loss::logistic
                           : name == "l1-regression" ? Loss::absolute
                                                     : Loss::huber,
                           seed);
  }
  reader.finish();
  reader.located(node, [&] { check(made); });
  return made;
}

std::vector<Metric> read_metrics(Reader& reader, const Problem& problem) {
  const bool fixed = std::holds_alternative<FixedTarget>(problem.objective);
  std::istringstream words(reader.text("metrics", fixed ? "relative_error" : "objective"));
  const Node& at =
      reader.node().find("metrics") != nullptr ? *reader.node().find("metrics") : reader.node();
  std::vector<Metric> metrics;
  std::vector<std::string_view> known;
  for (int i = 0; i <= static_cast<int>(Metric::l1_excess); ++i)
    known.push_back(name(static_cast<Metric>(i)));
  for (std::string word; words >> word;) {
    const auto found = std::ranges::find(known, word);
    if (found == known.end()) {
      reader.located(at, [&] { fail_unknown("a metric", word, known, {}); });
    }
    metrics.push_back(static_cast<Metric>(found - known.begin()));
  }
  if (metrics.empty()) reader.fail(at, "'metrics' names no metric.");
  if (std::ranges::find(metrics, Metric::l1_excess) != metrics.end()) {
    const auto* stable = problem.noise ? std::get_if<StableParameters>(&*problem.noise) : nullptr;
    const bool known_law =
        problem.noise &&
        (std::holds_alternative<Cauchy>(*problem.noise) ||
         (stable != nullptr && stable->beta == 0 && stable->location == 0 && stable->alpha >= 0.1));
    if (!known_law)
      reader.fail(at, "l1_excess is known for Cauchy and symmetric stable noise only.");
  }
  return metrics;
}

bool has_data(const Objective& objective) {
  return std::holds_alternative<Regression>(objective) ||
         std::holds_alternative<Network>(objective);
}

Problem read_problem(const GridPoint& point, const std::string& file, std::uint64_t seed) {
  Reader reader(point.node, file, "the experiment");
  Problem problem{.axes = point.axes};
  for (const std::string_view common : kCommonKeys) (void)reader.any(common);
  for (const auto* common : {"seed", "seeds", "part"}) (void)reader.any(common);
  if (const Node* node = reader.any("objective")) {
    problem.objective = read_objective(*node, file, seed);
  } else {
    reader.fail(reader.node(), "the experiment has no 'objective'.");
  }
  if (const Node* given = reader.any("noise")) {
    const Node node = method_object(*given, file, "the noise");
    Reader noise(node, file, "the noise");
    problem.state_dependent = noise.truth("state_dependent", false);
    if (node.find("name") != nullptr && noise.text("name") == "none") {
      noise.finish();
    } else {
      problem.noise = read_noise(noise);
      Node shared = node;  // a factor of the state is no part of what is drawn
      std::erase_if(std::get<Node::Object>(shared.value),
                    [](const auto& entry) { return entry.first == "state_dependent"; });
      problem.noise_name = to_text(shared);
    }
  }
  problem.batch = reader.whole("batch", 0, 0, kMaxDimension);
  if (problem.batch > 0 && !has_data(problem.objective))
    reader.fail(*point.node.find("batch"), "'batch' needs an objective that has data.");
  problem.start = reader.number("w0", 1);
  if (!std::isfinite(value(problem.objective,
                           std::vector<double>(dimension(problem.objective), problem.start))))
    reader.fail(point.node.find("w0") != nullptr ? *point.node.find("w0") : point.node,
                fmt::format("the objective is not finite where every component of w is {} (w0).",
                            to_text(AxisValue(problem.start))));
  problem.scale = reader.number("scale", 1);
  if (!range::positive.contains(problem.scale))
    reader.fail(*point.node.find("scale"), "'scale' must be positive and finite.");
  if (const Node* given = reader.any("corrupted")) {
    Reader corrupted(*given, file, "'corrupted'");
    problem.corruption = read_corruption(corrupted);
    corrupted.finish();
    if (problem.corruption.kind == Corruption::Kind::shuffled_labels &&
        !has_data(problem.objective))
      reader.fail(*given, "'shuffled-labels' needs an objective that has data.");
  }
  problem.steps = reader.whole("steps", 1000, 1, kMaxSteps);
  problem.divergence = reader.number("divergence", 1e12);
  if (!(problem.divergence > 0))
    reader.fail(*point.node.find("divergence"), "'divergence' must be positive.");
  problem.recorded = reader.word("record", {"steps", "ends"}, "steps") == "ends"
                         ? std::vector<std::size_t>{0, problem.steps}
                         : recorded_steps(problem.steps);
  problem.metrics = read_metrics(reader, problem);
  problem.methods = read_methods(
      reader, read_schedule(reader, "eta", ConstantSchedule{.value = 0}, {.said = true}));
  reader.finish();
  return problem;
}

}  // namespace

std::unique_ptr<Study> read_trajectories(Reader& reader) {
  const std::uint64_t seed = read_seed(reader);
  const std::size_t runs = reader.whole("seeds", 50, 1, kMaxRuns);
  std::vector<Problem> problems;
  for (const auto& [axes, node] : read_parts(reader, {"seed", "seeds"})) {
    for (GridPoint& point : expand(node, reader.file(), {"methods"})) {
      point.axes.insert(point.axes.begin(), axes.begin(), axes.end());
      problems.push_back(read_problem(point, reader.file(), seed));
    }
  }
  if (problems.empty()) reader.fail(reader.node(), "the grid is empty.");
  return make_trajectories(std::move(problems), seed, runs);
}

}  // namespace medgrad::lab
