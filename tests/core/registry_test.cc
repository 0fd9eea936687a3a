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
    EXPECT_EQ(entry.meaning.find("--"), std::string_view::npos) << entry.meaning;
    ParameterValues values;
    for (const Parameter& p : entry.parameters) {
      if (p.required())
        values.emplace(p.name, std::isinf(p.range.max) ? 3 : (p.range.min + p.range.max) / 2);
      EXPECT_FALSE(p.meaning.empty());
      EXPECT_FALSE(p.range_text().empty());
      EXPECT_EQ(p.meaning.find("--"), std::string_view::npos) << p.meaning;
    }
    EXPECT_NO_THROW((void)entry.make(values));
    for (const Parameter& p : entry.parameters) {
      ParameterValues bad = values;
      bad[std::string(p.name)] = p.range.min - 1;
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
  check_table(rules());
  check_table(pre_aggregators());
  check_table(noises());
}

// Callers from C++ and Python know no options and no other commands.
TEST(Registry, SentencesThatHelp) {
  EXPECT_TRUE(message_of([] {
                return find_sample_method("nothing-like-it");
              }).starts_with("'nothing-like-it' is not an aggregator; it must be one of mean, "));
  EXPECT_EQ(message_of([] { return find_online_method("vlcip"); }),
            "'vlcip' is not an online method. Did you mean 'vclip'?");
  EXPECT_EQ(message_of([] {
              return find_online_method("vclip").make({{"tau", -1}});
            }),
            "tau is -1; it must satisfy 0 < tau < inf, or be auto.");
  EXPECT_EQ(message_of([] {
              return find_online_method("vclip").make({{"mu", 1}});
            }),
            "mu is not a parameter of vclip, which has tau, theta, level and rate.");
  EXPECT_EQ(message_of([] { return find_distance("lp").make({}); }),
            "p is missing; lp needs it (p >= 1, inf allowed).");
  EXPECT_EQ(message_of([] {
              return find_sample_method("trimmed-mean").make({{"f", 1.5}});
            }),
            "f is 1.5; it must be a whole number from 0 to 1e9, or auto.");
  EXPECT_EQ(message_of([] {
              return find_noise("stable").make({{"alpha", 1}, {"form", 2}});
            }),
            "form is 2; it must be S0 or S1.");
}

// The same word means the same method wherever it is used.
TEST(Registry, OneMeaningPerName) {
  EXPECT_THROW((void)find_online_method("sign-sgd"), Error);  // which starts from 0 at every step
  const OnlineMethod momentum = find_online_method("momentum").make({{"tau", 0.25}}),
                     ema = find_online_method("ema").make({{"tau", 0.2}});
  OnlineEstimator<double> a(momentum, 1), b(ema, 1);
  a.update(std::vector<double>{1});
  b.update(std::vector<double>{1});
  EXPECT_NEAR(a.estimate()[0], 0.2, 1e-16);  // tau/(1+tau)
  EXPECT_NEAR(b.estimate()[0], 0.2, 1e-16);  // tau
}

TEST(Registry, AliasesOfThePaper) {
  EXPECT_EQ(find_online_method("l2").name, "vclip");
  EXPECT_EQ(find_online_method("sgd-m").name, "momentum");
  EXPECT_EQ(find_sample_method("l2-median").name, "geometric-median");
}

}  // namespace
}  // namespace medgrad
