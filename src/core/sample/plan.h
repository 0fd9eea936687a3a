// Rules on whole rows as plans: from the Gram matrix to coefficients of the rows, and from those to
// the result, column by column.
//
//     data -> Gram -> Points -> (mixing)* -> Plan -> result
//
// The first and the last step read the data; what is between knows nothing but inner products. So
// parts of the data can be in different places (part.h): inner products are added up
// (inner_products.h), everyone makes the same plan, and carries it out on the columns that are
// theirs, with the same bits as if all were in one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/sample/inner_products.h"
#include "core/sample/input.h"
#include "core/sample/matrix.h"
#include "medgrad/sample.h"

namespace medgrad::estimators {

// Adds up coefficients of points that are equal: those of the first one are then of all. `same` as
// in Gram, one for each column of w, or empty.
void merge_columns(Matrix& w, std::span<const std::size_t> same);

// n points that are affine combinations of the rows and the origin, and their inner products.
// At first they are the rows themselves, around their componentwise median.
class Points {
 public:
  // What is done on all pairs of points is done on the threads of the pool, if there is one, with
  // the same bits.
  explicit Points(Gram gram, ThreadPool* pool = nullptr);
  [[nodiscard]] ThreadPool* pool() const { return pool_; }

  [[nodiscard]] std::size_t size() const { return gram_.rows(); }
  // With the origin, the last one, if there is one.
  [[nodiscard]] std::size_t all() const { return gram_.points; }
  [[nodiscard]] const Gram& gram() const { return gram_; }

  // |y_i - y_k|.
  [[nodiscard]] Scaled distance(std::size_t i, std::size_t k) const;
  // All |y_i - y_k|^2, size() x size(), in one unit: the size of half of the points. Beyond 2^490
  // units distances hardly grow, but keep their order.
  [[nodiscard]] Matrix squared_distances() const;
  // |y_i| in one unit, in the same way: distances to the componentwise median.
  [[nodiscard]] std::vector<double> lengths() const;

  // Replaces the points by the combinations in the rows of m, a matrix of n x all() whose rows add
  // up to 1. The origin stays. Inner products are then around a point in the middle of the new
  // ones: that of the medians of all coefficients. Without `products` there are none: where only
  // columns follow, they are not needed.
  void mix(std::size_t n, std::span<const double> m, bool products = true);

  // The lengths that rounding errors of inner products are relative to, in units of the exponents:
  // <y_i, y_k> is good to 1e-16 of reach_i reach_k.
  [[nodiscard]] const std::vector<double>& reach() const { return reach_; }
  // Are squares of distances between different points at least that share of what their rounding
  // errors are relative to? Those of the points from the origin?
  [[nodiscard]] bool keeps_distances(double share) const;
  [[nodiscard]] bool keeps_lengths(double share) const;

  // The points as combinations of the rows: all() x rows(). Only of points that are mixed.
  [[nodiscard]] const Matrix& mixture() const { return mixture_; }
  // The inner products of the rows, rows() x rows(), once the points are mixed. Empty where there
  // were none, or squares of rows are out of range.
  [[nodiscard]] const Matrix& row_products() const { return row_products_; }
  // Which rows are equal, as in Gram.
  [[nodiscard]] const std::vector<std::size_t>& row_same() const { return row_same_; }

  // The combination sum_i c_i y_i (c of length all()) in terms of the rows and the origin: the
  // coefficients of (x_k - a) 2^-e_k, e_k as in the first Gram matrix, a any point.
  [[nodiscard]] std::vector<double> combination(std::span<const double> c) const;
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] const std::vector<int>& row_exponents() const { return own_; }
  // Were there inner products at first? Else nothing is known of the sizes of the rows.
  [[nodiscard]] bool measured() const { return measured_; }

 private:
  [[nodiscard]] int unit() const;
  [[nodiscard]] bool keeps_distance(std::size_t i, std::size_t k, double share) const;
  void multiply_out(Matrix w, Gram& gram);

