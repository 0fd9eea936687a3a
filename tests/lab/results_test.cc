// Statistics of runs, and the texts of results.csv and summary.json.
#include "lab/results.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace medgrad::lab {
namespace {

using nlohmann::json;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kMax = std::numeric_limits<double>::max();

Stats stats(std::vector<double> values) { return stats_of(values); }

// ---- Statistics ---------------------------------------------------------------------------------

TEST(Stats, SmallSamples) {
  const Stats none = stats({});
  EXPECT_EQ(none.n, 0U);
  EXPECT_EQ(none.diverged, 0U);
  for (const double x : {none.mean, none.median, none.min, none.max, none.se})
    EXPECT_TRUE(std::isnan(x));

  const Stats one = stats({3});
  EXPECT_EQ(one.n, 1U);
  for (const double x : {one.mean, one.median, one.min, one.max}) EXPECT_EQ(x, 3);
  EXPECT_TRUE(std::isnan(one.se));

  const Stats two = stats({5, 1});
  EXPECT_EQ(two.mean, 3);
  EXPECT_EQ(two.median, 3);
  EXPECT_EQ(two.min, 1);
  EXPECT_EQ(two.max, 5);
  EXPECT_DOUBLE_EQ(two.se, 2);  // sd = sqrt(8), over sqrt(2)
}

TEST(Stats, DivergedRunsAreLeftOutOrInfinite) {
  const Stats some = stats({kNaN, 2, kNaN, 4, 9});
  EXPECT_EQ(some.n, 3U);
  EXPECT_EQ(some.diverged, 2U);
  EXPECT_EQ(some.median, 4);
  EXPECT_DOUBLE_EQ(some.mean, 5);
  EXPECT_DOUBLE_EQ(some.se, std::sqrt((9 + 1 + 16) / 2.0 / 3.0));
  // In comparisons they are the largest values there are.
  EXPECT_EQ(some.mean_of_all(), kInf);
  EXPECT_EQ(some.max_of_all(), kInf);
  EXPECT_EQ(some.quantiles.middle, 9);
  EXPECT_EQ(stats({kNaN, 2, 4, 9}).quantiles.middle, 6.5);
  EXPECT_EQ(stats({kNaN, 2, kNaN, 4}).quantiles.middle, kInf);
  EXPECT_EQ(stats({5, 1, 2}).quantiles.middle, 2);
  const Stats all = stats({kNaN, kNaN});
  EXPECT_EQ(all.quantiles.middle, kInf);
  EXPECT_EQ(all.n, 0U);
  EXPECT_EQ(all.diverged, 2U);
  EXPECT_TRUE(std::isnan(all.mean) && std::isnan(all.max));
}

// Between two runs in proportion, whatever their order; what has diverged is infinitely large.
TEST(Stats, Quantiles) {
  const auto expect = [](std::vector<double> values, double low, double middle, double high) {
    const Quantiles q = stats_of(values).quantiles;
    const auto same = [](double a, double b) {
      return std::isfinite(b) ? std::abs(a - b) < 1e-12 : a == b;
    };
    EXPECT_TRUE(same(q.low, low) && same(q.middle, middle) && same(q.high, high))
        << q.low << " " << q.middle << " " << q.high;
  };
  const double inf = std::numeric_limits<double>::infinity();
  expect({5, 1, 4, 2, 3}, 1.4, 3, 4.6);
  expect({7}, 7, 7, 7);
  expect({kDiverged}, inf, inf, inf);
  expect({2, kDiverged, 1}, 1.2, 2, inf);
  expect({1, kFailed, kDiverged}, inf, inf, inf);  // a tenth of the way to infinity
  std::vector<double> many(11);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i);
  expect(many, 1, 5, 9);
  many[3] = many[7] = kDiverged;
  expect(many, 1, 6, inf);
  std::vector<double> none;
  EXPECT_TRUE(std::isnan(stats_of(none).quantiles.middle));
}

TEST(Stats, Ties) {
  for (const std::size_t n : {2U, 3U, 7U, 50U}) {
    const Stats s = stats(std::vector<double>(n, 0.1));
    EXPECT_EQ(s.median, 0.1);
    EXPECT_EQ(s.min, 0.1);
    EXPECT_EQ(s.max, 0.1);
    EXPECT_EQ(s.mean, 0.1);
    EXPECT_LT(s.se, 1e-15);
  }
  const Stats mixed = stats({1, 1, 1, 2, 2, 2});
  EXPECT_EQ(mixed.median, 1.5);
}

