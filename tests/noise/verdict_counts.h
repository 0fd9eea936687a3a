// How often the verdict on samples of a law is right: a row of the table in docs/tails.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "laws.h"
#include "medgrad/tail_verdict.h"

namespace medgrad::laws {

struct Counts {
  int samples = 0;
  int yes = 0, no = 0, unclear = 0;                    // is the variance infinite?
  int stable = 0, skewed = 0, covered = 0;             // covered: the index by its interval
  int mean = 0, median = 0, huber = 0, undecided = 0;  // the advice
  int right = 0;                                       // the advice: see Right
  int claimed = 0;                                     // a tail index below 2
  int blind = 0;  // "mean" though a number is farther out than 20 spreads
};

// The sentence says by how much, and in which direction, a median would be off.
inline bool names_bias(const TailVerdict& v) {
  const std::string text = v.sentence();
  return text.find("spreads below the mean") != std::string::npos ||
         text.find("spreads above the mean") != std::string::npos;
}

inline bool is_right(const TailVerdict& v, Right right) {
  switch (right) {
    case Right::mean:
      return v.advice == Advice::mean && !v.efficiency.skewed;
    case Right::not_median:
      return v.advice == Advice::mean || v.advice == Advice::huber;
    case Right::not_mean:
      return v.advice == Advice::median || v.advice == Advice::huber;
    default:
      return names_bias(v);
  }
}

inline void count(Counts& c, const Law& law, std::span<const double> x, const TailVerdict& v) {
  ++c.samples;
  c.yes += v.infinite_variance == Answer::yes;
  c.no += v.infinite_variance == Answer::no;
  c.unclear += v.infinite_variance == Answer::unclear;
  c.stable += v.stable_fits();
  c.skewed += v.efficiency.skewed;
  c.covered += v.index_interval.contains(law.index);
  c.mean += v.advice == Advice::mean;
  c.median += v.advice == Advice::median;
  c.huber += v.advice == Advice::huber;
  c.undecided += v.advice == Advice::unclear;
  c.right += is_right(v, law.right);
  c.claimed += v.index < 2 || v.index_interval.high < 2;
  const bool far = std::any_of(x.begin(), x.end(), [&](double value) {
    return std::fabs(value) > 20 * v.efficiency.spread;
  });
  c.blind += v.advice == Advice::mean && far;
}

inline Counts judged(const Law& law, std::size_t n, std::uint64_t first_seed, int seeds) {
  Counts c;
  for (int s = 0; s < seeds; ++s) {
    const std::vector<double> x = sample(law, n, first_seed + static_cast<std::uint64_t>(s));
    count(c, law, x, judge_tails(x));
  }
  return c;
}

}  // namespace medgrad::laws
