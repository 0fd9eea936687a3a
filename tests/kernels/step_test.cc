// The SIMD step kernels against the scalar reference: every target, length and misalignment.
#include "kernels/step.h"

#include <gtest/gtest.h>

#include "kernels/step_kernels.h"
#include "kernels/step_scalar.h"
#include "testing.h"

namespace medgrad::kernels {
namespace {

using testing::random_vector;
using testing::same_bits;

template <class T>
struct Result {
  std::vector<T> m, w;
  Tally tally;
};

template <class T>
void run_scalar(Kernel kernel, const Run<T>& run, Mode mode, Tally& tally) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < run.n; i = next) {
    next = std::min(run.n, (run.lane + i) / kLanes * kLanes + kLanes - run.lane);
    const Run<T> block{run.m + i,  run.g + i, run.w ? run.w + i : nullptr, next - i, run.eta,
                       run.shrink, run.decay, (run.lane + i) % kLanes};
    switch (kernel) {
      case Kernel::measure:
        scalar_block(block, mode, ScalarMeasure{}, true, false, 1, tally);
        break;
      case Kernel::relax:
        scalar_block(block, mode, ScalarRelax{{0.3, 1}}, true, true, 1, tally);
        break;
      case Kernel::far:
        scalar_block(block, mode, ScalarRelax{{1.5, 1}}, true, true, 1, tally);
        break;
      case Kernel::mix:
        scalar_block(block, mode, ScalarMix{0.9, {0.1, 1}}, true, true, 1, tally);
        break;
      case Kernel::clamp:
        scalar_block(block, mode, ScalarClamp{0.5}, true, true, 0.5, tally);
        break;
      case Kernel::clamp_and_count:
        scalar_block(block, mode, ScalarClampAndCount{0.5, 1.25}, true, true, 0.5, tally);
        break;
      case Kernel::sign:
        scalar_block(block, mode, ScalarSign{0.5}, true, true, 0.5, tally);
        break;
    }
  }
}

// How a run lies and what its w does.
struct Shape {
  std::size_t offset = 0, lane = 0;
  bool with_w = true;
  double shrink = 1, decay = 0;
};

template <class T, class RunKernel>
Result<T> apply(const RunKernel& run_kernel, std::vector<T> m, const std::vector<T>& g,
                std::vector<T> w, const Shape& shape, Mode mode) {
  Result<T> result{std::move(m), std::move(w), {}};
  const std::size_t at = shape.offset;
  run_kernel(
      Run<T>{result.m.data() + at, g.data() + at, shape.with_w ? result.w.data() + at : nullptr,
             g.size() - at, 0.01, shape.shrink, shape.decay, shape.lane},
      mode, result.tally);
  return result;
}

template <class T>
class StepKernelTest : public ::testing::Test {
 protected:
  void TearDown() override { force_simd_target(simd_targets().front()); }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(StepKernelTest, Types);

// Numbers from everywhere: ordinary, NaN, Inf, the ends of the range, denormals, zeros.
template <class T>
std::vector<T> wild_vector(std::mt19937_64& rng, std::size_t n, bool finite) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x = random_vector<T>(rng, n, 1);
  const T wild[] = {Limits::max(), -Limits::max(),     Limits::denorm_min(), Limits::min(),
                    T{0},          Limits::infinity(), -Limits::infinity(),  Limits::quiet_NaN()};
  std::uniform_int_distribution<std::size_t> kind(0, 60);
  for (T& v : x) {
    const std::size_t k = kind(rng);
    if (k < (finite ? 5 : 8)) v = wild[k];
  }
  return x;
}