// Against sums in extended precision over sorted values, for all sizes; the order does not matter
// for what is exact.
TEST(Stats, AgreeWithTheirDefinitions) {
  std::mt19937_64 rng(1);
  std::cauchy_distribution<double> law(3);
  for (std::size_t n = 1; n < 60; ++n) {
    std::vector<double> x(n);
    std::ranges::generate(x, [&] { return law(rng); });
    const Stats s = stats(x);
    std::ranges::sort(x);
    long double sum = 0, square = 0;
    for (const double v : x) sum += v;
    const long double mean = sum / static_cast<long double>(n);
    for (const double v : x) square += (v - mean) * (v - mean);
    const double size = std::max(std::abs(x.front()), std::abs(x.back()));
    EXPECT_NEAR(s.mean, static_cast<double>(mean), 1e-14 * size);
    EXPECT_EQ(s.min, x.front());
    EXPECT_EQ(s.max, x.back());
    EXPECT_DOUBLE_EQ(s.median, n % 2 == 1 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2);
    if (n > 1) {
      const double nn = static_cast<double>(n);
      const double se = std::sqrt(static_cast<double>(square) / (nn - 1) / nn);
      EXPECT_NEAR(s.se, se, 1e-13 * se);
    }
  }
}

// Values of any size: nothing overflows that need not, nor vanishes.
TEST(Stats, ExtremeValues) {
  const Stats large = stats({1e300, 3e300});
  EXPECT_DOUBLE_EQ(large.mean, 2e300);
  EXPECT_DOUBLE_EQ(large.median, 2e300);
  EXPECT_DOUBLE_EQ(large.se, 1e300);
  const Stats largest = stats({kMax, kMax, kMax});
  EXPECT_DOUBLE_EQ(largest.mean, kMax);
  EXPECT_EQ(largest.median, kMax);
  const Stats opposite = stats({-kMax, kMax});
  EXPECT_EQ(opposite.mean, 0);
  EXPECT_EQ(opposite.median, 0);
  EXPECT_DOUBLE_EQ(opposite.se, kMax);
  const Stats small = stats({1e-300, 3e-300});
  EXPECT_DOUBLE_EQ(small.mean, 2e-300);
  EXPECT_DOUBLE_EQ(small.se, 1e-300);
  const Stats infinite = stats({1, kInf, 2});
  EXPECT_EQ(infinite.mean, kInf);
  EXPECT_EQ(infinite.median, 2);
  EXPECT_EQ(infinite.n, 3U);
}

TEST(Stats, OfAGroupAreByStep) {
  Group group{.steps = {0, 10}, .runs = 2, .values = {1, 3, kNaN, 8}};
  summarise(group);
  ASSERT_EQ(group.stats.size(), 2U);
  EXPECT_EQ(group.stats[0].mean, 2);
  EXPECT_EQ(group.stats[1].mean, 8);
  EXPECT_EQ(group.last().diverged, 1U);
  EXPECT_TRUE(std::isnan(group.values[2]));  // left in order
}

// ---- Texts --------------------------------------------------------------------------------------

Results awkward() {
  Results results{.experiment = "x",
                  .title = "A \"title\", ½|w|²\n",
                  .description = "back\\slash",
                  .notes = {"a\tnote"},
                  .groups = {},
                  .claims = {{"holds", true, "1"}, {"not", false, "2"}, {"who knows", {}, "3"}},
                  .figures = {}};
  Group group{.method = "a, \"b\"\r",
              .key = "vclip",
              .axes = {{"noise", std::string("x,y")}, {"tau", 0.1}},
              .metric = "objective",
              .steps = {0, 5},
              .runs = 3,
              .values = {1, kInf, -kInf, kNaN, 1e300, 5e-324}};
  summarise(group);
  results.groups.push_back(group);
  Group other{.method = "plain",
              .key = "m",
              .axes = {{"mu", kInf}},
              .metric = "final",
              .runs = 1,
              .values = {2}};
  summarise(other);
  results.groups.push_back(other);
  return results;
}

