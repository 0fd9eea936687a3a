#include "medgrad/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
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
