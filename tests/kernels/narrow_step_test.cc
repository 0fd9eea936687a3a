// Steps of an m in bfloat16: rounding at random, and the SIMD kernels against the scalar ones.
#include <gtest/gtest.h>

#include "kernels/bfloat16.h"
#include "kernels/step_kernels.h"
#include "kernels/step_scalar.h"
#include "testing.h"

namespace medgrad::kernels {
namespace {

using testing::random_vector;
using testing::same_bits;
using Wide = Run<float>;
using Narrow = Run<float, BFloat16>;

class NarrowStep : public ::testing::Test {
 protected:
  void TearDown() override { force_simd_target(simd_targets().front()); }
};

// Over all 2^16 random numbers the mean is the number itself, exactly: what is cut off, in units of
// 2^-16, is how many of them round away from zero.
TEST(BFloat16Rounding, IsUnbiased) {
  std::mt19937_64 rng(1);
  std::uniform_int_distribution<std::uint32_t> bits(0, kMostBFloat16);
  const std::uint32_t chosen[] = {0,          1,          0x8000,       0x00ffff,    // denormal
                                  0x007fffff, 0x00800000, 0x3f7fffff,   0x3f800001,  // next to 1
                                  0x3effffff, 0x7f7effff, kMostBFloat16};
  for (int k = 0; k < 200; ++k) {
    const std::uint32_t size = k < 11 ? chosen[k] : bits(rng);
    for (const float x : {std::bit_cast<float>(size), -std::bit_cast<float>(size)}) {
      double sum = 0;
      for (std::uint32_t random = 0; random < 65536; ++random)
        sum += static_cast<double>(rounded(x, random).get());
      // Two values of 8 bits are added up 2^16 times: 24 bits, and no rounding.
      EXPECT_EQ(sum / 65536, static_cast<double>(x)) << size;
    }
  }
}

TEST(BFloat16Rounding, KeepsWhatItHoldsAndStaysFinite) {
  const float most = BFloat16{0x7f7f}.get();
  for (const std::uint32_t random : {0U, 1U, 0x8000U, 0xffffU}) {
    for (std::uint32_t bits = 0; bits < 0x7f80; ++bits) {
      const BFloat16 x{static_cast<std::uint16_t>(bits)};
      ASSERT_EQ(rounded(x.get(), random), x);
      ASSERT_EQ(rounded(-x.get(), random).get(), -x.get());
    }
    const float largest = std::numeric_limits<float>::max();
    EXPECT_EQ(rounded(largest, random).get(), most);
    EXPECT_EQ(rounded(-largest, random).get(), -most);
  }
}

// Random bits: of n places the mean of u = bits / 2^16 is off by more than 5 sigma once in 1.7
// million times, sigma = 1 / sqrt(12 n); neighbours, and steps that follow each other, are not
// correlated (their products have a standard deviation of 1/12).
TEST(BFloat16Rounding, BitsAreUniformAndIndependent) {
  constexpr std::uint32_t n = 1 << 20;
  const auto u = [](const RandomBits& bits, std::uint32_t place) {
    return bits.at(place) / 65536.0 + 0.5 / 65536 - 0.5;
  };
  for (const std::uint64_t seed : {0, 1, 2}) {
    const RandomBits now(Dither{seed, 7}), next(Dither{seed, 8}), other(Dither{seed + 1, 7});
    double mean = 0, neighbours = 0, far = 0, steps = 0, seeds = 0;
    std::vector<int> seen(256);
    for (std::uint32_t i = 0; i < n; ++i) {
      mean += u(now, i);
      neighbours += u(now, i) * u(now, i + 1);
      far += u(now, i) * u(now, i + 4096);
      steps += u(now, i) * u(next, i);
      seeds += u(now, i) * u(other, i);
      ++seen[now.at(i) >> 8];
    }
    EXPECT_LT(std::fabs(mean / n), 5 / std::sqrt(12.0 * n));
    for (const double x : {neighbours, far, steps, seeds})
      EXPECT_LT(std::fabs(x / n), 5 / (12 * std::sqrt(double{n})));
    // Chi squared with 255 degrees of freedom: mean 255, standard deviation 22.6.
    double chi = 0;
    for (const int count : seen) chi += (count - n / 256.0) * (count - n / 256.0) / (n / 256.0);
    EXPECT_LT(chi, 255 + 6 * 22.6);
  }
}

std::vector<BFloat16> narrow(const std::vector<float>& x) {
  std::vector<BFloat16> m;
  for (const float v : x) m.push_back(rounded(v, 0));
  return m;
}
std::vector<float> wide(const std::vector<BFloat16>& m) {
  std::vector<float> x;
  for (const BFloat16 v : m) x.push_back(v.get());
  return x;
}

// A step computes what it computes in float, from the m that is kept; w follows that, and what is
// kept is that, rounded with the bits of its place. Whatever comes in, it is finite.
TEST_F(NarrowStep, IsTheStepInFloatRounded) {
  std::mt19937_64 rng(2);
  using Limits = std::numeric_limits<float>;
  const float wild[] = {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(),
                        Limits::max(),       -Limits::max(),     Limits::denorm_min()};
  for (std::size_t n = 0; n < 150; n += n < 40 ? 1 : 13) {
    for (const bool odd : {false, true}) {
      const std::vector<BFloat16> m = narrow(random_vector<float>(rng, n, 0));
      auto g = random_vector<float>(rng, n, 0);
      for (std::size_t k = 0; odd && k < 6 && k < n; ++k) g[(k * 11 + n) % n] = wild[k];
      const auto w = random_vector<float>(rng, n, 0);
      const RandomBits random(Dither{n, 3});
      const std::uint32_t place = n % 2 == 0 ? 4099 : 0xfffffff0;
      for (const Kernel kernel : kAll) {
        for (const Mode mode : {Mode{false}, Mode{true}}) {
          std::vector<float> expected_m = wide(m), expected_w = w;
          Tally expected;
          run_simd(kernel, Wide{expected_m.data(), g.data(), expected_w.data(), n, 0.01, 0.9}, mode,
                   expected);
          for (const std::string& target : simd_targets()) {
            force_simd_target(target);
            std::vector<BFloat16> got_m = m;
            std::vector<float> got_w = w;
            Tally got;
            run_simd(
                kernel,
                Narrow{got_m.data(), g.data(), got_w.data(), n, 0.01, 0.9, 0, 0, random, place},
                mode, got);
            SCOPED_TRACE(target + " n=" + std::to_string(n) +
                         " kernel=" + std::to_string(static_cast<int>(kernel)));
            EXPECT_TRUE(same_bits<float>(expected_w, got_w));
            EXPECT_EQ(std::memcmp(&expected, &got, sizeof got), 0);
            for (std::size_t i = 0; i < n; ++i) {
              const auto at = place + static_cast<std::uint32_t>(i);
              const BFloat16 want =
                  kernel == Kernel::measure ? m[i] : rounded(expected_m[i], random.at(at));
              ASSERT_EQ(got_m[i], want) << i;
              ASSERT_TRUE(std::isfinite(got_m[i].get()));
              ASSERT_TRUE(!std::isnan(g[i]) || mode.cold || got_m[i] == m[i]);
            }
          }
        }
      }
    }
  }
}

TEST_F(NarrowStep, CutsDoNotShow) {
  std::mt19937_64 rng(3);
  const RandomBits random(Dither{5, 1});
  for (std::size_t n = 1; n < 120; n += 7) {
    const std::vector<BFloat16> m = narrow(random_vector<float>(rng, n, 0));
    const auto g = random_vector<float>(rng, n, 0), w = random_vector<float>(rng, n, 0);
    for (const Kernel kernel : kAll) {
      const auto in_parts = [&](std::size_t cut) {
        std::pair<std::vector<BFloat16>, std::vector<float>> parts{m, w};
        Tally tally;
        for (const auto& [from, to] : {std::pair<std::size_t, std::size_t>{0, cut}, {cut, n}})
          run_simd(kernel,
                   Narrow{parts.first.data() + from, g.data() + from, parts.second.data() + from,
                          to - from, 0.01, 1, 0, from % kLanes, random,
                          static_cast<std::uint32_t>(from)},
                   {}, tally);
        return parts;
      };
      const auto whole = in_parts(0);
      for (std::size_t cut = 1; cut <= n; cut += 3) {
        const auto parts = in_parts(cut);
        ASSERT_EQ(parts.first, whole.first) << n << " " << cut;
        ASSERT_TRUE(same_bits<float>(parts.second, whole.second));
      }
    }
  }
}

// An m that moves by a hundredth of what its type can tell apart follows its mean all the same:
// after t steps of m <- m + f (g - m) it is g (1 - (1 - f)^t), and each rounding adds an error of
// mean 0 and at most half a unit u of standard deviation, of which (1 - f)^k is left after k steps:
// u / 2 over sqrt(2 f - f^2) in all. The mean over n components is off by that over sqrt(n).
TEST_F(NarrowStep, FollowsStepsThatRoundingToNearestWouldLose) {
  constexpr std::size_t n = 4096, steps = 3000;
  constexpr double f = 1e-3;
  const std::vector<float> g(n, 1.0F);
  std::vector<BFloat16> m(n, rounded(0.75F, 0));
  for (std::size_t t = 0; t < steps; ++t) {
    Tally tally;
    relax(Narrow{m.data(), g.data(), nullptr, n, 0, 1, 0, 0, RandomBits(Dither{0, t}), 0}, {},
          {f, 1}, &tally);
  }
  double mean = 0;
  for (const BFloat16 x : m) mean += static_cast<double>(x.get()) / n;
  const double expected = 1 - 0.25 * std::pow(1 - f, double{steps});
  const double unit = 0x1p-8;  // between 0.5 and 1
  EXPECT_NEAR(mean, expected, 5 * unit / 2 / std::sqrt(2 * f - f * f) / std::sqrt(double{n}));
}

}  // namespace
}  // namespace medgrad::kernels