  ThreadPool* pool_;
  Gram gram_;         // of the points; exponents are those of the points
  std::size_t rows_;  // with the origin
  bool measured_;
  std::vector<int> own_;  // exponents of the rows
  std::vector<std::size_t> row_same_;
  std::vector<double> reach_;
  Matrix mixture_;  // all() x rows_, in units of the exponents of both; empty: identity
  Matrix row_products_;
};

// How good a minimiser is that was found from inner products alone.
struct Certificate {
  double objective = 0;         // in units of the data
  double value = 0, bound = 0;  // of f in weber.h, in units of 2^exponent
  int exponent = 0;
  double slope = 0;  // f grows by no more than that times a distance
  double tolerance = 0;
};

struct Plan {
  std::vector<double> coefficients;  // of the points (Points::all() of them), adding up to 1
  std::vector<double> factors;       // by which points were clipped, if they were
  int iterations = 0;
  Stop stop = Stop::closed_form;
  std::optional<Certificate> certificate;
};

// ---- Rules: from points to coefficients ---------------------------------------------------------

// `weights` are those of the rows, for rules that take them.
[[nodiscard]] Plan plan(const Krum& rule, const Points& points);
[[nodiscard]] Plan plan(const MultiKrum& rule, const Points& points);
[[nodiscard]] Plan plan(const Monna& rule, const Points& points);
[[nodiscard]] Plan plan(const Mda& rule, const Points& points);
[[nodiscard]] Plan plan(const Smea& rule, const Points& points);
[[nodiscard]] Plan plan(const Caf& rule, const Points& points);
// Of points that are no longer the rows.
[[nodiscard]] Plan plan(const Mean& rule, const Points& points);

// The same for those that clip. None where inner products are not enough: a result next to rows
// that are far from the others.
[[nodiscard]] std::optional<Plan> plan(const CenteredClipping& rule, const Points& points,
                                       std::span<const double> weights = {});
[[nodiscard]] std::optional<Plan> plan(const SampleClippedMean& rule, const Points& points);
// From the rows themselves, which are the points: two passes for each iteration.
template <Real T>
[[nodiscard]] Plan clip_rows(const CenteredClipping& rule, const Points& points,
                             const Input<T>& input);

// The same without inner products: one pass over the rows for each iteration, where n rows of
// length d are so many and iterations so few that this is faster (which does not depend on
// anything else).
[[nodiscard]] bool clips_directly(const Rule& rule, std::size_t n, std::size_t d);
// The coefficients are of the rows and the origin; none where squares overflow or vanish. `finite`:
// is every entry of the rows?
template <Real T>
[[nodiscard]] std::optional<Plan> clip_directly(const CenteredClipping& rule, const Input<T>& input,
                                                bool& finite);

// The same for those that minimise a sum of distances. None where inner products are not enough, as
// next to a line.
[[nodiscard]] std::optional<Plan> plan_mixed(const GeometricMedian& rule, const Points& points);
[[nodiscard]] std::optional<Plan> plan_mixed(const HuberLocation& rule, const Points& points);

// ---- Pre-aggregators: from points to a mixing matrix --------------------------------------------

// n x points.all(), n being rows_after(points.size()). `round` is for those that are random.
using Mixing = Matrix;
[[nodiscard]] Mixing mixing(const Nnm& part, const Points& points, std::uint64_t round);
[[nodiscard]] Mixing mixing(const Bucketing& part, const Points& points, std::uint64_t round);
[[nodiscard]] Mixing mixing(const Clip& part, const Points& points, std::uint64_t round);
[[nodiscard]] Mixing mixing(const Arc& part, const Points& points, std::uint64_t round);

// ---- f = auto -----------------------------------------------------------------------------------

// The number of outliers, as rules.h says.
[[nodiscard]] std::size_t count_outliers(const Points& points);

// ---- Carrying a plan out ------------------------------------------------------------------------

