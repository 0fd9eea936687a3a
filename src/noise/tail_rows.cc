// All estimators at once, of a sample and of the rows of a matrix (gradient noise).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "medgrad/error.h"
#include "medgrad/tail_summary.h"
#include "noise/component_test.h"
#include "noise/efficiency.h"
#include "noise/judge.h"
#include "noise/noise_matrix.h"
#include "noise/peaks.h"
#include "noise/tail_parts.h"

namespace medgrad {
namespace {

using noise::NoiseMatrix;

// Runs one estimator; an Error becomes its sentence.
template <class Result, class Estimate>
void attempt(std::optional<Result>& result, std::string& error, Estimate estimate) {
  try {
    result = estimate();
  } catch (const Error& e) {
    error = e.what();
  }
}

TailSummary checked(TailSummary s) {
  if (!s.told()) {
    throw Error("the tails of this sample cannot be told: " +
                (!s.quantiles_error.empty() ? s.quantiles_error : s.hill_error));
  }
  return s;
}

// Adds up floor(sqrt(n)) rows at a time.
TailIndex log_moment_rows(NoiseMatrix& noise) {
  const std::size_t m = static_cast<std::size_t>(std::sqrt(static_cast<double>(noise.n)));
  const std::size_t blocks = m < 2 ? 0 : noise.n / m;
  if (blocks < 4) {
    throw Error(fmt::format("there {} {}; the log-moment estimator needs at least 16.",
                            noise.n == 1 ? "is" : "are", counted(noise.n, "independent row")));
  }
  TailIndex counts;
  double largest = 0;
  for (const double v : noise.values) {
    counts.missing += std::isnan(v) ? 1 : 0;
    counts.infinite += std::isinf(v) ? 1 : 0;
    counts.zeros += v == 0 ? 1 : 0;
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  }
  for (double& v : noise.values) {
    if (std::isinf(v)) v = std::copysign(largest, v);
  }
  std::vector<double> terms;
  const std::size_t size = m * noise.width;
  for (std::size_t b = 0; b < blocks; ++b) {
    double term = 0;
    const std::span<const double> block(&noise.values[b * size], size);
    if (noise::log_moment_term(block, m, noise.width, term)) terms.push_back(term);
  }
  if (terms.size() < 4) {
    throw Error(
        "nearly all coordinates hold zeros or nothing; the log-moment estimator needs "
        "continuous noise.");
  }
  TailIndex t = noise::from_terms(terms);
  t.n = terms.size() * size;
  t.k = m;
  t.missing = counts.missing;
  t.infinite = counts.infinite;
  t.zeros = counts.zeros;
  return t;
}

TailVerdict along_directions(const NoiseMatrix& noise, const VerdictOptions& options) {
  constexpr std::size_t kDirections = 16;
  NoiseMatrix projections = noise::project(noise, kDirections);
  noise::centre_columns(projections, Centre::median);
  noise::standardise_columns(projections);
  return noise::judge_grouped(projections.values, kDirections, std::nullopt, options);
}

// So many components are looked at by peaks over a threshold: those whose farthest twentieth is the
// farthest out, by Hill's estimator.
std::vector<ComponentTail> heaviest_components(const NoiseMatrix& noise) {
  constexpr std::size_t kMost = 32, kTail = 10;
  std::vector<double> sizes, column(noise.n);
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t j = 0; j < noise.width; ++j) {
    sizes.clear();
    for (std::size_t i = 0; i < noise.n; ++i) {
      if (!std::isnan(noise.at(i, j))) sizes.push_back(std::fabs(noise.at(i, j)));
    }
    if (sizes.size() < noise::kFewestForPeaks) continue;
    const std::size_t k = std::max(kTail, sizes.size() / 20);
    const auto at = sizes.begin() + static_cast<std::ptrdiff_t>(k);
    std::nth_element(sizes.begin(), at, sizes.end(), std::greater<>());
    if (!(*at > 0)) continue;
    double sum = 0;
    for (std::size_t i = 0; i < k; ++i) sum += std::log(sizes[i]) - std::log(*at);
    order.emplace_back(std::isnan(sum) ? 0 : -sum, j);
  }
  std::sort(order.begin(), order.end());
  if (order.size() > kMost) order.resize(kMost);
  std::vector<ComponentTail> found;
  for (const auto& [heaviness, j] : order) {
    for (std::size_t i = 0; i < noise.n; ++i) column[i] = noise.at(i, j);
    std::optional<Peaks> tail;
    std::string unsaid;
    attempt(tail, unsaid, [&] { return noise::peaks_grouped(column, 1, {}); });
    if (tail) found.push_back({j, *tail});
  }
  std::stable_sort(found.begin(), found.end(), [](const ComponentTail& a, const ComponentTail& b) {
    return a.tail.pareto.xi > b.tail.pareto.xi;
  });
  return found;
}

template <Real T>
std::size_t count_infinite(const Rows<T>& rows) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < rows.n(); ++i) {
    for (std::size_t j = 0; j < rows.d(); ++j) count += std::isinf(rows.row(i)[j]) ? 1 : 0;
  }
  return count;
}

