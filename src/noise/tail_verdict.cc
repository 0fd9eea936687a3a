#include "medgrad/tail_verdict.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "base/text.h"
#include "medgrad/error.h"
#include "noise/efficiency.h"
#include "noise/judge.h"
#include "noise/peaks.h"
#include "noise/reach.h"
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
constexpr double kHeavierThanNormal = 1.7;  // standard errors of the kurtosis: 95.5 %
constexpr double kHopeless = 3;  // times the median's: no mean is fine that is so much worse
constexpr double kFarOff = 3;    // spreads from the median: nor one that is so far out
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

// The tails that count, none where they were not looked at or are one number.
std::vector<const Peaks*> tails_of(const TailVerdict& v) {
  std::vector<const Peaks*> tails;
  const auto add = [&](const std::optional<Peaks>& p) { tails.push_back(p ? &*p : nullptr); };
  if (is_pooled(v)) {
    add(v.both);
  } else {
    add(v.left);
    add(v.right);
  }
  return tails;
}

// Infinite anywhere is infinite; finite is what is finite everywhere.
void merge(Answer& all, Answer other) {
  if (other == Answer::yes || (other == Answer::unclear && all == Answer::no)) all = other;
}

Answer variance_of(const TailVerdict& v) {
  if (v.infinite > 0) return Answer::yes;
  const std::vector<const Peaks*> tails = tails_of(v);
  const auto any = [&](const auto& holds) {
    return std::any_of(tails.begin(), tails.end(), [&](const Peaks* p) { return p && holds(*p); });
  };
  if (any([](const Peaks& p) { return heavy(p, kZ95OneSided); })) return Answer::yes;
  const bool stable = v.stable && v.stable->p_value >= kStableAllows;
  if (stable && v.stable->fit.alpha.high < 2 && any(allows)) return Answer::yes;
  // A tail that is one number, many times over, has an end.
  const bool enough = v.n * v.width >= kFewestForPeaks && v.efficiency.spread > 0;
  const bool none = std::all_of(tails.begin(), tails.end(),
                                [&](const Peaks* p) { return p ? light(*p) : enough; });
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
  if (!(e.spread > 0)) {  // nothing to compare by
    return v.infinite > 0 && 2 * v.infinite < v.n * v.width ? Advice::median : Advice::unclear;
  }
  if (e.skewed) {
    const bool fine = v.infinite_variance == Answer::no && e.mean < kHopeless * e.median &&
                      std::fabs(e.bias) <= kFarOff;
    return fine ? Advice::mean : Advice::unclear;
  }
  if (e.best_median() < kMedianBelow * e.mean) return Advice::median;
  const double slack = 0.35 / std::sqrt(static_cast<double>(v.n));  // a third of a standard error
  const bool heavier = e.kurtosis_score > kHeavierThanNormal && e.huber < (1 + slack) * e.mean;
  if (e.huber < kHuberBelow * e.mean || heavier) return Advice::huber;
  return v.infinite_variance == Answer::yes ? Advice::huber : Advice::mean;
}

const Peaks* heavier_tail(const TailVerdict& v) {
  const Peaks* heavier = nullptr;
  for (const Peaks* p : tails_of(v)) {
    if (p && (!heavier || p->pareto.xi > heavier->pareto.xi)) heavier = p;
  }
  return heavier;
}

// Of rows: that of the norms, since rows are independent and entries are not, unless only the
// components show that the variance is infinite.
const Peaks* heavier_tail(const TailVerdict& v, const RowTails& rows) {
  const Peaks* norms = rows.scaled_norms ? rows.scaled_norms : rows.norms;
  const Peaks* own = heavier_tail(v);
  const bool hidden = own && infinite_variance(*own) == Answer::yes && norms &&
                      own->pareto.xi_interval.low > norms->pareto.xi_interval.high;
  return norms && !hidden ? norms : own;
}

// A second test of the stable law, by its tail; of two tests, the smaller p-value times two counts.
void test_tail(TailVerdict& v, const Peaks* tail, bool folded) {
  if (!v.stable || !tail || v.infinite > 0) return;
  if (v.stable->fit.alpha.high >= 2) return;  // nothing is lighter than a Gaussian tail
  v.tail_excess = tail_excess(v.stable->fit, *tail, folded);
  const double lighter = std::erfc(-v.tail_excess / std::sqrt(2.0)) / 2;
  v.stable->p_value = std::min(1.0, 2 * std::min(v.stable->p_value, lighter));
}

