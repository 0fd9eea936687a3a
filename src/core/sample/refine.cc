#include "core/sample/refine.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/sample/matrix.h"
#include "core/sample/symmetric.h"
#include "core/sample/tridiagonal.h"
#include "kernels/conjugate.h"
#include "kernels/matrix.h"
#include "medgrad/rng.h"

namespace medgrad::estimators {
namespace {

using Floats = std::vector<float>;

double product(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  kernels::line_products(x.data(), 1, x.size(), x.size(), y.data(), &sum);
  return sum;
}
void scale(Floats& x, float factor) {
  for (float& v : x) v *= factor;
}

class Refiner {
 public:
  Refiner(std::size_t n, std::span<const double> a, double unit, ThreadPool* pool)
      : n_(n),
        padded_(kernels::in_blocks(n)),
        unit_(unit),
        copy_(padded_ * padded_),
        whole_(n, a.data(), pool),
        half_(padded_, copy_.data(), pool),
        x_(n),
        r_(n),
        along_(padded_),
        rest_(padded_),
        p_(padded_),
        y_(padded_),
        d_(padded_) {
    kernels::narrow_lower(a.data(), n, unit, copy_.data());
  }
  // In units of `unit`.
  std::optional<EigenPair> run();

 private:
  [[nodiscard]] bool begin();
  [[nodiscard]] bool correct(double theta, double slope, double enough);

  std::size_t n_, padded_;
  double unit_;
  MatrixOf<float> copy_;
  SymmetricMatrix<double> whole_;
  SymmetricMatrix<float> half_;
  std::vector<double> x_, r_;
  Floats along_, rest_, p_, y_, d_;  // along_: x in float
};

// A vector with three or four digits by Lanczos' method, whose basis is still orthogonal by then
// without any help. It begins with a direction that no matrix is likely to be blind to.
bool Refiner::begin() {
  constexpr std::size_t kMostSteps = 160;
  constexpr double kEnough = 3e-4;
  std::vector<std::uint32_t> words(n_);
  Philox(1, n_).fill_bits(words);
  Floats basis(padded_), w(padded_);
  for (std::size_t i = 0; i < n_; ++i) basis[i] = static_cast<float>(words[i]) * 0x1p-31f - 1;
  const float length = std::sqrt(kernels::inner_product(basis.data(), basis.data(), padded_));
  scale(basis, 1 / length);
  Tridiagonal t;
  float beside = 0;
  const std::size_t most = std::min(n_, kMostSteps);
  for (std::size_t k = 0, look = 8; k < most; ++k) {
    const float* const q = basis.data() + k * padded_;
    half_.multiply(q, w.data());
    const float along = kernels::inner_product(q, w.data(), padded_);
    t.diagonal.push_back(along);
    t.beside.push_back(beside);
    kernels::add_multiple(-along, q, padded_, w.data());
    if (k > 0) kernels::add_multiple(-beside, q - padded_, padded_, w.data());
    beside = std::sqrt(kernels::inner_product(w.data(), w.data(), padded_));
    const bool last = k + 1 == most || !(beside > 1e-6f);
    if (last || k + 1 == look) {
      look += 8;
      const double theta = largest_of(t, 1e-7);
      const std::vector<double> s = vector_of(t, theta);
      if (theta > 0 && beside * std::abs(s.back()) <= kEnough * theta) {
        std::fill(p_.begin(), p_.end(), 0.0f);
        for (std::size_t i = 0; i <= k; ++i)
          kernels::add_multiple(static_cast<float>(s[i]), basis.data() + i * padded_, padded_,
                                p_.data());
        std::copy_n(p_.begin(), n_, x_.begin());
        return true;
      }
      if (last) return false;
    }
    basis.insert(basis.end(), w.begin(), w.end());
    for (std::size_t i = 0; i < n_; ++i) basis[(k + 1) * padded_ + i] /= beside;
  }
  return false;
}

// x += d. False where the matrix is not positive across x, or nearly not.
bool Refiner::correct(double theta, double slope, double enough) {
  constexpr std::size_t kMostSteps = 160;
  for (std::size_t i = 0; i < n_; ++i) {
    along_[i] = static_cast<float>(x_[i]);
    rest_[i] = p_[i] = static_cast<float>(r_[i] / slope);
  }
  std::fill(d_.begin(), d_.end(), 0.0f);
  float square = kernels::inner_product(rest_.data(), rest_.data(), padded_);
  const float goal = static_cast<float>(enough * enough) * square;
  for (std::size_t step = 0; square > goal; ++step) {
    if (step == kMostSteps) return false;
    half_.multiply(p_.data(), y_.data());
    const float across = kernels::inner_product(along_.data(), y_.data(), padded_);
    const float curvature = kernels::deflate(static_cast<float>(theta), p_.data(), across,
                                             along_.data(), padded_, y_.data());
    if (!(curvature > 0)) return false;
    const float next = kernels::conjugate_step(square / curvature, p_.data(), y_.data(), padded_,
                                               d_.data(), rest_.data());
    kernels::turn(next / square, rest_.data(), padded_, p_.data());
    square = next;
  }
  for (std::size_t i = 0; i < n_; ++i) x_[i] += slope * static_cast<double>(d_[i]);
  return true;
}

std::optional<EigenPair> Refiner::run() {
  constexpr int kMostRounds = 10;
  constexpr double kEnough = 2e-15, kRounding = 1e-14, kDigits = 2e-5;
  if (!begin()) return std::nullopt;
  double before = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kMostRounds; ++round) {
    const double norm = std::sqrt(product(x_, x_));
    for (double& v : x_) v /= norm;
    whole_.multiply(x_.data(), r_.data());
    for (double& v : r_) v *= unit_;
    const double theta = product(x_, r_);
    for (std::size_t i = 0; i < n_; ++i) r_[i] -= theta * x_[i];
    const double slope = std::sqrt(product(r_, r_));
    // A little further than that, if rounding lets us.
    if (slope <= (before < 10 * kRounding * theta ? kRounding : kEnough) * theta)
      return EigenPair{theta, std::move(x_)};
    if (!(theta > 0 && slope < before / 2)) return std::nullopt;
    before = slope;
    if (!correct(theta, slope, std::max(kDigits, kEnough / 2 * theta / slope))) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<EigenPair> refined_eigenpair(std::size_t n, std::span<const double> a,
                                           ThreadPool* pool) {
  const double largest = largest_entry(n, a.data());
  if (largest == 0) return std::nullopt;
  const int exponent = std::ilogb(largest);
  if (std::abs(exponent) > 1000) return std::nullopt;
  std::optional<EigenPair> pair = Refiner(n, a, std::ldexp(1.0, -exponent), pool).run();
  if (pair) pair->value = std::ldexp(pair->value, exponent);
  return pair;
}

}  // namespace medgrad::estimators
