#include "core/sample/plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/sample/distinct.h"
#include "core/sample/estimators.h"
#include "kernels/gram.h"
#include "kernels/simd.h"

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

// Writes combinations of the rows, a block of columns at a time.
template <Real T>
class Combiner {
 public:
  Combiner(const Input<T>& input, bool origin)
      : input_(&input), origin_(origin), rows_(input.n + (origin ? 1 : 0)) {}

  void load(const Block<T>& block, std::size_t begin) {
    std::copy_n(block.rows(), input_->n, rows_.begin());
    if (origin_) rows_[input_->n] = origin(begin);
  }
  void write(const Combination& c, std::size_t count, T* out) {
    if (is_row(c)) {
      std::copy_n(rows_[c.anchor], count, out);
      return;
    }
    double sum[kBlock];
    kernels::combine<T>(rows_.data(), rows_.size(), count,
                        c.anchor == Combination::kNone ? nullptr : rows_[c.anchor],
                        c.coefficients.data(), c.scales.empty() ? nullptr : c.scales.data(), sum,
                        out, lost_);
    clamp_all(out, count);
  }
  // The square of how far rounding to T moved what was written.
  [[nodiscard]] double lost() const { return kernels::sum_lanes(lost_); }

 private:
  // Is it one row, and nothing of the others?
  [[nodiscard]] static bool is_row(const Combination& c) {
    if (c.anchor == Combination::kNone) return false;
    const auto& k = c.coefficients;
    return std::count(k.begin(), k.end(), 0.0) + (k[c.anchor] != 0) ==
           static_cast<std::ptrdiff_t>(k.size());
  }
  [[nodiscard]] const T* origin(std::size_t begin) const {
    return input_->center.empty() ? zero_ : input_->center.data() + begin;
  }

  const Input<T>* input_;
  bool origin_;
  SmallVector<const T*, 16> rows_;
  T zero_[kBlock] = {};
  double lost_[kernels::kLanes] = {};
};

// Writes the result; `lost` gets, chunk by chunk, the square of how far rounding moved it.
template <Real T>
Count write_result(const RulePlan& plan, const Input<T>& input, std::span<T> out,
                   std::vector<double>& lost) {
  lost.assign(chunks_of(input).count, 0.0);
  const auto chunk = [&](std::size_t c, auto&& walk) {
    Combiner<T> combiner(input, plan.origin);
    walk([&](Block<T>& block, std::size_t begin, std::size_t) {
      combiner.load(block, begin);
      combiner.write(plan.rows.front(), block.count(), &out[begin]);
    });
    lost[c] = combiner.lost();
  };
  return for_each_chunk(input, static_cast<const T*>(nullptr), chunk, plan.finite);
}

// What the certificate says of the result as it is written.
template <Real T>
void certify(const RulePlan& plan, const Input<T>& input, std::vector<double>& lost,
             SampleInfo& info) {
  const Certificate& c = *plan.certificate;
  share(input, lost.data(), 1);
  const double moved = std::sqrt(std::accumulate(lost.begin(), lost.end(), 0.0));
  info.objective = c.objective;
  info.gap = info.stop == Stop::data_point
                 ? 0
                 : gap_of(c.value + c.slope * std::ldexp(moved, -c.exponent), c.bound, input.n);
  info.stop = reason(info.stop, info.gap, c.tolerance);
}

// Combinations of a plan that are equal are the same row, and written once. (Anchor and scales
// follow from the coefficients.)
Distinct distinct_combinations(const RulePlan& plan) {
  const std::size_t n = plan.rows.size(), k = n == 0 ? 0 : plan.rows.front().coefficients.size();
  std::vector<double> all;
  all.reserve(n * k);
  for (const Combination& c : plan.rows)
    all.insert(all.end(), c.coefficients.begin(), c.coefficients.end());
  return distinct_rows(all, n, k);
}

// The mixed rows by themselves, as input of an estimator: those of every kind, `stride` apart.
template <Real T>
Input<T> input_of(const Distinct& kinds, std::size_t d, const T* rows, std::size_t stride) {
  Input<T> mixed = unweighted<T>(kinds.of.size(), d, rows, stride);
  for (std::size_t i = 0; i < mixed.n; ++i) mixed.rows[i] = rows + kinds.of[i] * stride;
  return mixed;
}

