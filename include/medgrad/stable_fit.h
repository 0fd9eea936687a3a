// The stable law of a sample, and whether it is one at all.
//
// Five fits, each with standard errors:
//
//   ml              maximum likelihood, with densities from tables (stable_table.h) and errors from
//                   the sum of score score'; no estimator does better in large samples
//   cf              by the characteristic function, weighted: nearly as good in a hundredth of the
//                   time, with a test of whether any stable law fits
//   koutrouvelis    by regressions on the logarithm of the characteristic function, again and again
//   kogon-williams  likewise, once, on [0.1, 1] (the formulas are in src/noise/regression_fit.h)
//   quantiles       McCulloch (tail_index.h): five quantiles and nothing else
//
// Characteristic functions: with z = (x - median) / (half the interquartile range) the means of
// cos(tz) and sin(tz) at eight t are compared with those of a stable law, weighted by the inverse
// of their covariance under the law (Feuerverger and McDunnough, JRSS B 43, 1981):
//
//     Q = n r' S^-1 r,   r = sample - law.
//
// The law with the smallest Q is the fit: bounded functions of x have all their moments, so its
// errors are normal whatever the tails, and it is within a few per cent of maximum likelihood. Of
// data from a stable law the smallest Q is chi-square with 16 degrees of freedom less one for each
// parameter that was free (Hansen, Econometrica 50, 1982), which makes a test of all stable laws at
// once. Kolmogorov's distance to the law that was found is looked at, too; or that to the likeliest
// law, where the first one speaks against a law of alpha below 0.75 whose Q does not: its peak is
// narrower than the errors of the fit. bootstrap_p_value does not rely on laws of large samples.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "medgrad/tail_index.h"

#pragma GCC visibility push(default)
namespace medgrad {

struct StableTest {
  StableFit fit;  // in S0, with 95 % intervals
  double distance = 0;
  int degrees = 0;
  double p_value = 0;   // P(a stable sample is so far off or farther); the smaller one of both
  double p_of_fit = 0;  // the same by Kolmogorov's distance to `fit` alone
  [[nodiscard]] bool fits() const { return p_value >= 0.05; }
};

// NaN is left out. +-Inf counts as the largest finite double of its sign. Error for fewer than 20
// numbers and where the middle half of the sample is one value. fit(-x) is the mirror of fit(x),
// bit for bit.
[[nodiscard]] StableTest test_stable(std::span<const double> sample);

// How small a p-value samples of the law that was found have themselves, by the same test: (1 + how
// many of them have one that is as small or smaller) / (1 + resamples). That holds whatever the
// size of the sample, where chi-square and Kolmogorov's law are those of large ones. Resamples have
// as many numbers as the sample, `most` at most: beyond that the law of Q does not change any more.
// Where not one of them has so small a p-value, that of the test stays if it is smaller still.
struct BootstrapOptions {
  std::size_t resamples = 199;
  std::size_t most = 4096;
  std::uint64_t seed = 0;
};
// Of what test_stable gave. The same bits for any number of threads, and for mirrored data. Error
// for no resamples, and for fewer than 20 numbers each.
[[nodiscard]] double bootstrap_p_value(const StableTest& test, const BootstrapOptions& options = {},
                                       ThreadPool* pool = nullptr);

enum class FitMethod : std::uint8_t {
  likelihood,
  characteristic,
  koutrouvelis,
  kogon_williams,
  quantiles
};
[[nodiscard]] std::string_view name(FitMethod method);  // as above
[[nodiscard]] std::span<const std::string_view> fit_methods();
// By its name; an Error where there is none. "likelihood", "characteristic" and "mcculloch" are
// understood, too.
[[nodiscard]] FitMethod fit_method(std::string_view name);

struct StableFitOptions {
  FitMethod method = FitMethod::likelihood;
  // likelihood: intervals of alpha and beta from the profile of the likelihood, by Wilks' theorem,
  // instead of standard errors; always so for alpha above 1.95, where estimates are not normal, and
  // nearly so (by slope and curvature) for beta where it stands at its end.
  bool profile = false;
};

// In S0. NaN is left out, and for `likelihood` +-Inf, too, which no stable law gives. alpha is
// looked for from 0.2 on (cf and regressions: 0.1, quantiles: 0.5); where the likelihood asks for
// less, `alpha_clamped` is set, the standard errors are NaN and the intervals leave nothing out.
// Errors as above. fit(-x) is the mirror of fit(x), bit for bit.
[[nodiscard]] StableFit fit_stable(std::span<const double> sample, const StableFitOptions& options);

}  // namespace medgrad
#pragma GCC visibility pop
