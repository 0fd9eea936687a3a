#include "core/sample/plan.h"

#include <algorithm>
#include <utility>

#include "core/sample/estimators.h"

namespace medgrad::estimators {
namespace {

template <class M>
concept HasF = requires(M m) {
  m.f;
};

// Rules with a plan of their own, whatever is before them.
template <class M>
concept Planned = requires(const M& m, const Points& p) {
  plan(m, p);
}
&&!std::is_same_v<M, Mean> && !std::is_same_v<M, SampleClippedMean>;
// Those that have one for points that are no longer the rows: for the rows there is a faster way.
template <class M>
concept PlannedMixed = requires(const M& m, const Points& p) {
  plan(m, p);
};

// Those that minimise a sum of distances.
template <class M>
concept Spatial = requires(const M& m, const Points& p) {
  plan_mixed(m, p);
};

template <class M>
constexpr bool kClips =
    std::is_same_v<M, CenteredClipping> || std::is_same_v<M, SampleClippedMean> ||
    std::is_same_v<M, Clip> || std::is_same_v<M, Arc>;
template <class M>
constexpr bool kByComponent = requires {
  M::by_component;
};

template <class Variant>
bool wants_f(const Variant& part) {
  return std::visit(
      []<class M>(const M& m) {
        if constexpr (HasF<M>) return m.f == kAutomatic;
        return false;
      },
      part);
}

// Gives every part without a number for f the one that was found.
template <class Variant>
void set_f(Variant& part, std::size_t f) {
  std::visit(
      [f]<class M>(M& m) {
        if constexpr (HasF<M>) m.f = m.f == kAutomatic ? f : m.f;
      },
      part);
}

template <class Variant>
std::size_t bears(const Variant& part, std::size_t n) {
  return std::visit(
      [n]<class M>(const M& m) {
        if constexpr (HasF<M>) return m.f == kAutomatic ? M::bears(n) : n;
        return n;
      },
      part);
}

bool wants_f(const Rule& rule) {
  return wants_f(rule.method) || std::any_of(rule.before.begin(), rule.before.end(),
                                             [](const auto& part) { return wants_f(part); });
}

// The rule with f = auto replaced by what the points say, and as many as all parts can bear.
std::size_t find_f(Rule& rule, const Points& points) {
  std::size_t f = count_outliers(points), n = points.size();
  for (const PreAggregator& part : rule.before) {
    f = std::min(f, bears(part, n));
    n = std::visit([n](const auto& p) { return p.rows_after(n); }, part);
  }
  f = std::min(f, bears(rule.method, n));
  for (PreAggregator& part : rule.before) set_f(part, f);
  set_f(rule.method, f);
  return f;
}

bool clips(const PreAggregator& part) {
  return std::visit([]<class M>(const M&) { return kClips<M>; }, part);
}
bool clips(const SampleMethod& method) {
  return std::visit([]<class M>(const M&) { return kClips<M>; }, method);
}
// Does a method, with something before it, work on inner products?
bool planned_mixed(const SampleMethod& method) {
  return std::visit([]<class M>(const M&) { return PlannedMixed<M> && !std::is_same_v<M, Mean>; },
                    method);
}
bool planned(const SampleMethod& method) {
  return std::visit([]<class M>(const M&) { return Planned<M>; }, method);
}

// The plan of the method, of n rows, is what was missing.
void finish_plan(const Plan& plan, Combination result, std::size_t n, RulePlan& made) {
  made.done = true;
  made.rows = {std::move(result)};
  made.info.iterations = plan.iterations;
  made.info.stop = plan.stop;
  made.certificate = plan.certificate;
  if (!made.own || plan.factors.empty()) return;
  made.cut.resize(n, 1.0);
  for (std::size_t k = 0; k < n; ++k) made.cut[k] *= plan.factors[k];
}
// The same for points that are made of them.
void finish_plan(const Plan& plan, const Points& points, std::size_t n, RulePlan& made) {
  finish_plan(plan, combination_of(points, plan.coefficients), n, made);
}

}  // namespace

bool by_component(const SampleMethod& method) {
  return std::visit([]<class M>(const M&) { return kByComponent<M>; }, method);
}

bool needs_gram(const Rule& rule) {
  const bool mixing = std::any_of(rule.before.begin(), rule.before.end(), [](const auto& part) {
    return !std::holds_alternative<Bucketing>(part);
  });
  const bool last = rule.before.empty() ? planned(rule.method) : planned_mixed(rule.method);
  return mixing || last || wants_f(rule);
}

bool needs_origin(const Rule& rule) {
  const bool last = clips(rule.method) && (planned(rule.method) || !rule.before.empty());
  return last || std::any_of(rule.before.begin(), rule.before.end(),
                             [](const PreAggregator& part) { return clips(part); });
}

RulePlan make_plan(const Rule& given, Points& points, std::span<const double> weights,
                   std::uint64_t round) {
  // What has to be left of distances that rules compare, and of lengths that they cut.
  constexpr double kCompared = 1e-8, kCut = 1e-3;
  Rule rule = given;
  const std::size_t n = points.size();
  RulePlan made;
  made.origin = points.gram().origin;
  made.method = rule.method;
  if (wants_f(rule)) {
    made.info.f = find_f(rule, points);
    made.method = rule.method;
    validate(rule, n);  // a subset rule may have too many to try
  }
  const auto write_rows = [&] {
    std::vector<double> one(points.all());
    for (std::size_t i = 0; i < points.size(); ++i) {
      one[i] = 1;
      made.rows.push_back(combination_of(points, one));
      one[i] = 0;
    }
  };
  for (std::size_t i = 0; i < rule.before.size(); ++i) {
    const PreAggregator& part = rule.before[i];
    const Mixing m = std::visit(
        [&](const auto& p) { return mixing(p, points, round + (std::uint64_t{i} << 32)); }, part);
    if (clips(part) && made.own) {
      made.cut.resize(n, 1.0);
      for (std::size_t k = 0; k < n; ++k) made.cut[k] *= m[k * points.all() + k];
    }
    made.own = made.own && clips(part);
    const Rule rest({rule.before.begin() + static_cast<std::ptrdiff_t>(i) + 1, rule.before.end()},
                    rule.method);
    const bool products = needs_gram(rest) || planned_mixed(rule.method);
    points.mix(m.size() / points.all(), m, products);
    made.mixed = true;
    if (!products || !points.measured()) continue;
    const bool cut = needs_origin(rest) || (clips(rule.method) && planned_mixed(rule.method));
    if (points.keeps_distances(kCompared) && (!cut || points.keeps_lengths(kCut))) continue;
    made.rest = rest;
    made.rest_round = round + (std::uint64_t{i + 1} << 32);
    write_rows();
    return made;
  }
  std::visit(
      [&]<class M>(const M& method) {
        const auto finish = [&](const Plan& plan) { finish_plan(plan, points, n, made); };
        const auto finish_if = [&](const std::optional<Plan>& plan) {
          if (plan) {
            finish(*plan);
          } else {
            made.rest = Rule(method);
          }
        };
        if constexpr (std::is_same_v<M, CenteredClipping>) {
          finish_if(plan(method, points, made.mixed ? std::span<const double>{} : weights));
        } else if constexpr (std::is_same_v<M, SampleClippedMean>) {
          if (made.mixed) finish_if(plan(method, points));
        } else if constexpr (Planned<M>) {
          finish(plan(method, points));
        } else if constexpr (PlannedMixed<M>) {
          if (made.mixed) finish(plan(method, points));
        } else if constexpr (Spatial<M>) {
          if (!made.mixed || points.row_products().empty()) return;
          if (const std::optional<Plan> found = plan_mixed(method, points)) finish(*found);
        }
      },
      rule.method);
  if (made.mixed && !made.done) write_rows();
  return made;
}

template <Real T>
RulePlan plan_rule(const Rule& rule, const Input<T>& input, std::uint64_t round) {
  if (clips_directly(rule, input.n, input.whole())) {
    RulePlan made;
    const auto& method = std::get<CenteredClipping>(rule.method);
    if (const auto found = clip_directly(method, input, made.finite)) {
      made.origin = true;
      made.method = rule.method;
      finish_plan(*found, {.coefficients = found->coefficients, .scales = {}, .anchor = input.n},
                  input.n, made);
      return made;
    }
  }
  Gram gram;
  gram.points = input.n;
  if (needs_gram(rule)) gram = gram_of(input, needs_origin(rule));
  const bool finite = !gram.g.empty() && gram.seen.nan == 0 && gram.seen.inf == 0;
  Points points(std::move(gram), input.pool);
  RulePlan made = make_plan(rule, points, input.weights, round);
  made.finite = finite;
  if (!made.rest) return made;
  if (!made.mixed) {
    const auto& method = std::get<CenteredClipping>(made.method);
    finish_plan(clip_rows(method, points, input), points, input.n, made);
    return made;
  }
  Count seen;
  const std::vector<T> rows = mixed_rows(made, input, seen);
  auto then = plan_rule(*made.rest, input_of_mixed<T>(made, input, rows), made.rest_round);
  for (std::size_t k = 0; k < then.cut.size() && made.own; ++k) {
    made.cut.resize(input.n, 1.0);
    made.cut[k] *= then.cut[k];
  }
  made.then = std::make_shared<const RulePlan>(std::move(then));
  return made;
}

template RulePlan plan_rule(const Rule&, const Input<float>&, std::uint64_t);
template RulePlan plan_rule(const Rule&, const Input<double>&, std::uint64_t);

}  // namespace medgrad::estimators

namespace medgrad {

bool takes_center(const Rule& rule) {
  return estimators::clips(rule.method) ||
         std::any_of(rule.before.begin(), rule.before.end(),
                     [](const PreAggregator& part) { return estimators::clips(part); });
}

bool keeps_center(const Rule& rule) {
  return std::holds_alternative<CenteredClipping>(rule.method);
}

}  // namespace medgrad