// What can be said of rows where nothing can be compared.
TailVerdict unjudged(std::size_t n, std::size_t width) {
  TailVerdict v;
  v.n = n;
  v.width = width;
  return v;
}

// The verdict on components (`noise`, standardised; nothing where there are too few rows), on
// directions (of `around`, which is not) and norms.
template <Real T>
void judge(TailSummary& s, const Rows<T>& rows, std::span<const double> centre,
           const NoiseMatrix* noise, const NoiseMatrix& around, const RowsOptions& options) {
  std::string unsaid;
  if (noise != nullptr) {
    attempt(s.judged, unsaid, [&] {
      std::optional<StableTest> stable;
      if (s.quantiles) stable = component_test(*noise, *s.quantiles, options.verdict.pool);
      return noise::judge_grouped(noise->values, noise->width, stable, options.verdict);
    });
    attempt(s.directions, unsaid, [&] { return along_directions(around, options.verdict); });
    attempt(s.scaled_norms, unsaid, [&] {
      return noise::peaks_grouped(noise::norms_of(*noise), 1, {.tail = Tail::right});
    });
  }
  const std::vector<double> sizes = noise_norms(rows, centre, options);
  attempt(s.norms, unsaid, [&] { return noise::peaks_grouped(sizes, 1, {.tail = Tail::right}); });
  if (!s.judged) s.judged = unjudged(around.n, around.width);
  TailVerdict& v = *s.judged;
  // Of the entries as they are, also of those that no component was made of.
  v.infinite = count_infinite(rows);
  if (v.infinite > 0) {
    if (v.stable) v.stable->p_value = 0;
    v.efficiency.mean = std::numeric_limits<double>::infinity();
  }
  if (v.efficiency.spread > 0 && around.width > 1) noise::set_geometric(v.efficiency, around);
  const auto pointer = [](const auto& found) { return found ? &*found : nullptr; };
  noise::conclude(v, {pointer(s.directions), pointer(s.norms), pointer(s.scaled_norms)});
}

template <Real T>
void check(const Rows<T>& rows, std::span<const double> centre) {
  if (rows.n() < 2 || rows.d() == 0) {
    throw Error(fmt::format(
        "a tail index of rows needs at least 2 rows of at least 1 entry; there are {} of {}.",
        rows.n(), rows.d()));
  }
  if (!centre.empty() && centre.size() != rows.d()) {
    throw Error(fmt::format("the centre has {}, the rows have {}.",
                            counted(centre.size(), "entry", "entries"), rows.d()));
  }
}

}  // namespace

std::string TailSummary::verdict() const {
  if (judged) return judged->sentence();
  const std::optional<TailIndex> first = log_moment  ? log_moment
                                         : quantiles ? std::optional(quantiles->tail_index())
                                                     : hill;
  return first ? first->verdict() + "." : "no tail index could be estimated.";
}

TailSummary noise::summarise(std::span<const double> sample, const VerdictOptions& options,
                             Whole* whole) {
  TailSummary s;
  attempt(s.quantiles, s.quantiles_error, [&] { return fit_stable(sample); });
  attempt(s.hill, s.hill_error, [&] { return hill(sample, {.centre = Centre::median}); });
  attempt(s.log_moment, s.log_moment_error,
          [&] { return log_moment(sample, {.centre = Centre::pairs}); });
  s.judged = judge(sample, options, whole);
  return s;
}

TailSummary tail_summary(std::span<const double> sample, const VerdictOptions& options) {
  return noise::summarise(sample, options);
}

