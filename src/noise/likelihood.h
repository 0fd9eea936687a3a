// The likelihood of a stable law and its derivatives in the four parameters.
//
// The smaller alpha, the sharper the peak of the density, which stands still where the location of
// S1 does: next to it, at fixed location of S0, a thousandth more of beta is another place
// altogether. So laws of small alpha are looked for in S1, where the parameters have nearly nothing
// to do with each other, and others in S0, which has no gap at alpha = 1.
#pragma once

#include <array>
#include <span>

#include "noise/characteristic.h"

namespace medgrad::noise {

using Score = std::array<double, 4>;  // by alpha, beta, log(scale), location
using Information = std::array<Score, 4>;

struct Likelihood {
  double value = 0;           // sum of log f
  Score score{};              // its gradient
  Information information{};  // sum of score score'
};

// Of finite z, by tables. Parameters that are `fixed` have no score.
[[nodiscard]] Likelihood likelihood(std::span<const double> z, const Shape& law,
                                    const std::array<bool, 4>& fixed = {});

inline constexpr double kLowestAlpha = 0.2;  // that is looked for

struct LikelihoodFit {
  Shape law;
  Likelihood at;
  std::array<bool, 4> held{};  // at an end of its range, the slope leading outside
  int rounds = 0;
  bool stalled = false;  // a step promised more than it kept
  // Not where alpha stands at its lower end, nor where the likelihood has no finite information.
  [[nodiscard]] bool has_errors() const;
};
// From a start that is close, in its form, until a step promises less than `gain`. `fixed` holds
// parameters where they are.
[[nodiscard]] LikelihoodFit maximise_likelihood(std::span<const double> z, Shape start,
                                                const std::array<bool, 4>& fixed = {},
                                                double gain = 1e-7);

// The likeliest law of a standardised sample, from its fit by characteristic functions: of several
// ascents the best where one stalls or alpha is small.
[[nodiscard]] LikelihoodFit likeliest(std::span<const double> z);

// In S0, of which the location in S1 is another parameter.
[[nodiscard]] Shape in_form(const Shape& law, StableForm form);
// The variances of alpha, beta, log(scale) and the location in S0.
[[nodiscard]] Score variances(const LikelihoodFit& fit);

// The inverse of the information of the parameters that are free; 0 for those that are not.
[[nodiscard]] Information inverse_information(const Information& information,
                                              const std::array<bool, 4>& held);

}  // namespace medgrad::noise
