// How heavy are the tails of a sample? Estimators of the tail index alpha, P(|X| > x) ~ x^-alpha.
//
// Three estimators, because each trusts something else:
//
//   quantiles    McCulloch (Comm. Stat. Simul. 15, 1986). Fits a whole stable law to five sample
//                quantiles. Uses the body; valid for alpha in [0.5, 2]; nothing about means.
//   hill         Hill (Ann. Stat. 3, 1975). Uses the k largest values only, assumes a power tail
//                and nothing else; alpha may exceed 2 (finite variance).
//   log-moment   Mohammadi, Mohammadpour, Ogata (Metrika 78, 2015), used on gradient noise by
//                Simsekli et al. (ICML 2019). For symmetric stable X the sum Y of m copies is
//                m^{1/alpha} X, so 1/alpha = (E log|Y| - E log|X|) / log m.
//
// Entries: NaN is missing, left out and counted. +-Inf is an observation past every other one: an
// extreme order statistic for `quantiles`, a censored one for `hill`, and as large as the largest
// finite entry for `log-moment`. Numbers from denormals to 1e308 are handled. Intervals are 95 %,
// from asymptotic variances. What is not possible (too few entries, no spread) is an Error. Nothing
// here is random: the same sample gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "medgrad/stable.h"

#pragma GCC visibility push(default)
namespace medgrad {

struct Interval {
  double low = 0, high = 0;
  [[nodiscard]] bool contains(double x) const { return low <= x && x <= high; }
};

enum class TailMethod : std::uint8_t { quantiles, hill, log_moment };
[[nodiscard]] std::string_view name(TailMethod method);  // as above

struct TailIndex {
  double alpha = 2;
  Interval interval;  // 95 %
  TailMethod method = TailMethod::quantiles;
  std::size_t n = 0;  // entries the estimate rests on
  std::size_t k = 0;  // hill: order statistics used; log-moment: block size; quantiles: 0
  std::size_t missing = 0, infinite = 0, zeros = 0;  // NaN; +-Inf; zeros left out (log-moment)
  // The raw estimate lay outside what the method can say ([0.5, 2] or (0, 2]); alpha is the end.
  bool clamped = false;

  // What it says in words, e.g. "tail index 1.3 (1.2-1.4) by quantiles: heavier than Gaussian".
  // What to do about it is for tail_verdict.h to say.
  [[nodiscard]] std::string verdict() const;
};

// What the values are measured from. `pairs` uses x1 - x2, x3 - x4, …: half as many values, but
// symmetric and centred whatever the centre and skewness of X, with the same alpha.
enum class Centre : std::uint8_t { none, mean, median, pairs };

// --- a stable law by quantiles -------------------------------------------------------------------

// Of the estimates; 0 where a parameter stands at an end of its range.
struct StandardErrors {
  double alpha = 0, beta = 0, scale = 0, location = 0;
};

struct StableFit {
  StableParameters parameters;  // in S0
  Interval alpha, beta, scale, location;
  StandardErrors errors;
  std::size_t n = 0, missing = 0, infinite = 0;
  // At an end of alpha in [0.5, 2] or beta in [-1, 1] the data asked for more. At alpha = 2 beta
  // means nothing: it is given as 0 with the interval [-1, 1].
  bool alpha_clamped = false, beta_clamped = false;

  [[nodiscard]] TailIndex tail_index() const;
};

// fit(-x) is the mirror of fit(x), bit for bit. Error for fewer than 20 numbers, where the middle
// half of the sample is one value, and where 5 % of a side are infinite. In other forms:
// convert(fit.parameters, StableForm::S1).
[[nodiscard]] StableFit fit_stable(std::span<const double> sample);

// --- Hill ----------------------------------------------------------------------------------------

enum class Tail : std::uint8_t { both, left, right };

struct HillOptions {
  // Order statistics used. 0 = by Guillou and Hall (JRSS B 63, 2001): as many as show no bias, that
  // is, until the smoothed correlation between log-spacings and their rank exceeds 1.25 for good.
  std::size_t k = 0;
  Tail tail = Tail::both;  // |x|, -x, or x; only the positive ones of these take part
  Centre centre = Centre::none;
};

// The interval knows the spread, not the bias: a stable law has a pure power tail only far out, and
// the nearer alpha is to 2 the farther. Of n = 1000 stable values of index 1, 1.5, 1.8 the
// automatic k makes 0.99, 1.7, 2.6 on average, and the intervals cover 83, 51, 16 %. For those use
// the others; Hill is for the far tail of whatever has one, and for norms.
//
// 1/alpha = mean of log(x_(i) / x_(k+1)) over the k largest; interval alpha (1 +- 1.96/sqrt(k)).
// Error for fewer than 20 positive numbers, for k outside [2, positive - 1], and for a tail that is
// one value.
[[nodiscard]] TailIndex hill(std::span<const double> sample, const HillOptions& options = {});

// --- log-moments of block sums -------------------------------------------------------------------

struct LogMomentOptions {
  std::size_t block = 0;  // m >= 2; 0 = floor(sqrt(n))
  // The law must be symmetric around 0: `pairs` makes it so, `none` trusts that it is.
  Centre centre = Centre::none;
};

// Blocks are consecutive and give independent terms, so the interval is Student's for 1/alpha.
// Zeros (no noise at all) are left out. Error for fewer than 20 non-zero numbers (after pairing).
[[nodiscard]] TailIndex log_moment(std::span<const double> sample,
                                   const LogMomentOptions& options = {});

}  // namespace medgrad
#pragma GCC visibility pop
