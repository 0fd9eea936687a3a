// What the noise of gradients shows: a histogram of the errors |g_k - ∇|, their quantiles against
// those of a Gaussian law, whether their tails are heavier; Hill plot, mean excess and quantiles of
// the largest against the generalised Pareto law that was fitted to them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lab/results.h"
#include "medgrad/torch/probe.h"

namespace medgrad::language {

// Counts in bins of equal width from the smallest to the largest value.
struct Histogram {
  double low = 0, width = 0;
  std::vector<std::size_t> counts;
};
[[nodiscard]] Histogram histogram(std::span<const double> values, std::size_t bins = 50);

// Sorted values, standardised by their mean and standard deviation, against N(0, 1): value i of n
// against the quantile of (i - 1/2) / n.
struct QuantilePlot {
  std::vector<double> normal, values;
  // How far the upper tail is above the diagonal: the mean over the largest 1 % (at least 3).
  std::size_t largest = 0;
  double excess = 0;
  // What 99 % of 1000 Gaussian samples of this size stay below.
  double gaussian_excess = 0;
  [[nodiscard]] bool heavier_than_gaussian() const { return excess > gaussian_excess; }
};
// Error where all values are alike or there are fewer than 8.
[[nodiscard]] QuantilePlot quantile_plot(std::span<const double> values);

// The claims and figures of the noise at one batch size; `several` where there are others. And, on
// the axis `batch`, where there is enough to tell them by:
//
//     tail_index_norms       Hill's estimate for the errors, with _low and _high, its 95 % interval
//     tail_index_components  of the stable law fitted to single components, the same way; only
//                            where it fits
void add_noise_findings(lab::Results& results, const libtorch::GradientNoise& noise,
                        std::size_t batch, bool several);

}  // namespace medgrad::language
