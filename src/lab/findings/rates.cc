// Measured rates against proven bounds: claims and figure (paper, section 5 and appendix B.5).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "lab/experiments.h"
#include "lab/findings/lookup.h"
#include "medgrad/theory.h"

namespace medgrad::lab {
namespace {

// What a theorem says of the settings of a part: a bound at T steps, and the most that the measured
// quantity can be before the first one. Where the bound is above that, it says nothing.
struct Proven {
  double bound = 0, start = 0;
};

// The settings of a part that the theorems ask for, as the experiment's file has them.
class Settings {
 public:
  Settings(const Node& document, std::string_view part) : document_(document) {
    const Node* const parts = document.find("part");
    if (parts == nullptr || parts->list() == nullptr) return;
    for (const Node& one : *parts->list()) {
      const Node* const name = one.find("name");
      if (name != nullptr && name->text() != nullptr && *name->text() == part) part_ = &one;
    }
  }

  // Is the value at the end of these keys that text?
  [[nodiscard]] bool is(std::initializer_list<std::string_view> keys, std::string_view text) const {
    const Node* const node = at(keys);
    return node != nullptr && node->text() != nullptr && *node->text() == text;
  }
  [[nodiscard]] bool is_true(std::initializer_list<std::string_view> keys) const {
    const Node* const node = at(keys);
    return node != nullptr && node->truth() != nullptr && *node->truth();
  }
  // Throws Error where there is no number: then no theorem speaks of it.
  [[nodiscard]] double number(std::initializer_list<std::string_view> keys) const {
    const Node* const node = at(keys);
    if (node == nullptr || node->number() == nullptr)
      throw Error(fmt::format("'{}' is not a number.", *(keys.end() - 1)));
    return *node->number();
  }
  [[nodiscard]] std::uint64_t whole(std::initializer_list<std::string_view> keys) const {
    return static_cast<std::uint64_t>(number(keys));
  }

 private:
  // A part's own keys come before those of all parts; "methods" is its only method.
  [[nodiscard]] const Node* at(std::initializer_list<std::string_view> keys) const {
    const Node* node = part_ == nullptr ? nullptr : part_->find(*keys.begin());
    if (node == nullptr) node = document_.find(*keys.begin());
    for (const std::string_view* key = keys.begin() + 1; node != nullptr && key != keys.end();
         ++key) {
      if (node->list() != nullptr)
        node = node->list()->size() == 1 ? &node->list()->front() : nullptr;
      if (node != nullptr) node = node->find(*key);
    }
    return node;
  }

