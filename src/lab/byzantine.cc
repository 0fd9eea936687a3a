// Reading what rules are tried on: the problems of an experiment's grid, rules and attacks. (Their
// runs are byzantine_study.cc.)
#include "lab/byzantine.h"

#include <algorithm>
#include <cmath>

#include "medgrad/error.h"
#include "medgrad/sample.h"

namespace medgrad::lab {
namespace {

constexpr std::size_t kMaxWorkers = 1000, kMaxSize = 100'000, kMaxRuns = 10'000;
constexpr std::uint64_t kMostSeed = std::uint64_t{1} << 52;  // that an attack takes

// "f": a number, a list or a range.
std::vector<std::size_t> read_f(Reader& reader, std::size_t most) {
  const Node* const given = reader.any("f");
  if (given == nullptr) reader.fail(reader.node(), "the experiment has no 'f'.");
  std::vector<std::size_t> all;
  for (const GridPoint& point :
       expand(Node{Node::Object{{"f", *given}}, given->line}, reader.file())) {
    Reader keys(point.node, reader.file(), "the experiment");
    all.push_back(keys.whole("f", {}, 0, most));
  }
  return all;
}

const Node::List& read_list(Reader& reader, const char* key) {
  const Node* const node = reader.any(key);
  if (node == nullptr || node->list() == nullptr || node->list()->empty())
    reader.fail(node != nullptr ? *node : reader.node(),
                std::string("'") + key + "' must be a list with at least one entry.");
  return *node->list();
}

// One rule for every number of liars: where it has an f, that is their number; where half of the
// workers or more lie, the largest that it takes.
RuleCase read_rule(const Node& item, const std::string& file, std::size_t workers,
                   const std::vector<std::size_t>& f) {
  const Node object = method_object(item, file, "a rule");
  Reader reader(object, file, "a rule");
  const std::string name = reader.text("name");
  const auto& entry = reader.located(
      *object.find("name"), [&]() -> const auto& { return find_rule(name); });
  const std::size_t most = reader.whole("most_f", kMaxWorkers, 0, kMaxWorkers);
  ParameterValues values;
  const bool has_f = entry.find("f") != nullptr;
  for (const Parameter& parameter : entry.parameters)
    if (parameter.name != "f" && reader.any(parameter.name) != nullptr)
      values.emplace(parameter.name, reader.number(parameter));
  RuleCase made{reader.label(name), std::string(entry.name), {}, {}};
  reader.finish();
  const auto of = [&](std::size_t told) {
    if (has_f) values["f"] = static_cast<double>(told);
    Rule rule = entry.make(values);
    validate(rule, workers);
    return rule;
  };
  if (!has_f) (void)reader.located(object, [&] { return of(0); });  // what is wrong for all f
  if (has_f) values["f"] = 0;
  made.trusting = reader.located(object, [&] { return entry.make(values); });
  for (const std::size_t liars : f) {
    const bool half = 2 * liars >= workers;
    std::optional<Rule> rule;
    for (std::size_t told = half ? std::min(most, (workers - 1) / 2) : liars; told <= most;
         --told) {
      try {
        rule = of(told);
      } catch (const Error&) {
        // It does not bear so many.
      }
      if (rule || !half || told == 0) break;
    }
    made.rules.push_back(std::move(rule));
  }
  return made;
}

std::vector<RuleCase> read_rules(Reader& reader, std::size_t workers,
                                 const std::vector<std::size_t>& f) {
  std::vector<RuleCase> rules;
  MethodNames names;
  for (const Node& item : read_list(reader, "rules")) {
    RuleCase made = read_rule(item, reader.file(), workers, f);
    names.add(reader, item, made.label, {});
    if (std::ranges::any_of(made.rules, [](const auto& rule) { return rule.has_value(); }))
      rules.push_back(std::move(made));
  }
  return rules;
}

// What an attack draws depends on the seed of the experiment unless it has its own.
std::vector<AttackCase> read_attacks(Reader& reader, std::uint64_t seed) {
  std::vector<AttackCase> attacks;
  MethodNames names;
  for (const Node& item : read_list(reader, "attacks")) {
    const Node object = method_object(item, reader.file(), "an attack");
    Reader keys(object, reader.file(), "an attack");
    const std::string name = keys.text("name");
    const auto& entry = keys.located(
        *object.find("name"), [&]() -> const auto& { return find_attack(name); });
    ParameterValues values = read_given(keys, entry);
    if (entry.find("seed") != nullptr)
      values.emplace("seed", static_cast<double>(seed % kMostSeed));
    const std::string label = keys.label(name);
    keys.finish();
    attacks.push_back({label, keys.located(object, [&] { return entry.make(values); })});
    names.add(reader, item, label, {});
  }
  return attacks;
}

void read_objective(Reader& reader, ByzantineProblem& problem) {
  const Node* const node = reader.any("objective");
  if (node == nullptr) reader.fail(reader.node(), "the experiment has no 'objective'.");
  const Node object = method_object(*node, reader.file(), "the objective");
  Reader keys(object, reader.file(), "the objective");
  problem.network = keys.word("name", {"least-squares", "network"}, "least-squares") == "network";
  problem.d = keys.whole("d", 10, 1, kMaxSize);
  if (problem.network) problem.hidden = keys.whole("hidden", 5, 1, Network::kMostHidden);
  problem.rows = keys.whole("rows", 32, 1, kMaxSize);
  problem.error = keys.number("error", 0.5);
  keys.finish();
}

ByzantineTrial read_trial(const GridPoint& point, const std::string& file, std::uint64_t seed) {
  Reader reader(point.node, file, "the experiment");
  for (const std::string_view common : kCommonKeys) (void)reader.any(common);
  for (const auto* common : {"seed", "seeds", "part", "trade_off"}) (void)reader.any(common);
  ByzantineTrial trial{.problem = {.axes = point.axes}, .rules = {}, .attacks = {}};
  ByzantineProblem& problem = trial.problem;
  problem.workers = reader.whole("workers", 20, 1, kMaxWorkers);
  read_objective(reader, problem);
  problem.skew = reader.number("skew", 0);
  problem.batch = reader.whole("batch", 8, 1, kMaxSize);
  problem.steps = reader.whole("steps", 50, 1, kMaxSize);
  problem.eta = read_schedule(reader, "eta", ConstantSchedule{.value = 0.1}, {.said = true});
  if (const Node* const worker = reader.any("worker")) {
    const std::string text =
        read_method_text(*worker, file, "the worker's method", find_worker_method);
    problem.worker = reader.located(*worker, [&] { return make_worker_method(text); });
  }
  problem.f = read_f(reader, problem.workers - 1);
  trial.rules = read_rules(reader, problem.workers, problem.f);
  trial.attacks = read_attacks(reader, seed);
  reader.finish();
  return trial;
}

TradeOff read_trade_off(Reader& reader) {
  TradeOff made;
  const Node* const node = reader.any("trade_off");
  if (node == nullptr) return made;
  made.workers = reader.whole("workers", 20, 1, kMaxWorkers);
  Reader keys(*node, reader.file(), "the trade-off");
  made.d = keys.whole("d", 10, 1, kMaxSize);
  made.trials =
      keys.whole("trials", 400, kTradeOffBatches, kMaxSize) / kTradeOffBatches * kTradeOffBatches;
  made.f = read_f(keys, (made.workers - 1) / 2);
  keys.finish();
  made.rules = read_rules(reader, made.workers, made.f);
  return made;
}

}  // namespace

std::unique_ptr<Study> read_byzantine(Reader& reader) {
  const std::uint64_t seed = read_seed(reader);
  const std::size_t runs = reader.whole("seeds", 3, 1, kMaxRuns);
  TradeOff trade_off = read_trade_off(reader);
  std::vector<ByzantineTrial> trials;
  for (const auto& [axes, node] : read_parts(reader, {"seed", "seeds", "trade_off"})) {
    for (GridPoint& point : expand(node, reader.file(), {"rules", "attacks", "f", "trade_off"})) {
      point.axes.insert(point.axes.begin(), axes.begin(), axes.end());
      trials.push_back(read_trial(point, reader.file(), seed));
    }
  }
  return make_byzantine(std::move(trials), std::move(trade_off), runs, seed);
}

}  // namespace medgrad::lab
