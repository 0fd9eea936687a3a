// Every optimiser by name: those with names of their own, and one for each online method and each
// sample estimator of the registry.
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

// Entries hold views; names that are put together here live as long as the program.
std::string_view keep(std::string text) {
  static std::deque<std::string> kept;
  return kept.emplace_back(std::move(text));
}

void append(std::vector<Parameter>& to, const std::vector<Parameter>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

Parameter parameter_of(const std::vector<Parameter>& all, std::string_view name) {
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
              std::string(name) + " does not minimise a distance, so it is only computed exactly");
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
  const auto of_sample = [](std::string_view name) { return keep("smgd-" + std::string(name)); };
  Entry<GradientMethod> entry{of_sample(from.name),
                              {},
                              keep(fmt::format("m = {} of n gradients", from.formula)),
                              keep("sample gradient descent: " + std::string(from.meaning)),
                              from.parameters,
                              {}};
  for (const std::string_view alias : from.aliases) entry.aliases.push_back(of_sample(alias));
  if (from.name == "median") entry.aliases.emplace_back("smgd-l1");
  if (from.name == "geometric-median") entry.aliases.emplace_back("smgd-l2");
  append(entry.parameters, parameters_of(SampleGradient{}));
  Parameter inexact_tau = parameter_of(parameters_of(ProximalPoint{}), "tau");
  inexact_tau.name = "inexact-tau";
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

Entry<GradientMethod> adam_entry() {
  std::vector<Parameter> parameters = parameters_of(adam());
  // The first moment is momentum with tau = 1/beta1 - 1, which needs a beta1 above 0.
  parameters.front().range.min_open = true;
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
  const AdaptiveGradient prototype = median_adam();
  Parameter tau = *find_online_method("cclip").find("tau");
  tau.fallback = tau_of(prototype.first);
  std::vector<Parameter> parameters = parameters_of(prototype);
  parameters.front() = tau;  // instead of beta1: a median has no bias to correct
  return {"median-adam",
          {},
          "m <- m + clamp(g - m, -tau, tau), v and the step as in adam",
          "Adam whose first moment tracks the componentwise median (ours, not the paper's)",
          std::move(parameters),
          [](const ParameterValues& v) -> GradientMethod {
            return with_values(median_adam(v.find("tau")->second), v);
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
      median_adam_entry()};
  for (const auto& method : online_methods()) entries.push_back(online_entry(method));
  for (const auto& rule : rules()) entries.push_back(sample_entry(rule));
  return entries;
}

}  // namespace

AdaptiveGradient adam(double beta1) { return {ProximalPoint{Squared{}, 1 / beta1 - 1}, beta1}; }

AdaptiveGradient median_adam(double tau) { return {ProximalPoint{L1{}, tau}, 0}; }

std::span<const Entry<GradientMethod>> optimizers() {
  static const std::vector<Entry<GradientMethod>> entries = make_optimizers();
  return entries;
}

const Entry<GradientMethod>& find_optimizer(std::string_view name) {
  constexpr std::string_view kSample = "smgd-";
  if (name.starts_with(kSample) && parts_of(name).size() > 1) {
    static std::mutex mutex;
    static std::map<std::string, Entry<GradientMethod>, std::less<>> composed;
    const std::lock_guard lock(mutex);
    auto found = composed.find(name);
    if (found == composed.end()) {
      const Entry<Rule>& rule = find_rule(name.substr(kSample.size()));
      found = composed.emplace(name, sample_entry(rule)).first;
    }
    return found->second;
  }
  return find_entry(optimizers(), "a method", name);
}

}  // namespace medgrad