template <Real T, class M>
SampleInfo estimate_by_component(const M& method, const RulePlan& plan, const Input<T>& input,
                                 std::span<T> out) {
  const Distinct kinds = distinct_combinations(plan);
  const std::size_t n = kinds.first.size();
  // Enough columns at once to be worth the estimator's preparations, in the second-level cache.
  const std::size_t fits = (std::size_t{1} << 18) / (n * sizeof(T)) / kBlock * kBlock;
  const std::size_t width = std::clamp<std::size_t>(fits, kBlock, 16 * kBlock);
  const Chunks chunks = chunks_for(input.d);
  std::vector<Count> seen(chunks.count);
  for_each(input.pool, chunks.count, [&](std::size_t c) {
    Block<T> block(input);
    Combiner<T> combiner(input, plan.origin);
    std::vector<T> tile(n * width);
    for (std::size_t begin = chunks.begin(c); begin < chunks.end(c); begin += width) {
      const std::size_t end = std::min(begin + width, chunks.end(c));
      for (std::size_t at = begin; at < end; at += kBlock) {
        block.load(at, std::min(at + kBlock, end));
        combiner.load(block, at);
        for (std::size_t i = 0; i < n; ++i)
          combiner.write(plan.rows[kinds.first[i]], block.count(),
                         tile.data() + i * width + (at - begin));
      }
      (void)method.estimate(input_of<T>(kinds, end - begin, tile.data(), width),
                            out.subspan(begin, end - begin));
    }
    seen[c] = block.seen();
  });
  SampleInfo info = plan.info;
  for (const Count& one : seen) {
    info.nan += one.nan;
    info.inf += one.inf;
  }
  return info;
}

// One row of every kind, written down.
template <Real T>
std::vector<T> write_kinds(const RulePlan& plan, const Distinct& kinds, const Input<T>& input,
                           Count& seen) {
  const std::size_t n = kinds.first.size(), d = input.d;
  std::vector<T> copy(n * d);
  seen = for_each_chunk(input, static_cast<const T*>(nullptr), [&](std::size_t, auto&& walk) {
    Combiner<T> combiner(input, plan.origin);
    walk([&](Block<T>& block, std::size_t begin, std::size_t) {
      combiner.load(block, begin);
      for (std::size_t i = 0; i < n; ++i)
        combiner.write(plan.rows[kinds.first[i]], block.count(), copy.data() + i * d + begin);
    });
  });
  return copy;
}

