// What became of the rows: their distances to the result, their shares of it, what was not finite.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/sample/estimators.h"
#include "core/sample/norms.h"
#include "core/sample/plan.h"

namespace medgrad::estimators {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// |x_i - c| for the rows of the input.
struct Distances {
  std::vector<double> r;
  bool missing = false;    // is any entry NaN, here or elsewhere?
  bool all_finite = true;  // of those that are here
};

// Missing entries count as those of `fill`, null for the medians of what their columns have.
template <Real T>
Distances distances_to(const Input<T>& input, const T* c, const T* fill) {
  Norms norms = row_norms(input, c, fill);
  std::vector<double> r = std::move(norms.scaled);
  for (std::size_t i = 0; i < r.size() && !norms.scales.empty(); ++i) r[i] /= norms.scales[i];
  for (double& x : r) x = std::min(x, std::numeric_limits<double>::max());
  return {std::move(r), norms.missing, norms.seen.nan + norms.seen.inf == 0};
}

// The rows of the caller that every row of an input is made of.
using Members = std::vector<std::vector<std::size_t>>;

// ---- Estimators that take each column by itself -------------------------------------------------

// The weights of the m entries of one column, given their order (by value, then by row).
struct Column {
  std::span<const double> values, weights;
  std::span<const std::size_t> order;  // of the entries
  std::span<double> share;
};

void share_column(const Mean&, Column& c) {
  const double total = std::accumulate(c.weights.begin(), c.weights.end(), 0.0);
  for (std::size_t i = 0; i < c.share.size(); ++i) c.share[i] = c.weights[i] / total;
}

// The lower and the upper weighted median, half each.
void share_column(const Median&, Column& c) {
  const double half = std::accumulate(c.weights.begin(), c.weights.end(), 0.0) / 2;
  constexpr double kSlack = 1e-12;
  double below = 0;
  bool lower = true;
  for (const std::size_t i : c.order) {
    below += c.weights[i];
    if (lower && below >= half * (1 - kSlack)) {
      c.share[i] += 0.5;
      lower = false;
    }
    if (below > half * (1 + kSlack)) {
      c.share[i] += 0.5;
      return;
    }
  }
}

void share_column(const TrimmedMean& rule, Column& c) {
  const std::size_t n = c.share.size(), f = std::min(rule.f, (n - 1) / 2);
  for (std::size_t k = f; k < n - f; ++k) c.share[c.order[k]] = 1 / static_cast<double>(n - 2 * f);
}

void share_column(const MeaMed& rule, Column& c) {
  const std::size_t n = c.share.size(), kept = n - std::min(rule.f, (n - 1) / 2);
  const double lower = c.values[c.order[(n - 1) / 2]], upper = c.values[c.order[n / 2]];
  const auto distance = [&](std::size_t i) {
    return std::max(lower - c.values[i], c.values[i] - upper);
  };
  std::vector<std::size_t> near(n);
  std::iota(near.begin(), near.end(), std::size_t{0});
  std::stable_sort(near.begin(), near.end(),
                   [&](std::size_t a, std::size_t b) { return distance(a) < distance(b); });
  for (std::size_t k = 0; k < kept; ++k) c.share[near[k]] = 1 / static_cast<double>(kept);
}

// Sums over columns, chunk by chunk: weights of the rows of the input, and for the rows of the
// caller in how many columns one is kept that they are in.
template <Real T, class M>
Shares share_columns(const M& method, const Input<T>& input, const Members& members,
                     std::size_t all_rows) {
  const std::size_t n = input.n, each = n + all_rows, all_chunks = chunks_of(input).count;
  std::vector<double> sums(all_chunks * each);
  for_each(input.pool, chunks_here(input), [&](std::size_t c) {
    const ChunkHere chunk = chunk_here(input, c);
    std::vector<double> values(n), weights(n), share(n);
    std::vector<std::size_t> order(n), row(n);
    std::vector<std::size_t> last(all_rows);  // the last column in which it was kept, from 1
    double* const sum = sums.data() + chunk.number * each;
    const auto keep = [&](std::size_t i, std::size_t column) {
      sum[n + i] += last[i] == column + 1 ? 0 : 1;
      last[i] = column + 1;
    };
    for (std::size_t j = chunk.begin; j < chunk.end; ++j) {
      std::size_t m = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (std::isnan(input.rows[i][j])) continue;
        values[m] = static_cast<double>(clamp_to_finite(input.rows[i][j]));
        weights[m] = input.weights[i];
        share[m] = 0;
        row[m] = i;
        order[m] = m;
        ++m;
      }
      std::stable_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(m),
                       [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
      Column column{std::span(values).first(m), std::span(weights).first(m),
                    std::span(order).first(m), std::span(share).first(m)};
      share_column(method, column);
      for (std::size_t k = 0; k < m; ++k) {
        sum[row[k]] += share[k];
        if (!(share[k] > 0)) continue;
        for (const std::size_t i : members[row[k]]) keep(i, j);
      }
    }
  });
  share(input, sums.data(), each);
  const auto d = static_cast<double>(input.whole());
  Shares all{std::vector<double>(n), std::vector<double>(all_rows)};
  for (std::size_t chunk = 0; chunk < all_chunks; ++chunk) {
    const double* const sum = sums.data() + chunk * each;
    for (std::size_t i = 0; i < n; ++i) all.weight[i] += sum[i] / d;
    for (std::size_t i = 0; i < all_rows; ++i) all.kept[i] += sum[n + i] / d;
  }
  return all;
}

// ---- Estimators that take rows as vectors -------------------------------------------------------

// Where sum omega_i phi(r_i) (x_i - m) = 0, the weights are omega_i phi(r_i), adding up to 1; a row
// at which the result is has all of it.
template <class Phi>
std::vector<double> share_by_distance(std::span<const double> weights, std::span<const double> r,
                                      bool at_row, const Phi& phi) {
  const std::size_t n = r.size();
  std::vector<double> share(n);
  const bool here = at_row && std::find(r.begin(), r.end(), 0.0) != r.end();
  for (std::size_t i = 0; i < n; ++i)
    share[i] = here ? (r[i] == 0 ? weights[i] : 0) : weights[i] * phi(r[i]);
  const double total = std::accumulate(share.begin(), share.end(), 0.0);
  for (double& x : share) x /= total;
  return share;
}

// NaN where there is no such thing. `known`: the distances to the result, missing entries filled in
// from it, or null.
template <Real T, class M>
std::vector<double> weights_by_row(const M& method, const Input<T>& input, std::span<const T> out,
                                   const Distances* known) {
  // As the estimators see it, a missing entry is the median of what its column has.
  const auto by_distance = [&](bool at_row, const auto& phi) {
    if (known != nullptr && !known->missing)
      return share_by_distance(input.weights, known->r, at_row, phi);
    const Distances to_result = distances_to(input, out.data(), static_cast<const T*>(nullptr));
    return share_by_distance(input.weights, to_result.r, at_row, phi);
  };
  // 1/r, without overflow: a row nearer than 1e-300 has all the weight anyway.
  const auto pull = [](double r) { return 1 / std::max(r, 1e-300); };
  if constexpr (std::is_same_v<M, GeometricMedian>) {
    return by_distance(true, pull);
  } else if constexpr (std::is_same_v<M, HuberLocation>) {
    return by_distance(false, [mu = method.mu](double r) { return r > mu ? mu / r : 1.0; });
  } else if constexpr (std::is_same_v<M, SampleClippedMean>) {
    const std::vector<T> zero(input.center.empty() ? input.d : 0);
    const T* const centre = input.center.empty() ? zero.data() : input.center.data();
    std::vector<double> share = distances_to(input, centre, centre).r;
    for (std::size_t i = 0; i < input.n; ++i)
      share[i] =
          input.weights[i] / input.total * (share[i] > method.clip ? method.clip / share[i] : 1.0);
    return share;
  } else {
    if constexpr (std::is_same_v<M, LpMedian>) {
      if (method.p == 2) return by_distance(true, pull);
    }
    return std::vector<double>(input.n, kNone);
  }
}

// ---- All together -------------------------------------------------------------------------------

// The coefficients of the rows in a combination.
double coefficient(const Combination& c, std::size_t k) {
  return c.scales.empty() ? c.coefficients[k] : c.coefficients[k] * c.scales[k];
}

// Rows of the caller have a part where a row has that they are in.
std::vector<double> kept_of(std::span<const double> weights, const Members& members,
                            std::size_t all_rows) {
  std::vector<double> kept(all_rows);
  for (std::size_t k = 0; k < weights.size(); ++k) {
    for (const std::size_t i : members[k])
      if (weights[k] != 0) kept[i] = std::isnan(weights[k]) ? kNone : 1;
  }
  return kept;
}

Members each_by_itself(std::size_t n) {
  Members members(n);
  for (std::size_t i = 0; i < n; ++i) members[i] = {i};
  return members;
}

Members members_of(const RulePlan& plan, const Members& members) {
  Members made(plan.rows.size());
  for (std::size_t k = 0; k < made.size(); ++k) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (coefficient(plan.rows[k], i) != 0)
        made[k].insert(made[k].end(), members[i].begin(), members[i].end());
    }
  }
  return made;
}

