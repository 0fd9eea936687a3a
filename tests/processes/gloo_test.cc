// Aggregation over Gloo, between processes: the bits of one, the traffic, and who is lost.
#include <gtest/gtest.h>

#include "dist/on_all_ranks.h"
#include "processes/processes.h"

namespace medgrad {
namespace {

using dist::Communicator;
using dist_test::vectors;
using processes_test::with_gloo;
using namespace std::chrono_literals;

const std::string kFine;

TEST(Gloo, HasTheBitsOfOneProcess) {
  for (const std::size_t n : {2u, 5u}) {
    const auto x = vectors<float>(n, 16384 * 2 + 777, 7, n == 5);
    const auto all = dist_test::all_wanted(x);
    for (const std::string& said : with_gloo(static_cast<int>(n), [&](Communicator& group) {
           return dist_test::differences(group, all, x);
         }))
      EXPECT_EQ(said, kFine);
  }
}

TEST(Gloo, HasThemForEightProcessesAtTwiceTheVector) {
  const auto x = vectors<float>(8, 1 << 18, 3, false);
  const auto all = dist_test::wanted_of_eight(x);
  for (const std::string& said : with_gloo(
           8, [&](Communicator& group) { return dist_test::at_twice_the_vector(group, all, x); }))
    EXPECT_EQ(said, kFine);
}

TEST(Gloo, Sums) {
  for (const std::string& said : with_gloo(3, [&](Communicator& group) -> std::string {
         std::vector<float> values(1000, static_cast<float>(group.rank() + 1));
         group.all_reduce(values);
         group.barrier();
         return std::count(values.begin(), values.end(), 6.0f) == 1000 ? "" : "another sum";
       }))
    EXPECT_EQ(said, kFine);
}

// Aggregates until somebody is lost.
std::string go_on(Communicator& group) {
  std::vector<float> mine(200'000, 1.0f), out(mine.size());
  while (true) {
    try {
      (void)dist::aggregate<float>(group, Median{}, mine, out);
    } catch (const dist::Lost&) {
      return "lost";
    }
  }
}

TEST(Gloo, LosesWhoIsKilled) {
  const auto said = with_gloo(
      3, go_on, 30s, [](const auto& children, auto&) { kill(children[1].process, SIGKILL); });
  EXPECT_EQ(said, (std::vector<std::string>{"lost", "killed", "lost"}));
}

// Those who wait give up at the deadline; it finds them gone.
TEST(Gloo, LosesWhoStalls) {
  const auto said = with_gloo(3, go_on, 2s, [](const auto& children, auto&) {
    kill(children[1].process, SIGSTOP);
    char first = 0;  // of what the others say when they have given up
    EXPECT_EQ(read(children[0].said, &first, 1), 1);
    EXPECT_EQ(read(children[2].said, &first, 1), 1);
    kill(children[1].process, SIGCONT);
  });
  EXPECT_EQ(said, (std::vector<std::string>{"ost", "lost", "ost"}));
}

}  // namespace
}  // namespace medgrad
