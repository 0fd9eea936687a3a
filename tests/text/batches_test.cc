// Batches of a long text: the published tables, and that targets are the inputs one row on.
#include "text/batches.h"

#include <gtest/gtest.h>

#include <numeric>

#include "text/data.h"

namespace medgrad::text {
namespace {

using medgrad::testing::message_of;

struct Row {
  std::size_t tokens, batch, length, rows, count, last;
  bool drop_last = false;
};

constexpr std::size_t kPtbTrain = 929589, kPtbTest = 82430, kWikiTrain = 2088628;

// The figures of the published experiments: Penn Treebank in chunks of 35, WikiText-2 of 128.
const Row kTable[] = {
    {kPtbTrain, 16, 35, 58099, 1660, 33},     {kPtbTrain, 64, 35, 14524, 415, 33},
    {kPtbTrain, 256, 35, 3631, 104, 25},      {kPtbTrain, 1024, 35, 907, 26, 31},
    {kPtbTrain, 1326, 35, 701, 20, 35},       {kPtbTrain, 1326, 35, 701, 20, 35, true},
    {kPtbTest, 16, 35, 5151, 148, 5},         {kPtbTest, 64, 35, 1287, 37, 26},
    {kPtbTest, 256, 35, 321, 10, 5},          {kPtbTest, 1024, 35, 80, 3, 9},
    {kPtbTest, 1326, 35, 62, 2, 26},          {kWikiTrain, 20, 128, 104431, 816, 110},
    {kWikiTrain, 80, 128, 26107, 204, 122},   {kWikiTrain, 80, 128, 26107, 203, 128, true},
    {kWikiTrain, 16, 128, 130539, 1020, 106}, {kWikiTrain, 320, 128, 6526, 51, 125},
    {kWikiTrain, 320, 35, 6526, 187, 15},
};

TEST(BatchPlan, HasThePublishedFigures) {
  for (const Row& row : kTable) {
    const BatchPlan plan(row.tokens, {row.batch, row.length, row.drop_last});
    EXPECT_EQ(plan.rows(), row.rows);
    EXPECT_EQ(plan.count(), row.count) << row.tokens << " at " << row.batch;
    EXPECT_EQ(plan.chunk(0).length, row.length);
    EXPECT_EQ(plan.chunk(plan.count() - 1).length, row.last) << row.tokens << " at " << row.batch;
  }
}

TEST(BatchPlan, ChunksCoverTheRowsOnceAndTargetsAreTheInputsOneRowOn) {
  std::vector<TokenId> tokens(1000);
  std::iota(tokens.begin(), tokens.end(), 7);
  for (const std::size_t batch : {1U, 3U, 10U, 499U, 500U}) {
    for (const std::size_t length : {1U, 4U, 35U, 5000U}) {
      const BatchPlan plan(tokens.size(), {batch, length});
      std::size_t rows = 0;
      for (std::size_t i = 0; i < plan.count(); ++i) {
        const Chunk chunk = plan.chunk(i);
        ASSERT_EQ(chunk.start, rows);
        rows += chunk.length;
        std::vector<std::int64_t> inputs(chunk.length * batch), targets(inputs.size());
        plan.fill(tokens, i, inputs, targets);
        for (std::size_t t = 0; t < chunk.length; ++t) {
          for (std::size_t b = 0; b < batch; ++b) {
            // Tokens are their own positions, 7 on.
            ASSERT_EQ(inputs[t * batch + b],
                      static_cast<std::int64_t>(b * plan.rows() + chunk.start + t + 7));
            ASSERT_EQ(targets[t * batch + b], inputs[t * batch + b] + 1);
          }
        }
      }
      EXPECT_EQ(rows, plan.rows() - 1);
    }
  }
}

TEST(BatchPlan, RefusesWhatMakesNoChunk) {
  const auto error_of = [](std::size_t tokens, BatchPlan::Options options) {
    return message_of([&] { return BatchPlan(tokens, options).count(); });
  };
  EXPECT_EQ(error_of(10, {0, 5}), "the batch size is 0; it must be 1 or more.");
  EXPECT_EQ(error_of(10, {1, 0}), "the length of a chunk is 0; it must be 1 or more.");
  EXPECT_EQ(error_of(10, {6, 5}),
            "a batch size of 6 is too large for 10 tokens: the streams get 1 token each, and 2 are "
            "needed.");
  EXPECT_EQ(error_of(10, {2, 5, true}),
            "a batch size of 2 is too large for 10 tokens: the streams get 5 tokens each, and 6 "
            "are needed.");
  EXPECT_EQ(error_of(0, {1, 1}),
            "a batch size of 1 is too large for 0 tokens: the streams get 0 tokens each, and 2 are "
            "needed.");
}

}  // namespace
}  // namespace medgrad::text
