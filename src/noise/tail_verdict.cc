#include "medgrad/tail_verdict.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "medgrad/error.h"
#include "noise/efficiency.h"
#include "noise/judge.h"
#include "noise/peaks.h"
#include "noise/stable_tail.h"
#include "noise/tail_parts.h"

namespace medgrad {
namespace noise {
namespace {

constexpr double kBorder = 0.5;          // xi from which on the variance is infinite
constexpr double kZ95OneSided = 1.6449;  // of two sides 1.96: see kZ95
constexpr double kQuartile = 0.6745;
constexpr double kFits = 0.1, kStableAllows = 0.01;
constexpr std::size_t kEnough = 40, kMany = 1000;
constexpr double kMedianBelow = 0.93, kHuberBelow = 0.94;
constexpr double kHeavierThanNormal = 2;  // standard errors of the kurtosis: 97.7 %
constexpr double kHopeless = 3;  // times the median's: no mean is fine that is so much worse
constexpr double kSkewedBy = 3.29;
constexpr double kInDoubt = -0.7;  // standard errors that a tail is lighter than a stable law's

// Ends of one-sided intervals, from the two-sided 95 % one.
double lower(const TailShape& s, double z) { return s.xi - (s.xi - s.interval.low) * z / kZ95; }
double upper(const TailShape& s, double z) { return s.xi + (s.interval.high - s.xi) * z / kZ95; }
TailShape pareto(const Peaks& p) { return {p.pareto.xi, p.pareto.xi_interval}; }

// Too light for infinite variance, at 97.5 %, by the standard error that xi = 1/2 would have.
bool contradicts(const TailShape& s) {
  const double half = (s.interval.high - s.xi) * (1 + kBorder) / std::max(1 + s.xi, kBorder);
  return s.xi + half < kBorder;
}
// A power tail that the fit at its threshold bears out, with enough of it to tell.
bool heavy(const Peaks& p, double z) {
  return p.k >= kEnough && p.pareto.p_value >= kFits && lower(pareto(p), z) > kBorder &&
         !contradicts(p.n < kMany ? p.farthest : p.far);
}
bool light(const Peaks& p) {
  return upper(pareto(p), kZ95OneSided) < kBorder && upper(p.farthest, kZ95OneSided) < kBorder;
}
// Do the tails go together with infinite variance? Small samples from many laws pass for stable:
// there the tails have to agree more clearly.
bool allows(const Peaks& p) {
  if (p.n >= kMany) return upper(pareto(p), 3) > kBorder && upper(p.far, 1) > kBorder;
  return upper(pareto(p), kQuartile) > kBorder && upper(p.farthest, kQuartile) > kBorder;
}

// Both tails as one: where the centre that |x| is measured from says the same of both.
bool is_pooled(const TailVerdict& v) { return !v.efficiency.skewed && !v.efficiency.hollow; }

Answer variance_of(const TailVerdict& v) {
  if (v.infinite > 0) return Answer::yes;
  if (!v.left || !v.right || !v.both) return Answer::unclear;
  const bool pooled = is_pooled(v);
  if (pooled ? heavy(*v.both, kZ95OneSided)
             : heavy(*v.left, kZ95OneSided) || heavy(*v.right, kZ95OneSided))
    return Answer::yes;
  const bool agree = pooled ? allows(*v.both) : allows(*v.left) || allows(*v.right);
  const bool stable = v.stable && v.stable->p_value >= kStableAllows;
  if (stable && v.stable->fit.alpha.high < 2 && agree) return Answer::yes;
  const bool none = pooled ? light(*v.both) : light(*v.left) && light(*v.right);
  return none ? Answer::no : Answer::unclear;
}

// A stable law that fits, and whose beta is not 0 at 99.9 %. Close to alpha = 2 beta says nothing.
bool is_skewed(const TailVerdict& v) {
  if (!v.stable_fits() || v.stable->fit.alpha.high > 1.9) return false;
  const StableFit& fit = v.stable->fit;
  const double beta = fit.parameters.beta;
  const double half = std::max(beta - fit.beta.low, fit.beta.high - beta);
  return std::fabs(beta) > half * kSkewedBy / kZ95;
}

Advice advice_of(const TailVerdict& v) {
  const Efficiency& e = v.efficiency;
  if (e.skewed) {
    const bool fine = v.infinite_variance == Answer::no && e.mean < kHopeless * e.median;
    return fine ? Advice::mean : Advice::unclear;
  }
  if (e.median < kMedianBelow * e.mean) return Advice::median;
  const double slack = 0.35 / std::sqrt(static_cast<double>(v.n));  // a third of a standard error
  const bool heavier = e.kurtosis_score > kHeavierThanNormal && e.huber < (1 + slack) * e.mean;
  if (e.huber < kHuberBelow * e.mean || heavier) return Advice::huber;
  return v.infinite_variance == Answer::yes ? Advice::huber : Advice::mean;
}

const Peaks& heavier_tail(const TailVerdict& v) {
  if (is_pooled(v)) return *v.both;
  return v.left->pareto.xi > v.right->pareto.xi ? *v.left : *v.right;
}

// A second test of the stable law, by its tail; of two tests, the smaller p-value times two counts.
void test_tail(TailVerdict& v) {
  if (!v.stable || !v.left || !v.right || !v.both || v.infinite > 0) return;
  if (v.stable->fit.alpha.high >= 2) return;  // nothing is lighter than a Gaussian tail
  v.tail_excess = tail_excess(v.stable->fit, heavier_tail(v), is_pooled(v));
  const double lighter = std::erfc(-v.tail_excess / std::sqrt(2.0)) / 2;
  v.stable->p_value = std::min(1.0, 2 * std::min(v.stable->p_value, lighter));
}

// The stable law's where it fits, its tail too, and the variance is infinite; the heavier tail's
// own elsewhere. Where a stable law is not ruled out either, the interval has both.
void set_index(TailVerdict& v) {
  const bool told = v.left && v.right && v.both;
  if (v.stable_fits() && v.infinite_variance == Answer::yes && v.tail_excess > kInDoubt) {
    v.index = v.stable->fit.parameters.alpha;
    v.index_interval = v.stable->fit.alpha;
  } else if (told) {
    const Peaks& heavier = heavier_tail(v);
    v.index = heavier.index();
    v.index_interval = heavier.index_interval();
    if (v.stable && v.stable->p_value >= kStableAllows && v.stable->fit.alpha.low < 2) {
      v.index_interval.low = std::min(v.index_interval.low, v.stable->fit.alpha.low);
      v.index_interval.high = std::max(v.index_interval.high, v.stable->fit.alpha.high);
    }
  } else {
    v.index = std::numeric_limits<double>::quiet_NaN();
    v.index_interval = {0, Peaks::kInfinite};
  }
  if (v.infinite_variance == Answer::yes) return;
  if (v.index < 2) v.index = std::numeric_limits<double>::quiet_NaN();
  if (v.index_interval.high < 2) v.index_interval.high = Peaks::kInfinite;
}

}  // namespace

Answer infinite_variance(const Peaks& tail) {
  if (tail.infinite > 0 || heavy(tail, kZ95OneSided)) return Answer::yes;
  return light(tail) ? Answer::no : Answer::unclear;
}

TailVerdict judge_grouped(std::span<const double> centred, std::size_t group,
                          std::optional<StableTest> stable, const VerdictOptions& options,
                          const Whole* whole) {
  TailVerdict v;
  std::vector<double> x;
  for (const double value : centred) {
    if (std::isnan(value)) {
      ++v.missing;
      continue;
    }
    v.infinite += std::isinf(value) ? 1 : 0;
    x.push_back(value);
  }
  v.n = x.size();
  if (v.n < kFewest) {
    throw Error(fmt::format("the sample has {}; a verdict on its tails needs at least {}.",
                            counted(v.n, "number"), kFewest));
  }
  v.stable = stable;
  v.efficiency = efficiency_of(x, group, options.batch, is_skewed(v));
  if (whole != nullptr) {
    v.n = whole->n;
    v.infinite = whole->infinite;
    // Few numbers that the sample has not may be what the mean's error comes from.
    const double spread = v.efficiency.spread, batch = static_cast<double>(options.batch);
    v.efficiency.mean =
        std::max(v.efficiency.mean, std::sqrt(whole->variance) / spread *
                                        (std::sqrt(whole->variance) / spread) / batch);
  }
  const auto tail = [&](Tail which) -> std::optional<Peaks> {
    try {
      const PeaksOptions peaks{.tail = which, .centre = Centre::none};
      return whole != nullptr ? peaks_grouped(whole->far, 1, peaks, whole->n)
                              : peaks_grouped(centred, group, peaks);
    } catch (const Error&) {  // too few, or no spread
      return std::nullopt;
    }
  };
  v.left = tail(Tail::left);
  v.right = tail(Tail::right);
  v.both = tail(Tail::both);
  if (group == 1) test_tail(v);
  v.infinite_variance = variance_of(v);
  v.advice = advice_of(v);
  set_index(v);
  return v;
}

TailVerdict judge(std::span<const double> sample, const StableTest& stable,
                  const VerdictOptions& options) {
  Cleaned cleaned = clean(sample);
  centre(cleaned.values, Centre::median);
  TailVerdict v = judge_grouped(cleaned.values, 1, stable, options);
  v.missing = cleaned.missing;
  return v;
}

}  // namespace noise

TailVerdict judge_tails(std::span<const double> sample, const VerdictOptions& options) {
  return noise::judge(sample, test_stable(sample), options);
}

std::string_view name(Answer answer) {
  constexpr std::array<std::string_view, 3> kNames = {"yes", "no", "unclear"};
  return kNames[static_cast<std::size_t>(answer)];
}
std::string_view name(Advice advice) {
  constexpr std::array<std::string_view, 4> kNames = {"mean", "median", "huber", "unclear"};
  return kNames[static_cast<std::size_t>(advice)];
}

}  // namespace medgrad
