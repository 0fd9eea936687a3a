// The sample estimators of the library, each a plain value under its formula; sample.h runs them.
//
// Beside its description (description.h) an estimator says whether weights of rows are defined for
// it, whether it takes every component by itself (by_component), and, where a parameter is bounded
// by the number of rows, checks that: check(n) throws Error. Where it has a parameter f, bears(n)
// is the most that f may be, and f may be kAutomatic (rules.h says what that means).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>

#include "medgrad/description.h"
#include "medgrad/distances.h"

#pragma GCC visibility push(default)
namespace medgrad {

namespace estimators {
template <Real T>
struct Input;  // the rows, checked (src/core/sample/input.h)
}

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
  std::size_t f = kAutomatic;    // what was found where f was to be found; else as it is
};

inline constexpr std::string_view kToleranceMeaning =
    "certified relative gap to stop at; 1e-8 and less goes on to rounding";

// sum omega_i x_i / sum omega_i.
struct Mean {
  static constexpr About about{
      "mean", "sum x_i / n", "the mean; one bad row moves it anywhere", {"average"}};
  static constexpr auto fields() { return std::tuple(); }
  static constexpr bool by_component = true;
  [[nodiscard]] static constexpr bool takes_weights() { return true; }
  template <Real T>
  [[nodiscard]] SampleInfo estimate(const estimators::Input<T>& in, std::span<T> out) const;
};

// l1: per component; for even n the midpoint of the two middle values. With weights: the midpoint
// of the lower and upper weighted median (those values where the weight on either side is at most
// half, up to the rounding of the weights: 0.1 and 0.2 balance 0.3).
struct Median {
  static constexpr About about{
      "median",
      "argmin sum |m - x_i|_1",
      "componentwise median; for even n the midpoint of the two middle values",
      {"l1-median", "componentwise-median"}};
  static constexpr auto fields() { return std::tuple(); }
  static constexpr bool by_component = true;
  [[nodiscard]] static constexpr bool takes_weights() { return true; }
  template <Real T>
  [[nodiscard]] SampleInfo estimate(const estimators::Input<T>& in, std::span<T> out) const;
};

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
  static constexpr About about{"geometric-median",
                               "argmin sum |m - x_i|_2",
                               "the point with the smallest sum of distances",
                               {"l2-median"}};
  static constexpr auto fields() {
    return std::tuple(
        field("tol", &GeometricMedian::tolerance, range::non_negative, kToleranceMeaning),
        field("max-iter", &GeometricMedian::max_iterations, range::whole(1),
              "largest number of iterations"));
  }
  [[nodiscard]] static constexpr bool takes_weights() { return true; }
  template <Real T>
  [[nodiscard]] SampleInfo estimate(const estimators::Input<T>& in, std::span<T> out) const;

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
  static constexpr About about{"lp-median", "argmin sum |m - x_i|_p", "median in the p-norm"};
  static constexpr auto fields() {
    return std::tuple(
        required("p", &LpMedian::p, range::exponent, "exponent of the norm; inf is allowed"),
        field("tol", &LpMedian::tolerance, range::non_negative, kToleranceMeaning),
        field("max-iter", &LpMedian::max_iterations, range::whole(1),
              "largest number of iterations"));
  }
  [[nodiscard]] bool takes_weights() const { return p < kInfinity; }
  template <Real T>
  [[nodiscard]] SampleInfo estimate(const estimators::Input<T>& in, std::span<T> out) const;

  double p = 2;
  double tolerance = 1e-10;
  int max_iterations = 1000;
};

// Means of `blocks` consecutive runs of rows (sizes differ by at most one), then their geometric
// median (p = 2) or l_p median. blocks = 0 stands for ceil(sqrt(n)). Depends on the order of the
// rows.
struct MedianOfMeans {
  static constexpr About about{"median-of-means",
                               "l_p median of the means of consecutive blocks of rows",
                               "averages within blocks, then takes their median",
                               {"mom"}};
  static constexpr auto fields() {
    return std::tuple(
        field("blocks", &MedianOfMeans::blocks, range::whole(0),
              "number of blocks; 0 stands for the square root of n, rounded up"),
        field("p", &MedianOfMeans::p, range::exponent, "exponent of the norm; inf is allowed"));
  }
  [[nodiscard]] static constexpr bool takes_weights() { return false; }
  void check(std::size_t n) const;  // blocks <= n
  template <Real T>
  [[nodiscard]] SampleInfo estimate(const estimators::Input<T>& in, std::span<T> out) const;

  std::size_t blocks = 0;
  double p = 2;
};

// argmin sum omega_i H_mu(m - x_i), H_mu as in Huber, stopping like the geometric median. The
// minimiser is unique unless all rows are on a line, with half of the weight on either side of a
// gap longer than 2 mu: then it is the middle of that gap, as for the geometric median.
struct HuberLocation {
  static constexpr About about{"huber-location",
                               "argmin sum H_mu(m - x_i)",
                               "between the mean and the geometric median",
                               {"huber"}};
  static constexpr auto fields() {
    return std::tuple(
        field("mu", &HuberLocation::mu, range::positive,
              "where the Huber function turns from quadratic to linear"),
        field("tol", &HuberLocation::tolerance, range::non_negative, kToleranceMeaning),
        field("max-iter", &HuberLocation::max_iterations, range::whole(1),
              "largest number of iterations"));
  }
  [[nodiscard]] static constexpr bool takes_weights() { return true; }
  template <Real T>
  [[nodiscard]] SampleInfo estimate(const estimators::Input<T>& in, std::span<T> out) const;

  double mu = 1.345;
  double tolerance = 1e-10;
  int max_iterations = 1000;
};

// c + sum omega_i min(1, clip/|x_i - c|) (x_i - c) / sum omega_i around a centre c (zero where none
// is given): the Catoni-Giulini mean (paper, prob. clipped-sgd).
struct SampleClippedMean {
  static constexpr About about{"clipped-mean",
                               "c + sum min(1, clip/|x_i - c|) (x_i - c) / n",
                               "mean of the rows clipped around a center (0 where none is given)",
                               {"catoni-giulini"}};
  static constexpr auto fields() {
    return std::tuple(field("clip", &SampleClippedMean::clip, range::positive,
                            "largest norm that passes unchanged"));
  }
  [[nodiscard]] static constexpr bool takes_weights() { return true; }
  template <Real T>
  [[nodiscard]] SampleInfo estimate(const estimators::Input<T>& in, std::span<T> out) const;

  double clip = 1;
};

// Per component: the mean of what is left without the f smallest and the f largest; 2 f < n. Where
// observations are missing, no more is cut off than leaves the median.
struct TrimmedMean {
  static constexpr About about{"trimmed-mean",
                               "per component: mean without the f smallest and f largest",
                               "drops the extremes of every component"};
  static constexpr auto fields() {
    return std::tuple(field("f", &TrimmedMean::f, range::or_auto(range::whole(0)),
                            "how many to drop at either end; 2 f < n"));
  }
  static constexpr bool by_component = true;
  [[nodiscard]] static constexpr bool takes_weights() { return false; }
  [[nodiscard]] static constexpr std::size_t bears(std::size_t n) {
    return n < 1 ? 0 : (n - 1) / 2;
  }
  void check(std::size_t n) const;  // 2 f < n
  template <Real T>
  [[nodiscard]] SampleInfo estimate(const estimators::Input<T>& in, std::span<T> out) const;

  std::size_t f = 1;
};

}  // namespace medgrad
#pragma GCC visibility pop
