#include "medgrad/dist/blame.h"

#include <gtest/gtest.h>

namespace medgrad::dist {
namespace {

WorkerReport report(double distance, double weight, double kept) {
  WorkerReport one;
  one.row.distance = distance;
  one.row.weight = weight;
  one.row.kept = kept;
  one.seconds = 0.5;
  return one;
}

TEST(Blame, NamesTheSuspicious) {
  Blame blame;
  for (int step = 0; step < 10; ++step) {
    std::vector<WorkerReport> reports = {report(2, 0.3, 1), report(2.2, 0.3, 1),
                                         report(1.9, 0.3, 1), report(20, 0.1, 1), report(2, 0, 0)};
    if (step == 3) reports[1].row.nan = 2;
    blame.add(reports);
  }
  const std::vector<Blamed> table = blame.table();
  ASSERT_EQ(table.size(), 5u);
  EXPECT_EQ(table[0].reason, "");
  EXPECT_EQ(table[1].reason, "2 entries not finite");
  EXPECT_EQ(table[2].reason, "");
  EXPECT_EQ(table[3].reason, "10.0 times as far away as others");
  EXPECT_EQ(table[4].reason, "not used in 10 of 10 steps");
  EXPECT_DOUBLE_EQ(table[3].mean.distance, 10);
  EXPECT_DOUBLE_EQ(table[0].mean.weight, 1.5);  // 0.3 of five
  EXPECT_DOUBLE_EQ(table[0].mean.seconds, 0.5);
  EXPECT_NE(blame.text().find("10.0 times as far away"), std::string::npos);
}

// Workers keep their numbers when others leave.
TEST(Blame, FollowsWorkers) {
  Blame blame;
  const std::vector<int> workers = {0, 3};
  const std::vector<WorkerReport> reports = {report(1, 0.5, 1), report(1, 0.5, 1)};
  blame.add(workers, reports);
  EXPECT_EQ(blame.records().size(), 4u);
  EXPECT_EQ(blame.table().size(), 2u);
  EXPECT_EQ(blame.table()[1].worker, 3);
}

// Krum takes one row: that nobody else is used is no reason.
TEST(Blame, IsFairWhereMostAreUnused) {
  Blame blame;
  for (int step = 0; step < 9; ++step)
    blame.add(std::vector<WorkerReport>{report(0, 1, 1), report(1, 0, 0), report(1.1, 0, 0)});
  for (const Blamed& one : blame.table()) EXPECT_EQ(one.reason, "");
}

}  // namespace
}  // namespace medgrad::dist
