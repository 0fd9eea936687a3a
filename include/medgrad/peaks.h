// The far tail of a sample by itself: peaks over a threshold.
//
// Of n numbers the k largest (of x, of -x or of |x|) are looked at, and what they have above the
// next one, the threshold u. Past a high threshold the excess y of nearly every law is close to
// generalised Pareto (Pickands 1975),
//
//     P(Y > y) = (1 + xi y / sigma)^{-1/xi},
//
// with xi = 1/alpha for a power tail of index alpha, xi = 0 for tails like Gaussian, Laplace or
// lognormal ones, and xi < 0 where there is an end. The variance is infinite for xi >= 1/2. Three
// estimators of xi:
//
//   pareto   maximum likelihood of that law, standard error (1 + xi) / sqrt(k); neither the
//            location nor the scale of the sample matters
//   moment   Dekkers, Einmahl, de Haan (Ann. Stat. 17, 1989): M1 + 1 - 1/(2 (1 - M1^2/M2)) with
//            M_j = mean of log(x_i/u)^j; standard error sqrt(1 + xi^2) / sqrt(k) for xi >= 0
//   hill     Hill (Ann. Stat. 3, 1975): M1; a power tail from u on, or nothing; u is its own, by
//            Guillou and Hall (tail_index.h), unless k is given
//
// The threshold: of k = 0.6 n for |x|, 0.45 n for one tail, and 3/4, 9/16, … of that (at most
// 10,000, at least 25) the largest for which the test of Anderson and Darling does not reject the
// generalised Pareto law at 10 % (Choulakian and Stephens, Technometrics 43, 2001); the smallest
// where it rejects them all. One true law in ten is rejected at 10 %, and where that happens the
// fit to fewer numbers is an unusual one, too: fits that are not rejected at 1 % are kept
// (`doubted`).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "medgrad/tail_index.h"

#pragma GCC visibility push(default)
namespace medgrad {

// An estimate of xi and its 95 % interval.
struct TailShape {
  double xi = 0;
  Interval interval;
};

struct GeneralisedParetoFit {
  double xi = 0, sigma = 1;
  Interval xi_interval, sigma_interval;  // 95 %
  double log_likelihood = 0;
  double distance = 0, p_value = 1;  // Anderson and Darling's A^2
  std::size_t n = 0;
};

// Excesses over a threshold: positive numbers, at least 10 of them and not all alike (else an
// Error). Infinite ones count as the largest finite one.
[[nodiscard]] GeneralisedParetoFit fit_generalised_pareto(std::span<const double> excesses);

struct PeaksOptions {
  Tail tail = Tail::both;  // of |x|, -x or x
  Centre centre = Centre::median;
  std::size_t k = 0;  // 0: by the rule above
};

struct Peaks {
  Tail tail = Tail::both;
  std::size_t n = 0, k = 0;  // of n numbers the k largest
  std::size_t hill_k = 0;    // those that `hill` is made of: by Guillou and Hall (tail_index.h)
  std::size_t missing = 0, infinite = 0;
  double threshold = 0;  // u, measured from the centre
  GeneralisedParetoFit pareto;
  // Of more numbers, at lower thresholds that the rule above has passed: those whose p-value is 1 %
  // or more.
  std::vector<TailShape> doubted;
  TailShape moment, hill;
  // Deeper looks, at the 5 % and the 2 % farthest (25 at least, k at most): a law may be close to
  // Gaussian but for those.
  TailShape far, farthest;

  // xi and the tail index as one says it: 1/xi, infinite for xi <= 0.
  [[nodiscard]] double index() const { return pareto.xi > 0 ? 1 / pareto.xi : kInfinite; }
  [[nodiscard]] Interval index_interval() const;
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();
};

// Error for fewer than 60 numbers, and for a tail without spread.
[[nodiscard]] Peaks peaks_over_threshold(std::span<const double> sample,
                                         const PeaksOptions& options = {});

}  // namespace medgrad
#pragma GCC visibility pop
