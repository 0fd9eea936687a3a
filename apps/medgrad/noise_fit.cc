#include "noise_fit.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "base/json.h"
#include "command.h"
#include "medgrad/description.h"

namespace medgrad::app {
namespace {

// One estimate with its interval.
struct Line {
  std::string name;
  double value;
  Interval interval;
};

std::vector<Line> lines_of(const TailSummary& summary, StableForm form) {
  std::vector<Line> lines;
  if (summary.quantiles) {
    const StableFit& fit = *summary.quantiles;
    const StableParameters p = convert(fit.parameters, form);
    const double moved = p.location - fit.parameters.location;
    lines = {{"alpha", p.alpha, fit.alpha},
             {"beta", p.beta, fit.beta},
             {"scale", p.scale, fit.scale},
             {"location", p.location, {fit.location.low + moved, fit.location.high + moved}}};
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

std::string tails_as_csv(const TailSummary& summary, StableForm form) {
  std::string text = fmt::format("# what,estimate,low,high (95 % intervals; location in {})\n",
                                 form == StableForm::S0 ? "S0" : "S1");
  const auto line = [&](const std::string& name, double value, const Interval& interval) {
    text += fmt::format("{},{},{},{}\n", name, number(value), number(interval.low),
                        number(interval.high));
  };
  for (const Line& l : lines_of(summary, form)) line(l.name, l.value, l.interval);
  for (const auto& [name, peaks] : tails_of(summary)) {
    line("xi-" + name, peaks->pareto.xi, peaks->pareto.xi_interval);
    line("xi-" + name + "-moment", peaks->moment.xi, peaks->moment.interval);
    line("xi-" + name + "-hill", peaks->hill.xi, peaks->hill.interval);
  }
  return text;
}

std::string tails_as_json(const TailSummary& summary, StableForm form, std::size_t nan,
                          std::size_t inf) {
  Json json = {{"form", form == StableForm::S0 ? "S0" : "S1"}};
  for (const Line& line : lines_of(summary, form)) {
    json[line.name] = json_number(line.value);
    json["intervals"][line.name] = pair_of(line.interval);
  }
  for (const auto& [name, peaks] : tails_of(summary)) json["tails"][name] = json_of(*peaks);
  json["nan"] = nan;
  json["inf"] = inf;
  if (summary.judged) {
    const TailVerdict& v = *summary.judged;
    const Efficiency& e = v.efficiency;
    json["infinite_variance"] = name(v.infinite_variance);
    json["stable_fits"] = v.stable_fits();
    json["p_value"] = v.stable ? json_number(v.stable->p_value) : Json(nullptr);
    json["advice"] = name(v.advice);
    json["bias"] = json_number(e.bias);
    json["skewed"] = e.skewed;
    json["batch"] = e.batch;
    json["mean_squared_errors"] = {{"mean", json_number(e.mean)},
                                   {"median", json_number(e.median)},
                                   {"huber", json_number(e.huber)}};
    json["spread"] = json_number(e.spread);
  } else {
    // Too little to judge by: nothing is claimed.
    json["infinite_variance"] = "unclear";
    json["stable_fits"] = false;
    json["p_value"] = json["bias"] = nullptr;
    json["advice"] = "unclear";
  }
  json["verdict"] = summary.verdict();
  return json.dump(2) + "\n";
}

}  // namespace medgrad::app