// Estimators that need all of every row.
template <Real T, class M>
SampleInfo estimate_copied(const M& method, const RulePlan& plan, const Input<T>& input,
                           std::span<T> out) {
  Count seen;
  const Distinct kinds = distinct_combinations(plan);
  const std::vector<T> copy = write_kinds(plan, kinds, input, seen);
  Input<T> mixed = input_of<T>(kinds, input.d, copy.data(), input.d);
  mixed.center = input.center;
  mixed.pool = input.pool;
  mixed.part = input.part;
  mixed.objective = input.objective;
  if (ignores_order(SampleMethod(method))) sort_rows(mixed);
  SampleInfo info = method.estimate(mixed, out);
  info.nan = seen.nan;
  info.inf = seen.inf;
  info.f = plan.info.f;
  return info;
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

RulePlan make_plan(const Rule& given, std::size_t n, Gram gram, std::span<const double> weights,
                   std::uint64_t round) {
  Rule rule = given;
  RulePlan made;
  made.origin = gram.origin;
  if (gram.points == 0) gram.points = n;
  Points points(std::move(gram));
  if (wants_f(rule)) {
    made.info.f = find_f(rule, points);
    validate(rule, n);  // a subset rule may have too many to try
  }
  bool own = true;  // is a point still made of one row alone?
  for (std::size_t i = 0; i < rule.before.size(); ++i) {
    const Rule rest({rule.before.begin() + static_cast<std::ptrdiff_t>(i) + 1, rule.before.end()},
                    rule.method);
    const bool products = needs_gram(rest) || planned_mixed(rule.method);
    std::visit(
        [&](const auto& part) {
          const std::size_t after = part.rows_after(points.size());
          const Mixing m = mixing(part, points, round + (std::uint64_t{i} << 32));
          if (clips(rule.before[i]) && own) {
            made.cut.resize(n, 1.0);
            for (std::size_t k = 0; k < n; ++k) made.cut[k] *= m[k * points.all() + k];
          }
          points.mix(after, m, products);
        },
        rule.before[i]);
    own = own && clips(rule.before[i]);
    made.mixed = true;
  }
  std::visit(
      [&]<class M>(const M& method) {
        const auto finish = [&](const Plan& plan) {
          made.done = true;
          made.rows = {combination_of(points, plan.coefficients)};
          made.info.iterations = plan.iterations;
          made.info.stop = plan.stop;
          made.certificate = plan.certificate;
          if (own && !plan.factors.empty()) {
            made.cut.resize(n, 1.0);
            for (std::size_t k = 0; k < n; ++k) made.cut[k] *= plan.factors[k];
          }
        };
        if constexpr (std::is_same_v<M, CenteredClipping>) {
          finish(plan(method, points, made.mixed ? std::span<const double>{} : weights));
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
  if (made.mixed && !made.done) {
    std::vector<double> one(points.all());
    for (std::size_t i = 0; i < points.size(); ++i) {
      one[i] = 1;
      made.rows.push_back(combination_of(points, one));
      one[i] = 0;
    }
  }
  made.method = rule.method;
  return made;
}

template <Real T>
std::vector<T> mixed_rows(const RulePlan& plan, const Input<T>& input, Count& seen) {
  const Distinct kinds = distinct_combinations(plan);
  const std::vector<T> written = write_kinds(plan, kinds, input, seen);
  std::vector<T> rows(plan.rows.size() * input.d);
  for (std::size_t i = 0; i < plan.rows.size(); ++i)
    std::copy_n(written.data() + kinds.of[i] * input.d, input.d, rows.data() + i * input.d);
  return rows;
}

template <Real T>
SampleInfo carry_out(const RulePlan& plan, const Input<T>& input, std::span<T> out) {
  if (plan.done) {
    SampleInfo info = plan.info;
    std::vector<double> lost;
    const Count seen = write_result(plan, input, out, lost);
    info.nan = seen.nan;
    info.inf = seen.inf;
    if (plan.certificate) certify(plan, input, lost, info);
    return info;
  }
  return std::visit(
      [&]<class M>(const M& method) {
        if (!plan.mixed) {
          SampleInfo info = method.estimate(input, out);
          info.f = plan.info.f;
          return info;
        }
        if constexpr (kByComponent<M>) {
          return estimate_by_component(method, plan, input, out);
        } else {
          return estimate_copied(method, plan, input, out);
        }
      },
      plan.method);
}

template <Real T>
SampleInfo run_rule(const Rule& rule, const Input<T>& input, std::span<T> out, std::uint64_t round,
                    std::vector<RowReport>* report) {
  Gram gram;
  if (needs_gram(rule)) gram = gram_of(input, needs_origin(rule));
  const bool finite = !gram.g.empty() && gram.seen.nan == 0 && gram.seen.inf == 0;
  RulePlan plan = make_plan(rule, input.n, std::move(gram), input.weights, round);
  plan.finite = finite;
  const SampleInfo info = carry_out(plan, input, out);
  if (report != nullptr) *report = report_rows<T>(plan, input, out);
  return info;
}

template std::vector<float> mixed_rows(const RulePlan&, const Input<float>&, Count&);
template std::vector<double> mixed_rows(const RulePlan&, const Input<double>&, Count&);
template SampleInfo carry_out(const RulePlan&, const Input<float>&, std::span<float>);
template SampleInfo carry_out(const RulePlan&, const Input<double>&, std::span<double>);
template SampleInfo run_rule(const Rule&, const Input<float>&, std::span<float>, std::uint64_t,
                             std::vector<RowReport>*);
template SampleInfo run_rule(const Rule&, const Input<double>&, std::span<double>, std::uint64_t,
                             std::vector<RowReport>*);

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