// A vector as a combination of rows: a + sum_k coefficients_k (x_k - a) scales_k, where x_k are the
// rows and, where there is one, the origin after them, and a is the one of number `anchor` (0 for
// kNone, where nothing is known of the sizes of the rows).
struct Combination {
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<double> coefficients;
  std::vector<double> scales;  // powers of two; empty where none are needed
  std::size_t anchor = 0;
};
[[nodiscard]] Combination combination_of(const Points& points, std::span<const double> c);
// Written down, for the columns of the input. `origin`: there is one after the rows.
template <Real T>
void write_combination(const Combination& c, bool origin, const Input<T>& input, std::span<T> out);

// A rule whose decisions about whole rows have been made: what is left is a matter of columns.
struct RulePlan {
  bool origin = false;
  bool mixed = false;             // else the rows are as they came
  std::vector<Combination> rows;  // those that the method gets; if it is done, the result
  bool done = false;
  SampleMethod method;  // f found
  SampleInfo info;
  std::vector<double> cut;  // factors by which rows were clipped, if they were
  bool finite = false;      // is every entry of the rows known to be finite?
  std::optional<Certificate> certificate;
  bool own = true;  // is each of `rows` made of one row alone?
  // Where inner products have lost too many digits by mixing: what is to be done to `rows` as if
  // they were data, and the plan for that. Else none.
  std::optional<Rule> rest;
  std::uint64_t rest_round = 0;
  std::shared_ptr<const RulePlan> then;
};

// Does it take every component by itself?
[[nodiscard]] bool by_component(const SampleMethod& method);

// Does the rule need inner products, and the origin among the points?
[[nodiscard]] bool needs_gram(const Rule& rule);
[[nodiscard]] bool needs_origin(const Rule& rule);

// As far as it can be made from inner products, of which there are none where the rule needs none;
// the points are mixed. `weights` as in Input; `round` as in SampleOptions.
[[nodiscard]] RulePlan make_plan(const Rule& rule, Points& points, std::span<const double> weights,
                                 std::uint64_t round);

// All of it: inner products, and where they are not enough, the rows again.
template <Real T>
[[nodiscard]] RulePlan plan_rule(const Rule& rule, const Input<T>& input, std::uint64_t round);

// The result in the columns of the input, which may be a slice of all.
template <Real T>
[[nodiscard]] SampleInfo carry_out(const RulePlan& plan, const Input<T>& input, std::span<T> out);

// Is the order of the rows to make no difference to the bits? For estimators that iterate: rounding
// would take them different ways, and where rows are nearly on a line, far apart.
[[nodiscard]] bool ignores_order(const SampleMethod& method);

// The rows that the method gets, if it is not done, written down: n x d, n = plan.rows.size().
template <Real T>
[[nodiscard]] std::vector<T> mixed_rows(const RulePlan& plan, const Input<T>& input, Count& seen);

// Those rows as input.
template <Real T>
[[nodiscard]] Input<T> input_of_mixed(const RulePlan& plan, const Input<T>& input,
                                      std::span<const T> rows);

// The parts that rows have in the result: weight and kept of RowReport, in the order of the input.
struct Shares {
  std::vector<double> weight, kept;
};
template <Real T>
[[nodiscard]] Shares row_shares(const RulePlan& plan, const Input<T>& input,
                                std::span<const T> out);

// What became of every row of the input, in the caller's order, once `out` is the result. Where the
// input is a part, so are the counts of what is not finite.
template <Real T>
[[nodiscard]] std::vector<RowReport> report_rows(const RulePlan& plan, const Input<T>& input,
                                                 std::span<const T> out);

// What aggregate() checks and prepares: the lengths of result and centre, weights. Throw Error.
template <Real T>
void check_lengths(std::size_t d, std::span<const T> out, std::span<const T> center);
template <Real T>
void set_weights(Input<T>& input, const Rule& rule, std::span<const double> weights);

// All of it.
template <Real T>
[[nodiscard]] SampleInfo run_rule(const Rule& rule, const Input<T>& input, std::span<T> out,
                                  std::uint64_t round = 0,
                                  std::vector<RowReport>* report = nullptr);

}  // namespace medgrad::estimators
