// Sample estimators: one centre from n vectors (paper, eq. sample-median).
//
//     median_{l_p}(x_1 … x_n) in argmin_m  sum_i omega_i |m - x_i|_p
//
// and its relatives, among them the rules of robust distributed learning (rules.h). A sample
// estimator is a plain value with its parameters; a Rule (pre_aggregators.h) is one of them, or one
// with something that is done to the rows before; `aggregate` runs any of them over Rows. Row
// weights omega (positive; all one where left out) are taken where they make sense. Only their
// ratios matter: they may be of any size, and weights times a power of two give the same bits. A
// weight below 1e-308 of the largest loses its digits.
//
// The order of the rows does not matter but for MedianOfMeans, Monna and Bucketing: to the bit for
// those that iterate (GeometricMedian, LpMedian with p > 1, HuberLocation), which sort the rows by
// their contents, and to rounding for the others; those of rules.h break ties by it.
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
#include <type_traits>
#include <vector>

#include "medgrad/export.h"
#include "medgrad/non_finite.h"
#include "medgrad/pre_aggregators.h"
#include "medgrad/rows.h"
#include "medgrad/sample_list.h"

#pragma GCC visibility push(default)
namespace medgrad {

class ThreadPool;

// What became of a row: who was far away, left out, cut or broken.
struct RowReport {
  double distance = 0;  // |x_i - m|_2, missing entries left out
  // The result is sum weight_i x_i, with what is missing to 1 for the centre; where components are
  // taken by themselves, the mean of that over the components. Rows of a block of MedianOfMeans
  // share its weight evenly. NaN for LpMedian and MedianOfMeans with p other than 1 and 2, whose
  // result is no weighted mean of rows.
  double weight = 0;
  // The share of the components in which the row has a part: with parts before the estimator, in
  // which something that the row is in has one. NaN as above.
  double kept = 1;
  double cut = 1;  // the factor by which it was clipped, 1 where it was not
  std::size_t nan = 0, inf = 0;
};

template <Real T>
struct SampleOptions {
  std::span<const double> weights = {};  // omega; empty for all one
  std::span<const T> center = {};        // for what clips (takes_center); empty for 0
  NonFinite non_finite = NonFinite::reject;
  ThreadPool* pool = nullptr;
  std::uint64_t round = 0;  // which one of many: Bucketing shuffles anew in every round
  // Evaluate the objective of the componentwise median too: it takes a pass of its own. (The others
  // know theirs anyway.)
  bool objective = false;
  // Filled with a report for every row where it is not null; takes two passes or three.
  std::vector<RowReport>* report = nullptr;
};

// Are weights of rows defined for it?
[[nodiscard]] bool takes_weights(const Rule& rule);

// Throws Error unless the parameters are in range for n rows.
void validate(const Rule& rule, std::size_t n);

// Writes the estimate to `out` (length d, not overlapping the rows) and says how it was reached.
// Throws Error for n = 0, wrong lengths, weights that are not positive or not allowed, and leaves
// `out` as it was; also NonFiniteInput for non-finite input under `reject`, and NoObservation for a
// column of nothing but NaN. As those are found while the rows are read (a pass to look first would
// take as long as a median), the contents of `out` are then unspecified if the rows have more than
// 2^17 entries, else as they were.
template <Real T>
MEDGRAD_EXPORT SampleInfo aggregate(const Rule& rule, const Rows<T>& rows,
                                    std::type_identity_t<std::span<T>> out,
                                    const std::type_identity_t<SampleOptions<T>>& options = {});

}  // namespace medgrad
#pragma GCC visibility pop
