// All estimators at once, of a sample and of the rows of a matrix (gradient noise).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/text.h"
#include "medgrad/error.h"
#include "noise/tail_parts.h"

namespace medgrad {
namespace {

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
    throw Error(!s.quantiles_error.empty() ? s.quantiles_error : s.hill_error);
  }
  return s;
}

// n x width numbers, row-major: the noise in some coordinates.
struct Noise {
  std::vector<double> values;
  std::size_t n, width;
  [[nodiscard]] double& at(std::size_t i, std::size_t j) { return values[i * width + j]; }
};

// `column(j)` tells which coordinate of the rows the j-th of `width` is.
template <Real T, class Column>
Noise take(const Rows<T>& rows, std::span<const double> centre, std::size_t width, Column column) {
  Noise noise{std::vector<double>(rows.n() * width), rows.n(), width};
  for (std::size_t i = 0; i < rows.n(); ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      const double c = centre.empty() ? 0 : centre[column(j)];
      noise.at(i, j) = static_cast<double>(rows.row(i)[column(j)]) - c;
    }
  }
  return noise;
}

// Each coordinate around its own centre.
void centre_columns(Noise& noise, Centre how) {
  std::vector<double> column;
  for (std::size_t j = 0; j < noise.width; ++j) {
    column.clear();
    for (std::size_t i = 0; i < noise.n; ++i) {
      const double v = noise.at(i, j);
      if (!std::isnan(v)) column.push_back(v);
    }
    if (column.empty()) continue;
    // Where half of a column is infinite it has no centre, and counts as missing.
    double middle = how == Centre::mean ? noise::finite_mean(column) : noise::median(column);
    if (std::isinf(middle)) middle = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 0; i < noise.n; ++i) noise.at(i, j) -= middle;
  }
}

// Rows 2i minus 2i + 1; an odd one at the end is left out.
void subtract_pairs(Noise& noise) {
  const std::size_t pairs = noise.n / 2;
  for (std::size_t i = 0; i < pairs; ++i) {
    for (std::size_t j = 0; j < noise.width; ++j) {
      noise.at(i, j) = noise.at(2 * i, j) - noise.at(2 * i + 1, j);
    }
  }
  noise.n = pairs;
  noise.values.resize(pairs * noise.width);
}

// How many of the numbers are the one that is there most often. Reorders them.
std::size_t largest_tie(std::vector<double>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::size_t largest = 0, run = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    run = i > 0 && numbers[i] == numbers[i - 1] ? run + 1 : 1;
    largest = std::max(largest, run);
  }
  return largest;
}

// Each coordinate over its median absolute value. A coordinate that often stands still, as the
// gradient of a word's embedding does where the word does not occur, has no scale: its median would
// be that of standing still, and all the rest look enormous beside it. Where a fifth of its entries
// or more are the same number (0, or minus the centre), it is left out as missing.
void standardise_columns(Noise& noise) {
  constexpr double kStill = 0.2;
  std::vector<double> column;
  for (std::size_t j = 0; j < noise.width; ++j) {
    column.clear();
    for (std::size_t i = 0; i < noise.n; ++i)
      if (!std::isnan(noise.at(i, j))) column.push_back(noise.at(i, j));
    const auto count = static_cast<double>(column.size());
    const std::size_t tie = largest_tie(column);
    const bool moves = tie < 3 || static_cast<double>(tie) < kStill * count;
    for (double& v : column) v = std::fabs(v);
    const double scale = column.empty() ? 0 : noise::median(column);
    const bool usable = moves && scale > 0 && std::isfinite(scale);
    for (std::size_t i = 0; i < noise.n; ++i) {
      double& v = noise.at(i, j);
      v = usable ? v / scale : std::numeric_limits<double>::quiet_NaN();
    }
  }
}