// Of an estimator by itself. `parts` are the rows of the caller that those of the input are made
// of.
template <Real T, class M>
Shares shares_in(const M& method, const Input<T>& input, std::span<const T> out,
                 const Members& parts, std::size_t all_rows, const Distances* known) {
  if constexpr (requires(Column & c) { share_column(method, c); }) {
    return share_columns(method, input, parts, all_rows);
  } else if constexpr (std::is_same_v<M, MedianOfMeans>) {
    // The weight of a block, shared evenly by its rows.
    const BlockMeans<T> made = block_means(method.blocks, input);
    Members of_blocks(made.blocks);
    for (std::size_t b = 0; b < made.blocks; ++b) {
      for (std::size_t i = made.first(b, input.n); i < made.first(b + 1, input.n); ++i)
        of_blocks[b].insert(of_blocks[b].end(), parts[i].begin(), parts[i].end());
    }
    Shares shares = shares_in(LpMedian{.p = method.p}, made.input_like(input), out, of_blocks,
                              all_rows, nullptr);
    const std::vector<double> blocks = std::move(shares.weight);
    shares.weight.resize(input.n);
    for (std::size_t b = 0; b < made.blocks; ++b) {
      const std::size_t first = made.first(b, input.n), end = made.first(b + 1, input.n);
      for (std::size_t i = first; i < end; ++i)
        shares.weight[i] = blocks[b] / static_cast<double>(end - first);
    }
    return shares;
  } else {
    if constexpr (std::is_same_v<M, LpMedian>) {
      if (method.p == 1) return share_columns(Median{}, input, parts, all_rows);
    }
    std::vector<double> weights = weights_by_row(method, input, out, known);
    std::vector<double> kept = kept_of(weights, parts, all_rows);
    return {std::move(weights), std::move(kept)};
  }
}

