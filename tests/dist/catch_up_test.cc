#include "medgrad/dist/catch_up.h"

#include <gtest/gtest.h>

#include "dist/on_all_ranks.h"

namespace medgrad {
namespace {

using dist::Communicator;
using Strings = std::vector<std::string>;
using Steps = std::vector<std::optional<std::uint64_t>>;

// What each of the ranks gets where they are at these steps.
Strings caught_up(const Steps& steps) {
  return dist_test::in_threads(static_cast<int>(steps.size()), [&](Communicator& group) {
    const auto me = static_cast<std::size_t>(group.rank());
    const auto state = dist::catch_up(group, steps[me], [&] {
      return "of " + std::to_string(me) + std::string(me == 3 ? 100'000 : 0, '.');
    });
    return state ? state->substr(0, 4) : "-";
  });
}

TEST(CatchUp, TheFarthestGivesItsState) {
  EXPECT_EQ(caught_up({7, 7, 7}), (Strings{"-", "-", "-"}));
  EXPECT_EQ(caught_up({7, 8, 8}), (Strings{"of 1", "-", "-"}));
  EXPECT_EQ(caught_up({7, std::nullopt, 0}), (Strings{"-", "of 0", "of 0"}));
  EXPECT_EQ(caught_up({std::nullopt, 0}), (Strings{"of 1", "-"}));
  EXPECT_EQ(caught_up({1, 2, 3, 4}), (Strings{"of 3", "of 3", "of 3", "-"}));
  EXPECT_EQ(caught_up({std::nullopt, std::nullopt}), (Strings{"-", "of 0"}));
  EXPECT_EQ(caught_up({std::nullopt}), (Strings{"-"}));
}

}  // namespace
}  // namespace medgrad
