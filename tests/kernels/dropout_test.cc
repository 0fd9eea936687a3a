// The arithmetic of dropout, exactly, on every SIMD target, for every length and misaligned.
#include "kernels/dropout.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "kernels/simd.h"

namespace medgrad::kernels {
namespace {

template <class T>
class DropKernels : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DropKernels, Types);

TYPED_TEST(DropKernels, AreTheirFormulasToTheBit) {
  using T = TypeParam;
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  const std::string best = simd_target();
  for (const std::string& target : simd_targets()) {
    SCOPED_TRACE(target);
    force_simd_target(target);
    for (std::size_t n = 0; n < 70; ++n) {
      for (const int k : {0, 1, 20000, 32768, 40000, 65535}) {
        const auto threshold = static_cast<std::uint16_t>(k);
        const DropRule<T> rule{threshold, T{1.25}};
        std::vector<std::uint16_t> bits(n + 1);
        std::vector<T> x(n + 1), base(n + 1);
        for (std::size_t i = 0; i <= n; ++i) {
          bits[i] = i % 7 == 0   ? threshold
                    : i % 7 == 1 ? static_cast<std::uint16_t>(threshold - 1)
                                 : static_cast<std::uint16_t>(random());
          x[i] = static_cast<T>(normal(random));
          base[i] = static_cast<T>(normal(random));
        }
        const auto kept = [&](std::size_t i) { return bits[i] >= threshold; };
        std::vector<T> a(n + 2, 7), b = a, c = a, d = a;
        drop(x.data() + 1, bits.data() + 1, n, rule, a.data() + 1);
        drop_and_add(x.data() + 1, base.data() + 1, bits.data() + 1, n, rule, b.data() + 1);
        drop_and_rectify(x.data() + 1, bits.data() + 1, n, rule, c.data() + 1);
        pass_positive(x.data() + 1, base.data() + 1, n, rule.scale, d.data() + 1);
        for (std::size_t i = 1; i <= n; ++i) {
          const T alone = kept(i) ? x[i] * rule.scale : T{0};
          ASSERT_EQ(a[i], alone);
          ASSERT_EQ(b[i], base[i] + alone);
          ASSERT_EQ(c[i], x[i] > 0 ? alone : T{0});
          ASSERT_EQ(d[i], x[i] > 0 ? base[i] * rule.scale : T{0});
        }
        for (const auto& out : {a, b, c, d}) ASSERT_TRUE(out.front() == 7 && out.back() == 7);
      }
    }
  }
  force_simd_target(best);
}

TYPED_TEST(DropKernels, NotANumberIsNotRectified) {
  using T = TypeParam;
  std::vector<T> x(37, std::numeric_limits<T>::quiet_NaN());
  const std::vector<std::uint16_t> bits(37, 9);
  drop_and_rectify(x.data(), bits.data(), x.size(), DropRule<T>{9, 2}, x.data());
  for (const T v : x) EXPECT_NE(v, v);
}

}  // namespace
}  // namespace medgrad::kernels
