// The log-moment estimator on block sums (Mohammadi, Mohammadpour, Ogata 2015).
//
// They compare mean log|Y| over all blocks with mean log|X| over all entries. Taken block by block,
//   D_b = (log|Y_b| - mean_{i in b} log|X_i|) / log m
// are independent, each with mean 1/alpha, and their average is the same estimate: its standard
// error comes with it, and no bootstrap is needed.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/text.h"
#include "medgrad/error.h"
#include "noise/tail_parts.h"

namespace medgrad {
namespace noise {

bool log_moment_term(std::span<const double> block, std::size_t m, std::size_t width,
                     double& term) {
  double total = 0;
  std::size_t columns = 0;
  for (std::size_t j = 0; j < width; ++j) {
    double largest = 0, logs = 0;
    bool whole = true;
    for (std::size_t i = 0; i < m; ++i) {
      const double size = std::fabs(block[i * width + j]);
      whole = whole && size > 0;
      if (!whole) break;
      largest = std::max(largest, size);
      logs += std::log(size);
    }
    if (!whole) continue;
    double sum = 0;  // relative to the largest, so that it neither overflows nor vanishes
    for (std::size_t i = 0; i < m; ++i) sum += block[i * width + j] / largest;
    if (sum == 0) continue;
    total += std::log(std::fabs(sum)) + std::log(largest) - logs / static_cast<double>(m);
    ++columns;
  }
  if (columns == 0) return false;
  term = total / static_cast<double>(columns) / std::log(static_cast<double>(m));
  return true;
}

TailIndex from_terms(std::span<const double> terms) {
  const double count = static_cast<double>(terms.size());
  double mean = 0, squares = 0;
  for (const double d : terms) mean += d / count;
  for (const double d : terms) squares += (d - mean) * (d - mean);
  const double half = student95(terms.size() - 1) * std::sqrt(squares / (count * (count - 1)));
  // A stable law has alpha <= 2, that is 1/alpha >= 1/2: estimate and interval end there.
  const auto alpha = [](double inverse) { return 1 / std::max(inverse, 0.5); };
  TailIndex t;
  t.alpha = alpha(mean);
  t.interval = {alpha(mean + half), alpha(mean - half)};
  t.method = TailMethod::log_moment;
  t.clamped = mean < 0.5;
  return t;
}

namespace {

// Infinite entries become as large as the largest finite one, and all are scaled down where
// differences or sums could overflow; alpha does not depend on scale.
void bound(std::vector<double>& x) {
  double largest = 0;
  for (const double v : x) {
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  }
  const double factor = largest > 1e300 ? 0x1p-32 : 1;
  for (double& v : x) v = factor * std::clamp(v, -largest, largest);
}

}  // namespace
}  // namespace noise

TailIndex log_moment(std::span<const double> sample, const LogMomentOptions& options) {
  noise::Cleaned cleaned = noise::clean(sample);
  std::vector<double>& x = cleaned.values;
  noise::bound(x);
  noise::centre(x, options.centre);
  const std::size_t zeros = std::erase(x, 0.0);
  if (x.size() < noise::kFewest) {
    throw Error(
        fmt::format("the sample has {} after centring; the log-moment estimator needs at least 20.",
                    counted(x.size(), "non-zero value")));
  }
  const std::size_t m = options.block != 0
                            ? options.block
                            : static_cast<std::size_t>(std::sqrt(static_cast<double>(x.size())));
  const std::size_t blocks = x.size() / m;
  if (m < 2 || blocks < 4) {
    throw Error("block", std::to_string(m),
                fmt::format("for {} values it must be from 2 to {}", x.size(), x.size() / 4));
  }
  std::vector<double> terms;
  for (std::size_t b = 0; b < blocks; ++b) {
    double term = 0;
    if (noise::log_moment_term(std::span(x).subspan(b * m, m), m, 1, term)) terms.push_back(term);
  }
  if (terms.size() < 4) {
    throw Error(
        "nearly all block sums are exactly zero; the log-moment estimator needs a "
        "continuous distribution.");
  }
  TailIndex t = noise::from_terms(terms);
  t.n = terms.size() * m;
  t.k = m;
  t.missing = cleaned.missing;
  t.infinite = cleaned.infinite;
  t.zeros = zeros;
  return t;
}

}  // namespace medgrad
