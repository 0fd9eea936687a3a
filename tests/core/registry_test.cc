#include "medgrad/registry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "medgrad/error.h"
#include "testing.h"

namespace medgrad {
namespace {

using testing::message_of;

// Whatever is registered can be made, has a distinct name, a formula and sane parameters.
template <class Made>
void check_table(std::span<const Entry<Made>> entries) {
  std::set<std::string_view> names;
  for (const Entry<Made>& entry : entries) {
    SCOPED_TRACE(entry.name);
    EXPECT_TRUE(names.insert(entry.name).second);
    for (const std::string_view alias : entry.aliases) EXPECT_TRUE(names.insert(alias).second);
    EXPECT_FALSE(entry.formula.empty());
    EXPECT_FALSE(entry.meaning.empty());
    ParameterValues values;
    for (const Parameter& p : entry.parameters) {
      if (p.required()) values.emplace(p.name, std::isinf(p.max) ? 3 : (p.min + p.max) / 2);
      EXPECT_FALSE(p.meaning.empty());
      EXPECT_NE(p.range().find(p.name), std::string::npos);
    }
    EXPECT_NO_THROW((void)entry.make(values));
    for (const Parameter& p : entry.parameters) {
      ParameterValues bad = values;
      bad[std::string(p.name)] = p.min - 1;
      EXPECT_THROW((void)entry.make(bad), Error);
      bad[std::string(p.name)] = std::nan("");
      EXPECT_THROW((void)entry.make(bad), Error);
    }
  }
}

TEST(Registry, EveryEntryCanBeMade) {
  check_table(distances());
  check_table(online_methods());
  check_table(sample_methods());
  check_table(noises());
}

TEST(Registry, SentencesThatHelp) {
  EXPECT_EQ(message_of([] { return find_online_method("vlcip"); }),
            "'vlcip' is no online method; the nearest is 'vclip' (medgrad list shows all).");
  EXPECT_EQ(message_of([] {
              return find_online_method("vclip").make({{"tau", -1}});
            }),
            "--tau is -1; it must satisfy 0 < tau < inf.");
  EXPECT_EQ(message_of([] {
              return find_online_method("vclip").make({{"mu", 1}});
            }),
            "vclip has no --mu; it takes --tau.");
  EXPECT_EQ(message_of([] { return find_distance("lp").make({}); }),
            "lp needs --p (p >= 1, inf allowed).");
  EXPECT_EQ(message_of([] {
              return find_sample_method("trimmed-mean").make({{"f", 1.5}});
            }),
            "--f is 1.5; it must satisfy 0 <= f <= 1e+09, a whole number.");
}

TEST(Registry, NearestCountsASwapOfLettersOnce) {
  const std::string_view names[] = {"mean", "median", "krum"};
  EXPECT_EQ(nearest("medain", names), "median");
  EXPECT_EQ(nearest("", names), "mean");
  EXPECT_EQ(nearest("kurm", names), "krum");
}

TEST(Registry, AliasesOfThePaper) {
  EXPECT_EQ(find_online_method("l2").name, "vclip");
  EXPECT_EQ(find_online_method("sgd-m").name, "momentum");
  EXPECT_EQ(find_sample_method("l2-median").name, "geometric-median");
}

}  // namespace
}  // namespace medgrad