// Weights of the rows of the input, and what is kept of those of the caller. `known` as above.
template <Real T>
Shares shares_of(const RulePlan& plan, const Input<T>& input, std::span<const T> out,
                 const Members& members, std::size_t all_rows, const Distances* known) {
  const std::size_t n = input.n;
  const auto visit = [&](const Input<T>& rows, const Members& parts, const Distances* to_result) {
    return std::visit(
        [&](const auto& method) {
          return shares_in(method, rows, out, parts, all_rows, to_result);
        },
        plan.method);
  };
  if (!plan.mixed && !plan.done) return visit(input, members, known);
  Shares of_mixed{{1}, {}};
  if (!plan.done) {
    Count seen;
    const std::vector<T> copy = mixed_rows(plan, input, seen);
    Input<T> mixed = unweighted<T>(plan.rows.size(), input.d, copy.data(), input.d);
    mixed.center = input.center;
    mixed.pool = input.pool;
    mixed.part = input.part;
    const Members parts = members_of(plan, members);
    of_mixed = plan.then ? shares_of(*plan.then, mixed, out, parts, all_rows, nullptr)
                         : visit(mixed, parts, nullptr);
  }
  Shares all{std::vector<double>(n), std::move(of_mixed.kept)};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < plan.rows.size(); ++k)
      all.weight[i] += of_mixed.weight[k] * coefficient(plan.rows[k], i);
  }
  if (plan.done) all.kept = kept_of(all.weight, members, all_rows);
  return all;
}

}  // namespace

template <Real T>
Shares row_shares(const RulePlan& plan, const Input<T>& input, std::span<const T> out) {
  return shares_of(plan, input, out, each_by_itself(input.n), input.n, nullptr);
}

template <Real T>
std::vector<RowReport> report_rows(const RulePlan& plan, const Input<T>& input,
                                   std::span<const T> out) {
  const std::size_t n = input.n;
  const Distances to_result = distances_to(input, out.data(), out.data());
  const Shares shares = shares_of(plan, input, out, each_by_itself(n), n, &to_result);
  std::vector<RowReport> report(n);
  for (std::size_t i = 0; i < n; ++i) {
    RowReport& one = report[input.order.empty() ? i : input.order[i]];
    one.distance = to_result.r[i];
    one.weight = shares.weight[i];
    one.kept = shares.kept[i];
    if (!plan.cut.empty()) one.cut = plan.cut[i];
    if (const auto* clipped = std::get_if<SampleClippedMean>(&plan.method);
        clipped != nullptr && !plan.mixed)
      one.cut = shares.weight[i] / (input.weights[i] / input.total);
    for (std::size_t j = 0; j < input.d && !to_result.all_finite; ++j) {
      if (std::isnan(input.rows[i][j])) ++one.nan;
      if (std::isinf(input.rows[i][j])) ++one.inf;
    }
  }
  return report;
}

template Shares row_shares(const RulePlan&, const Input<float>&, std::span<const float>);
template Shares row_shares(const RulePlan&, const Input<double>&, std::span<const double>);
template std::vector<RowReport> report_rows(const RulePlan&, const Input<float>&,
                                            std::span<const float>);
template std::vector<RowReport> report_rows(const RulePlan&, const Input<double>&,
                                            std::span<const double>);

}  // namespace medgrad::estimators
