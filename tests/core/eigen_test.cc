#include "core/sample/eigen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "core/sample/lanczos.h"
#include "core/sample/refine.h"
#include "kernels/simd.h"

namespace medgrad::estimators {
namespace {

// Q diag(values) Q' with Q a product of reflections.
std::vector<double> with_eigenvalues(const std::vector<double>& values, unsigned seed) {
  const std::size_t n = values.size();
  std::mt19937_64 random(seed);
  std::normal_distribution<double> gauss;
  std::vector<double> a(n * n);
  for (std::size_t i = 0; i < n; ++i) a[i * n + i] = values[i];
  for (int round = 0; round < 3; ++round) {
    std::vector<double> v(n), av(n);
    double square = 0, product = 0;
    for (double& x : v) {
      x = gauss(random);
      square += x * x;
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < n; ++k) av[i] += a[i * n + k] * v[k];
      product += v[i] * av[i];
    }
    // (I - 2 v v'/s) A (I - 2 v v'/s)
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < n; ++k)
        a[i * n + k] += 4 * product / square / square * v[i] * v[k] -
                        2 / square * (v[i] * av[k] + av[i] * v[k]);
    }
  }
  return a;
}

double residual(const std::vector<double>& a, const EigenPair& pair) {
  const std::size_t n = pair.vector.size();
  double square = 0, length = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double sum = -pair.value * pair.vector[i];
    for (std::size_t k = 0; k < n; ++k) sum += a[i * n + k] * pair.vector[k];
    square += sum * sum;
    length += pair.vector[i] * pair.vector[i];
  }
  EXPECT_NEAR(length, 1, 1e-13);
  return std::sqrt(square);
}

TEST(Eigen, LargestOfKnownMatrices) {
  for (const std::size_t n : {1u, 2u, 3u, 8u, 31u, 90u}) {
    std::vector<double> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<double>(i * i) / 10 - 1;
    const double largest = values.back();
    const auto a = with_eigenvalues(values, static_cast<unsigned>(n));
    const EigenPair pair = largest_eigenpair(n, a);
    const double size = 1 + std::abs(largest);
    EXPECT_NEAR(pair.value, largest, 1e-13 * size);
    EXPECT_NEAR(largest_eigenvalue(n, a), largest, 1e-13 * size);
    EXPECT_LE(residual(a, pair), 1e-12 * size) << n;
    if (largest > 0) {
      EXPECT_TRUE(has_eigenvalue_from(largest * (1 - 1e-12), n, a));
      EXPECT_FALSE(has_eigenvalue_from(largest * (1 + 1e-12), n, a));
    }
  }
}

TEST(Eigen, AwkwardMatrices) {
  EXPECT_EQ(largest_eigenvalue(0, {}), 0);
  const std::vector<double> zero(9);
  EXPECT_EQ(largest_eigenpair(3, zero).value, 0);
  EXPECT_EQ(residual(zero, largest_eigenpair(3, zero)), 0);
  // A double eigenvalue, the identity, rank one, next to a double one.
  for (const std::vector<double>& values :
       {std::vector<double>{1, 5, 5, 2}, {1, 1, 1, 1}, {0, 0, 0, 3}, {1, 5, 5 - 1e-13, 2}}) {
    const auto a = with_eigenvalues(values, 4);
    const EigenPair pair = largest_eigenpair(4, a);
    EXPECT_NEAR(pair.value, *std::max_element(values.begin(), values.end()), 1e-13);
    EXPECT_LE(residual(a, pair), 1e-13);
  }
  // Any size of entries.
  for (const int power : {-1000, -500, 500, 1000}) {
    auto a = with_eigenvalues({1, 2, 3}, 7);
    for (double& x : a) x = std::ldexp(x, power);
    EXPECT_NEAR(std::ldexp(largest_eigenvalue(3, a), -power), 3, 1e-14);
  }
}

// Many rows: Lanczos' method. Eigenvalues from 0 on, as covariances have them, with a gap that
// makes it slow, rank one, all equal, and two or three at the top that are equal.
TEST(Eigen, LargeMatrices) {
  const std::string best = kernels::simd_target();
  ThreadPool pool(3);
  for (const std::size_t n : {65u, 130u, 230u}) {
    for (const int kind : {0, 1, 2, 3, 4}) {
      SCOPED_TRACE(std::to_string(n) + ", " + std::to_string(kind));
      std::vector<double> values(n);
      for (std::size_t i = 0; i < n; ++i) values[i] = kind == 1 ? 0 : static_cast<double>(i);
      const double largest = values.back() = kind == 0 ? static_cast<double>(n) - 1.999 : 300;
      if (kind == 2) values.assign(n, largest);
      if (kind >= 3) values[3] = values[4] = largest - (kind == 3 ? 0 : 1e-11);
      const auto a = with_eigenvalues(values, static_cast<unsigned>(n));
      const EigenPair pair = largest_eigenpair(n, a);
      EXPECT_NEAR(pair.value, largest, 1e-12 * largest);
      EXPECT_LE(residual(a, pair), 2e-12 * largest);
      const auto by_steps = lanczos_eigenpair(n, a);
      ASSERT_TRUE(by_steps);
      if (const auto refined = refined_eigenpair(n, a)) {
        EXPECT_NEAR(refined->value, largest, 1e-12 * largest);
        EXPECT_LE(residual(a, *refined), 2e-12 * largest);
      } else {
        EXPECT_TRUE(kind == 0 || kind >= 3);  // the next one is too near
      }
      EXPECT_NEAR(by_steps->value, pair.value, 1e-13 * largest);
      for (const std::string& target : kernels::simd_targets()) {
        kernels::force_simd_target(target);
        const EigenPair again = largest_eigenpair(n, a);
        EXPECT_EQ(again.value, pair.value) << target;
        EXPECT_EQ(again.vector, pair.vector) << target;
      }
      kernels::force_simd_target(best);
      EXPECT_EQ(largest_eigenpair(n, a, &pool).vector, pair.vector);
      auto large = a;
      for (double& x : large) x = std::ldexp(x, 900);
      EXPECT_EQ(largest_eigenpair(n, large).vector, pair.vector);
    }
  }
  EXPECT_FALSE(refined_eigenpair(70, std::vector<double>(70 * 70)));
  EXPECT_FALSE(lanczos_eigenpair(70, std::vector<double>(70 * 70)));
  EXPECT_EQ(largest_eigenpair(70, std::vector<double>(70 * 70)).value, 0);
}

}  // namespace
}  // namespace medgrad::estimators
