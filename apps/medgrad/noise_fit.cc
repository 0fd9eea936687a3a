#include "noise_fit.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>
#include <vector>

#include "base/json.h"
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
  return all;
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
  for (const Estimate& l : estimates_of(found)) {
    text += fmt::format("{},{},{},{},{}\n", l.name, number(l.value), number(l.interval.low),
                        number(l.interval.high), l.error ? number(*l.error) : "");
  }
  return text;
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
  json["p_value"] = v.stable ? json_number(v.stable->p_value) : Json(nullptr);
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
