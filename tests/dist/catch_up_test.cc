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
    const auto save = [&] {
      return "of " + std::to_string(me) + std::string(me == 3 ? 100'000 : 0, '.');
    };
    std::string got = "-";
    const auto load = [&](const std::string& state) { got = state.substr(0, 4); };
    const bool was_behind = dist::catch_up(group, steps[me], save, load);
    EXPECT_EQ(was_behind, got != "-");
    return got;
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

// Rank 0 is new, and so is rank 2 where there are three; they cannot use what they get from rank 1.
Strings with_a_bad_state(int ranks, const std::function<std::string(int)>& save) {
  return dist_test::in_threads(ranks, [&](Communicator& group) -> std::string {
    try {
      (void)dist::catch_up(
          group, group.rank() == 1 ? std::optional<std::uint64_t>(9) : std::nullopt,
          [&] { return save(group.rank()); },
          [](const std::string& state) {
            if (state == "bad") throw Error("This is bad.");
          });
    } catch (const dist::Unfit& unfit) {
      return unfit.what() + std::to_string(unfit.ranks().front());
    } catch (const Error& error) {
      return error.what();
    }
    return "fine";
  });
}

TEST(CatchUp, AStateThatNobodyCanUseIsTheFaultOfWhoSentIt) {
  const std::string blame = "Worker 1 sent a state that cannot be used.1";
  EXPECT_EQ(with_a_bad_state(3, [](int) { return "bad"; }), (Strings{blame, blame, blame}));
  // One against one: the lower rank.
  EXPECT_EQ(with_a_bad_state(2, [](int) { return "bad"; }), (Strings{blame, blame}));
}

TEST(CatchUp, TakesNothingThatIsFarLongerThanItsOwn) {
  const std::string blame = "Worker 1 sent a state that cannot be used.1";
  EXPECT_EQ(
      with_a_bad_state(3, [](int rank) { return std::string(rank == 1 ? 17 << 20 : 1, '.'); }),
      (Strings{blame, blame, blame}));
}

// Of three that get it only the last one cannot use it.
TEST(CatchUp, WhoAloneCannotUseAStateIsUnfit) {
  const Strings said = dist_test::in_threads(4, [&](Communicator& group) -> std::string {
    try {
      (void)dist::catch_up(
          group, std::nullopt, [] { return std::string("state"); },
          [&](const std::string&) {
            if (group.rank() == 3) throw Error("This is another model.");
          });
    } catch (const Error& error) {
      return error.what();
    }
    return "fine";
  });
  const std::string others = "Worker 3 cannot use the state that 3 others can.";
  EXPECT_EQ(said, (Strings{others, others, others, "This is another model."}));
}

// What ranks with these values of a setting find, beside another setting that they share.
Strings compared(const Strings& values) {
  return dist_test::in_threads(static_cast<int>(values.size()), [&](Communicator& group) {
    const std::vector<dist::Setting> mine = {
        {"seed", "1"}, {"size", values[static_cast<std::size_t>(group.rank())]}};
    try {
      dist::check_settings(group, mine);
    } catch (const dist::Unfit& unfit) {
      return std::string(unfit.what());
    }
    return std::string("fine");
  });
}

TEST(CheckSettings, NamesTheMinority) {
  const auto all = [](std::size_t n, const std::string& said) { return Strings(n, said); };
  EXPECT_EQ(compared({"a", "a", "a"}), all(3, "fine"));
  EXPECT_EQ(compared({"b", "a", "a"}), all(3, "Worker 0 has another 'size' than the others."));
  EXPECT_EQ(compared({"a", "b", "a", "c"}),
            all(4, "Workers 1 and 3 have another 'size' than the others."));
  EXPECT_EQ(compared({"b", "a"}), all(2, "Worker 1 has another 'size' than the others."))
      << "of as many the side of the lowest rank counts";
  EXPECT_EQ(compared({"a"}), all(1, "fine"));
}

}  // namespace
}  // namespace medgrad
