// The entry to all sample estimators: checks what the caller gave, then hands over.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <variant>

#include "core/overloaded.h"
#include "core/sample/estimators.h"
#include "core/text.h"
#include "medgrad/error.h"
#include "medgrad/sample.h"

namespace medgrad {
namespace {

void check_iteration(double tolerance, int max_iterations) {
  if (!(tolerance >= 0 && tolerance < kInfinity))
    throw Error("tolerance is " + number(tolerance) + "; it must be zero or positive.");
  if (max_iterations < 1)
    throw Error("max-iterations is " + std::to_string(max_iterations) + "; it must be at least 1.");
}

void check_positive(const char* name, double value) {
  if (!(value > 0 && value < kInfinity))
    throw Error(std::string(name) + " is " + number(value) + "; it must be positive and finite.");
}

void check_p(double p) {
  if (!(p >= 1)) throw Error("p is " + number(p) + "; it must be at least 1 (or inf).");
}

// Is it worth sorting the rows? For estimators that iterate: rounding would take them different
// ways, and where rows are nearly on a line, far apart.
bool ignores_order(const SampleMethod& method) {
  const LpMedian* const lp = std::get_if<LpMedian>(&method);
  return std::holds_alternative<GeometricMedian>(method) ||
         std::holds_alternative<HuberLocation>(method) || (lp != nullptr && lp->p > 1);
}

template <Real T>
estimators::Input<T> checked(const SampleMethod& method, const Rows<T>& rows, std::span<T> out,
                             const SampleOptions<T>& options) {
  const std::size_t n = rows.n(), d = rows.d();
  if (n == 0) throw Error("There are no rows; an estimate needs at least one.");
  validate(method, n);
  if (out.size() != d) {
    throw Error("The result has room for " + std::to_string(out.size()) +
                " entries; the rows have " + std::to_string(d) + ".");
  }
  if (!options.center.empty() && options.center.size() != d) {
    throw Error("The centre has " + std::to_string(options.center.size()) +
                " entries; the rows have " + std::to_string(d) + ".");
  }
  for (std::size_t j = 0; j < options.center.size(); ++j) {
    if (!std::isfinite(options.center[j]))
      throw Error("Entry " + std::to_string(j + 1) + " of the centre is not finite.");
  }
  estimators::Input<T> input;
  input.n = n;
  input.d = d;
  input.rows.resize(n);
  for (std::size_t i = 0; i < n; ++i) input.rows[i] = rows.row(i);
  input.center = options.center;
  input.policy = options.non_finite;
  input.pool = options.pool;
  input.objective = options.objective;
  input.weights.assign(n, 1.0);
  if (!options.weights.empty()) {
    if (!takes_weights(method)) throw Error("This estimator takes no weights.");
    if (options.weights.size() != n) {
      throw Error("There are " + std::to_string(options.weights.size()) + " weights for " +
                  std::to_string(n) + " rows.");
    }
    input.weights.assign(options.weights.begin(), options.weights.end());
    input.weighted = true;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double w = input.weights[i];
    if (!(w > 0 && w < kInfinity)) {
      throw Error("Weight " + std::to_string(i + 1) + " is " + number(w) +
                  "; weights must be positive and finite.");
    }
  }
  estimators::normalise_weights(input);
  if (ignores_order(method)) estimators::sort_rows(input);
  return input;
}

}  // namespace

bool takes_weights(const SampleMethod& method) {
  const LpMedian* const lp = std::get_if<LpMedian>(&method);
  return !std::holds_alternative<TrimmedMean>(method) &&
         !std::holds_alternative<MedianOfMeans>(method) && (lp == nullptr || lp->p < kInfinity);
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

void validate(const SampleMethod& method, std::size_t n) {
  std::visit(Overloaded{
                 [](const Mean&) {},
                 [](const Median&) {},
                 [](const GeometricMedian& m) { check_iteration(m.tolerance, m.max_iterations); },
                 [](const LpMedian& m) {
                   check_p(m.p);
                   check_iteration(m.tolerance, m.max_iterations);
                 },
                 [n](const MedianOfMeans& m) {
                   check_p(m.p);
                   if (m.blocks > n) {
                     throw Error("blocks is " + std::to_string(m.blocks) + "; with " +
                                 std::to_string(n) + " rows it must be at most " +
                                 std::to_string(n) + ".");
                   }
                 },
                 [](const HuberLocation& m) {
                   check_positive("mu", m.mu);
                   check_iteration(m.tolerance, m.max_iterations);
                 },
                 [](const SampleClippedMean& m) { check_positive("clip", m.clip); },
                 [n](const TrimmedMean& m) {
                   if (n > 0 && m.f > (n - 1) / 2) {
                     throw Error("f is " + std::to_string(m.f) + "; with " + std::to_string(n) +
                                 " rows it must be at most " + std::to_string((n - 1) / 2) + ".");
                   }
                 },
             },
             method);
}

template <Real T>
SampleInfo aggregate(const SampleMethod& method, const Rows<T>& rows, std::span<T> out,
                     const SampleOptions<T>& options) {
  const estimators::Input<T> in = checked(method, rows, out, options);
  SampleInfo info = std::visit(
      Overloaded{
          [&](const Mean&) { return estimators::mean(in, out); },
          [&](const Median&) { return estimators::median(in, out); },
          [&](const GeometricMedian& m) { return estimators::geometric_median(m, in, out); },
          [&](const LpMedian& m) { return estimators::lp_median(m, in, out); },
          [&](const MedianOfMeans& m) {
            return estimators::median_of_means(m.blocks, m.p, in, out);
          },
          [&](const HuberLocation& m) { return estimators::huber_location(m, in, out); },
          [&](const SampleClippedMean& m) { return estimators::clipped_mean(m.clip, in, out); },
          [&](const TrimmedMean& m) { return estimators::trimmed_mean(m.f, in, out); },
      },
      method);
  info.objective = std::min(info.objective, std::numeric_limits<double>::max());
  return info;
}

template SampleInfo aggregate(const SampleMethod&, const Rows<float>&, std::span<float>,
                              const SampleOptions<float>&);
template SampleInfo aggregate(const SampleMethod&, const Rows<double>&, std::span<double>,
                              const SampleOptions<double>&);

}  // namespace medgrad
