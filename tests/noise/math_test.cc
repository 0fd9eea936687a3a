// The samplers' own elementary functions against long double, on every target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "noise/math_test.cc"
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "hwy/foreach_target.h"  // re-includes this file per target
#include "hwy/highway.h"
#include "kernels/simd.h"
#include "noise/math-inl.h"
#include "testing.h"

#ifndef MEDGRAD_MATH_TEST_ONCE
#define MEDGRAD_MATH_TEST_ONCE
namespace medgrad::noise {
enum class Function { log, expm1, exp, sin_quarter, cos_quarter, sin_half, sin_pi, cos_pi };
}
#endif

HWY_BEFORE_NAMESPACE();
namespace medgrad::noise::HWY_NAMESPACE {

template <class D, class V = hn::Vec<D>>
V Apply(D d, Function function, V x) {
  switch (function) {
    case Function::log:
      return LogPositive(d, x);
    case Function::expm1:
      return Expm1(d, x);
    case Function::exp:
      return TimesExp(d, hn::Set(d, 1), x);
    case Function::sin_quarter:
      return SinCosQuarter(d, x).sin;
    case Function::cos_quarter:
      return SinCosQuarter(d, x).cos;
    case Function::sin_half:
      return SinHalf(d, x);
    case Function::sin_pi:
      return SinCosPi(d, x).sin;
    case Function::cos_pi:
      return SinCosPi(d, x).cos;
  }
  return x;
}
template <class T>
void Evaluate(Function function, const T* x, T* y, size_t n) {
  const hn::CappedTag<T, 16> d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    hn::StoreU(Apply(d, function, hn::LoadU(d, x + i)), d, y + i);
  }
}
void EvaluateF64(Function f, const double* x, double* y, size_t n) { Evaluate(f, x, y, n); }
void EvaluateF32(Function f, const float* x, float* y, size_t n) { Evaluate(f, x, y, n); }

}  // namespace medgrad::noise::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::noise {
namespace {

HWY_EXPORT(EvaluateF64);
HWY_EXPORT(EvaluateF32);

void evaluate(Function f, const std::vector<double>& x, std::vector<double>& y) {
  HWY_DYNAMIC_DISPATCH(EvaluateF64)(f, x.data(), y.data(), x.size());
}
void evaluate(Function f, const std::vector<float>& x, std::vector<float>& y) {
  HWY_DYNAMIC_DISPATCH(EvaluateF32)(f, x.data(), y.data(), x.size());
}

long double exact(Function function, long double x) {
  constexpr long double kPi = std::numbers::pi_v<long double>;
  switch (function) {
    case Function::log:
      return std::log(x);
    case Function::expm1:
      return std::expm1(x);
    case Function::exp:
      return std::exp(x);
    case Function::sin_quarter:
    case Function::sin_half:
      return std::sin(x);
    case Function::cos_quarter:
      return std::cos(x);
    case Function::sin_pi:
      return std::sin(kPi * x);
    case Function::cos_pi:
      return std::sin(kPi * (0.5L - x));
  }
  return x;
}

// The largest error in units in the last place over [low, high], evenly and (where `spread`) also
// by orders of magnitude; every target gives the same bits.
template <class T>
double worst_error(Function function, double low, double high, bool spread) {
  constexpr std::size_t kN = 1 << 16;
  std::mt19937_64 rng(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<T> x(kN), y(kN), first;
  for (std::size_t i = 0; i < kN; ++i) {
    const double u = uniform(rng);
    const bool by_magnitude = spread && i % 2 == 0;
    x[i] = static_cast<T>(by_magnitude ? high * std::pow(1e-15, u) : low + (high - low) * u);
  }
  double worst = 0;
  for (const std::string& target : kernels::simd_targets()) {
    kernels::force_simd_target(target);
    evaluate(function, x, y);
    if (first.empty()) first = y;
    EXPECT_TRUE(testing::same_bits<T>(first, y)) << target;
  }
  kernels::force_simd_target(kernels::simd_targets().front());
  for (std::size_t i = 0; i < kN; ++i) {
    const long double wanted = exact(function, static_cast<long double>(x[i]));
    const T rounded = static_cast<T>(wanted);
    const long double unit =
        std::nextafter(std::fabs(rounded), std::numeric_limits<T>::infinity()) - std::fabs(rounded);
    if (rounded == 0 || !std::isnormal(rounded)) continue;
    worst = std::max(
        worst, static_cast<double>(std::fabs(static_cast<long double>(y[i]) - wanted) / unit));
  }
  return worst;
}

template <class T>
void check(double normal_min, double largest) {
  constexpr double kPi = std::numbers::pi;
  EXPECT_LT(worst_error<T>(Function::log, 0.1, 10, false), 1.5);
  EXPECT_LT(worst_error<T>(Function::log, normal_min, 1e30, true), 1.5);
  EXPECT_LT(worst_error<T>(Function::expm1, -40, 40, true), 3);
  EXPECT_LT(worst_error<T>(Function::expm1, -1, 1, true), 3);
  EXPECT_LT(worst_error<T>(Function::exp, -largest, largest, false), 1.5);
  EXPECT_LT(worst_error<T>(Function::sin_quarter, 0, kPi / 4, true), 1.5);
  EXPECT_LT(worst_error<T>(Function::cos_quarter, 0, kPi / 4, true), 1.5);
  EXPECT_LT(worst_error<T>(Function::sin_half, 0, kPi / 2, true), 2);
  EXPECT_LT(worst_error<T>(Function::sin_pi, 0, 0.5, true), 2.5);
  EXPECT_LT(worst_error<T>(Function::cos_pi, 0, 0.5, true), 2.5);
}

TEST(NoiseMath, Double) { check<double>(1e-300, 700); }
TEST(NoiseMath, Float) { check<float>(1e-30, 85); }

TEST(NoiseMath, ProductsOutOfRangeSaturate) {
  const std::vector<double> x(16, 1e6), small(16, -1e6);
  std::vector<double> y(16);
  evaluate(Function::exp, x, y);
  EXPECT_EQ(y[0], std::numeric_limits<double>::infinity());
  evaluate(Function::exp, small, y);
  EXPECT_EQ(y[0], 0);
}

}  // namespace
}  // namespace medgrad::noise
#endif  // HWY_ONCE
