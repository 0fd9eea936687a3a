// Sample estimators: one centre from n vectors (paper, eq. sample-median).
//
//     median_{l_p}(x_1 … x_n) in argmin_m  sum_i omega_i |m - x_i|_p
//
// and its relatives. A sample estimator is a plain value with its parameters; `aggregate` runs any
// of them over Rows. Row weights omega (positive; all one where left out) are taken where they make
// sense. Only their ratios matter: they may be of any size, and weights times a power of two give
// the same bits. A weight below 1e-308 of the largest loses its digits.
//
// The order of the rows does not matter but for MedianOfMeans: to the bit for those that iterate
// (GeometricMedian, LpMedian with p > 1, HuberLocation), which sort the rows by their contents, and
// to rounding for the others.
//
// Non-finite entries: under `reject` an Error names row and column (counted from 1); under `robust`
// a NaN is a missing observation (it takes no part in its column; for estimators that treat rows as
// vectors it counts as the median of what its column has, for SampleClippedMean as the centre: it
// pulls nowhere), +-Inf counts as the largest finite number of its sign. A column without any
// observation is an Error. The result is always finite. Results do not depend on the thread count
// or the SIMD target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "medgrad/estimator.h"
#include "medgrad/rows.h"

namespace medgrad {

// sum omega_i x_i / sum omega_i.
struct Mean {};

// l1: per component; for even n the midpoint of the two middle values. With weights: the midpoint
// of the lower and upper weighted median (those values where the weight on either side is at most
// half, up to the rounding of the weights: 0.1 and 0.2 balance 0.3).
struct Median {};

// l2: argmin sum omega_i |m - x_i|_2. Vardi-Zhang's optimality test at every data point, then
// Newton. For n <= 1024 rows longer than n, the number of passes over the data does not depend on
// the number of iterations: the iteration runs on the n x n Gram matrix of the rows around their
// componentwise median, one pass to build it and one to combine the rows. More passes are needed
// where squares overflow or vanish (as those of a row that is the componentwise median), and where
// rows that matter are much closer together than to the componentwise median: then the matrix is
// built again around the result, at most three times.
//
// The minimiser is unique unless all rows are on a line, where the sum is a matter of their
// positions: then it is the middle of the minimisers, the midpoint of the lower and upper weighted
// median of the rows along it, without an iteration. Two rows of equal weight have their midpoint.
// Rows count as on a line where changes of a few units in the last place of their entries would put
// them there; rows that are nearly on one do not.
//
// The iteration stops once the certified gap (SampleInfo) is at most `tolerance`. With 1e-8 and
// less it goes on until rounding stops it, which takes two or three steps more and gives the point
// all its digits; a gap of 1e-10 alone would mean half of them.
struct GeometricMedian {
  double tolerance = 1e-10;
  int max_iterations = 1000;
};

// argmin sum omega_i |m - x_i|_p, 1 <= p <= infinity, stopping like the geometric median. p = 1 and
// 2 are the two above. For other p the rows are copied, in double; rows on a line as for p = 2.
// Nearly on one, the minimiser is as uncertain along it as rounding of the objective makes it.
// p = infinity is solved exactly, in O(n^3 + n^2 d), and takes no weights. Its minimisers are the
// points of boxes, one for each choice of the rows' distances that adds up to the optimum: it gives
// the middle of the box for the mean of the extreme choices, which depends on the rows alone.
struct LpMedian {
  double p = 2;
  double tolerance = 1e-10;
  int max_iterations = 1000;
};

// Means of `blocks` consecutive runs of rows (sizes differ by at most one), then their geometric
// median (p = 2) or l_p median. blocks = 0 stands for ceil(sqrt(n)). Depends on the order of the
// rows.
struct MedianOfMeans {
  std::size_t blocks = 0;
  double p = 2;
};

// argmin sum omega_i H_mu(m - x_i), H_mu as in Huber, stopping like the geometric median. The
// minimiser is unique unless all rows are on a line, with half of the weight on either side of a
// gap longer than 2 mu: then it is the middle of that gap, as for the geometric median.
struct HuberLocation {
  double mu = 1.345;
  double tolerance = 1e-10;
  int max_iterations = 1000;
};

// c + sum omega_i min(1, clip/|x_i - c|) (x_i - c) / sum omega_i around a centre c (zero where none
// is given): the Catoni-Giulini mean (paper, prob. clipped-sgd).
struct SampleClippedMean {
  double clip = 1;
};

// Per component: the mean of what is left without the f smallest and the f largest; 2 f < n. Where
// observations are missing, no more is cut off than leaves the median.
struct TrimmedMean {
  std::size_t f = 1;
};

using SampleMethod = std::variant<Mean, Median, GeometricMedian, LpMedian, MedianOfMeans,
                                  HuberLocation, SampleClippedMean, TrimmedMean>;

enum class Stop : std::uint8_t {
  closed_form,     // nothing to iterate
  data_point,      // the optimum is exactly one of the rows, verified by the optimality condition
  tolerance,       // the certified gap is below the tolerance
  rounding,        // no further decrease is possible in double precision
  max_iterations,  // gave up; `gap` says how far from the optimum at most
};
[[nodiscard]] std::string_view name(Stop stop);

struct SampleInfo {
  int iterations = 0;
  // The objective is sum omega_i D(m - x_i); 0 for estimators that are not defined by one, and for
  // Median (and p = 1) unless the options ask for it.
  double objective = 0;
  // An upper bound on (objective - optimum) / objective; 0 for closed forms.
  double gap = 0;
  Stop stop = Stop::closed_form;
  std::size_t nan = 0, inf = 0;  // entries of the input
};

template <Real T>
struct SampleOptions {
  std::span<const double> weights = {};  // omega; empty for all one
  std::span<const T> center = {};        // for SampleClippedMean; empty for 0
  NonFinite non_finite = NonFinite::reject;
  ThreadPool* pool = nullptr;
  // Evaluate the objective of the componentwise median too: it takes a pass of its own. (The others
  // know theirs anyway.)
  bool objective = false;
};

// Are weights of rows defined for it? For all but MedianOfMeans, TrimmedMean and p = infinity.
[[nodiscard]] bool takes_weights(const SampleMethod& method);

// Throws Error unless the parameters are in range for n rows.
void validate(const SampleMethod& method, std::size_t n);

// Writes the estimate to `out` (length d, not overlapping the rows) and says how it was reached.
// Throws Error for n = 0, wrong lengths, weights that are not positive or not allowed, and leaves
// `out` as it was; also for non-finite input under `reject` and columns without any observation. As
// the latter are found while the rows are read (a pass to look first would take as long as a
// median), the contents of `out` are then unspecified if the rows have more than 2^17 entries, else
// as they were.
template <Real T>
SampleInfo aggregate(const SampleMethod& method, const Rows<T>& rows, std::span<T> out,
                     const SampleOptions<T>& options = {});

}  // namespace medgrad
