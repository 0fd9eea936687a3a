// What became of the rows: their distances to the result, their shares of it, what was not finite.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/sample/norms.h"
#include "core/sample/plan.h"

namespace medgrad::estimators {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// |x_i - c| for the rows of the input; missing entries count as c.
template <Real T>
std::vector<double> distances_to(const Input<T>& input, const T* c) {
  const Norms norms = row_norms(input, c, c);
  std::vector<double> r = norms.scaled;
  for (std::size_t i = 0; i < r.size() && !norms.scales.empty(); ++i) r[i] /= norms.scales[i];
  for (double& x : r) x = std::min(x, std::numeric_limits<double>::max());
  return r;
}

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
  const double middle = std::midpoint(c.values[c.order[(n - 1) / 2]], c.values[c.order[n / 2]]);
  std::vector<std::size_t> near(n);
  std::iota(near.begin(), near.end(), std::size_t{0});
  std::stable_sort(near.begin(), near.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(c.values[a] - middle) < std::abs(c.values[b] - middle);
  });
  for (std::size_t k = 0; k < kept; ++k) c.share[near[k]] = 1 / static_cast<double>(kept);
}

// Sums over columns, chunk by chunk.
template <Real T, class M>
Shares share_columns(const M& method, const Input<T>& input) {
  need_all_columns(input);
  const std::size_t n = input.n;
  const Chunks chunks = chunks_for(input.d);
  std::vector<double> sums(chunks.count * 2 * n);
  for_each(input.pool, chunks.count, [&](std::size_t chunk) {
    std::vector<double> values(n), weights(n), share(n);
    std::vector<std::size_t> order(n), row(n);
    double* const sum = sums.data() + chunk * 2 * n;
    for (std::size_t j = chunks.begin(chunk); j < chunks.end(chunk); ++j) {
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
        sum[n + row[k]] += share[k] > 0 ? 1 : 0;
      }
    }
  });
  Shares all{std::vector<double>(n), std::vector<double>(n)};
  for (std::size_t chunk = 0; chunk < chunks.count; ++chunk) {
    for (std::size_t i = 0; i < n; ++i) {
      all.weight[i] += sums[chunk * 2 * n + i] / static_cast<double>(input.d);
      all.kept[i] += sums[chunk * 2 * n + n + i] / static_cast<double>(input.d);
    }
  }
  return all;
}

// ---- Estimators that take rows as vectors -------------------------------------------------------

// Where sum omega_i phi(r_i) (x_i - m) = 0, the weights are omega_i phi(r_i), adding up to 1; a row
// at which the result is has all of it.
template <class Phi>
Shares share_by_distance(std::span<const double> weights, std::span<const double> r, bool at_row,
                         const Phi& phi) {
  const std::size_t n = r.size();
  Shares all{std::vector<double>(n), std::vector<double>(n)};
  double total = 0;
  const bool here = at_row && std::find(r.begin(), r.end(), 0.0) != r.end();
  for (std::size_t i = 0; i < n; ++i) {
    if (here) {
      all.weight[i] = r[i] == 0 ? weights[i] : 0;
    } else {
      all.weight[i] = weights[i] * phi(r[i]);
    }
    total += all.weight[i];
  }
  for (std::size_t i = 0; i < n; ++i) {
    all.weight[i] /= total;
    all.kept[i] = all.weight[i] != 0 ? 1 : 0;
  }
  return all;
}

template <Real T, class M>
Shares shares_of(const M& method, const Input<T>& input, std::span<const T> out) {
  const auto by_distance = [&](bool at_row, const auto& phi) {
    return share_by_distance(input.weights, distances_to(input, out.data()), at_row, phi);
  };
  // 1/r, without overflow: a row nearer than 1e-300 has all the weight anyway.
  const auto pull = [](double r) { return 1 / std::max(r, 1e-300); };
  if constexpr (requires(Column & c) { share_column(method, c); }) {
    return share_columns(method, input);
  } else if constexpr (std::is_same_v<M, GeometricMedian>) {
    return by_distance(true, pull);
  } else if constexpr (std::is_same_v<M, HuberLocation>) {
    return by_distance(false, [mu = method.mu](double r) { return r > mu ? mu / r : 1.0; });
  } else {
    if constexpr (std::is_same_v<M, LpMedian>) {
      if (method.p == 1) return share_columns(Median{}, input);
      if (method.p == 2) return by_distance(true, pull);
    }
    if constexpr (std::is_same_v<M, SampleClippedMean>) {
      const std::vector<T> zero(input.center.empty() ? input.d : 0);
      const T* const centre = input.center.empty() ? zero.data() : input.center.data();
      const std::vector<double> r = distances_to(input, centre);
      Shares all{std::vector<double>(input.n), std::vector<double>(input.n, 1.0)};
      for (std::size_t i = 0; i < input.n; ++i)
        all.weight[i] =
            input.weights[i] / input.total * (r[i] > method.clip ? method.clip / r[i] : 1.0);
      return all;
    }
    return {std::vector<double>(input.n, kNone), std::vector<double>(input.n, kNone)};
  }
}

// ---- All together -------------------------------------------------------------------------------

// The coefficients of the rows in a combination.
double coefficient(const Combination& c, std::size_t k) {
  return c.scales.empty() ? c.coefficients[k] : c.coefficients[k] * c.scales[k];
}

}  // namespace

template <Real T>
Shares row_shares(const RulePlan& plan, const Input<T>& input, std::span<const T> out) {
  const std::size_t n = input.n;
  const auto visit = [&](const Input<T>& rows) {
    return std::visit([&](const auto& method) { return shares_of(method, rows, out); },
                      plan.method);
  };
  if (!plan.mixed && !plan.done) return visit(input);
  std::vector<double> of_mixed = {1};
  if (!plan.done) {
    Count seen;
    const std::vector<T> copy = mixed_rows(plan, input, seen);
    Input<T> mixed = unweighted<T>(plan.rows.size(), input.d, copy.data(), input.d);
    mixed.center = input.center;
    mixed.pool = input.pool;
    mixed.part = input.part;
    of_mixed = visit(mixed).weight;
  }
  Shares all{std::vector<double>(n), std::vector<double>(n)};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < plan.rows.size(); ++k)
      all.weight[i] += of_mixed[k] * coefficient(plan.rows[k], i);
    all.kept[i] = std::isnan(all.weight[i]) ? kNone : all.weight[i] != 0 ? 1 : 0;
  }
  return all;
}

template <Real T>
std::vector<RowReport> report_rows(const RulePlan& plan, const Input<T>& input,
                                   std::span<const T> out) {
  const std::size_t n = input.n;
  const std::vector<double> r = distances_to(input, out.data());
  const Shares shares = row_shares(plan, input, out);
  std::vector<RowReport> report(n);
  for (std::size_t i = 0; i < n; ++i) {
    RowReport& one = report[input.order.empty() ? i : input.order[i]];
    one.distance = r[i];
    one.weight = shares.weight[i];
    one.kept = shares.kept[i];
    if (!plan.cut.empty()) one.cut = plan.cut[i];
    if (const auto* clipped = std::get_if<SampleClippedMean>(&plan.method);
        clipped != nullptr && !plan.mixed)
      one.cut = shares.weight[i] / (input.weights[i] / input.total);
    for (std::size_t j = 0; j < input.d; ++j) {
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