// A third one: no stable law of which the sample could be has numbers so far out. It is for what
// shows by orders of magnitude: weighted by a twentieth, it hardly adds to the false alarms.
void test_reach(TailVerdict& v, std::span<const double> centred, const Whole* whole) {
  constexpr double kWeight = 20;
  if (!v.stable || v.infinite > 0 || (whole != nullptr && whole->infinite > 0)) return;
  std::vector<double> sizes;
  for (const double x : centred) {
    if (!std::isnan(x)) sizes.push_back(std::fabs(x));
  }
  const std::size_t seen = sizes.size();
  const double unit = median(sizes);
  const double p = whole != nullptr ? p_of_reach(whole->far, whole->n, unit, seen, v.stable->fit)
                                    : p_of_reach(std::move(sizes), seen, unit, seen, v.stable->fit);
  v.stable->p_value = std::min(v.stable->p_value, kWeight * p);
}

double index_of(double xi) { return xi > 0 ? 1 / xi : Peaks::kInfinite; }
Interval indices_of(const Interval& xi) { return {index_of(xi.high), index_of(xi.low)}; }

void widen(Interval& all, const Interval& by) {
  all = {std::min(all.low, by.low), std::max(all.high, by.high)};
}

// So many standard errors to both sides of the tail's index, at all thresholds that may be right.
Interval own_index(const Peaks& tail, double errors) {
  const auto reach = [&](const TailShape& s) {
    return indices_of({lower(s, errors), upper(s, errors)});
  };
  Interval all = reach(pareto(tail));
  for (const TailShape& s : tail.doubted) widen(all, reach(s));
  return all;
}

// Below 1 the bodies of Pareto's laws around 0 are so much like those of stable laws of another
// index that 3,000 numbers do not tell them apart. So both count, with 85 % each: where both are
// right their intervals cover together in 97 %, as half of what the tail's estimate is off by is
// none of the stable law's, and where one of them is, in 93 %.
Interval of_either(const StableFit& law, const Peaks& tail) {
  constexpr double kErrors = 1.44, kPart = kErrors / kZ95;
  const double alpha = law.parameters.alpha;
  Interval all = {alpha - (alpha - law.alpha.low) * kPart,
                  alpha + (law.alpha.high - alpha) * kPart};
  widen(all, own_index(tail, kErrors));
  return all;
}

// The stable law's where it fits, its tail too, and the variance is infinite; the heavier tail's
// own elsewhere. Where a stable law is not ruled out either, the interval has both; of rows it
// always has, as bodies of rows say little about their tails.
void set_index(TailVerdict& v, const RowTails& rows) {
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
  v.index = kNothing;
  v.index_interval = {0, Peaks::kInfinite};
  const bool vectors = v.width > 1;
  const Peaks* tail = vectors ? heavier_tail(v, rows) : heavier_tail(v);
  if (v.infinite > 0 || !tail) return;
  const Answer answer = v.infinite_variance;
  // A component that is far heavier than the others need not be among those that were tested.
  const bool outdone = vectors && v.stable && tail->index_interval().high < v.stable->fit.alpha.low;
  const bool stable =
      v.stable_fits() && answer == Answer::yes && v.tail_excess > kInDoubt && !outdone;
  const bool either = v.stable && v.stable->p_value >= kStableAllows && v.stable->fit.alpha.low < 2;
  v.index = stable ? v.stable->fit.parameters.alpha : tail->index();
  v.index_interval = stable ? v.stable->fit.alpha : own_index(*tail, kZ95);
  if (either && !stable) widen(v.index_interval, v.stable->fit.alpha);
  if (either && !vectors && v.stable->fit.parameters.alpha < 1)
    v.index_interval = of_either(v.stable->fit, *tail);
  if (vectors) {
    widen(v.index_interval, own_index(*tail, kZ95));
    // Few of many components may be all there is far out, where the others hide them: norms are a
    // power only farther out than one sees from where they look like one.
    if (!v.stable_fits() || !tail->pareto.xi_interval.contains(tail->far.xi))
      widen(v.index_interval, indices_of(tail->far.interval));
  }
  if (answer == Answer::yes) {
    // Infinite by the stable law, or in part of the components.
    if (!(v.index < 2)) v.index = either ? v.stable->fit.parameters.alpha : kNothing;
    v.index_interval.high = std::min(v.index_interval.high, 2.0);
    v.index_interval.low = std::min(v.index_interval.low, v.index_interval.high);
    return;
  }
  if (answer == Answer::unclear) {
    // Open because of the farthest numbers: they count, too.
    for (const Peaks* p : tails_of(v)) {
      if (!p) continue;
      widen(v.index_interval, p->index_interval());
      widen(v.index_interval, indices_of(p->farthest.interval));
    }
    v.index_interval.low = std::min(v.index_interval.low, 2.0);
  }
  if (v.index < 2) v.index = kNothing;
  if (v.index_interval.high <= 2) v.index_interval.high = Peaks::kInfinite;
}