// The fields of CSV as RFC 4180 has them.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> lines(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      lines.back().back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      lines.back().emplace_back();
    } else if (!quoted && (c == '\n' || c == '\r')) {
      lines.push_back({""});
    } else {
      lines.back().back() += c;
    }
  }
  lines.pop_back();
  return lines;
}

TEST(ResultsCsv, ReadsBack) {
  const Results results = awkward();
  const auto lines = read_csv(results_csv(results));
  ASSERT_EQ(lines.size(), 8U);
  using Line = std::vector<std::string>;
  EXPECT_EQ(lines[0], (Line{"method", "noise", "tau", "mu", "run", "step", "metric", "value"}));
  EXPECT_EQ(lines[1], (Line{"a, \"b\"\r", "x,y", "0.1", "", "0", "0", "objective", "1"}));
  EXPECT_EQ(lines[2].back(), "inf");
  EXPECT_EQ(lines[3].back(), "-inf");
  EXPECT_EQ(lines[4], (Line{"a, \"b\"\r", "x,y", "0.1", "", "0", "5", "objective", "diverged"}));
  EXPECT_EQ(std::stod(lines[5].back()), 1e300);
  EXPECT_EQ(lines[7], (Line{"plain", "", "", "inf", "0", "", "final", "2"}));
}

TEST(SummaryJson, IsJsonWhateverTheNumbers) {
  const json summary = json::parse(summary_json(awkward()));
  EXPECT_EQ(summary["experiment"], "x");
  EXPECT_EQ(summary["title"], "A \"title\", ½|w|²\n");
  EXPECT_TRUE(summary["version"].is_string());
  EXPECT_EQ(summary["claims"].size(), 3U);
  EXPECT_EQ(summary["claims"][0]["holds"], true);
  EXPECT_EQ(summary["claims"][1]["holds"], false);
  EXPECT_TRUE(summary["claims"][2]["holds"].is_null());
  EXPECT_EQ(summary["notes"][0], "a\tnote");
  const json& rows = summary["rows"];
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0]["method"], "a, \"b\"\r");
  EXPECT_EQ(rows[0]["tau"], 0.1);
  EXPECT_EQ(rows[0]["step"], 0);
  EXPECT_EQ(rows[0]["max"], "inf");
  EXPECT_EQ(rows[0]["min"], "-inf");
  EXPECT_TRUE(rows[0]["mean"].is_null());  // inf - inf
  EXPECT_EQ(rows[1]["n"], 2);
  EXPECT_EQ(rows[1]["diverged"], 1);
  EXPECT_EQ(rows[1]["max"], 1e300);
  EXPECT_FALSE(rows[2].contains("step"));
  EXPECT_EQ(rows[2]["mu"], "inf");
  EXPECT_TRUE(rows[2]["se"].is_null());
}

TEST(SummaryJson, WithoutAnythingIsJson) {
  const json summary = json::parse(summary_json({}));
  EXPECT_TRUE(summary["claims"].empty() && summary["rows"].empty() && summary["notes"].empty());
  EXPECT_EQ(results_csv({}), "method,run,step,metric,value\n");
}

// An axis may be called n, as the paper's sample size is. It is never hidden by the number of runs.
TEST(SummaryJson, KeysAreUnique) {
  Results results;
  for (const char* method : {"median", "mean"}) {
    Group group{
        .method = method, .key = "k", .metric = "second_moment", .runs = 2, .values = {1, 2}};
    if (results.groups.empty()) group.axes = {{"alpha", 1.5}, {"n", 7.0}};
    summarise(group);
    results.groups.push_back(group);
  }
  const std::string text = summary_json(results);
  std::vector<std::vector<std::string>> keys;
  const json summary = json::parse(text, [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::key) {
      const std::string key = parsed.get<std::string>();
      EXPECT_EQ(std::ranges::count(keys.back(), key), 0) << key;
      keys.back().push_back(key);
    }
    if (event == json::parse_event_t::object_end) keys.pop_back();
    return true;
  });
  EXPECT_EQ(summary["rows"][0]["n"], 7);
  EXPECT_EQ(summary["rows"][0]["runs"], 2);
  EXPECT_FALSE(summary["rows"][1].contains("n"));  // one meaning per file
  EXPECT_EQ(summary["rows"][1]["runs"], 2);
}

}  // namespace
}  // namespace medgrad::lab
