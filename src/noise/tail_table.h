// Quantiles of the standard stable law (S0) between the nodes of a table, for fits.
//
// A quantile of Stable costs milliseconds, a fit needs thousands of them. The five that McCulloch's
// fit uses are therefore tabulated on Chebyshev points in (1/alpha, beta), 1/alpha because
// quantiles grow like p^{-1/alpha}, and interpolated by the barycentric formula. S0 makes them
// smooth in both parameters, alpha = 1 included; beta < 0 follows by reflection. The interpolant is
// within 2e-3 interquartile ranges of the truth everywhere (1e-4 for alpha >= 1), far below the
// sampling error of any real sample: at alpha = 0.6 it moves alpha by about 1e-4.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace medgrad::noise {

inline constexpr std::array<double, 5> kFitProbabilities = {0.05, 0.25, 0.5, 0.75, 0.95};
using FiveQuantiles = std::array<double, 5>;  // at those probabilities

inline constexpr double kFitAlphaMin = 0.5, kFitAlphaMax = 2;

inline constexpr std::size_t kAlphaNodes = 17, kBetaNodes = 33;
// Where the table stands: 1/alpha = 1.25 + 0.75 cos(pi i / 16), beta = -cos(pi j / 32).
[[nodiscard]] double table_inverse_alpha(std::size_t i);
[[nodiscard]] double table_beta(std::size_t j);
// The tabulated quantiles, j <= kBetaNodes / 2 (beta <= 0). Written by tools/make_tail_table.cc.
[[nodiscard]] const FiveQuantiles& table_quantiles(std::size_t i, std::size_t j);

// The quantiles as functions of beta at one alpha in [0.5, 2].
class QuantilesAt {
 public:
  explicit QuantilesAt(double alpha);
  [[nodiscard]] FiveQuantiles operator()(double beta) const;

 private:
  std::array<FiveQuantiles, kBetaNodes> nodes_;
};

}  // namespace medgrad::noise
