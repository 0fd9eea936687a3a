// Steps whose m is in bfloat16: the bits depend neither on threads nor on how the vector is cut.
#include <gtest/gtest.h>

#include "medgrad/estimator.h"
#include "medgrad/registry.h"
#include "medgrad/thread_pool.h"
#include "testing.h"

namespace medgrad {
namespace {

using testing::random_vector;

struct Result {
  std::vector<BFloat16> m;
  std::vector<float> w;
  StepInfo info;
};

// Some steps on blocks of so many components each.
Result steps(const OnlineMethod& method, std::size_t n, std::size_t length, ThreadPool* pool,
             std::uint64_t seed = 0) {
  std::mt19937_64 rng(1);
  Result r{std::vector<BFloat16>(n), random_vector<float>(rng, n, 0), {}};
  Workspace<float> workspace;
  double size = 0;
  for (std::uint64_t t = 0; t < 4; ++t) {
    const auto g = random_vector<float>(rng, n, 0);
    std::vector<NarrowBlock> blocks;
    for (std::size_t at = 0; at < n; at += length) {
      const std::size_t count = std::min(length, n - at);
      blocks.push_back({{&r.m[at], count}, {&g[at], count}, {&r.w[at], count}, 0.1});
    }
    r.info = narrow_step(method, blocks, {seed, t}, {.pool = pool}, workspace, &size);
  }
  return r;
}

TEST(NarrowStep, BitsDependOnThePlaceAlone) {
  constexpr std::size_t n = 40'003;  // three chunks
  ThreadPool two(2), three(3);
  for (const char* const text :
       {"momentum:tau=0.1", "vclip:tau=0.5", "cclip:tau=0.1", "huber:tau=0.5", "lp:p=3:tau=0.5",
        "sign:tau=0.1", "clipped-mean", "cclip:tau=auto"}) {
    const MethodText given = parse_method_text(text);
    const auto& entry = find_online_method(given.name);
    const OnlineMethod method =
        entry.make(read_parameters(entry.name, entry.parameters, given.parameters));
    const Result whole = steps(method, n, n, nullptr);
    for (const std::size_t length : {n, std::size_t{20'000}, std::size_t{777}}) {
      for (ThreadPool* const pool : {static_cast<ThreadPool*>(nullptr), &two, &three}) {
        const Result r = steps(method, n, length, pool);
        EXPECT_EQ(r.m, whole.m) << text << " " << length;
        EXPECT_TRUE(testing::same_bits<float>(r.w, whole.w)) << text << " " << length;
        EXPECT_EQ(r.info.increment_norm, whole.info.increment_norm);
      }
    }
    EXPECT_NE(steps(method, n, n, nullptr, 1).m, whole.m) << "another seed rounds in another way";
  }
}

TEST(NarrowStep, RefusesWithoutTouchingAnything) {
  std::vector<BFloat16> m(70, BFloat16{0x3f80});
  std::vector<float> w(70, 1), g(70, 2);
  g[69] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<BFloat16> before = m;
  const NarrowBlock block{m, g, w, 0.1};
  Workspace<float> workspace;
  for (const OnlineMethod& method :
       {OnlineMethod(ProximalPoint{L1{}, 0.1}), OnlineMethod(ProximalPoint{L2{}, 0.1})}) {
    EXPECT_THROW(narrow_step(method, {&block, 1}, {}, {}, workspace), NonFiniteInput);
    EXPECT_EQ(m, before);
    EXPECT_EQ(w, std::vector<float>(70, 1));
  }
}

}  // namespace
}  // namespace medgrad
