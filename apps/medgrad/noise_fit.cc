#include "noise_fit.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "command.h"
#include "medgrad/description.h"

namespace medgrad::app {
namespace {

std::vector<Estimate> lines_of(const NoiseFit& found) {
  std::vector<Estimate> lines;
  const TailSummary& summary = found.summary;
  if (found.stable) {
    const StableFit& fit = *found.stable;
    const StableParameters p = convert(fit.parameters, found.form);
    const double moved = p.location - fit.parameters.location;
    lines = {{"alpha", p.alpha, fit.alpha, fit.errors.alpha},
             {"beta", p.beta, fit.beta, fit.errors.beta},
             {"scale", p.scale, fit.scale, fit.errors.scale},
             {"location",
              p.location,
              {fit.location.low + moved, fit.location.high + moved},
              fit.errors.location}};
  }
  if (summary.hill) lines.push_back({"hill", summary.hill->alpha, summary.hill->interval});
  if (summary.log_moment)
    lines.push_back({"log-moment", summary.log_moment->alpha, summary.log_moment->interval});
  if (summary.judged)
    lines.push_back({"tail-index", summary.judged->index, summary.judged->index_interval});
  return lines;
}

// The tails one by one, with their names.
std::vector<std::pair<std::string, const Peaks*>> tails_of(const TailSummary& summary) {
  std::vector<std::pair<std::string, const Peaks*>> tails;
  const auto add = [&](std::string name, const std::optional<Peaks>& peaks) {
    if (peaks) tails.emplace_back(std::move(name), &*peaks);
  };
  if (summary.judged) {
    add("left", summary.judged->left);
    add("right", summary.judged->right);
    add("both", summary.judged->both);
  }
  if (summary.directions) add("directions", summary.directions->both);
  add("norms", summary.norms);
  add("scaled-norms", summary.scaled_norms);
  return tails;
}

Json pair_of(const Interval& interval) {
  return Json::array({json_number(interval.low), json_number(interval.high)});
}

Json json_of(double xi, const Interval& interval) {
  return {{"xi", json_number(xi)}, {"interval", pair_of(interval)}};
}

Json json_of(const Peaks& p) {
  Json json = {{"n", p.n},
               {"k", p.k},
               {"threshold", json_number(p.threshold)},
               {"p_value", json_number(p.pareto.p_value)}};
  json["pareto"] = json_of(p.pareto.xi, p.pareto.xi_interval);
  json["moment"] = json_of(p.moment.xi, p.moment.interval);
  json["hill"] = json_of(p.hill.xi, p.hill.interval);
  json["hill"]["k"] = p.hill_k;
  json["far"] = json_of(p.far.xi, p.far.interval);
  json["farthest"] = json_of(p.farthest.xi, p.farthest.interval);
  return json;
}

}  // namespace

std::vector<Estimate> estimates_of(const NoiseFit& found) {
  std::vector<Estimate> all = lines_of(found);
  for (const auto& [name, peaks] : tails_of(found.summary)) {
    all.push_back({"xi-" + name, peaks->pareto.xi, peaks->pareto.xi_interval});
    all.push_back({"xi-" + name + "-moment", peaks->moment.xi, peaks->moment.interval});
    all.push_back({"xi-" + name + "-hill", peaks->hill.xi, peaks->hill.interval});
  }
  const TailVerdict v = found.summary.judged.value_or(TailVerdict{});
  const Efficiency& e = v.efficiency;
  if (!(e.spread > 0)) return all;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const auto add = [&](std::string_view name, double value) {
    all.push_back({std::string(name), value, {kNone, kNone}});
  };
  add("bias", e.bias);
  add("mean-squared-error-mean", e.mean);
  add("mean-squared-error-median", e.median);
  add("mean-squared-error-huber", e.huber);
  if (!std::isnan(e.geometric)) add("mean-squared-error-geometric-median", e.geometric);
  return all;
}

std::vector<std::pair<std::string, std::string>> answers_of(const NoiseFit& found) {
  const TailVerdict v = found.summary.judged.value_or(TailVerdict{});
  const std::string by =
      found.bootstrap > 0 ? ", by " + counted(found.bootstrap, "simulated sample") : "";
  const std::string p = v.stable ? fmt::format(" (p = {:.3g}{})", v.stable->p_value, by) : "";
  std::vector<std::pair<std::string, std::string>> answers = {
      {"infinite variance", std::string(name(v.infinite_variance))},
      {"a stable law fits", (v.stable_fits() ? "yes" : "no") + p},
      {"advice", std::string(name(v.advice))}};
  if (!v.stable_fits()) answers.emplace_back("no tail index", "alpha, log-moment");
  return answers;
}

std::string as_csv(const NoiseFit& found) {
  std::string text = fmt::format(
      "# what,estimate,low,high,error (95 % intervals and standard errors; alpha to location by "
      "{}, "
      "location in {})\n",
      name(found.method), found.form == StableForm::S0 ? "S0" : "S1");
  if (found.sample > 0) {
    text += fmt::format(
        "# tails (xi) by all numbers, the rest and its errors by a sample of {} of them\n",
        found.sample);
  }
  const auto end = [](double value) { return std::isnan(value) ? "" : number(value); };
  for (const Estimate& l : estimates_of(found)) {
    text += fmt::format("{},{},{},{},{}\n", l.name, number(l.value), end(l.interval.low),
                        end(l.interval.high), l.error ? number(*l.error) : "");
  }
  for (const auto& [what, answer] : answers_of(found))
    text += fmt::format("# {}: {}\n", what, answer);
  return text + "# which method suits which noise: docs/when-to-use.md\n";
}

std::string as_json(const NoiseFit& found) {
  const TailSummary& summary = found.summary;
  Json json = {{"verdict", summary.verdict()},
               {"method", name(found.method)},
               {"form", found.form == StableForm::S0 ? "S0" : "S1"}};
  for (const Estimate& line : lines_of(found)) {
    json[line.name] = json_number(line.value);
    json["intervals"][line.name] = pair_of(line.interval);
    if (line.error) json["errors"][line.name] = json_number(*line.error);
  }
  for (const auto& [name, peaks] : tails_of(summary)) json["tails"][name] = json_of(*peaks);
  for (const ComponentTail& c : summary.components) {
    Json one = {{"component", c.place + 1}, {"k", c.tail.k}};
    one.update(json_of(c.tail.pareto.xi, c.tail.pareto.xi_interval));
    json["components"].push_back(std::move(one));
  }
  if (found.sample > 0) json["sample"] = found.sample;
  json["nan"] = found.nan;
  json["inf"] = found.inf;
  const TailVerdict v = summary.judged.value_or(TailVerdict{});
  const Efficiency& e = v.efficiency;
  const auto known = [&](double value) {
    return e.spread > 0 ? json_number(value) : Json(nullptr);
  };
  json["infinite_variance"] = name(v.infinite_variance);
  json["stable_fits"] = v.stable_fits();
  if (!v.stable_fits()) json["no_tail_index"] = Json::array({"alpha", "log-moment"});
  json["p_value"] = json_number(v.p_value());
  if (found.bootstrap > 0) json["bootstrap"] = found.bootstrap;
  json["advice"] = name(v.advice);
  json["bias"] = known(e.bias);
  json["skewed"] = e.skewed;
  json["batch"] = e.batch;
  if (e.compared != e.batch) json["compared"] = e.compared;
  json["mean_squared_errors"] = {
      {"mean", known(e.mean)}, {"median", known(e.median)}, {"huber", known(e.huber)}};
  if (!std::isnan(e.geometric)) {
    json["mean_squared_errors"]["geometric_median"] = known(e.geometric);
    json["better_median"] = e.geometric < e.median ? "geometric" : "componentwise";
  }
  json["spread"] = known(e.spread);
  return json.dump(2) + "\n";
}

}  // namespace medgrad::app
