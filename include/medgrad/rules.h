// Rules of robust distributed learning: one vector from those of n workers, of which f may send
// anything at all. They are sample estimators like those of sample_methods.h, and sample.h runs
// them.
//
// All but MeaMed treat rows as vectors and need nothing but the distances between them: one pass
// over the data for the n x n Gram matrix, and one to combine the rows. Neighbours, subsets and
// eigenvalues are found from that matrix. Ties are broken by the lower index of the row (of
// subsets: by the first in lexicographic order).
//
// Every one has a parameter f; what it may be for n rows is bears(n). f = kAutomatic ("auto") is an
// estimate from the data, for where f is not known: with r_i the distance of row i to the
// componentwise median, R the median of the r_i and S = 1.4826 times the median of |r_i - R|,
//
//     f = #{i: r_i > R + k S and r_i > 3/2 R},   at most what the rule can bear,
//
// with k = 5 (1 + 3/sqrt n), and 70 for fewer than five rows, whose spread says little. For clean
// Gaussian rows that is 0 but in one of a hundred samples (in up to one of twenty for six rows or
// fewer); it sees rows that are far away, not liars that stay within the crowd.
#pragma once

#include <cstddef>
#include <span>
#include <tuple>

#include "medgrad/sample_methods.h"

#pragma GCC visibility push(default)
namespace medgrad {

inline constexpr std::string_view kFaultsMeaning = "how many rows may be anything";

// The x_i of the smallest score; score_i is the sum of the squared distances to its `neighbours`
// nearest other rows, n - f - 2 where that is 0 (Blanchard, El Mhamdi, Guerraoui and Stainer,
// 2017; others count n - f - 1). 2 f + 2 < n.
struct Krum {
  static constexpr About about{"krum",
                               "x_i with the smallest sum |x_i - x_k|^2 over its neighbours",
                               "the row that is nearest to its neighbours; 2 f + 2 < n"};
  static constexpr auto fields() {
    return std::tuple(field("f", &Krum::f, range::or_auto(range::whole(0)), kFaultsMeaning),
                      field("neighbours", &Krum::neighbours, range::whole(0),
                            "how many nearest rows a score adds up; 0 stands for n - f - 2"));
  }
  [[nodiscard]] static constexpr bool takes_weights() { return false; }
  [[nodiscard]] static constexpr std::size_t bears(std::size_t n) {
    return n < 3 ? 0 : (n - 3) / 2;
  }
  void check(std::size_t n) const;
  template <Real T>
  [[nodiscard]] SampleInfo estimate(const estimators::Input<T>& in, std::span<T> out) const;

  std::size_t f = 1;
  std::size_t neighbours = 0;
};

// The mean of the `select` rows with the smallest scores of Krum, n - f where that is 0.
struct MultiKrum {
  static constexpr About about{"multi-krum", "mean of the rows with the smallest scores of krum",
                               "several rows that are near to their neighbours; 2 f + 2 < n"};
  static constexpr auto fields() {
    return std::tuple(field("f", &MultiKrum::f, range::or_auto(range::whole(0)), kFaultsMeaning),
                      field("neighbours", &MultiKrum::neighbours, range::whole(0),
                            "how many nearest rows a score adds up; 0 stands for n - f - 2"),
                      field("select", &MultiKrum::select, range::whole(0),
                            "how many rows are averaged; 0 stands for n - f"));
  }
  [[nodiscard]] static constexpr bool takes_weights() { return false; }
  [[nodiscard]] static constexpr std::size_t bears(std::size_t n) { return Krum::bears(n); }
  void check(std::size_t n) const;
  template <Real T>
  [[nodiscard]] SampleInfo estimate(const estimators::Input<T>& in, std::span<T> out) const;

  std::size_t f = 1;
  std::size_t neighbours = 0;
  std::size_t select = 0;
};

// Per component: the mean of the n - f values nearest to the median (Xie, Koyejo and Gupta, 2018).
// 2 f < n. Where observations are missing, no more is left out than leaves half of those there are.
struct MeaMed {
  static constexpr About about{"meamed",
                               "per component: mean of the n - f values nearest to the median",
                               "mean around the median of every component; 2 f < n"};
  static constexpr auto fields() {
    return std::tuple(field("f", &MeaMed::f, range::or_auto(range::whole(0)), kFaultsMeaning));
  }
  static constexpr bool by_component = true;
  [[nodiscard]] static constexpr bool takes_weights() { return false; }
  [[nodiscard]] static constexpr std::size_t bears(std::size_t n) {
    return n < 1 ? 0 : (n - 1) / 2;
  }
  void check(std::size_t n) const;
  template <Real T>
  [[nodiscard]] SampleInfo estimate(const estimators::Input<T>& in, std::span<T> out) const;

  std::size_t f = 1;
};

// The mean of the n - f rows with the smallest diameter max |x_i - x_k| (Rousseeuw, 1985; El Mhamdi
// et al., 2021). 2 f < n. It looks for the best of (n choose f) subsets, and refuses where those
// are more than kMostSubsets.
struct Mda {
  static constexpr double kMostSubsets = 1e8;
  static constexpr About about{"mda", "mean of the n - f rows with the smallest max |x_i - x_k|",
                               "the closest n - f rows (minimum diameter averaging); 2 f < n"};
  static constexpr auto fields() {
    return std::tuple(field("f", &Mda::f, range::or_auto(range::whole(0)), kFaultsMeaning));
  }
  [[nodiscard]] static constexpr bool takes_weights() { return false; }
  [[nodiscard]] static constexpr std::size_t bears(std::size_t n) {
    return n < 1 ? 0 : (n - 1) / 2;
  }
  void check(std::size_t n) const;
  template <Real T>
  [[nodiscard]] SampleInfo estimate(const estimators::Input<T>& in, std::span<T> out) const;

