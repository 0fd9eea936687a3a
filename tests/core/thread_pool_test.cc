#include "medgrad/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace medgrad {
namespace {

TEST(ThreadPool, RunsEveryIndexOnce) {
  for (const unsigned threads : {1u, 2u, 7u}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (const std::size_t n : {0, 1, 5, 1000}) {
      std::vector<std::atomic<int>> seen(n);
      pool.for_each(n, [&](std::size_t i) { ++seen[i]; });
      for (const auto& count : seen) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ThreadPool, RethrowsTheFailureOfTheSmallestIndexAndGoesOn) {
  ThreadPool pool(3);
  for (int round = 0; round < 50; ++round) {
    try {
      pool.for_each(64, [](std::size_t i) {
        if (i == 5 || i == 40) throw std::runtime_error(std::to_string(i));
      });
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "5");
    }
  }
  std::atomic<int> count = 0;
  pool.for_each(10, [&](std::size_t) { ++count; });
  EXPECT_EQ(count, 10);
}

// A limit of memory holds for this process for ever, so the pool is made in another one. Neither a
// list of four billion threads fits, nor the stacks of a thousand: pthread_create() fails.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need the addresses
[[noreturn]] void use_a_pool_that_cannot_have_all_its_threads() {
  constexpr rlim_t kMemory = rlim_t{512} << 20;
  const rlimit limit = {kMemory, kMemory};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(3);
  ThreadPool pool(4'000'000'000);
  std::atomic<int> count = 0;
  pool.for_each(2000, [&](std::size_t) { ++count; });
  std::fprintf(stderr, "threads: %s, calls: %d\n",
               pool.size() >= 1 && pool.size() < 1000 ? "fewer" : "all", count.load());
  std::_Exit(0);
}

TEST(ThreadPoolDeathTest, HasFewerThreadsWhereTheSystemStartsNoMore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(use_a_pool_that_cannot_have_all_its_threads(), ::testing::ExitedWithCode(0),
              "threads: fewer, calls: 2000");
}
#endif

TEST(Chunks, CoverTheRangeWhateverItsLength) {
  for (const std::size_t n : {0ul, 1ul, 16383ul, 16384ul, 16385ul, 10'000'019ul, 4'000'000'000ul}) {
    const Chunks chunks = chunks_for(n);
    EXPECT_LE(chunks.count, Chunks::kMaxChunks);
    std::size_t at = 0;
    for (std::size_t c = 0; c < chunks.count; ++c) {
      EXPECT_EQ(chunks.begin(c), at);
      EXPECT_LT(at, chunks.end(c));
      at = chunks.end(c);
    }
    EXPECT_EQ(at, n);
  }
}

}  // namespace
}  // namespace medgrad