template <Real T>
TailSummary tail_summary(const Rows<T>& rows, std::span<const double> centre,
                         const RowsOptions& options) {
  check(rows, centre);
  TailSummary s;
  if (options.pool == Pool::norms) {
    s.quantiles_error = s.log_moment_error = "norms are not symmetric: only hill applies to them.";
    const std::vector<double> sizes = noise_norms(rows, centre, options);
    s.hill = hill(sizes, {.tail = Tail::right});
    std::string unsaid;
    attempt(s.norms, unsaid, [&] { return noise::peaks_grouped(sizes, 1, {.tail = Tail::right}); });
    return s;
  }
  const std::size_t d = rows.d();
  const std::size_t width = std::clamp<std::size_t>(options.max_entries / rows.n(), 1, d);
  const auto place_of = [&](std::size_t j) {
    return (d / width) * j + (d % width) * j / width;  // floor(j d / width), evenly spaced
  };
  NoiseMatrix noise = noise::take(rows, centre, width, place_of);
  const bool centred = !centre.empty() || options.centre == Centre::none;
  if (!centred && options.centre == Centre::pairs) subtract_pairs(noise);
  NoiseMatrix sums = noise;  // before the columns are centred by what was estimated from them
  if (!centred && options.centre != Centre::pairs) {
    centre_columns(noise, options.centre);
    subtract_pairs(sums);
  }
  if (noise.n < 2) throw Error("a tail index of pairs of rows needs at least 4 rows.");
  const NoiseMatrix around = noise;
  if (options.judge && noise.width > 1) {
    s.components = heaviest_components(around);
    for (ComponentTail& c : s.components) c.place = place_of(c.place);
  }
  // A single coordinate has one scale, whatever it is.
  const bool standardise = options.standardise && noise.width > 1;
  if (standardise && noise.n < noise::kFewest) {
    s.quantiles_error = s.hill_error = fmt::format(
        "there are {} rows; the scale of each coordinate, without which tails cannot be told from "
        "a mixture of scales, needs at least {}.",
        noise.n, noise::kFewest);
    if (options.judge) judge(s, rows, centre, nullptr, around, options);
  } else {
    if (standardise) standardise_columns(noise);
    const std::size_t group = noise.width, scaled_by = standardise ? noise.n : 0;
    attempt(s.quantiles, s.quantiles_error,
            [&] { return noise::fit_grouped(noise.values, group, scaled_by); });
    attempt(s.hill, s.hill_error, [&] { return noise::hill_grouped(noise.values, group, {}); });
    if (options.judge) judge(s, rows, centre, &noise, around, options);
  }
  attempt(s.log_moment, s.log_moment_error, [&] { return log_moment_rows(sums); });
  return checked(std::move(s));
}

// Some columns at a time, to hold little of the matrix.
template <Real T>
std::vector<double> noise_norms(const Rows<T>& rows, std::span<const double> centre,
                                const RowsOptions& options) {
  check(rows, centre);
  const std::size_t step = std::clamp<std::size_t>(options.max_entries / rows.n(), 1, rows.d());
  const bool pairs = centre.empty() && options.centre == Centre::pairs;
  std::vector<double> result(pairs ? rows.n() / 2 : rows.n());
  for (std::size_t first = 0; first < rows.d(); first += step) {
    const std::size_t width = std::min(step, rows.d() - first);
    noise::NoiseMatrix noise =
        noise::take(rows, centre, width, [&](std::size_t j) { return first + j; });
    if (pairs) {
      subtract_pairs(noise);
    } else if (centre.empty() && options.centre != Centre::none) {
      centre_columns(noise, options.centre);
    }
    const std::vector<double> part = noise::norms_of(noise);
    for (std::size_t i = 0; i < noise.n; ++i) result[i] = std::hypot(result[i], part[i]);
  }
  return result;
}

template std::vector<double> noise_norms(const Rows<float>&, std::span<const double>,
                                         const RowsOptions&);
template std::vector<double> noise_norms(const Rows<double>&, std::span<const double>,
                                         const RowsOptions&);
template TailSummary tail_summary(const Rows<float>&, std::span<const double>, const RowsOptions&);
template TailSummary tail_summary(const Rows<double>&, std::span<const double>, const RowsOptions&);

}  // namespace medgrad
