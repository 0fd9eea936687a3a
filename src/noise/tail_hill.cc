// Hill's estimator. With the positive values in decreasing order y_1 >= y_2 >= …, the scaled
// log-spacings Z_i = i log(y_i / y_{i+1}) of a power tail are independent exponentials of mean
// 1/alpha (Renyi), and 1/alpha is estimated by the mean of Z_1 … Z_k. The m infinite values are
// censored: Z_1 … Z_m are unknown, the others are as before, and the mean is over Z_{m+1} … Z_k.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "base/text.h"
#include "medgrad/error.h"
#include "noise/tail_parts.h"

namespace medgrad {
namespace noise {
namespace {

double fold(double x, Tail tail) {
  return tail == Tail::both ? std::fabs(x) : tail == Tail::left ? -x : x;
}

// The number of spacings that show no bias (Guillou and Hall 2001). Under a power tail
//   T_k = sqrt(3 / k^3) sum_{i<=k} (k - 2i + 1) Z_i / mean(Z)
// is standard normal; a trend of Z in i makes it grow. Q_k is the root mean square of T over
// [k/2, 3k/2]; the answer is the smallest k from which on Q exceeds 1.25.
std::size_t unbiased_count(std::span<const double> z) {
  const std::size_t count = z.size();
  std::vector<double> squares(count + 1);  // sums of T_1^2 … T_k^2
  double sum = 0, ranked = 0;
  for (std::size_t i = 1; i <= count; ++i) {
    sum += z[i - 1];
    ranked += static_cast<double>(i) * z[i - 1];
    const double k = static_cast<double>(i);
    const double t = sum > 0 ? std::sqrt(3 / k) * ((k + 1) - 2 * ranked / sum) : 0;
    squares[i] = squares[i - 1] + t * t;
  }
  const std::size_t most = (2 * count + 1) / 3, least = std::min<std::size_t>(10, most);
  std::size_t k = most;
  for (; k > least; --k) {
    const std::size_t l = k / 2;
    const double mean =
        (squares[std::min(k + l, count)] - squares[k - l - 1]) / static_cast<double>(2 * l + 1);
    if (!(mean > 1.25 * 1.25)) break;
  }
  return k;
}

// The relative standard error of 1/alpha from what the groups contribute to sum (log(y/u) - H).
double grouped_error(std::span<const double> x, std::size_t group, Tail tail, double threshold,
                     double largest, double h, std::size_t uncensored) {
  const std::size_t groups = (x.size() + group - 1) / group;
  const double log_u = std::log(threshold);
  double squares = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    double s = 0;
    for (const double v : x.subspan(g * group, std::min(group, x.size() - g * group))) {
      const double y = fold(v, tail);
      if (!(y > threshold)) continue;
      s += std::log(std::min(y, largest)) - log_u - (std::isinf(y) ? 0 : h);
    }
    squares += s * s;
  }
  const double count = static_cast<double>(groups);
  return std::sqrt(squares * count / (count - 1)) / (static_cast<double>(uncensored) * h);
}

struct Ordered {
  std::vector<double> y;  // decreasing, all positive
  std::size_t missing = 0, infinite = 0;
};

Ordered order(std::span<const double> sample, Tail tail) {
  Ordered result;
  for (const double v : sample) {
    const double y = fold(v, tail);
    if (std::isnan(v)) ++result.missing;
    if (!(y > 0)) continue;
    if (std::isinf(y)) ++result.infinite;
    result.y.push_back(y);
  }
  std::sort(result.y.begin(), result.y.end(), std::greater<>());
  return result;
}

void check(const Ordered& o, std::size_t k) {
  const std::size_t n = o.y.size();
  if (n < kFewest || n - o.infinite < kFewest) {
    throw Error(fmt::format("the tail has {}; Hill's estimator needs at least 20.",
                            counted(n - o.infinite, "positive finite number")));
  }
  if (k != 0 && (k < o.infinite + 2 || k + 1 > n)) {
    throw Error(
        "k", std::to_string(k),
        fmt::format("Hill's estimator needs from {} to {} for this sample", o.infinite + 2, n - 1));
  }
}

}  // namespace

std::size_t hill_count(std::span<const double> y) {
  if (y.size() < kFewest) return 0;
  std::vector<double> z(y.size() - 1);
  for (std::size_t i = 0; i < z.size(); ++i)
    z[i] = static_cast<double>(i + 1) * (std::log(y[i]) - std::log(y[i + 1]));
  return unbiased_count(z);
}

TailIndex hill_grouped(std::span<const double> sample, std::size_t group,
                       const HillOptions& options) {
  const Ordered o = order(sample, options.tail);
  check(o, options.k);
  const std::size_t m = o.infinite;
  std::vector<double> z(o.y.size() - 1 - m);
  for (std::size_t i = 0; i < z.size(); ++i) {
    z[i] = static_cast<double>(m + i + 1) * (std::log(o.y[m + i]) - std::log(o.y[m + i + 1]));
  }
  const std::size_t used = options.k != 0 ? options.k - m : unbiased_count(z);
  double h = 0;
  for (std::size_t i = 0; i < used; ++i) h += z[i];
  h /= static_cast<double>(used);
  if (!(h > 0)) {
    throw Error(
        fmt::format("the {} largest values are equal; Hill's estimator needs a tail with spread.",
                    m + used + 1));
  }
  double half = kZ95 / std::sqrt(static_cast<double>(used));
  if (group > 1) {
    const std::size_t groups = (sample.size() + group - 1) / group;
    half = student95(groups - 1) *
           grouped_error(sample, group, options.tail, o.y[m + used], o.y[m], h, used);
  }
  TailIndex t;
  t.alpha = 1 / h;
  t.interval = {std::max(0.0, t.alpha * (1 - half)), t.alpha * (1 + half)};
  t.method = TailMethod::hill;
  t.n = o.y.size();
  t.k = m + used;
  t.missing = o.missing;
  t.infinite = m;
  return t;
}

}  // namespace noise

TailIndex hill(std::span<const double> sample, const HillOptions& options) {
  noise::Cleaned cleaned = noise::clean(sample);
  noise::centre(cleaned.values, options.centre);
  TailIndex t = noise::hill_grouped(cleaned.values, 1, options);
  t.missing = cleaned.missing;
  return t;
}

}  // namespace medgrad