  const Node& document_;
  const Node* part_ = nullptr;
};

// Sample medians of n gradients with noise I zeta, or sqrt(1 + |w|^2) I zeta: |Sigma|_F^2 = d, or
// d + d |w|^2.
theory::MedianNoise noise_of(const Settings& settings, bool state_dependent) {
  const double d = settings.number({"objective", "d"});
  return theory::median_noise({.alpha = settings.number({"noise", "alpha"}),
                               .n = settings.whole({"methods", "n"}),
                               .d = settings.whole({"objective", "d"}),
                               .c_1 = d,
                               .c_2 = state_dependent ? d : 0,
                               .diagonal = true})
      .median;
}

// 1/2 |w|^2: L = 1, grad f = w.
std::optional<Proven> smooth(const Settings& settings, std::uint64_t steps) {
  if (!settings.is({"objective", "name"}, "quadratic") ||
      !settings.is({"noise", "name"}, "stable") ||
      !settings.is_true({"noise", "state_dependent"}) ||
      !settings.is({"methods", "name"}, "smgd-l1") || !settings.is({"eta", "name"}, "horizon"))
    return {};
  const double w0 = settings.number({"w0"}), d = settings.number({"objective", "d"});
  const double eta = settings.number({"eta", "value"}) / std::sqrt(static_cast<double>(steps));
  const theory::Smooth problem{.L = 1,
                               .gap = d * w0 * w0 / 2,
                               .noise = noise_of(settings, true),
                               .epsilon = 0,
                               .T = steps,
                               .eta = eta};
  return Proven{theory::bound(problem).bound, 2 * problem.L * problem.gap};
}

// |w|_1: G = sqrt(d), D = sqrt(d) |w0|.
std::optional<Proven> lipschitz(const Settings& settings, std::uint64_t steps) {
  if (!settings.is({"objective", "name"}, "l1-norm") || !settings.is({"noise", "name"}, "stable") ||
      settings.is_true({"noise", "state_dependent"}) ||
      !settings.is({"methods", "name"}, "smgd-l1") || !settings.is({"eta", "name"}, "horizon"))
    return {};
  const double root = std::sqrt(settings.number({"objective", "d"}));
  const theory::Lipschitz problem{
      .G = root,
      .D = root * std::abs(settings.number({"w0"})),
      .delta = 0,
      .sigma = noise_of(settings, false).sigma_1,
      .T = steps,
      .eta = settings.number({"eta", "value"}) / std::sqrt(static_cast<double>(steps))};
  return Proven{theory::bound(problem).bound, problem.G * problem.D};
}

// |.|_1 on R^d: G = sqrt(d); the target is standard normal, E|m_0 - m_*|^2 = d. The bound is linear
// in that.
std::optional<Proven> spp(const Settings& settings, std::uint64_t steps) {
  if (!settings.is({"objective", "name"}, "fixed-target") ||
      !settings.is({"methods", "name"}, "cclip") ||
      !settings.is({"methods", "tau", "name"}, "horizon"))
    return {};
  const double root = std::sqrt(settings.number({"objective", "d"}));
  const theory::ProximalPointRun run{
      .G = root,
      .distance = root,
      .T = steps,
      .tau = settings.number({"methods", "tau", "value"}) / std::sqrt(static_cast<double>(steps)),
      .n = {}};
  return Proven{theory::bound(run).bound, run.G * run.distance};
}

struct Part {
  std::string_view name, metric, title, axis;
  std::string_view what;  // in a claim
  std::optional<Proven> (*proven)(const Settings&, std::uint64_t steps);
};

constexpr Part kParts[] = {
    {"smooth", "final_average_gradient_sq", "Smooth: ½|w|², noise √(1+|w|²) ζ", "mean of |∇f|²",
     "on a smooth function the mean of |grad f|^2", smooth},
    {"lipschitz", "final_averaged_objective", "Lipschitz: |w|₁, averaged iterate", "f(w̄) − inf f",
     "on a convex Lipschitz function f at the averaged iterate", lipschitz},
    {"spp", "final_l1_excess", "SPP: averaged estimate, Cauchy noise", "E|m̄ − g|₁ − min",
     "the excess of the averaged estimate of the proximal point method", spp}};

// The slope of log y over log x by least squares.
double slope(const std::vector<double>& x, const std::vector<double>& y) {
  double mx = 0, my = 0, xy = 0, xx = 0;
  const double n = static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    mx += std::log(x[i]) / n;
    my += std::log(y[i]) / n;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (std::log(x[i]) - mx) * (std::log(y[i]) - my);
    xx += (std::log(x[i]) - mx) * (std::log(x[i]) - mx);
  }
  return xy / xx;
}

// Of one part, by T: the measured means, diverged runs being infinite, and what is proven.
struct Curve {
  std::vector<double> steps, measured, bound, start;
};

Claim stays_below(const Part& part, const Curve& curve) {
  double closest = 0;
  for (std::size_t i = 0; i < curve.steps.size(); ++i)
    closest = std::max(closest, curve.measured[i] / curve.bound[i]);
  return {std::string(part.what) + " stays below its bound", closest <= 1,
          fmt::format("at most {} of the bound.", show(closest))};
}

// A bound above the value at the start is kept by whoever stands still, so that its rate shows
// from there on only where it is below. The exponents of the theorems are for the worst function;
// on one of these a method may be faster.
Claim falls_as_fast(const Part& part, const Curve& curve) {
  constexpr double kSlack = 0.05;  // of the exponent, for the noise of the means
  Curve says;
  for (std::size_t i = 0; i < curve.steps.size(); ++i) {
    if (!(curve.bound[i] < curve.start[i])) continue;
    says.steps.push_back(curve.steps[i]);
    says.measured.push_back(curve.measured[i]);
    says.bound.push_back(curve.bound[i]);
  }
  const std::string claim = std::string(part.what) + " falls at least as fast as its bound";
  if (says.steps.size() < 2)
    return {claim, {}, "The bound is below the value at the start for fewer than two T."};
  const double measured = slope(says.steps, says.measured), bound = slope(says.steps, says.bound);
  return {claim, measured <= bound + kSlack,
          fmt::format("like T^{}, the bound like T^{}, from T = {} to {}, where the bound is below "
                      "the value at the start.",
                      show(measured), show(bound), to_text(says.steps.front()),
                      to_text(says.steps.back()))};
}

}  // namespace

void rates_findings(const Experiment& experiment, Results& r) {
  Figure figure{
      .id = "rates",
      .title = "Measured against proven, as the number of steps grows",
      .caption =
          "Every point is a set of runs with its own T and the step size the theorem asks "
          "for. The bound is about the mean.",
      .columns = 3};
  for (const Part& part : kParts) {
    const Settings settings(experiment.document, part.name);
    Curve curve;
    Series measured,
        bound{.name = "bound", .key = "bound", .style = SeriesStyle::dashed, .x = {}, .y = {}};
    for (const Group& group : r.groups) {
      if (group.metric != part.metric || group.axes.empty() ||
          to_text(group.axes.front().second) != part.name)
        continue;
      const Stats& s = group.last();
      const double steps = number_on(group.axes, "steps");
      measured.name = group.method;
      measured.key = group.key;
      add_point(measured, steps, s);
      std::optional<Proven> proven;
      try {
        if (steps >= 1) proven = part.proven(settings, static_cast<std::uint64_t>(steps));
      } catch (const Error&) {  // settings that the theorem does not allow
      }
      if (!proven) continue;
      curve.steps.push_back(steps);
      curve.measured.push_back(s.mean_of_all());
      curve.bound.push_back(proven->bound);
      curve.start.push_back(proven->start);
    }
    if (measured.x.size() < 2) {
      r.claims.push_back(undecided(std::string(part.what) + " stays below its bound"));
      continue;
    }
    Panel panel{.id = std::string(part.name),
                .title = std::string(part.title),
                .x = {.label = "T", .log = true},
                .y = {.label = std::string(part.axis), .log = true}};
    panel.series = {std::move(measured)};
    if (curve.steps.size() < 2) {
      r.claims.push_back(undecided(std::string(part.what) + " stays below its bound"));
      panel.note = "The theorem says nothing about these settings.";
    } else {
      r.claims.push_back(stays_below(part, curve));
      r.claims.push_back(falls_as_fast(part, curve));
      bound.x = curve.steps;
      bound.y = curve.bound;
      panel.series.push_back(std::move(bound));
    }
    figure.panels.push_back(std::move(panel));
  }
  if (!figure.panels.empty()) r.figures.push_back(std::move(figure));
}

}  // namespace medgrad::lab