// |row|_2 of every row without its NaNs, some columns at a time to hold little of the matrix.
template <Real T>
std::vector<double> norms(const Rows<T>& rows, std::span<const double> centre,
                          const RowsOptions& options) {
  const std::size_t step = std::clamp<std::size_t>(options.max_entries / rows.n(), 1, rows.d());
  const bool pairs = centre.empty() && options.centre == Centre::pairs;
  std::vector<double> result(pairs ? rows.n() / 2 : rows.n());
  for (std::size_t first = 0; first < rows.d(); first += step) {
    const std::size_t width = std::min(step, rows.d() - first);
    Noise noise = take(rows, centre, width, [&](std::size_t j) { return first + j; });
    if (pairs) {
      subtract_pairs(noise);
    } else if (centre.empty() && options.centre != Centre::none) {
      centre_columns(noise, options.centre);
    }
    for (std::size_t i = 0; i < noise.n; ++i) {
      for (std::size_t j = 0; j < width; ++j) {
        if (std::isnan(noise.at(i, j))) noise.at(i, j) = 0;
      }
      const std::span<const double> row(&noise.at(i, 0), width);
      const bool infinite =
          std::any_of(row.begin(), row.end(), [](double v) { return std::isinf(v); });
      result[i] = std::hypot(result[i], infinite ? kInfinity : L2{}.value(row));
    }
  }
  return result;
}

// Adds up floor(sqrt(n)) rows at a time.
TailIndex log_moment_rows(Noise& noise) {
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

TailSummary tail_summary(std::span<const double> sample) {
  TailSummary s;
  attempt(s.quantiles, s.quantiles_error, [&] { return fit_stable(sample); });
  attempt(s.hill, s.hill_error, [&] { return hill(sample, {.centre = Centre::median}); });
  attempt(s.log_moment, s.log_moment_error,
          [&] { return log_moment(sample, {.centre = Centre::pairs}); });
  return checked(std::move(s));
}

template <Real T>
TailSummary tail_summary(const Rows<T>& rows, std::span<const double> centre,
                         const RowsOptions& options) {
  check(rows, centre);
  TailSummary s;
  if (options.pool == Pool::norms) {
    s.quantiles_error = s.log_moment_error = "norms are not symmetric: only hill applies to them.";
    s.hill = hill(norms(rows, centre, options), {.tail = Tail::right});
    return s;
  }
  const std::size_t d = rows.d();
  const std::size_t width = std::clamp<std::size_t>(options.max_entries / rows.n(), 1, d);
  Noise noise = take(rows, centre, width, [&](std::size_t j) {
    return (d / width) * j + (d % width) * j / width;  // floor(j d / width), evenly spaced
  });
  const bool centred = !centre.empty() || options.centre == Centre::none;
  if (!centred && options.centre == Centre::pairs) subtract_pairs(noise);
  Noise sums = noise;  // before the columns are centred by what was estimated from them
  if (!centred && options.centre != Centre::pairs) {
    centre_columns(noise, options.centre);
    subtract_pairs(sums);
  }
  if (noise.n < 2) throw Error("a tail index of pairs of rows needs at least 4 rows.");
  // A single coordinate has one scale, whatever it is.
  const bool standardise = options.standardise && noise.width > 1;
  if (standardise && noise.n < noise::kFewest) {
    s.quantiles_error = s.hill_error = fmt::format(
        "there are {} rows; the scale of each coordinate, without which tails cannot be told from "
        "a mixture of scales, needs at least {}.",
        noise.n, noise::kFewest);
  } else {
    if (standardise) standardise_columns(noise);
    const std::size_t group = noise.width, scaled_by = standardise ? noise.n : 0;
    attempt(s.quantiles, s.quantiles_error,
            [&] { return noise::fit_grouped(noise.values, group, scaled_by); });
    attempt(s.hill, s.hill_error, [&] { return noise::hill_grouped(noise.values, group, {}); });
  }
  attempt(s.log_moment, s.log_moment_error, [&] { return log_moment_rows(sums); });
  return checked(std::move(s));
}

template TailSummary tail_summary(const Rows<float>&, std::span<const double>, const RowsOptions&);
template TailSummary tail_summary(const Rows<double>&, std::span<const double>, const RowsOptions&);

}  // namespace medgrad
