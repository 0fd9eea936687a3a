// Every optimiser by name: those with names of their own, one for each online method and each
// sample estimator of the registry, and those that are put together when they are asked for.
#include <fmt/core.h>

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "medgrad/error.h"
#include "medgrad/optimize.h"

namespace medgrad {
namespace {

constexpr std::string_view kSample = "smgd-", kWorkers = "workers-";

// Entries hold views; names that are put together here live as long as the program. They are those
// of the table, and of one entry for every text that find_optimizer() was asked for.
std::string_view keep(std::string text) {
  static std::mutex mutex;
  static std::deque<std::string> kept;
  const std::lock_guard lock(mutex);
  return kept.emplace_back(std::move(text));
}

void append(std::vector<Parameter>& to, const std::vector<Parameter>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

Parameter& parameter_of(std::vector<Parameter>& all, std::string_view name) {
  return *std::ranges::find(all, name, &Parameter::name);
}

// The distance whose minimum over a sample is the estimator, where there is one.
AnyDistance distance_of(const Rule& rule) {
  const SampleMethod& method = rule.method;
  if (!rule.before.empty())
    throw Error("inexact", "above 0",
                "a rule of several parts does not minimise a distance, so it is only computed "
                "exactly");
  if (std::holds_alternative<Mean>(method)) return Squared{};
  if (std::holds_alternative<Median>(method)) return L1{};
  if (std::holds_alternative<GeometricMedian>(method)) return L2{};
  if (const auto* lp = std::get_if<LpMedian>(&method)) return Lp(lp->p);
  if (const auto* huber = std::get_if<HuberLocation>(&method)) return Huber(huber->mu);
  const auto name = std::visit([]<class S>(const S&) { return S::about.name; }, method);
  throw Error("inexact", "above 0",
              fmt::format("{} does not minimise a distance, so it is only computed exactly", name));
}

Entry<GradientMethod> online_entry(const Entry<OnlineMethod>& from) {
  Entry<GradientMethod> entry{from.name,    from.aliases,    from.formula,
                              from.meaning, from.parameters, {}};
  append(entry.parameters, parameters_of(OnlineGradient{}));
  entry.build = [build = from.build](const ParameterValues& v) -> GradientMethod {
    return with_values(OnlineGradient{build(v)}, v);
  };
  return entry;
}

Entry<GradientMethod> sample_entry(const Entry<Rule>& from) {
  const auto of_sample = [](std::string_view name) {
    return keep(fmt::format("{}{}", kSample, name));
  };
  Entry<GradientMethod> entry{of_sample(from.name),
                              {},
                              keep(fmt::format("m = {} of n gradients", from.formula)),
                              keep(fmt::format("sample gradient descent: {}", from.meaning)),
                              from.parameters,
                              {}};
  for (const std::string_view alias : from.aliases) entry.aliases.push_back(of_sample(alias));
  if (from.name == "median") entry.aliases.emplace_back("smgd-l1");
  if (from.name == "geometric-median") entry.aliases.emplace_back("smgd-l2");
  append(entry.parameters, parameters_of(SampleGradient{}));
  std::vector<Parameter> of_passes = parameters_of(ProximalPoint{});
  Parameter& inexact_tau = parameter_of(of_passes, "tau");
  inexact_tau.name = "inexact-tau";
  inexact_tau.range = range::positive;
  inexact_tau.meaning = "step size of those passes";
  entry.parameters.push_back(inexact_tau);
  entry.build = [build = from.build](const ParameterValues& v) -> GradientMethod {
    SampleGradient made = with_values(SampleGradient{build(v)}, v);
    if (made.inexact > 0)
      made.approach = {distance_of(made.estimator), v.find("inexact-tau")->second};
    return made;
  };
  return entry;
}

// workers-WORKER+RULE. What the worker's part leaves open is a parameter of the whole, as it is for
// the parts of rules.
Entry<GradientMethod> worker_entry(std::string_view name) {
  const std::string_view text = name.substr(kWorkers.size());
  if (text.empty() || text.starts_with('+'))
    throw Error(fmt::format(
        "'{}' has no worker's method; write one after '{}', as in 'workers-ema+median'.", name,
        kWorkers));
  const std::string_view first = parts_of(text).front();
  const MethodText own = parse_method_text(first);
  const Entry<WorkerMethod>& worker = find_worker_method(own.name);
  if (first.size() == text.size())
    throw Error(fmt::format("'{0}' has no rule; write one after it, as in '{0}+median'.", name));
  const ParameterValues given = read_parameters(worker.name, worker.parameters, own.parameters);
  for (const auto& [key, value] : given) worker.find(key)->check(value);
  const Entry<Rule>& rule = find_rule(text.substr(first.size() + 1));
  Entry<GradientMethod> entry{
      keep(std::string(name)),
      {},
      keep(fmt::format("v_i: {}; m = {}", worker.formula, rule.formula)),
      keep(fmt::format("workers, {}; then {}", worker.meaning, rule.meaning)),
      {},
      {}};
  const auto add = [&](const std::vector<Parameter>& parameters, const ParameterValues& known) {
    for (const Parameter& one : parameters)
      if (entry.find(one.name) == nullptr && !known.contains(one.name) && applies(one, known))
        entry.parameters.push_back(one);
  };
  add(worker.parameters, given);
  add(rule.parameters, {});
  add(parameters_of(WorkerGradient{}), {});
  entry.build = [&worker, &rule, given](const ParameterValues& v) -> GradientMethod {
    const auto own_of = [&](const std::vector<Parameter>& parameters, ParameterValues values) {
      for (const Parameter& one : parameters)
        if (const auto found = v.find(one.name); found != v.end() && applies(one, v))
          values.emplace(*found);
      return values;
    };
    return with_values(WorkerGradient{worker.make(own_of(worker.parameters, given)),
                                      rule.make(own_of(rule.parameters, {}))},
                       v);
  };
  return entry;
}

// A subgradient step from m = 0 every time: sign-SGD and normalised SGD.
template <class D>
Entry<GradientMethod> cold_entry(const About& about) {
  return {about.name,
          {about.aliases.begin(), about.aliases.end()},
          about.formula,
          about.meaning,
          {},
          [](const ParameterValues&) -> GradientMethod {
            return OnlineGradient{Subgradient{D{}, 1}, Start::cold};
          }};
}

void leave_out(std::vector<Parameter>& all, std::string_view name) {
  std::erase_if(all, [&](const Parameter& one) { return one.name == name; });
}

// Those of adam and median-adam. The first moment is momentum with tau = 1/beta1 - 1, which needs a
// beta1 above 0.
std::vector<Parameter> adam_parameters(const AdaptiveGradient& prototype) {
  std::vector<Parameter> parameters = parameters_of(prototype);
  parameter_of(parameters, "beta1").range.min_open = true;
  return parameters;
}

Entry<GradientMethod> adam_entry() {
  std::vector<Parameter> parameters = adam_parameters(adam());
  leave_out(parameters, "cut");  // which is median-adam
  return {"adam",
          {},
          "m <- beta1 m + (1-beta1) g, v <- beta2 v + (1-beta2) g^2, step m/(sqrt v + epsilon)",
          "momentum, scaled per component",
          std::move(parameters),
          [](const ParameterValues& v) -> GradientMethod {
            return with_values(adam(v.find("beta1")->second), v);
          }};
}

Entry<GradientMethod> median_adam_entry() {
  return {
      "median-adam",
      {},
      "m <- m + (1-beta1) clamp(g - m, -b, b), b = cut sqrt v, v from what was not cut, step as "
      "in adam",
      "Adam with increments cut in its own metric: no scale to tune (ours, not the paper's)",
      adam_parameters(median_adam()),
      [](const ParameterValues& v) -> GradientMethod {
        return with_values(median_adam(3, v.find("beta1")->second), v);
      }};
}

Entry<GradientMethod> cclip_adam_entry() {
  const AdaptiveGradient prototype = cclip_adam();
  const Entry<OnlineMethod>& cclip = find_online_method("cclip");
  std::vector<Parameter> parameters = cclip.parameters;
  parameter_of(parameters, "tau").fallback = tau_of(prototype.first);
  append(parameters, parameters_of(prototype));
  leave_out(parameters, "beta1");  // a median has no bias to correct
  leave_out(parameters, "cut");    // which goes with momentum
  return {"cclip-adam",
          {},
          "m <- m + clamp(g - m, -tau, tau), v and the step as in adam",
          "Adam whose first moment tracks the componentwise median (ours, not the paper's)",
          std::move(parameters),
          [build = cclip.build](const ParameterValues& v) -> GradientMethod {
            return with_values(cclip_adam(std::get<ProximalPoint>(build(v))), v);
          }};
}

std::vector<Entry<GradientMethod>> make_optimizers() {
  std::vector<Entry<GradientMethod>> entries = {
      {"sgd",
       {},
       "m = g",
       "the gradient as it comes",
       {},
       [](const ParameterValues&) -> GradientMethod {
         return SampleGradient{Mean{}, 1};
       }},
      cold_entry<L1>({"sign-sgd", "m = sign(g)", "only the sign of every component"}),
      cold_entry<L2>({"normalized-sgd",
                      "m = g/|g|",
                      "only the direction of the gradient",
                      {"normalised-sgd"}}),
      adam_entry(),
      median_adam_entry(),
      cclip_adam_entry()};
  for (const auto& method : online_methods()) entries.push_back(online_entry(method));
  for (const auto& rule : rules()) entries.push_back(sample_entry(rule));
  return entries;
}

}  // namespace

AdaptiveGradient adam(double beta1) { return {ProximalPoint{Squared{}, 1 / beta1 - 1}, beta1}; }

AdaptiveGradient median_adam(double cut, double beta1) {
  AdaptiveGradient method = adam(beta1);
  method.cut = cut;
  return method;
}

AdaptiveGradient cclip_adam(const ProximalPoint& first) { return {first, 0}; }

std::span<const Entry<GradientMethod>> optimizers() {
  static const std::vector<Entry<GradientMethod>> entries = make_optimizers();
  return entries;
}

const Entry<GradientMethod>& find_optimizer(std::string_view name) {
  const bool of_sample = name.starts_with(kSample) && parts_of(name).size() > 1;
  if (!of_sample && !name.starts_with(kWorkers)) return find_entry(optimizers(), "a method", name);
  static std::mutex mutex;
  static std::map<std::string, Entry<GradientMethod>, std::less<>> composed;
  const std::lock_guard lock(mutex);
  auto found = composed.find(name);
  if (found == composed.end()) {
    found = composed
                .emplace(name, of_sample ? sample_entry(find_rule(name.substr(kSample.size())))
                                         : worker_entry(name))
                .first;
  }
  return found->second;
}

}  // namespace medgrad
