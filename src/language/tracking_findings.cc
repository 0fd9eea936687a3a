#include "language/tracking_findings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "base/text.h"
#include "lab/findings/lookup.h"

namespace medgrad::language {
namespace {

using lab::Claim;
using lab::Figure;
using lab::Panel;
using lab::Results;
using lab::Series;
using lab::show;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::string_view kHalf = "steps_to_half", kFinal = "final_relative_error",
                           kEarly = "early_relative_error";

// "64: 2, 60, 69" of every batch size, methods in the order given.
std::string per_batch(const Results& r, std::span<const double> batches, double tau,
                      std::span<const std::string_view> methods, std::string_view metric) {
  std::string text;
  for (const double batch : batches) {
    text += fmt::format("{}batch {}: ", text.empty() ? "" : "; ", show(batch));
    for (const std::string_view method : methods) {
      const double mean = lab::mean_of(r, method, metric, {{"batch", batch}, {"tau", tau}});
      text += fmt::format("{}{} {}", method == methods.front() ? "" : ", ", method, show(mean));
    }
  }
  return text;
}

Claim falls_fastest(const Results& r, std::span<const double> batches, double tau) {
  constexpr std::string_view kOrder[] = {"cclip", "vclip", "momentum"};
  bool violated = false, unclear = false;
  for (const double batch : batches) {
    const auto steps = [&](std::string_view method) {
      return lab::mean_of(r, method, kHalf, {{"batch", batch}, {"tau", tau}});
    };
    // Whether a falls faster than b; where neither got there, the run was too short to tell.
    const auto compare = [&](std::string_view a, std::string_view b) {
      if (std::isinf(steps(a)) && std::isinf(steps(b))) {
        unclear = true;
      } else if (!(steps(a) < steps(b))) {
        violated = true;
      }
    };
    compare("cclip", "vclip");
    compare("vclip", "momentum");
  }
  std::optional<bool> holds;
  if (violated || !unclear) holds = !violated;
  return {"CClip falls fastest, then VClip", holds,
          fmt::format("steps until the relative error is below 0.5, at tau = {}: {}.", show(tau),
                      per_batch(r, batches, tau, kOrder, kHalf))};
}

Claim momentum_lowest(const Results& r, std::span<const double> batches, double tau,
                      std::size_t steps) {
  constexpr std::string_view kOrder[] = {"momentum", "vclip", "cclip"};
  std::string evidence =
      fmt::format("relative error after {}, {}. Momentum is below VClip to the end ",
                  counted(steps, "step"), per_batch(r, batches, tau, kOrder, kFinal));
  bool holds = true;
  for (const double batch : batches) {
    const auto error = [&](std::string_view method) {
      return lab::mean_of(r, method, kFinal, {{"batch", batch}, {"tau", tau}});
    };
    holds = holds && error("momentum") < error("vclip") && error("momentum") < error("cclip");
    const double from =
        lab::mean_of(r, "momentum", "overtakes_vclip", {{"batch", batch}, {"tau", tau}});
    evidence += fmt::format("{}from {} on (batch {})", batch == batches.front() ? "" : ", ",
                            std::isinf(from) ? "no step" : "step " + show(from), show(batch));
  }
  return {"momentum is lowest in the long run", holds, evidence + "."};
}

// After 1/tau steps momentum, which starts from 0, is at 1/e or a little above whatever the noise;
// how many times closer the others are by then is the gap.
Claim gap_grows(const Results& r, std::span<const double> batches, double tau) {
  constexpr std::string_view kClaim = "the speed gap grows with the batch size";
  const auto early = [&](std::string_view method, double batch) {
    return lab::mean_of(r, method, kEarly, {{"batch", batch}, {"tau", tau}});
  };
  if (batches.size() < 2 || std::isnan(early("momentum", batches.front())))
    return lab::undecided(std::string(kClaim));
  std::string evidence = fmt::format("momentum's error over the other's, after 1/tau = {} steps:",
                                     show(std::ceil(1 / tau)));
  bool holds = true;
  for (const std::string_view method : {"vclip", "cclip"}) {
    evidence += fmt::format("{}{} ", method == "vclip" ? " " : "; ", method);
    double before = -kInfinity;
    for (const double batch : batches) {
      const double gap = early("momentum", batch) / early(method, batch);
      holds = holds && gap > before;
      before = gap;
      evidence += fmt::format("{}{} (batch {})", batch == batches.front() ? "" : ", ", show(gap),
                              show(batch));
    }
  }
  return {std::string(kClaim), holds, evidence + "."};
}

// A number, or "auto".
std::optional<lab::AxisValue> tau_of(const lab::Group& group) {
  const auto found = std::ranges::find(group.axes, "tau", &lab::Axes::value_type::first);
  return found == group.axes.end() ? std::nullopt : std::optional(found->second);
}

// All of them, in the order of their first appearance.
std::vector<lab::AxisValue> taus_of(const Results& r) {
  std::vector<lab::AxisValue> taus;
  for (const lab::Group& group : r.groups)
    if (const auto tau = tau_of(group); tau && std::ranges::find(taus, *tau) == taus.end())
      taus.push_back(*tau);
  return taus;
}

}  // namespace

double steps_below(std::span<const double> errors, double level) {
  const auto found = std::ranges::find_if(errors, [&](double x) { return x < level; });
  return found == errors.end() ? kInfinity : static_cast<double>(found - errors.begin() + 1);
}

double overtakes(std::span<const double> a, std::span<const double> b) {
  std::size_t from = a.size();
  while (from > 0 && a[from - 1] < b[from - 1]) --from;
  return from == a.size() ? kInfinity : static_cast<double>(from + 1);
}

void tracking_findings(const lab::Experiment&, Results& r) {
  std::vector<double> batches = lab::values_on(r, "batch");
  const std::vector<lab::AxisValue> taus = taus_of(r);
  if (batches.empty() || taus.empty()) return;
  std::ranges::sort(batches);
  Figure figure{.id = "tracking",
                .title = "Following the full gradient at fixed weights",
                .caption = "Relative error |m − ∇| / |∇| after every step, from m = 0."};
  std::size_t steps = 0;
  for (const lab::AxisValue& tau : taus) {
    const std::string shown = std::holds_alternative<double>(tau) ? show(std::get<double>(tau))
                                                                  : std::get<std::string>(tau);
    for (const double batch : batches) {
      Panel panel{.id = fmt::format("batch-{}-tau-{}", show(batch), shown),
                  .title = fmt::format("batch {}, τ = {}", show(batch), shown),
                  .x = {.label = "step"},
                  .y = {.label = "relative error", .log = true}};
      for (const lab::Group& group : r.groups) {
        if (group.metric != "relative_error" || lab::number_on(group.axes, "batch") != batch ||
            tau_of(group) != tau)
          continue;
        steps = group.steps.back();
        Series series = lab::over_steps(group);
        for (std::vector<double>* unused :
             {&series.low, &series.high, &series.se, &series.median, &series.lower, &series.upper})
          unused->clear();
        panel.series.push_back(std::move(series));
      }
      figure.panels.push_back(std::move(panel));
    }
  }
  r.figures.push_back(std::move(figure));
  // The first tau that is a number, if all three have it.
  const std::vector<double> numbers = lab::values_on(r, "tau");
  for (const char* const needed : {"momentum", "vclip", "cclip"}) {
    if (!numbers.empty() && lab::find(r, needed, kFinal, {{"tau", numbers.front()}}) != nullptr)
      continue;
    r.claims.push_back(lab::undecided("the claims on momentum, VClip and CClip"));
    return;
  }
  r.claims.push_back(falls_fastest(r, batches, numbers.front()));
  r.claims.push_back(momentum_lowest(r, batches, numbers.front(), steps));
  r.claims.push_back(gap_grows(r, batches, numbers.front()));
}

}  // namespace medgrad::language
