// What the tail-index estimators share: cleaning, centring, and estimates from grouped entries.
//
// Entries of one group (a row of a matrix) may depend on each other, groups may not. Entry i
// belongs to group i / group; group = 1 is an ordinary independent sample.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "medgrad/tail_index.h"

namespace medgrad::noise {

inline constexpr std::size_t kFewest = 20;  // numbers below which no estimator tries
inline constexpr double kZ95 = 1.959963984540054;

// The 97.5 % point of Student's t, by its expansion around the normal one (within 1 % from 4
// degrees of freedom on, 2e-4 from 10).
[[nodiscard]] double student95(std::size_t degrees);

[[nodiscard]] std::string brief(double x);  // for sentences

struct Cleaned {
  std::vector<double> values;  // no NaN
  std::size_t missing = 0, infinite = 0;
};
[[nodiscard]] Cleaned clean(std::span<const double> sample);

// x minus its centre, or differences of pairs. Infinite entries stay infinite; pairs of two
// infinities of one sign say nothing and are left out. The mean is that of the finite entries.
void centre(std::vector<double>& x, Centre how);

// Numbers that were rounded lie in heaps, which no continuous law has: those of one heap are spread
// evenly over the smallest distance between two heaps. One heap by itself, of what stands still, is
// left as it is.
void spread_ties(std::vector<double>& x);

[[nodiscard]] double finite_mean(std::span<const double> x);  // 0 where nothing is finite
[[nodiscard]] double median(std::vector<double> x);           // midpoint for even n; x is not empty

// `rows` is how many entries each coordinate was standardised by, 0 where none was: see there.
[[nodiscard]] StableFit fit_grouped(std::span<const double> sample, std::size_t group,
                                    std::size_t rows = 0);
// Of how many of the largest Hill's estimator is to be made, by Guillou and Hall; y decreases and
// is positive. 0 for fewer than 20.
[[nodiscard]] std::size_t hill_count(std::span<const double> y);
[[nodiscard]] TailIndex hill_grouped(std::span<const double> sample, std::size_t group,
                                     const HillOptions& options);

// One term of the log-moment estimator: mean over `width` columns of log|sum of m rows| - mean of
// log|row|, over log m. Columns with a NaN or zero among the m are left out; false if that is all.
[[nodiscard]] bool log_moment_term(std::span<const double> block, std::size_t m, std::size_t width,
                                   double& term);
// The estimate and interval from independent terms, each an unbiased guess of 1/alpha.
[[nodiscard]] TailIndex from_terms(std::span<const double> terms);

}  // namespace medgrad::noise
