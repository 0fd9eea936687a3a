// The verdict in words: what to do first, then why.
#include <fmt/core.h>

#include <cmath>

#include "base/text.h"
#include "medgrad/tail_verdict.h"
#include "noise/tail_parts.h"

namespace medgrad {
namespace {

using noise::brief;

std::string share(double part) {
  return part < 1 ? fmt::format("{} of", brief(part)) : fmt::format("{} times", brief(part));
}

// "the median lies 0.45 spreads below the mean"
std::string bias_of(const Efficiency& e) {
  return fmt::format("the median lies {} spreads {} the mean, and VClip and CClip would track that",
                     brief(std::fabs(e.bias)), e.bias < 0 ? "below" : "above");
}

std::string what_to_do(const TailVerdict& v) {
  const Efficiency& e = v.efficiency;
  const std::string batches = fmt::format("in batches of {}", e.compared);
  switch (v.advice) {
    case Advice::median:
      if (v.infinite > 0)
        return fmt::format(
            "Use a median-type estimator: {} infinite, which no mean survives",
            v.infinite == 1 ? "1 entry is" : fmt::format("{} entries are", v.infinite));
      return fmt::format(
          "Use a median-type estimator: {} the median's mean squared error is {} "
          "the mean's",
          batches, share(e.median / e.mean));
    case Advice::huber:
      return fmt::format(
          "Use Huber's estimator: {} its mean squared error is {} the mean's, the "
          "median's {} it",
          batches, share(e.huber / e.mean), share(e.median / e.mean));
    case Advice::mean:
      if (e.skewed) return fmt::format("Use the mean: the data are skewed, {}", bias_of(e));
      return fmt::format("The mean is fine: {} the median's mean squared error is {} the mean's",
                         batches, share(e.median / e.mean));
    default:
      break;
  }
  const std::string_view mean =
      v.infinite > 0                       ? "the mean is infinite"
      : v.infinite_variance == Answer::yes ? "the mean has infinite variance"
      : v.infinite_variance == Answer::no  ? "the mean is at the mercy of few numbers"
                                           : "the mean's variance may be infinite";
  return fmt::format("Neither mean nor median is safe: the data are skewed, {}, and {}", bias_of(e),
                     mean);
}

std::string index_of(const TailVerdict& v) {
  if (std::isnan(v.index)) return "";
  if (std::isinf(v.index)) return fmt::format("tail index above {}, ", brief(v.index_interval.low));
  return fmt::format("tail index {} ({}-{}), ", brief(v.index), brief(v.index_interval.low),
                     brief(v.index_interval.high));
}

std::string variance(const TailVerdict& v) {
  switch (v.infinite_variance) {
    case Answer::yes:
      return v.infinite > 0 ? fmt::format("n = {}", v.n)
                            : fmt::format("infinite variance, {}n = {}", index_of(v), v.n);
    case Answer::no:
      return fmt::format("finite variance, {}n = {}", v.stable_fits() ? "" : index_of(v), v.n);
    default:
      return fmt::format("n = {} cannot tell whether the variance is finite", v.n);
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
