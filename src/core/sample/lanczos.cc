#include "core/sample/lanczos.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/sample/symmetric.h"
#include "core/sample/tridiagonal.h"
#include "kernels/matrix.h"
#include "medgrad/rng.h"

namespace medgrad::estimators {
namespace {

constexpr std::size_t kMostSteps = 400;
constexpr double kEnough = 1e-14;  // |A y - theta y| / theta

double length(std::span<const double> x) {
  double square = 0;
  kernels::line_products(x.data(), 1, x.size(), x.size(), x.data(), &square);
  return std::sqrt(square);
}

// A direction that no matrix is likely to be blind to.
std::vector<double> start(std::size_t n) {
  std::vector<std::uint32_t> words(n);
  Philox(1, n).fill_bits(words);
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<double>(words[i]) * 0x1p-31 - 1;
  const double norm = length(x);
  for (double& c : x) c /= norm;
  return x;
}

}  // namespace

std::optional<EigenPair> lanczos_eigenpair(std::size_t n, std::span<const double> a,
                                           ThreadPool* pool) {
  const double largest = largest_entry(n, a.data());
  if (largest == 0) return std::nullopt;
  const int exponent = std::ilogb(largest);
  const double unit = std::ldexp(1.0, -exponent);  // in which squares are safe

  std::vector<double> basis = start(n), w(n), projection;
  SymmetricMatrix<double> matrix(n, a.data(), pool);
  Tridiagonal t;
  double beside = 0;
  const std::size_t most = std::min(n, kMostSteps);
  for (std::size_t k = 0, look = 8; k < most; ++k) {
    const double* const q = basis.data() + k * n;
    matrix.multiply(q, w.data());
    for (double& x : w) x *= unit;
    double along = 0;
    kernels::line_products(q, 1, n, n, w.data(), &along);
    t.diagonal.push_back(along);
    t.beside.push_back(beside);
    for (std::size_t i = 0; i < n; ++i) w[i] -= along * q[i];
    if (k > 0)
      for (std::size_t i = 0; i < n; ++i) w[i] -= beside * q[i - n];
    // What rounding left of the basis in w.
    projection.resize(k + 1);
    kernels::line_products(basis.data(), k + 1, n, n, w.data(), projection.data());
    for (double& x : projection) x = -x;
    kernels::add_lines(basis.data(), k + 1, n, n, projection.data(), w.data(), true);
    beside = length(w);
    const bool last = k + 1 == most || !(beside > kEnough);
    if (last || k + 1 == look) {
      look += std::max<std::size_t>(4, look / 8);
      const double theta = largest_of(t);
      const std::vector<double> s = vector_of(t, theta);
      if (theta > 0 && beside * std::abs(s.back()) <= kEnough * theta) {
        EigenPair pair{std::ldexp(theta, exponent), std::vector<double>(n)};
        kernels::add_lines(basis.data(), k + 1, n, n, s.data(), pair.vector.data());
        const double norm = length(pair.vector);
        for (double& x : pair.vector) x /= norm;
        return pair;
      }
      if (last) return std::nullopt;
    }
    basis.resize((k + 2) * n);
    for (std::size_t i = 0; i < n; ++i) basis[(k + 1) * n + i] = w[i] / beside;
  }
  return std::nullopt;
}

}  // namespace medgrad::estimators
