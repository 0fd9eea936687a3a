#include "noise/tail_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace medgrad::noise {
namespace {

// Weights of the barycentric formula at x for n Chebyshev points of the second kind; they sum to 1.
template <std::size_t N, class Node>
std::array<double, N> weights(double x, Node node) {
  std::array<double, N> w{};
  double sum = 0;
  for (std::size_t i = 0; i < N; ++i) {
    const double d = x - node(i);
    if (std::fabs(d) < 1e-14) {
      w.fill(0);
      w[i] = 1;
      return w;
    }
    const double size = i == 0 || i + 1 == N ? 0.5 : 1.0;
    w[i] = (i % 2 == 0 ? size : -size) / d;
    sum += w[i];
  }
  for (double& v : w) v /= sum;
  return w;
}

template <std::size_t N>
const std::array<double, N>& cosines() {  // cos(pi i / (N-1)), exact at both ends and in the middle
  static const std::array<double, N> table = [] {
    std::array<double, N> c{};
    for (std::size_t i = 0; i < N; ++i) {
      const double turn = static_cast<double>(2 * i) / static_cast<double>(N - 1) - 1;
      c[i] = -std::sin(std::numbers::pi / 2 * turn);
    }
    return c;
  }();
  return table;
}

}  // namespace

double table_inverse_alpha(std::size_t i) { return 1.25 + 0.75 * cosines<kAlphaNodes>()[i]; }
double table_beta(std::size_t j) { return -cosines<kBetaNodes>()[j]; }

QuantilesAt::QuantilesAt(double alpha) : nodes_{} {
  const auto w =
      weights<kAlphaNodes>(1 / std::clamp(alpha, kFitAlphaMin, kFitAlphaMax), table_inverse_alpha);
  for (std::size_t j = 0; j <= kBetaNodes / 2; ++j) {
    FiveQuantiles& q = nodes_[j];
    for (std::size_t i = 0; i < kAlphaNodes; ++i) {
      const FiveQuantiles& at = table_quantiles(i, j);
      for (std::size_t k = 0; k < 5; ++k) q[k] += w[i] * at[k];
    }
    // -X has beta reversed: q_p(beta) = -q_{1-p}(-beta).
    for (std::size_t k = 0; k < 5; ++k) nodes_[kBetaNodes - 1 - j][k] = -q[4 - k];
  }
  FiveQuantiles& middle = nodes_[kBetaNodes / 2];  // symmetric: remove what rounding left
  middle[2] = 0;
  middle[3] = -middle[1];
  middle[4] = -middle[0];
}

FiveQuantiles QuantilesAt::operator()(double beta) const {
  const auto w = weights<kBetaNodes>(beta, table_beta);
  FiveQuantiles q{};
  for (std::size_t j = 0; j < kBetaNodes; ++j) {
    for (std::size_t k = 0; k < 5; ++k) q[k] += w[j] * nodes_[j][k];
  }
  return q;
}

}  // namespace medgrad::noise