  std::size_t f = 1;
};

// The mean of the n - f rows whose covariance matrix has the smallest largest eigenvalue (Allouah,
// Guerraoui, Gupta, Pinot and Stephan, 2023). 2 f < n. It looks for the best of (n choose f)
// subsets, and refuses where those are more than kMostSubsets.
struct Smea {
  static constexpr double kMostSubsets = 5e6;
  static constexpr About about{
      "smea", "mean of the n - f rows with the smallest max eigenvalue of their covariance",
      "the n - f rows that spread least in any direction; 2 f < n"};
  static constexpr auto fields() {
    return std::tuple(field("f", &Smea::f, range::or_auto(range::whole(0)), kFaultsMeaning));
  }
  [[nodiscard]] static constexpr bool takes_weights() { return false; }
  [[nodiscard]] static constexpr std::size_t bears(std::size_t n) {
    return n < 1 ? 0 : (n - 1) / 2;
  }
  void check(std::size_t n) const;
  template <Real T>
  [[nodiscard]] SampleInfo estimate(const estimators::Input<T>& in, std::span<T> out) const;

  std::size_t f = 1;
};

// The mean of the n - f rows nearest to row `pivot`, counted from 0 like ranks, which is one of
// them: the caller's own (Farhadkhani et al., 2022). 2 f < n.
struct Monna {
  static constexpr About about{"monna", "mean of the n - f rows nearest to x_pivot",
                               "the rows that are nearest to one's own; 2 f < n"};
  static constexpr auto fields() {
    return std::tuple(
        field("f", &Monna::f, range::or_auto(range::whole(0)), kFaultsMeaning),
        field("pivot", &Monna::pivot, range::whole(0), "the row of one's own, counted from 0"));
  }
  [[nodiscard]] static constexpr bool takes_weights() { return false; }
  [[nodiscard]] static constexpr std::size_t bears(std::size_t n) {
    return n < 1 ? 0 : (n - 1) / 2;
  }
  void check(std::size_t n) const;
  template <Real T>
  [[nodiscard]] SampleInfo estimate(const estimators::Input<T>& in, std::span<T> out) const;

  std::size_t f = 1;
  std::size_t pivot = 0;
};

// Weights c = 1; while sum c > n - 2 f: the weighted mean mu and covariance, its largest eigenvalue
// lambda with eigenvector v, tau_i = ((x_i - mu) . v)^2, c_i <- c_i (1 - tau_i / max tau), the
// maximum over the rows with c_i > 0. The result is the mu with the smallest lambda, the first of
// them; for f = 0 the mean (covariance bound-agnostic filter: Allouah et al., 2025; after
// Diakonikolas and Kane). 2 f < n. Eigenvalues are exact to rounding, and so are the eigenvectors
// unless the largest eigenvalue is double.
struct Caf {
  static constexpr About about{
      "caf", "c_i <- c_i (1 - tau_i / max tau) while sum c > n - 2 f; sum c_i x_i / sum c",
      "filters rows that stick out along the widest direction; 2 f < n"};
  static constexpr auto fields() {
    return std::tuple(field("f", &Caf::f, range::or_auto(range::whole(0)), kFaultsMeaning));
  }
  [[nodiscard]] static constexpr bool takes_weights() { return false; }
  [[nodiscard]] static constexpr std::size_t bears(std::size_t n) {
    return n < 1 ? 0 : (n - 1) / 2;
  }
  void check(std::size_t n) const;
  template <Real T>
  [[nodiscard]] SampleInfo estimate(const estimators::Input<T>& in, std::span<T> out) const;

  std::size_t f = 1;
};

// `iterations` times
//     v <- v + sum omega_i min(1, clip/|x_i - v|) (x_i - v) / sum omega_i
// from the centre of the options, 0 where none is given (Karimireddy, He and Jaggi, 2021). Once is
// SampleClippedMean. In training the last result is the next centre. It converges to the minimiser
// of sum omega_i H(x_i - v), H the Huber function with mu = clip, and with clip -> 0 to the
// geometric median (paper, section 4). It ends early where v no longer changes. Bears f < n/2 as
// the iterations go on, moving by at most `clip` per iteration.
struct CenteredClipping {
  static constexpr About about{
      "centered-clipping",
      "v <- v + sum min(1, clip/|x_i - v|) (x_i - v) / n, again and again",
      "mean of the rows clipped around the last result, from 0 or a center",
      {"centred-clipping"}};
  static constexpr auto fields() {
    return std::tuple(field("clip", &CenteredClipping::clip, range::positive,
                            "largest norm that passes unchanged"),
                      field("iterations", &CenteredClipping::iterations, range::whole(1),
                            "how often; 1 is clipped-mean"));
  }
  [[nodiscard]] static constexpr bool takes_weights() { return true; }
  void check(std::size_t n) const;
  template <Real T>
  [[nodiscard]] SampleInfo estimate(const estimators::Input<T>& in, std::span<T> out) const;

  double clip = 1;
  int iterations = 1;
};

}  // namespace medgrad
#pragma GCC visibility pop
