// Moments of the sample median: claims and figure (paper, fig. moment-sample-median-mean).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "lab/experiments.h"
#include "lab/findings/lookup.h"
#include "medgrad/theory.h"

namespace medgrad::lab {
namespace {

Series exact_curve(const std::vector<theory::MedianMoments>& exact, bool second) {
  Series series{.name = "exact (median)", .key = "exact", .style = SeriesStyle::dashed};
  for (const theory::MedianMoments& m : exact) {
    series.x.push_back(static_cast<double>(m.n));
    series.y.push_back(second ? m.C_n : m.E_abs);
  }
  return series;
}

// Where the fourth moment is finite, the standard error of the second means something.
Claim agrees_with_theory(const Results& r, double alpha,
                         const std::vector<theory::MedianMoments>& exact) {
  double worst = 0;
  std::size_t cells = 0;
  for (const theory::MedianMoments& m : exact) {
    if (!(alpha * (static_cast<double>(m.n) + 1) / 2 > 4)) continue;
    const Group* group =
        find(r, "median", "second_moment", {{"alpha", alpha}, {"n", static_cast<double>(m.n)}});
    if (group == nullptr) continue;
    worst = std::max(worst, std::abs(group->last().mean - m.C_n) / group->last().se);
    ++cells;
  }
  return {
      fmt::format("the variance of the sample median is the exact C_n (alpha = {})", show(alpha)),
      worst < 4.5,
      fmt::format("the worst of {} is {} standard errors off.", counted(cells, "sample size"),
                  show(worst))};
}

Claim median_has_smaller_variance(const Results& r, double alpha, double n) {
  const double median = mean_of(r, "median", "second_moment", {{"alpha", alpha}, {"n", n}});
  const double mean = mean_of(r, "mean", "second_moment", {{"alpha", alpha}, {"n", n}});
  return {
      fmt::format("the sample median has a much smaller variance than the sample mean (alpha = {})",
                  show(alpha)),
      10 * median < mean,
      fmt::format("n = {}: second moment {} of the median, {} measured of the mean, where the "
                  "truth is infinite.",
                  show(n), show(median), show(mean))};
}

}  // namespace

void moments_findings(const Experiment&, Results& r) {
  const std::vector<double> sizes = values_on(r, "n");
  std::vector<std::uint64_t> odd;
  for (const double n : sizes)
    if (std::fmod(n, 2) == 1) odd.push_back(static_cast<std::uint64_t>(n));
  Figure figure{.id = "moments",
                .title = "Moments against the sample size",
                .caption =
                    "Over all trials, with standard errors. The exact moment of the median begins "
                    "where it is finite; the mean's second moment is infinite for every n.",
                .columns = 2};
  for (const char* metric : {"first_moment", "second_moment"}) {
    const bool second = std::string_view(metric) == "second_moment";
    for (const double alpha : values_on(r, "alpha")) {
      Panel panel{.id = std::string(metric) + "-" + show(alpha),
                  .title = fmt::format("{}, α = {}", second ? "E x²" : "E|x|", show(alpha)),
                  .x = {.label = "n"},
                  .y = {.label = second ? "second moment" : "first moment", .log = true}};
      for (const auto& [method, key] : methods_of(r, metric)) {
        Series series = over_axis(r, method, metric, "n", {{"alpha", alpha}});
        // Of 10,000 trials the extremes say nothing; a median of |x| is no moment.
        for (auto* other :
             {&series.low, &series.high, &series.median, &series.lower, &series.upper})
          other->clear();
        panel.series.push_back(std::move(series));
      }
      const auto exact = theory::median_moments({.alpha = alpha}, odd);
      panel.series.push_back(exact_curve(exact, second));
      figure.panels.push_back(std::move(panel));
      if (!second) continue;
      r.claims.push_back(median_has_smaller_variance(r, alpha, *std::ranges::max_element(sizes)));
      r.claims.push_back(agrees_with_theory(r, alpha, exact));
      r.notes.push_back(fmt::format(
          "α = {}: the median of n samples has a finite variance from n = {} on. Just above, means "
          "over trials say little: they approach the truth as slowly as any sum of heavy tails.",
          show(alpha), theory::smallest_n(alpha)));
    }
  }
  if (!figure.panels.empty()) r.figures.push_back(std::move(figure));
}

}  // namespace medgrad::lab
