// The likelihood of a stable law and its derivatives in the four parameters.
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

struct LikelihoodFit {
  Shape law;
  Likelihood at;
  std::array<bool, 4> held{};  // at an end of its range, the slope leading outside
  int rounds = 0;
};
// From a start that is close, until a step promises less than `gain`. `fixed` holds parameters
// where they are.
[[nodiscard]] LikelihoodFit maximise_likelihood(std::span<const double> z, Shape start,
                                                const std::array<bool, 4>& fixed = {},
                                                double gain = 1e-7);

// The inverse of the information of the parameters that are free; 0 for those that are not.
[[nodiscard]] Information inverse_information(const Information& information,
                                              const std::array<bool, 4>& held);

}  // namespace medgrad::noise
