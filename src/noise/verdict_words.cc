// The verdict in words: what to do first, then why.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "medgrad/tail_verdict.h"
#include "noise/tail_parts.h"

namespace medgrad {
namespace {

using noise::brief;

// "is 0.3 of the mean's"
std::string beside(double part, std::string_view whose) {
  if (std::isnan(part) || part <= 0) return fmt::format("is next to nothing beside {}", whose);
  return part < 1 ? fmt::format("is {} of {}", brief(part), whose)
                  : fmt::format("is {} times {}", brief(part), whose);
}

// "the median lies 0.45 spreads below the mean"
std::string bias_of(const TailVerdict& v) {
  const double bias = v.efficiency.bias;
  if (std::isnan(bias)) return "there is no mean, as entries are infinite on both sides";
  if (std::isinf(bias)) return "the mean is infinite";
  const std::string size = brief(std::fabs(bias));
  const std::string where =
      v.width > 1
          ? fmt::format("the medians of the components lie {} spreads from their means", size)
          : fmt::format("the median lies {} spreads {} the mean", size,
                        bias < 0 ? "below" : "above");
  return where + ", and VClip and CClip would track that";
}

std::string entries(std::size_t infinite) {
  return infinite == 1 ? "1 entry is" : fmt::format("{} entries are", infinite);
}

// Of rows, which of the two medians: "the geometric median (0.31; componentwise 0.35)".
std::string median_of(const TailVerdict& v) {
  const Efficiency& e = v.efficiency;
  const std::string batches = fmt::format("in batches of {}", e.compared);
  if (std::isnan(e.geometric))
    return fmt::format("{} the median's mean squared error {}", batches,
                       beside(e.median / e.mean, "the mean's"));
  const bool geometric = e.geometric < e.median;
  const double best = e.best_median(), other = geometric ? e.median : e.geometric;
  return fmt::format("{} the mean squared error of the {} median {}, and that of the {} one {}",
                     batches, geometric ? "geometric" : "componentwise",
                     beside(best / e.mean, "the mean's"), geometric ? "componentwise" : "geometric",
                     brief(other / e.mean));
}

std::string what_to_do(const TailVerdict& v) {
  const Efficiency& e = v.efficiency;
  switch (v.advice) {
    case Advice::median:
      return v.infinite > 0
                 ? fmt::format("Use a median-type estimator: {} infinite, which no mean survives",
                               entries(v.infinite))
                 : "Use a median-type estimator: " + median_of(v);
    case Advice::huber:
      return fmt::format(
          "Use Huber's estimator: in batches of {} its mean squared error {}, and the median's {}",
          e.compared, beside(e.huber / e.mean, "the mean's"),
          beside(e.best_median() / e.mean, "the mean's"));
    case Advice::mean:
      if (e.skewed) return "Use the mean: the data are skewed, " + bias_of(v);
      return "The mean is fine: " + median_of(v);
    default:
      break;
  }
  if (2 * v.infinite >= v.n * v.width && v.infinite > 0)
    return "Neither mean nor median is safe: half of the entries or more are infinite";
  if (!(e.spread > 0)) return "Mean or median cannot be told from so few rows";
  if (v.infinite > 0)
    return fmt::format("Neither mean nor median is safe: the data are skewed, and {} infinite",
                       entries(v.infinite));
  const std::string_view mean =
      v.infinite_variance == Answer::yes  ? "the mean has infinite variance"
      : v.infinite_variance == Answer::no ? "the mean is at the mercy of few numbers"
                                          : "the mean's variance may be infinite";
  return fmt::format("Neither mean nor median is safe: the data are skewed, {}, and {}", bias_of(v),
                     mean);
}

std::string index_of(const TailVerdict& v) {
  const Interval& i = v.index_interval;
  if (std::isnan(v.index)) return "";
  if (std::isinf(i.low)) return "no power tail, ";
  if (v.index > 100) return fmt::format("tail index above {}, ", brief(i.low));
  if (std::isinf(i.high))
    return fmt::format("tail index {} ({} or more), ", brief(v.index), brief(i.low));
  // As many digits as tell the ends apart.
  const double width = i.high - i.low;
  const int digits =
      width > 0 ? std::clamp(1 - static_cast<int>(std::floor(std::log10(width))), 2, 8) : 2;
  if (digits == 2)
    return fmt::format("tail index {} ({}-{}), ", brief(v.index), brief(i.low), brief(i.high));
  return fmt::format("tail index {:.{}f} ({:.{}f}-{:.{}f}), ", v.index, digits, i.low, digits,
                     i.high, digits);
}

std::string size_of(const TailVerdict& v) {
  return v.width == 1 ? fmt::format("n = {}", v.n) : fmt::format("n = {} rows of {}", v.n, v.width);
}

std::string variance(const TailVerdict& v) {
  switch (v.infinite_variance) {
    case Answer::yes:
      return v.infinite > 0 ? size_of(v)
                            : fmt::format("infinite variance, {}{}", index_of(v), size_of(v));
    case Answer::no:
      return fmt::format("finite variance, {}{}", v.stable_fits() ? "" : index_of(v), size_of(v));
    default:
      return fmt::format("{} cannot tell whether the variance is finite", size_of(v));
  }
}

}  // namespace

std::string TailVerdict::sentence() const {
  std::string text = fmt::format("{} ({}", what_to_do(*this), variance(*this));
  if (stable)
    text += fmt::format("; {} stable law fits, p = {}", stable_fits() ? "a" : "no",
                        brief(stable->p_value));
  return text + ").";
}

}  // namespace medgrad
