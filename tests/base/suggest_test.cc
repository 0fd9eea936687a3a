#include "base/suggest.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "base/text.h"

namespace medgrad {
namespace {

const std::vector<std::string_view> kMethods = {"momentum", "vclip", "cclip",    "huber",
                                                "sign-sgd", "adam",  "geometric"};

TEST(Suggest, FindsSlipsOfThePen) {
  for (const auto& [typed, meant] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"vclip", "vclip"},   // itself
           {"vclp", "vclip"},    // a letter is missing
           {"vcclip", "vclip"},  // one too many
           {"vxlip", "vclip"},   // a wrong one
           {"vlcip", "vclip"},   // two are swapped
           {"VClip", "vclip"},   // as the paper writes it
           {"sign_sgd", "sign-sgd"},
           {"mometnun", "momentum"},  // two of eight
           {"geo", "geometric"},      // the beginning of one alone
       }) {
    EXPECT_EQ(near_match(typed, kMethods), meant) << typed;
  }
}

TEST(Suggest, DoesNotGuess) {
  for (const std::string_view typed : {"", "x", "foo", "adagrad", "vclip-but-longer", "ab", "-"})
    EXPECT_EQ(near_match(typed, kMethods), std::nullopt) << typed;
  // More than a third is wrong: one of two letters, two of five.
  EXPECT_EQ(near_match("l3", std::array<std::string_view, 2>{"l1", "l2"}), std::nullopt);
  EXPECT_EQ(near_match("vxxip", kMethods), std::nullopt);
  // The beginning of two.
  EXPECT_EQ(near_match("toy-", std::array<std::string_view, 2>{"toy-small-tau", "toy-skewed"}),
            std::nullopt);
  EXPECT_EQ(near_match("vclip", {}), std::nullopt);
  EXPECT_EQ(near_match(std::string(1'000'000, 'v'), kMethods), std::nullopt);
}

TEST(Suggest, ReadsAsASentence) {
  EXPECT_EQ(suggestion("vclp", kMethods), " Did you mean 'vclip'?");
  EXPECT_EQ(suggestion("nothing", kMethods), "");
  EXPECT_EQ(suggestion("--tua", std::array<std::string_view, 2>{"--tau", "--out"}),
            " Did you mean --tau?");
  EXPECT_EQ(instead_of("vclp", kMethods, "medgrad list"), ". Did you mean 'vclip'?");
  EXPECT_EQ(instead_of("S2", std::array<std::string_view, 2>{"S0", "S1"}),
            "; it must be S0 or S1.");
  EXPECT_EQ(instead_of("else", {}), ".");
  const std::vector<std::string_view> many(20, "something");
  EXPECT_EQ(instead_of("else", many, "medgrad list"), "; medgrad list shows all of them.");
}

TEST(Text, CountsNouns) {
  EXPECT_EQ(counted(0U, "row"), "0 rows");
  EXPECT_EQ(counted(1U, "row"), "1 row");
  EXPECT_EQ(counted(std::size_t{2}, "row"), "2 rows");
  EXPECT_EQ(counted(1U, "entry", "entries"), "1 entry");
  EXPECT_EQ(counted(3U, "entry", "entries"), "3 entries");
}

TEST(Text, JoinsWords) {
  EXPECT_EQ(one_of({}), "");
  EXPECT_EQ(one_of(std::array<std::string_view, 1>{"a"}), "a");
  EXPECT_EQ(one_of(std::array<std::string_view, 2>{"a", "b"}), "a or b");
  EXPECT_EQ(one_of(std::array<std::string_view, 3>{"a", "b", "c"}, "and"), "a, b and c");
}

}  // namespace
}  // namespace medgrad
