// Does this noise call for a median? Three questions, each answered by itself.
//
// 1. Is the variance infinite? From the far tails alone (peaks.h), each by itself, and both
//    together where the middle of the sample is symmetric. "yes" where the generalised Pareto law
//    puts xi above 1/2 at 95 % and the farthest 5 % do not speak against it, or where a stable law
//    of index below 2 describes all of the sample and the tails agree with it; "no" where every
//    tail, and the farthest 2 % of it, puts xi below 1/2 at 95 %, or is a single number. An
//    infinite entry is a "yes".
// 2. Is a stable law a fair description? The test of stable_fit.h, and one of the tail: xi of the
//    peaks against that of the fitted law at the same threshold, since Pareto's and Student's laws
//    have bodies like a stable law's, but lighter tails. The smaller p-value, times two, counts.
//    And the farthest numbers have to be where some stable law could have them: that p-value,
//    times 20, counts where it is smaller still.
//    Only where it fits does its alpha count as a tail index. No stable law gives infinite entries.
// 3. Mean, median or Huber? By their mean squared errors in batches of a given size, found by
//    resampling the data: around the median where the middle of the sample is symmetric, and around
//    the mean where it is skewed, since there a median tracks something else (`bias`). Outliers
//    that a gap sets apart are no skewness.
//
// Data whose middle is skewed get "mean", where its variance is finite and it lies within three
// spreads of the median, or "unclear": no estimator is both robust and unbiased there. Symmetric
// data get the median where its mean squared error is below 0.93 of the mean's, else Huber's (which
// needs a scale, mu) where that is below 0.94 of it, or not above the mean's and the kurtosis is
// above that of normal data at 95.5 %: of few numbers the variance alone shows a heavy tail too
// late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "medgrad/peaks.h"
#include "medgrad/stable_fit.h"

#pragma GCC visibility push(default)
namespace medgrad {

enum class Answer : std::uint8_t { yes, no, unclear };
enum class Advice : std::uint8_t { mean, median, huber, unclear };
[[nodiscard]] std::string_view name(Answer answer);
[[nodiscard]] std::string_view name(Advice advice);

// How good are mean, median and Huber's estimator (mu = 1.345 spreads) of a batch? All in units of
// the spread, 1.4826 times the median absolute deviation from the median.
struct Efficiency {
  std::size_t batch = 0;
  // In batches of so many: of one or two numbers all three estimators are the mean, so that they
  // are compared over ten.
  std::size_t compared = 0;
  double mean = 0, median = 0, huber = 0;  // mean squared errors
  // Of rows, that of the geometric median, too; NaN for numbers.
  double geometric = std::numeric_limits<double>::quiet_NaN();
  double spread = 0;  // in units of the data; 0 where nothing could be compared
  // (median - mean) / spread; infinite or NaN as that mean is. Of rows it has no sign: the root
  // mean square over the components, less what chance makes.
  double bias = 0;
  bool skewed = false;        // the middle of the sample, beyond doubt (99 %)
  bool hollow = false;        // hardly anything lies around the median, which may be far off
  double kurtosis_score = 0;  // standard normal where the data are; infinite for huge numbers

  // Of both medians, the better one's.
  [[nodiscard]] double best_median() const { return geometric < median ? geometric : median; }
};

struct VerdictOptions {
  std::size_t batch = 10;  // gradients that are combined at a time
  // Of numbers: the p-value of the test of stable laws by so many samples of the law that was
  // found, with these threads; 0 = by the law of large samples. (Of rows, always so.)
  std::size_t bootstrap = 0;
  ThreadPool* pool = nullptr;
};

struct TailVerdict {
  // n independent numbers, or rows of `width` entries; entries that are missing and infinite.
  std::size_t n = 0, width = 1, missing = 0, infinite = 0;
  std::optional<Peaks> left, right, both;  // none for fewer than 60 numbers
  std::optional<StableTest> stable;        // its p-value is that of all tests
  // By how many standard errors xi of the heavier tail is above that of the stable law at the same
  // threshold; 0 where it was not looked at.
  double tail_excess = 0;
  Efficiency efficiency;

  Answer infinite_variance = Answer::unclear;
  Advice advice = Advice::unclear;
  // The tail index with its 95 % interval: alpha of the stable law where one fits and the variance
  // is infinite, 1/xi of the heavier tail elsewhere (of rows, of their norms); the interval has
  // both where neither is ruled out (each at 85 % below 1, where they are alike), and the farthest
  // numbers' where they leave the answer open. An index below 2 is claimed where the variance is
  // infinite and nowhere else: NaN where it would be, for fewer than 60 numbers, and where entries
  // are infinite.
  double index = 0;
  Interval index_interval;

  [[nodiscard]] bool stable_fits() const { return stable && stable->fits(); }
  [[nodiscard]] double p_value() const { return stable ? stable->p_value : 0; }
  // One sentence to act on, and one for the reason.
  [[nodiscard]] std::string sentence() const;
};

// NaN is left out. Ties of rounded numbers are spread over the step that they were rounded to.
// Error for fewer than 20 numbers and for a sample without spread.
[[nodiscard]] TailVerdict judge_tails(std::span<const double> sample,
                                      const VerdictOptions& options = {});

}  // namespace medgrad
#pragma GCC visibility pop
