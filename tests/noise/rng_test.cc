#include "medgrad/rng.h"

#include <Random123/philox.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "kernels/simd.h"
#include "medgrad/thread_pool.h"
#include "noise/rng.h"
#include "testing.h"

namespace medgrad {
namespace {

using testing::same_bits;
using testing::view;

std::vector<std::uint32_t> reference(std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                                     std::size_t n) {
  const auto half = [](std::uint64_t x, int k) {
    return static_cast<std::uint32_t>(x >> (32 * k));
  };
  const r123::Philox4x32 philox;
  std::vector<std::uint32_t> words(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t block = (first + i) / 4;
    const r123::Philox4x32::ctr_type counter = {
        {half(block, 0), half(block, 1), half(stream, 0), half(stream, 1)}};
    const r123::Philox4x32::key_type key = {{half(seed, 0), half(seed, 1)}};
    words[i] = philox(counter, key)[(first + i) % 4];
  }
  return words;
}

template <class F>
void on_every_target(const F& f) {
  for (const std::string& target : kernels::simd_targets()) {
    SCOPED_TRACE(target);
    kernels::force_simd_target(target);
    f();
  }
  kernels::force_simd_target(kernels::simd_targets().front());
}

// Random123's kat_vectors for philox4x32 with 10 rounds. A domain is the top two bits of the block.
TEST(Philox, KnownAnswers) {
  using Words = std::vector<std::uint32_t>;
  on_every_target([] {
    Words words(4);
    Philox(0, 0).fill_bits(words);
    EXPECT_EQ(words, (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    constexpr std::uint64_t kOnes = ~std::uint64_t{0};
    noise::draw_bits({kOnes, kOnes, 3}, kOnes - 3, words);
    EXPECT_EQ(words, (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    // Counter and key are digits of pi.
    const std::uint64_t block = 0x85a308d3243f6a88 & (kOnes >> 2);
    noise::draw_bits({0x299f31d0a4093822, 0x0370734413198a2e, 2}, 4 * block, words);
    EXPECT_EQ(words, (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  });
}

TEST(Philox, IsRandom123s) {
  on_every_target([] {
    for (const std::uint64_t first : {0ull, 1ull, 5ull, (1ull << 34) - 7, (1ull << 60) + 3}) {
      for (const std::size_t n : {1u, 3u, 4u, 17u, 1023u, 2500u}) {
        std::vector<std::uint32_t> words(n);
        Philox(0x123456789abcdef0, 42).fill_bits(words, first);
        EXPECT_EQ(words, reference(0x123456789abcdef0, 42, first, n));
      }
    }
  });
}

TEST(Philox, UniformsAreOddMultiples) {
  const std::vector<std::uint32_t> words = reference(7, 8, 0, 200);
  std::vector<double> x(100);
  std::vector<float> y(200);
  Philox(7, 8).fill_uniform(x);
  Philox(7, 8).fill_uniform(y);
  for (std::size_t i = 0; i < 100; ++i) {
    const std::uint64_t word = words[2 * i] | std::uint64_t{words[2 * i + 1]} << 32;
    EXPECT_EQ(x[i], (static_cast<double>(word >> 12) + 0.5) * 0x1p-52);
  }
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(y[i], (static_cast<float>(words[i] >> 9) + 0.5f) * 0x1p-23f);
  }
}

// Whatever is asked for, in whatever pieces, on whatever threads and instruction set: the same.
template <class T, class Fill>
void check_access(const Fill& fill) {
  constexpr std::size_t kN = 40'000;
  const Philox philox(2024, 5);
  std::vector<T> whole(kN);
  fill(philox, std::span<T>(whole), 0, nullptr);
  on_every_target([&] {
    for (const std::size_t first : {0u, 1u, 2u, 3u, 255u, 1027u}) {
      for (const std::size_t n : {0u, 1u, 2u, 7u, 64u, 1024u, 1500u}) {
        std::vector<T> slice(n);
        fill(philox, std::span<T>(slice), first, nullptr);
        ASSERT_TRUE(same_bits<T>(slice, view(whole).subspan(first, n))) << first << " " << n;
      }
    }
    for (const unsigned threads : {1u, 2u, 7u}) {
      ThreadPool pool(threads);
      std::vector<T> again(kN);
      fill(philox, std::span<T>(again), 0, &pool);
      ASSERT_TRUE(same_bits<T>(again, whole));
    }
  });
}

template <class T>
void check_real_access() {
  check_access<T>([](const Philox& p, auto out, std::uint64_t first, ThreadPool* pool) {
    p.fill_uniform(out, first, pool);
  });
  check_access<T>([](const Philox& p, auto out, std::uint64_t first, ThreadPool* pool) {
    p.fill_normal(out, first, pool);
  });
}
TEST(Philox, SlicesThreadsAndTargetsAgree) {
  check_access<std::uint32_t>([](const Philox& p, auto out, std::uint64_t first, ThreadPool* pool) {
    p.fill_bits(out, first, pool);
  });
  check_real_access<double>();
  check_real_access<float>();
}

// DKW: P(> 3) <= 2 exp(-18) = 3e-8 a test.
template <class T>
void check_distributions(std::uint64_t stream) {
  std::vector<T> x(1'000'000);
  Philox(1, stream).fill_uniform(x);
  EXPECT_LT(testing::kolmogorov(x, [](double u) { return u; }), 3);
  Philox(2, stream).fill_normal(x);
  EXPECT_LT(
      testing::kolmogorov(x, [](double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }), 3);
  // Neighbours come from one block: their products have mean 0 and variance 1, so that the mean of
  // n/2 of them is within 5 sqrt(2/n) = 0.0071 (probability of more: 6e-7). The squares likewise,
  // variance of (a^2 - 1)(b^2 - 1): 4.
  double product = 0, squares = 0, largest = 0;
  for (std::size_t i = 0; i < x.size(); i += 2) {
    const double a = static_cast<double>(x[i]), b = static_cast<double>(x[i + 1]);
    product += a * b;
    squares += (a * a - 1) * (b * b - 1);
    largest = std::max({largest, std::fabs(a), std::fabs(b)});
  }
  EXPECT_LT(std::fabs(product), 0.0071 * 500'000);
  EXPECT_LT(std::fabs(squares), 0.0142 * 500'000);
  // P(max < 4) = (1 - 6.3e-5)^1e6 = e^-63; P(max > 6.5) = 8e-5.
  EXPECT_GT(largest, 4);
  EXPECT_LT(largest, 6.5);
}
TEST(Philox, UniformAndNormalDistributions) {
  check_distributions<double>(3);
  check_distributions<float>(4);
}

TEST(Philox, SeedsAndStreamsDiffer) {
  std::vector<std::uint32_t> a(64), b(64), c(64);
  Philox(1, 1).fill_bits(a);
  Philox(2, 1).fill_bits(b);
  Philox(1, 2).fill_bits(c);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i] != b[i] && b[i] != c[i]);
}

}  // namespace
}  // namespace medgrad