TYPED_TEST(StepKernelTest, EveryTargetAgreesWithTheScalarReference) {
  using T = TypeParam;
  std::mt19937_64 rng(7);
  // float results may differ by the rounding of one operation: the reference computes in double.
  const double tolerance = std::is_same_v<T, float> ? 4 * std::numeric_limits<T>::epsilon() : 0;
  for (std::size_t n = 0; n < 70; ++n) {
    for (const bool wild : {false, true}) {
      const std::size_t offset = n % 3;
      const auto m =
          wild ? wild_vector<T>(rng, n + offset, true) : random_vector<T>(rng, n + offset, 0);
      const auto g =
          wild ? wild_vector<T>(rng, n + offset, false) : random_vector<T>(rng, n + offset, 0);
      const auto w = random_vector<T>(rng, n + offset, 0);
      for (const Kernel kernel : kAll) {
        for (const Mode mode : {Mode{false}, Mode{true}}) {
          const Shape shape{offset, n * 5 % 16, n % 2 == 0, n % 4 == 0 ? 1 : 0.99,
                            n % 6 == 0 ? 0.1 : 0};
          const auto expected =
              apply<T>([&](const Run<T>& r, Mode o, Tally& t) { run_scalar(kernel, r, o, t); }, m,
                       g, w, shape, mode);
          Result<T> first;
          for (const std::string& target : simd_targets()) {
            force_simd_target(target);
            const auto got =
                apply<T>([&](const Run<T>& r, Mode o, Tally& t) { run_simd(kernel, r, o, t); }, m,
                         g, w, shape, mode);
            SCOPED_TRACE(target + " n=" + std::to_string(n) + " kernel=" +
                         std::to_string(static_cast<int>(kernel)) + (wild ? " wild" : ""));
            for (std::size_t i = 0; i < m.size(); ++i) {
              EXPECT_TRUE(std::isfinite(got.m[i])) << g[i] << " " << m[i];
              EXPECT_NEAR(got.m[i], expected.m[i], tolerance * (std::fabs(expected.m[i]) + 1));
            }
            EXPECT_EQ(got.tally.nan, expected.tally.nan);
            EXPECT_EQ(got.tally.inf, expected.tally.inf);
            EXPECT_EQ(got.tally.clipped, expected.tally.clipped);
            EXPECT_EQ(got.tally.within, expected.tally.within);
            EXPECT_EQ(got.tally.moving, expected.tally.moving);
            const double norm = expected.tally.increment.sum().norm().get();
            const double got_norm = got.tally.increment.sum().norm().get();
            EXPECT_TRUE(got_norm == norm || std::fabs(got_norm / norm - 1) < 1e-6)
                << got_norm << " " << norm;
            if (first.m.empty()) first = got;
            EXPECT_TRUE(same_bits<T>(first.m, got.m) && same_bits<T>(first.w, got.w));
            EXPECT_EQ(std::memcmp(&first.tally, &got.tally, sizeof(Tally)), 0);
          }
        }
      }
    }
  }
}

// Runs that follow each other, lane after lane, are one run.
TYPED_TEST(StepKernelTest, CutsDoNotShow) {
  using T = TypeParam;
  std::mt19937_64 rng(8);
  for (std::size_t n = 1; n < 120; n += 7) {
    const auto m = random_vector<T>(rng, n, 0), g = random_vector<T>(rng, n, 0),
               w = random_vector<T>(rng, n, 0);
    for (const Kernel kernel : kAll) {
      const Result<T> whole = apply<T>(
          [&](const Run<T>& r, Mode o, Tally& t) { run_simd(kernel, r, o, t); }, m, g, w, {}, {});
      for (std::size_t cut = 0; cut <= n; cut += 3) {
        Result<T> parts{m, w, {}};
        const auto part = [&](std::size_t from, std::size_t to) {
          run_simd(kernel,
                   Run<T>{parts.m.data() + from, g.data() + from, parts.w.data() + from, to - from,
                          0.01, 1, 0, from % kLanes},
                   {}, parts.tally);
        };
        part(0, cut / 2);
        part(cut / 2, cut);
        part(cut, n);
        ASSERT_TRUE(same_bits<T>(whole.m, parts.m) && same_bits<T>(whole.w, parts.w));
        ASSERT_EQ(std::memcmp(&whole.tally, &parts.tally, sizeof(Tally)), 0) << n << " " << cut;
      }
    }
  }
}

TYPED_TEST(StepKernelTest, FindsTheFirstNonFinite) {
  using T = TypeParam;
  for (const std::string& target : simd_targets()) {
    force_simd_target(target);
    for (std::size_t n = 0; n < 50; ++n) {
      std::vector<T> x(n, T{1});
      EXPECT_EQ(first_non_finite(x.data(), n), n);
      for (std::size_t bad = 0; bad < n; ++bad) {
        x.assign(n, std::numeric_limits<T>::max());
        x[bad] =
            bad % 2 ? std::numeric_limits<T>::quiet_NaN() : -std::numeric_limits<T>::infinity();
        if (bad + 3 < n) x[bad + 3] = std::numeric_limits<T>::infinity();
        EXPECT_EQ(first_non_finite(x.data(), n), bad);
      }
    }
  }
}

}  // namespace
}  // namespace medgrad::kernels
