// What can be done to the rows before a rule, and rules made of several such parts.
//
// A pre-aggregator replaces n rows by n' others, each an affine combination of the rows (and of the
// centre of the options, 0 where none is given), before the rule sees them. Its combinations depend
// on the distances between rows alone: they are found from the Gram matrix, and the data are read
// no more often than without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "medgrad/sample_list.h"

#pragma GCC visibility push(default)
namespace medgrad {

// Nearest-neighbour mixing: each row becomes the mean of the n - f rows nearest to it, itself
// included (Allouah, Farhadkhani, Guerraoui, Gupta, Pinot and Stephan, 2023). 2 f < n.
struct Nnm {
  static constexpr About about{"nnm", "x_i <- mean of the n - f rows nearest to x_i",
                               "each row becomes the mean of its neighbourhood; 2 f < n"};
  static constexpr auto fields() {
    return std::tuple(field("f", &Nnm::f, range::or_auto(range::whole(0)), kFaultsMeaning));
  }
  [[nodiscard]] static constexpr std::size_t bears(std::size_t n) {
    return n < 1 ? 0 : (n - 1) / 2;
  }
  void check(std::size_t n) const;
  [[nodiscard]] static std::size_t rows_after(std::size_t n) { return n; }

  std::size_t f = 1;
};

// Means of `bucket` rows each, after a shuffle; the last bucket may have fewer (Karimireddy, He and
// Jaggi, 2022). The shuffle depends on the seed and on the round of the options alone: rows in the
// order of 64-bit keys, row i having words 2 i (lower) and 2 i + 1 of Philox(seed, round), plus
// 2^32 for each part before it. A rule that follows is given the f of the rows: no more buckets are
// spoilt.
struct Bucketing {
  static constexpr About about{"bucketing", "x_b <- mean of `bucket` rows, after a shuffle",
                               "averages a few rows at random: fewer rows, and more alike"};
  static constexpr auto fields() {
    return std::tuple(
        field("bucket", &Bucketing::bucket, range::whole(1), "rows of a bucket"),
        field("seed", &Bucketing::seed, range::whole(0, 9e15), "seed of the shuffle"));
  }
  void check(std::size_t) const {}
  [[nodiscard]] std::size_t rows_after(std::size_t n) const { return (n + bucket - 1) / bucket; }

  std::size_t bucket = 2;
  std::uint64_t seed = 0;
};

// x_i <- c + min(1, clip/|x_i - c|) (x_i - c) around the centre c of the options (0).
struct Clip {
  static constexpr About about{"clip", "x_i <- min(1, clip/|x_i|) x_i",
                               "cuts norms, around 0 or a center"};
  static constexpr auto fields() {
    return std::tuple(
        field("clip", &Clip::clip, range::positive, "largest norm that passes unchanged"));
  }
  void check(std::size_t) const {}
  [[nodiscard]] static std::size_t rows_after(std::size_t n) { return n; }

  double clip = 1;
};

// Adaptive robust clipping: the k = floor(2 (f/n) (n - f)) rows with the largest norms are cut to
// the norm of the next one (Allouah, Guerraoui, Gupta, Jellouli, Rizk and Stephan, 2024). Norms as
// for Clip. 2 f < n.
struct Arc {
  static constexpr About about{
      "arc", "cuts the floor(2 (f/n) (n - f)) largest norms to the next one",
      "clips at a norm of the rows themselves, around 0 or a center; 2 f < n"};
  static constexpr auto fields() {
    return std::tuple(field("f", &Arc::f, range::or_auto(range::whole(0)), kFaultsMeaning));
  }
  [[nodiscard]] static constexpr std::size_t bears(std::size_t n) {
    return n < 1 ? 0 : (n - 1) / 2;
  }
  void check(std::size_t n) const;
  [[nodiscard]] static std::size_t rows_after(std::size_t n) { return n; }

  std::size_t f = 1;
};

// Every pre-aggregator of the library.
using PreAggregator = std::variant<Nnm, Bucketing, Clip, Arc>;

namespace internal {
template <class M, class Variant>
inline constexpr bool is_alternative = false;
template <class M, class... S>
inline constexpr bool is_alternative<M, std::variant<S...>> = (std::is_same_v<M, S> || ...);
}  // namespace internal

// A sample estimator, and what is done to the rows before it, in this order. Any estimator by
// itself is a rule: aggregate(Median{}, …); nnm+median is Rule({Nnm{.f = 2}}, Median{}).
struct Rule {
  Rule() = default;
  template <class M>
  requires(std::is_same_v<M, SampleMethod> || internal::is_alternative<M, SampleMethod>)
      Rule(M estimator)  // NOLINT(google-explicit-constructor): any estimator is a rule
      : method(std::move(estimator)) {}
  Rule(std::vector<PreAggregator> parts, SampleMethod estimator)
      : before(std::move(parts)), method(estimator) {}

  std::vector<PreAggregator> before;
  SampleMethod method = Mean{};
};

// "nnm f=2 + median": tells rules apart, as for the estimators themselves.
[[nodiscard]] std::string describe(const Rule& rule, std::string_view skip = {});

// Does it use the centre of the options: is any part of it one that clips?
[[nodiscard]] bool takes_center(const Rule& rule);
// Is its last result the centre of the next one, where there are many? It is for CenteredClipping.
[[nodiscard]] bool keeps_center(const Rule& rule);

}  // namespace medgrad
#pragma GCC visibility pop
