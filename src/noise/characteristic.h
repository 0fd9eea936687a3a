// The characteristic function of stable laws, and of samples.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <span>

namespace medgrad::noise {

// Of a standardised sample; the last is log(scale).
struct Shape {
  double alpha = 2, beta = 0, log_scale = 0, location = 0;
};

// E exp(itX) in S0, t > 0.
[[nodiscard]] std::complex<double> characteristic(const Shape& law, double t);

inline constexpr std::array<double, 8> kNodes = {0.08, 0.2, 0.4, 0.65, 0.95, 1.3, 1.7, 2.2};
inline constexpr std::size_t kMeans = 2 * kNodes.size();
// Means of cos(tz), then of sin(tz), at the nodes.
using Means = std::array<double, kMeans>;
using MeansCovariance = std::array<Means, kMeans>;

[[nodiscard]] Means means_of(std::span<const double> z);
[[nodiscard]] Means means_of(const Shape& law);
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
