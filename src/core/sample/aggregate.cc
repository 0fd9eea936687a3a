// The entry to all sample estimators: checks what the caller gave, then hands over.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <variant>

#include "base/text.h"
#include "core/sample/estimators.h"
#include "core/sample/plan.h"
#include "medgrad/error.h"
#include "medgrad/sample.h"

namespace medgrad {
namespace {

template <Real T>
estimators::Input<T> checked(const Rule& rule, const Rows<T>& rows, std::span<T> out,
                             const SampleOptions<T>& options) {
  const std::size_t n = rows.n(), d = rows.d();
  if (n == 0) throw Error("There are no rows; an estimate needs at least one.");
  validate(rule, n);
  estimators::check_lengths<T>(d, out, options.center);
  estimators::Input<T> input;
  input.n = n;
  input.d = d;
  input.rows.resize(n);
  for (std::size_t i = 0; i < n; ++i) input.rows[i] = rows.row(i);
  input.center = options.center;
  input.policy = options.non_finite;
  input.pool = options.pool;
  input.objective = options.objective;
  estimators::set_weights(input, rule, options.weights);
  if (rule.before.empty() && estimators::ignores_order(rule.method)) estimators::sort_rows(input);
  return input;
}

}  // namespace

template <Real T>
void estimators::check_lengths(std::size_t d, std::span<const T> out, std::span<const T> center) {
  if (out.size() != d) {
    throw Error(fmt::format("The result has room for {}; the rows have {}.",
                            counted(out.size(), "entry", "entries"), d));
  }
  if (!center.empty() && center.size() != d) {
    throw Error(fmt::format("The centre has {}; the rows have {}.",
                            counted(center.size(), "entry", "entries"), d));
  }
  for (std::size_t j = 0; j < center.size(); ++j) {
    if (!std::isfinite(center[j]))
      throw Error(fmt::format("Entry {} of the centre is not finite.", j + 1));
  }
}

template <Real T>
void estimators::set_weights(Input<T>& input, const Rule& rule, std::span<const double> weights) {
  const std::size_t n = input.n;
  input.weights.assign(n, 1.0);
  if (!weights.empty()) {
    if (!takes_weights(rule)) throw Error("This estimator takes no weights.");
    if (weights.size() != n) {
      throw Error(fmt::format("{} given for {}; each row has one.",
                              counted(weights.size(), "weight is", "weights are"),
                              counted(n, "row")));
    }
    input.weights.assign(weights.begin(), weights.end());
    input.weighted = true;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double w = input.weights[i];
    if (!(w > 0 && w < kInfinity)) {
      throw Error(
          fmt::format("Weight {} is {}; weights must be positive and finite.", i + 1, number(w)));
    }
  }
  normalise_weights(input);
}

template void estimators::check_lengths(std::size_t, std::span<const float>,
                                        std::span<const float>);
template void estimators::check_lengths(std::size_t, std::span<const double>,
                                        std::span<const double>);
template void estimators::set_weights(Input<float>&, const Rule&, std::span<const double>);
template void estimators::set_weights(Input<double>&, const Rule&, std::span<const double>);

bool estimators::ignores_order(const SampleMethod& method) {
  const LpMedian* const lp = std::get_if<LpMedian>(&method);
  return std::holds_alternative<GeometricMedian>(method) ||
         std::holds_alternative<HuberLocation>(method) || (lp != nullptr && lp->p > 1);
}

bool takes_weights(const Rule& rule) {
  return rule.before.empty() &&
         std::visit([](const auto& m) { return m.takes_weights(); }, rule.method);
}

std::string_view name(Stop stop) {
  switch (stop) {
    case Stop::closed_form:
      return "closed form";
    case Stop::data_point:
      return "data point";
    case Stop::tolerance:
      return "tolerance";
    case Stop::rounding:
      return "rounding";
    case Stop::max_iterations:
      return "max iterations";
  }
  return "unknown";
}

void validate(const Rule& rule, std::size_t n) {
  const auto check = [&n]<class M>(const M& m) {
    check_fields(m);
    if constexpr (requires { m.check(n); }) m.check(n);
  };
  for (const PreAggregator& part : rule.before) {
    std::visit(check, part);
    n = std::visit([n](const auto& p) { return p.rows_after(n); }, part);
  }
  std::visit(check, rule.method);
}

template <Real T>
SampleInfo Mean::estimate(const estimators::Input<T>& in, std::span<T> out) const {
  return estimators::mean(in, out);
}
template <Real T>
SampleInfo Median::estimate(const estimators::Input<T>& in, std::span<T> out) const {
  return estimators::median(in, out);
}
template <Real T>
SampleInfo GeometricMedian::estimate(const estimators::Input<T>& in, std::span<T> out) const {
  return estimators::geometric_median(*this, in, out);
}
template <Real T>
SampleInfo LpMedian::estimate(const estimators::Input<T>& in, std::span<T> out) const {
  return estimators::lp_median(*this, in, out);
}
template <Real T>
SampleInfo MedianOfMeans::estimate(const estimators::Input<T>& in, std::span<T> out) const {
  return estimators::median_of_means(blocks, p, in, out);
}
template <Real T>
SampleInfo HuberLocation::estimate(const estimators::Input<T>& in, std::span<T> out) const {
  return estimators::huber_location(*this, in, out);
}
template <Real T>
SampleInfo SampleClippedMean::estimate(const estimators::Input<T>& in, std::span<T> out) const {
  return estimators::clipped_mean(clip, in, out);
}
template <Real T>
SampleInfo TrimmedMean::estimate(const estimators::Input<T>& in, std::span<T> out) const {
  return estimators::trimmed_mean(f, in, out);
}

template SampleInfo Mean::estimate(const estimators::Input<float>&, std::span<float>) const;
template SampleInfo Mean::estimate(const estimators::Input<double>&, std::span<double>) const;
template SampleInfo Median::estimate(const estimators::Input<float>&, std::span<float>) const;
template SampleInfo Median::estimate(const estimators::Input<double>&, std::span<double>) const;
template SampleInfo GeometricMedian::estimate(const estimators::Input<float>&,
                                              std::span<float>) const;
template SampleInfo GeometricMedian::estimate(const estimators::Input<double>&,
                                              std::span<double>) const;
template SampleInfo LpMedian::estimate(const estimators::Input<float>&, std::span<float>) const;
template SampleInfo LpMedian::estimate(const estimators::Input<double>&, std::span<double>) const;
template SampleInfo MedianOfMeans::estimate(const estimators::Input<float>&,
                                            std::span<float>) const;
template SampleInfo MedianOfMeans::estimate(const estimators::Input<double>&,
                                            std::span<double>) const;
template SampleInfo HuberLocation::estimate(const estimators::Input<float>&,
                                            std::span<float>) const;
template SampleInfo HuberLocation::estimate(const estimators::Input<double>&,
                                            std::span<double>) const;
template SampleInfo SampleClippedMean::estimate(const estimators::Input<float>&,
                                                std::span<float>) const;
template SampleInfo SampleClippedMean::estimate(const estimators::Input<double>&,
                                                std::span<double>) const;
template SampleInfo TrimmedMean::estimate(const estimators::Input<float>&, std::span<float>) const;
template SampleInfo TrimmedMean::estimate(const estimators::Input<double>&,
                                          std::span<double>) const;

template <Real T>
SampleInfo aggregate(const Rule& rule, const Rows<T>& rows, std::type_identity_t<std::span<T>> out,
                     const std::type_identity_t<SampleOptions<T>>& options) {
  const estimators::Input<T> in = checked(rule, rows, out, options);
  SampleInfo info = estimators::run_rule(rule, in, out, options.round, options.report);
  info.objective = std::min(info.objective, std::numeric_limits<double>::max());
  return info;
}

template SampleInfo aggregate<float>(const Rule&, const Rows<float>&, std::span<float>,
                                     const SampleOptions<float>&);
template SampleInfo aggregate<double>(const Rule&, const Rows<double>&, std::span<double>,
                                      const SampleOptions<double>&);

}  // namespace medgrad
