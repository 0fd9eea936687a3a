// The characteristic function of stable laws, and of samples.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <span>

#include "medgrad/stable.h"

namespace medgrad::noise {

// Of a standardised sample. In S0 unless it says otherwise, as only likelihood.h does.
struct Shape {
  double alpha = 2, beta = 0, log_scale = 0, location = 0;
  StableForm form = StableForm::S0;
};

// tan(pi alpha/2) (s - s^alpha), what beta turns the phase by in S0 at s = scale t, by log s.
[[nodiscard]] double turn(double alpha, double log_s);

// E exp(itX) in S0, t > 0.
[[nodiscard]] std::complex<double> characteristic(const Shape& law, double t);

inline constexpr std::array<double, 8> kNodes = {0.08, 0.2, 0.4, 0.65, 0.95, 1.3, 1.7, 2.2};
inline constexpr std::size_t kMeans = 2 * kNodes.size();
// Means of cos(tz), then of sin(tz), at the nodes.
using Means = std::array<double, kMeans>;
using MeansCovariance = std::array<Means, kMeans>;

[[nodiscard]] Means means_of(std::span<const double> z);
[[nodiscard]] Means means_of(const Shape& law);
// Covariances of cos(sX), sin(sX) with cos(tX), sin(tX), from phi at s, t, s + t and s - t.
struct PairCovariance {
  double cos_cos, cos_sin, sin_cos, sin_sin;
};
[[nodiscard]] PairCovariance pair_covariance(std::complex<double> s, std::complex<double> t,
                                             std::complex<double> sum,
                                             std::complex<double> difference);
// Of one number of the law.
[[nodiscard]] MeansCovariance covariance_of(const Shape& law);

struct CharacteristicFit {
  Shape law;
  std::array<std::array<double, 4>, 4> covariance{};  // of the parameters, times n
  double distance = 0;                                // Q / n
  bool alpha_clamped = false, beta_clamped = false;
};
[[nodiscard]] CharacteristicFit fit_means(const Means& sample);

// P(chi-square > x).
[[nodiscard]] double chi_square_above(double x, int degrees);

}  // namespace medgrad::noise
