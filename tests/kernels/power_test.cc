// Powers against long double, and the same bits on every SIMD target.
#include "kernels/power.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/simd.h"

namespace medgrad::kernels {
namespace {

std::vector<double> numbers() {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform, exponent(-1074, 60);
  std::vector<double> t = {0, 1, 0.5, 2, 0x1p-1074, 0x1p-1022, std::sqrt(0.5), std::sqrt(2.0)};
  t.push_back(std::nextafter(1.0, 0.0));
  t.push_back(std::nextafter(1.0, 2.0));
  for (int i = 0; i < 2000; ++i) {
    t.push_back(uniform(random));
    t.push_back(1 - 1e-3 * uniform(random));
    t.push_back(std::exp2(exponent(random)));
  }
  return t;
}

TEST(Powers, RightToTheStatedError) {
  const std::vector<double> t = numbers();
  for (const double a :
       {0.01, 0.05, 0.2, 0.5, 0.9, 1.0, 1.1, 1.5, 2.0, 2.1, 3.0, 7.0, 39.0, 199.0}) {
    std::vector<double> got(t.size());
    powers(t.data(), t.size(), a, got.data());
    for (std::size_t i = 0; i < t.size(); ++i) {
      const long double want =
          std::pow(static_cast<long double>(t[i]), static_cast<long double>(a));
      if (want > 0x1p1020L) continue;
      if (want < 0x1p-1022L) {
        EXPECT_LE(got[i], 0x1p-1021) << t[i] << "^" << a;
        continue;
      }
      const long double error = std::abs(got[i] - want) / want * 0x1p52L;
      ASSERT_LE(error, 2 * (1 + std::abs(std::log(want)))) << t[i] << "^" << a;
    }
    EXPECT_EQ(got[0], 0);
    EXPECT_EQ(got[1], 1);
  }
}

TEST(Powers, SameBitsOnEveryTargetAndForEveryLength) {
  const std::vector<double> t = numbers();
  const std::string best = simd_target();
  for (const double a : {0.05, 0.5, 1.5, 2.0, 2.7, 3.0, 39.0}) {
    std::vector<double> want(t.size());
    powers(t.data(), t.size(), a, want.data());
    for (const std::string& target : simd_targets()) {
      SCOPED_TRACE(target);
      force_simd_target(target);
      for (std::size_t count = 0; count < 40; ++count) {
        std::vector<double> got(t.begin() + 1, t.begin() + 42);  // misaligned, and in place
        powers(got.data(), count, a, got.data());
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_EQ(got[i], i < count ? want[i + 1] : t[i + 1]);
      }
      std::vector<double> got(t.size());
      powers(t.data(), t.size(), a, got.data());
      EXPECT_EQ(got, want);
    }
    force_simd_target(best);
  }
}

}  // namespace
}  // namespace medgrad::kernels