// What the sample lacks and the stream has: few numbers may be what the mean's error comes from.
void complete(TailVerdict& v, const Whole& whole, double centre) {
  v.n = whole.n;
  v.infinite = whole.infinite;
  Efficiency& e = v.efficiency;
  if (!(e.spread > 0)) return;
  const double deviation = whole.deviation / e.spread;
  e.mean = std::max(e.mean, deviation * deviation / static_cast<double>(e.compared));
  e.bias = whole.infinite > 0 ? -whole.beyond : (centre / 2 - whole.mean / 2) / e.spread * 2;
}

}  // namespace

Answer infinite_variance(const Peaks& tail) {
  if (tail.infinite > 0 || heavy(tail, kZ95OneSided)) return Answer::yes;
  return light(tail) ? Answer::no : Answer::unclear;
}

void conclude(TailVerdict& v, const RowTails& rows) {
  // Norms of rows of stable numbers have tails at least as heavy as |x| at the same threshold: the
  // more components, the closer to their limit.
  if (v.width > 1 && rows.scaled_norms) test_tail(v, rows.scaled_norms, true);
  v.infinite_variance = variance_of(v);
  if (rows.directions) merge(v.infinite_variance, rows.directions->infinite_variance);
  for (const Peaks* norms : {rows.norms, rows.scaled_norms}) {
    if (norms) merge(v.infinite_variance, infinite_variance(*norms));
  }
  v.advice = advice_of(v);
  set_index(v, rows);
}

TailVerdict judge_grouped(std::span<const double> centred, std::size_t group,
                          std::optional<StableTest> stable, const VerdictOptions& options,
                          const Whole* whole) {
  TailVerdict v;
  std::size_t numbers = 0;
  for (const double value : centred) {
    v.missing += std::isnan(value) ? 1 : 0;
    v.infinite += std::isinf(value) ? 1 : 0;
    numbers += std::isnan(value) ? 0 : 1;
  }
  v.width = group;
  v.n = group == 1 ? numbers : centred.size() / group;
  if (numbers < kFewest) {
    throw Error(fmt::format("the sample has {}; a verdict on its tails needs at least {}.",
                            counted(numbers, "number"), kFewest));
  }
  v.stable = stable;
  const bool skewed = is_skewed(v);
  // No stable law gives infinite numbers.
  if (v.stable && (v.infinite > 0 || (whole != nullptr && whole->infinite > 0)))
    v.stable->p_value = 0;
  try {
    v.efficiency = efficiency_of(centred, group, options.batch, skewed);
  } catch (const Error&) {
    if (v.infinite == 0) throw;  // half of them infinite, and no spread: that is an answer, too
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
  if (group == 1) {
    test_tail(v, heavier_tail(v), is_pooled(v));
    test_reach(v, centred, whole);
  }
  conclude(v);
  return v;
}

TailVerdict judge(std::span<const double> sample, const VerdictOptions& options, Whole* whole) {
  Cleaned cleaned = clean(sample);
  if (cleaned.values.size() < kFewest) {
    throw Error(fmt::format("the sample has {}; a verdict on its tails needs at least {}.",
                            counted(cleaned.values.size(), "number"), kFewest));
  }
  if (cleaned.infinite == cleaned.values.size()) throw Error("all numbers are infinite.");
  std::vector<double>& x = cleaned.values;
  spread_ties(x);
  std::optional<StableTest> stable;
  try {
    stable = test_stable(x);
    if (options.bootstrap > 0) {
      stable->p_value = bootstrap_p_value(*stable, {.resamples = options.bootstrap}, options.pool);
    }
  } catch (const Error&) {  // half of them one number, or a quarter infinite
  }
  double middle = median(x);
  if (!std::isfinite(middle)) middle = 0;
  for (double& v : x) v -= middle;
  if (whole != nullptr) {
    for (double& v : whole->far) v -= middle;
  }
  TailVerdict v = judge_grouped(x, 1, stable, options, whole);
  if (whole != nullptr) {
    complete(v, *whole, middle);
    conclude(v);
  }
  v.missing = cleaned.missing;
  return v;
}

}  // namespace noise

TailVerdict judge_tails(std::span<const double> sample, const VerdictOptions& options) {
  return noise::judge(sample, options);
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
