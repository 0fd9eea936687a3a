#include "language/runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "language/checkpoint.h"
#include "language/run_config.h"
#include "medgrad/error.h"
#include "medgrad/io.h"

namespace medgrad::language {
namespace {

namespace fs = std::filesystem;
constexpr double kNever = std::numeric_limits<double>::infinity();

std::string folder_name(const RunKey& key) {
  std::string name = key.method.word;
  std::ranges::replace(name, ':', '-');
  std::ranges::replace(name, '=', '-');
  return fmt::format("{}-lr-{}-seed-{}", name, number(key.lr), key.seed);
}

Json result_json(const TrainingResult& result) {
  return {{"steps", result.steps},
          {"diverged", result.diverged},
          {"seconds", result.seconds},
          {"tokens_per_second", result.tokens_per_second},
          {"evaluations", json_of(result.evaluations)}};
}

TrainingResult result_of(const Json& json) {
  TrainingResult result;
  result.steps = json.at("steps");
  result.diverged = json.at("diverged");
  result.seconds = json.at("seconds");
  result.tokens_per_second = json.at("tokens_per_second");
  result.evaluations = evaluations_of(json.at("evaluations"));
  if (json.contains("blame")) result.blame = dist::Blame(records_of(json.at("blame")));
  return result;
}

// Whether a result can have come from a run: a loss and the same scores in every evaluation, the
// last of them after the last step unless the run has diverged.
bool is_whole(const TrainingResult& result) {
  const auto names = [](const Evaluation& one) {
    std::vector<std::string> all;
    for (const auto& [name, value] : one.scores) all.push_back(name);
    return all;
  };
  if (result.evaluations.empty()) return false;
  const std::vector<std::string> first = names(result.evaluations.front());
  if (std::ranges::find(first, "training_loss") == first.end()) return false;
  for (const Evaluation& one : result.evaluations)
    if (names(one) != first || one.step > result.steps) return false;
  const Evaluation& last = result.evaluations.back();
  return result.diverged ||
         (last.step == result.steps && std::isfinite(score(last.scores, "training_loss")));
}

// The result of a finished run, if there is one and it is as long as this one is to be (or ended
// by itself). Throws Error where it is of another run.
std::optional<TrainingResult> finished_result(const fs::path& file, const Json& config,
                                              std::size_t total) {
  if (!fs::exists(file)) return {};
  const Json json = Json::parse(read_whole(file), nullptr, false);
  const auto damaged = [&] {
    return Error(fmt::format("{} is damaged; remove it.", file.string()));
  };
  if (!json.is_object() || !json.contains("config")) throw damaged();
  check_same_run(json.at("config"), config, file.parent_path().string());
  try {
    TrainingResult result = result_of(json);
    if (!is_whole(result)) throw damaged();
    if (result.steps == total || (result.diverged && result.steps < total)) return result;
    return {};
  } catch (const Json::exception&) {
    throw damaged();
  }
}

double mean_loss(const std::vector<FinishedRun>& runs, const std::string& word, double lr) {
  double sum = 0, count = 0;
  for (const FinishedRun& run : runs) {
    if (run.key.method.word != word || run.key.lr != lr) continue;
    sum += run.final_loss();
    count += 1;
  }
  return count == 0 ? kNever : sum / count;
}

}  // namespace

double FinishedRun::final_loss() const {
  if (result.diverged || result.evaluations.empty()) return kNever;
  const double loss = score(result.evaluations.back().scores, "training_loss");
  return std::isfinite(loss) ? loss : kNever;
}

double half_decade(double x, int steps) {
  const double j = std::round(2 * std::log10(x)) + steps;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", std::pow(10, j / 2));
  return std::strtod(text, nullptr);
}

FinishedRun run_once(const Task& task, const RunKey& key, const RunsOptions& options) {
  const fs::path folder = options.folder / "runs" / folder_name(key);
  TrainingOptions training = options.base;
  training.method = key.method.line;
  training.gradient = key.method.gradient;
  training.lr = key.lr;
  training.seed = key.seed;
  training.folder = folder;
  training.resume = has_checkpoint(folder);
  const fs::path done = folder / "result.json";
  const Json config = config_of(task, training);
  const std::size_t total = length_of(task, training).total;
  if (std::optional<TrainingResult> there = finished_result(done, config, total))
    return {key, std::move(*there)};
  FinishedRun run{key, train(
                           task, training,
                           [&](const TrainingProgress& p) {
                             if (options.progress) options.progress(key, p);
                           },
                           options.stop)};
  if (run.result.interrupted) throw lab::Interrupted();
  Json json = result_json(run.result);
  if (training.workers) json["blame"] = json_of(run.result.blame.records());
  json["config"] = config;
  write_file(done.string(), json.dump(1) + "\n");
  if (options.finished) options.finished(run);
  return run;
}

double best_rate(const std::vector<FinishedRun>& runs, const std::string& word) {
  double best = std::numeric_limits<double>::quiet_NaN(), least = kNever;
  for (const FinishedRun& run : runs) {
    if (run.key.method.word != word) continue;
    const double loss = mean_loss(runs, word, run.key.lr);
    if (loss < least) {
      least = loss;
      best = run.key.lr;
    }
  }
  return best;
}

double usual_rate(const Task& task, const Method& method) {
  const bool adaptive = std::holds_alternative<AdaptiveGradient>(method.gradient);
  double usual = 0.1;
  for (const auto& [name, rate] : task.info().rates)
    if (name == (adaptive ? "adam" : method.key)) usual = rate;
  return usual;
}

std::vector<FinishedRun> sweep(const Task& task, const SweepOptions& sweep,
                               const RunsOptions& options) {
  std::vector<FinishedRun> runs;
  for (const Method& method : sweep.methods) {
    std::vector<double> rates = sweep.rates;
    if (rates.empty()) {
      const double centre = usual_rate(task, method);
      for (const int j : {-1, 0, 1}) rates.push_back(half_decade(centre, j));
    }
    std::ranges::sort(rates);
    const auto run_rate = [&](double lr) {
      for (std::uint64_t seed = 0; seed < sweep.seeds; ++seed) {
        runs.push_back(run_once(task, {method, lr, sweep.seed + seed}, options));
        if (runs.back().result.diverged) break;
      }
    };
    for (const double lr : rates) run_rate(lr);
    for (std::size_t more = 0; more < sweep.extensions; ++more) {
      const double best = best_rate(runs, method.word);
      if (best == rates.front() || std::isnan(best)) {
        rates.insert(rates.begin(), half_decade(rates.front(), -1));
        run_rate(rates.front());
      } else if (best == rates.back()) {
        rates.push_back(half_decade(rates.back(), 1));
        run_rate(rates.back());
      } else {
        break;
      }
    }
  }
  return runs;
}

}  // namespace medgrad::language
