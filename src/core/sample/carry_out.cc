// Plans carried out: combinations of rows, column by column.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/sample/distinct.h"
#include "core/sample/estimators.h"
#include "core/sample/plan.h"
#include "kernels/combine.h"
#include "kernels/simd.h"

namespace medgrad::estimators {
namespace {

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
    double sum[kDirectStep];
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
  T zero_[kDirectStep] = {};
  double lost_[kernels::kLanes] = {};
};

// Writes the result; `lost` gets, for every piece of a chunk, the square of how far rounding moved
// it.
template <Real T>
Count write_result(const RulePlan& plan, const Input<T>& input, std::span<T> out,
                   std::vector<double>& lost) {
  const std::size_t pieces = pieces_of_chunks(input);
  lost.assign(chunks_of(input).count * pieces, 0.0);
  const auto chunk = [&](std::size_t c, auto&& walk) {
    Combiner<T> combiner(input, plan.origin);
    walk([&](Block<T>& block, std::size_t begin, std::size_t) {
      combiner.load(block, begin);
      combiner.write(plan.rows.front(), block.count(), &out[begin]);
    });
    lost[c] = combiner.lost();
  };
  return for_each_chunk(input, static_cast<const T*>(nullptr), chunk, plan.finite, pieces);
}

// What the certificate says of the result as it is written.
template <Real T>
void certify(const RulePlan& plan, const Input<T>& input, std::vector<double>& lost,
             SampleInfo& info) {
  const Certificate& c = *plan.certificate;
  share(input, lost.data(), pieces_of_chunks(input));
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

// What mixed rows inherit from those that they are made of.
template <Real T>
void prepare_mixed(const RulePlan& plan, const Input<T>& input, Input<T>& mixed) {
  mixed.center = input.center;
  mixed.pool = input.pool;
  mixed.part = input.part;
  mixed.objective = input.objective;
  if ((!plan.rest || plan.rest->before.empty()) && ignores_order(plan.method)) sort_rows(mixed);
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

// Estimators that need all of every row, and what is done to mixed rows as if they were data.
template <Real T, class Estimate>
SampleInfo estimate_copied(const RulePlan& plan, const Input<T>& input, Estimate&& estimate) {
  Count seen;
  const Distinct kinds = distinct_combinations(plan);
  const std::vector<T> copy = write_kinds(plan, kinds, input, seen);
  Input<T> mixed = input_of<T>(kinds, input.d, copy.data(), input.d);
  prepare_mixed(plan, input, mixed);
  SampleInfo info = estimate(mixed);
  info.nan = seen.nan;
  info.inf = seen.inf;
  info.f = plan.info.f;
  return info;
}

}  // namespace

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
Input<T> input_of_mixed(const RulePlan& plan, const Input<T>& input, std::span<const T> rows) {
  Input<T> mixed = unweighted<T>(plan.rows.size(), input.d, rows.data(), input.d);
  prepare_mixed(plan, input, mixed);
  return mixed;
}

template <Real T>
void write_combination(const Combination& c, bool origin, const Input<T>& input, std::span<T> out) {
  RulePlan plan;
  plan.origin = origin;
  plan.rows = {c};
  std::vector<double> unused;
  write_result(plan, input, out, unused);
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
  if (plan.then)
    return estimate_copied(
        plan, input, [&](const Input<T>& mixed) { return carry_out(*plan.then, mixed, out); });
  return std::visit(
      [&]<class M>(const M& method) {
        if (!plan.mixed) {
          SampleInfo info = method.estimate(input, out);
          info.f = plan.info.f;
          return info;
        }
        if constexpr (requires { M::by_component; }) {
          return estimate_by_component(method, plan, input, out);
        } else {
          return estimate_copied(
              plan, input, [&](const Input<T>& mixed) { return method.estimate(mixed, out); });
        }
      },
      plan.method);
}

template <Real T>
SampleInfo run_rule(const Rule& rule, const Input<T>& input, std::span<T> out, std::uint64_t round,
                    std::vector<RowReport>* report) {
  // An estimator of the rows themselves needs no plan, and small ones would take longer to plan
  // than to find.
  if (report == nullptr && rule.before.empty() && !needs_gram(rule))
    return std::visit([&](const auto& method) { return method.estimate(input, out); }, rule.method);
  const KeptMatrices kept;
  const RulePlan plan = plan_rule(rule, input, round);
  const SampleInfo info = carry_out(plan, input, out);
  if (report != nullptr) *report = report_rows<T>(plan, input, out);
  return info;
}

template Input<float> input_of_mixed(const RulePlan&, const Input<float>&, std::span<const float>);
template Input<double> input_of_mixed(const RulePlan&, const Input<double>&,
                                      std::span<const double>);
template void write_combination(const Combination&, bool, const Input<float>&, std::span<float>);
template void write_combination(const Combination&, bool, const Input<double>&, std::span<double>);
template std::vector<float> mixed_rows(const RulePlan&, const Input<float>&, Count&);
template std::vector<double> mixed_rows(const RulePlan&, const Input<double>&, Count&);
template SampleInfo carry_out(const RulePlan&, const Input<float>&, std::span<float>);
template SampleInfo carry_out(const RulePlan&, const Input<double>&, std::span<double>);
template SampleInfo run_rule(const Rule&, const Input<float>&, std::span<float>, std::uint64_t,
                             std::vector<RowReport>*);
template SampleInfo run_rule(const Rule&, const Input<double>&, std::span<double>, std::uint64_t,
                             std::vector<RowReport>*);

}  // namespace medgrad::estimators
