// Noise models: random vectors to disturb gradients with (paper, sections 2.1 and 6.2).
//
// A model is a plain value; `sample` fills n rows of length d with independent draws of it. Row i
// is a function of (seed, stream, i, d) alone: any part can be made by itself, on any number of
// threads and any instruction set, with the same bits (see rng.h). Entries are always finite: what
// overflows is the largest finite number of its sign.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "medgrad/stable.h"

#pragma GCC visibility push(default)
namespace medgrad {

// X = scale sqrt(A) L G,  A ~ S1(alpha/2, 1, 2 cos(pi alpha/4)^{2/alpha}, 0),  G ~ N(0, I). With
// L = I every marginal is Stable(alpha, 0, scale), but large entries come together; alpha = 2 is
// N(0, 2 scale^2 L L').
struct EllipticalStable {
  static constexpr About about{"elliptical",
                               "X = sqrt(A) G, A positive stable, G ~ N(0, I)",
                               "stable vectors whose large entries come together",
                               {"elliptical-stable", "sub-gaussian"}};
  static constexpr auto fields() {
    return std::tuple(required("alpha", &EllipticalStable::alpha, kTailIndex, kTailIndexMeaning),
                      field("scale", &EllipticalStable::scale, range::positive, kScaleMeaning),
                      part(&EllipticalStable::cholesky));
  }

  double alpha = 2;                   // 0 < alpha <= 2
  double scale = 1;                   // > 0
  std::vector<double> cholesky = {};  // L, d x d, row by row, lower triangular; empty stands for I
};

// The others have independent, identically distributed entries, as StableParameters does.

// N(0, scale^2).
struct Gaussian {
  static constexpr About about{
      "gaussian", "N(0, scale^2)", "light tails, for comparison", {"normal"}};
  static constexpr auto fields() {
    return std::tuple(field("scale", &Gaussian::scale, range::positive, kScaleMeaning));
  }

  double scale = 1;
};
// The ratio of two normals: Stable(1, 0, scale).
struct Cauchy {
  static constexpr About about{"cauchy", "f(x) = 1/(pi (1 + x^2))",
                               "no mean: stable with alpha = 1"};
  static constexpr auto fields() {
    return std::tuple(field("scale", &Cauchy::scale, range::positive, kScaleMeaning));
  }

  double scale = 1;
};
// Student's t with `df` degrees of freedom (tail index df), times scale.
struct StudentT {
  static constexpr About about{"student-t",
                               "f(x) ~ (1 + x^2/df)^{-(df+1)/2}",
                               "tails of index df, finite variance for df > 2",
                               {"student", "t"}};
  static constexpr auto fields() {
    return std::tuple(field("df", &StudentT::df, range::positive, "degrees of freedom"),
                      field("scale", &StudentT::scale, range::positive, kScaleMeaning));
  }

  double df = 3;
  double scale = 1;
};
// P(|X| > x) = (1 + x/scale)^-index: Pareto's second kind, which starts at 0. With a random sign,
// so that its median is 0, or X >= 0.
struct Pareto {
  static constexpr About about{"pareto",
                               "P(|X| > x) = (1 + x)^-index",
                               "a power law from 0 on, with a random sign",
                               {"lomax"}};
  static constexpr auto fields() {
    return std::tuple(field("index", &Pareto::index, range::positive, "tail index"),
                      field("scale", &Pareto::scale, range::positive, kScaleMeaning),
                      choice("symmetric", &Pareto::symmetric, {"false", "true"},
                             "with a random sign, or X >= 0"));
  }

  double index = 1.5;
  double scale = 1;
  bool symmetric = true;
};
// N(0, scale^2) with probability 1 - epsilon, else N(0, (factor scale)^2).
struct ContaminatedNormal {
  static constexpr About about{"contaminated-normal",
                               "(1 - epsilon) N(0, scale^2) + epsilon N(0, (factor scale)^2)",
                               "Gaussian with a share of gross errors",
                               {"contaminated"}};
  static constexpr auto fields() {
    return std::tuple(
        field("epsilon", &ContaminatedNormal::epsilon, range::share, "share of gross errors"),
        field("factor", &ContaminatedNormal::factor, range::positive, "how much wider they are"),
        field("scale", &ContaminatedNormal::scale, range::positive, kScaleMeaning));
  }

  double epsilon = 0.1;
  double factor = 10;
  double scale = 1;
};

using NoiseModel = std::variant<StableParameters, EllipticalStable, Gaussian, Cauchy, StudentT,
                                Pareto, ContaminatedNormal>;

// Throws Error unless every parameter is in its range.
void check(const NoiseModel& model);

// Is the variance of its entries finite? Without one, means over a few runs say little, and for
// tail indices up to 1 there is no mean at all.
[[nodiscard]] bool has_variance(const NoiseModel& model);

// Rows first_row, first_row + 1, ... of the noise, into the rows of `out`, each of length d. Throws
// Error where `model` is out of range, or out.size() is no multiple of d.
void sample(const NoiseModel& model, std::span<double> out, std::size_t d, std::uint64_t seed,
            std::uint64_t stream, std::uint64_t first_row = 0, ThreadPool* pool = nullptr);
void sample(const NoiseModel& model, std::span<float> out, std::size_t d, std::uint64_t seed,
            std::uint64_t stream, std::uint64_t first_row = 0, ThreadPool* pool = nullptr);

// Noise that grows with the iterate: sqrt(1 + |w|^2) times any other (setting S2 of the paper).
struct StateDependent {
  NoiseModel noise;

  // |w| neither overflows nor underflows.
  [[nodiscard]] static double factor(std::span<const double> w);
  [[nodiscard]] static double factor(std::span<const float> w);

  // As above, at the iterate w; d is its length.
  void sample(std::span<double> out, std::span<const double> w, std::uint64_t seed,
              std::uint64_t stream, std::uint64_t first_row = 0, ThreadPool* pool = nullptr) const;
  void sample(std::span<float> out, std::span<const float> w, std::uint64_t seed,
              std::uint64_t stream, std::uint64_t first_row = 0, ThreadPool* pool = nullptr) const;
};

}  // namespace medgrad
#pragma GCC visibility pop
