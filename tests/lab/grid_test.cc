// Grids: every list is an axis, and the points of the grid are told apart by their axes.
#include "lab/grid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace medgrad::lab {
namespace {

std::vector<GridPoint> points(std::string_view text, const std::vector<std::string>& kept = {}) {
  return expand(parse_document(text, "x.json"), "x.json", kept);
}

std::string name(const Axes& axes) {
  std::string text;
  for (const auto& [key, value] : axes)
    text += (text.empty() ? "" : ", ") + key + "=" + to_text(value);
  return text;
}

std::vector<std::string> names(std::string_view text, const std::vector<std::string>& kept = {}) {
  std::vector<std::string> all;
  for (const GridPoint& point : points(text, kept)) all.push_back(name(point.axes));
  return all;
}

using Names = std::vector<std::string>;

void expect_error(std::string_view text, std::string_view want) {
  try {
    (void)points(text);
    ADD_FAILURE() << "no error for " << text;
  } catch (const Error& error) {
    EXPECT_TRUE(std::string_view(error.what()).starts_with(want)) << error.what();
  }
}

TEST(Grid, WithoutListsIsOnePoint) {
  EXPECT_EQ(names("{}"), Names{""});
  EXPECT_EQ(names(R"({"a": 1, "b": {"c": "x", "d": null, "e": true}})"), Names{""});
}

TEST(Grid, EveryListIsAnAxisTheLastRunningFastest) {
  EXPECT_EQ(
      names(R"({"a": [1, 2], "b": {"c": ["x", "y", "z"]}, "d": 5, "e": [true, false]})"),
      (Names{"a=1, c=x, e=true", "a=1, c=x, e=false", "a=1, c=y, e=true", "a=1, c=y, e=false",
             "a=1, c=z, e=true", "a=1, c=z, e=false", "a=2, c=x, e=true", "a=2, c=x, e=false",
             "a=2, c=y, e=true", "a=2, c=y, e=false", "a=2, c=z, e=true", "a=2, c=z, e=false"}));
  EXPECT_EQ(names(R"({"a": [3]})"), Names{"a=3"});  // one value is an axis still
}

// A point is the document with every list replaced by one of its values, keys in the same order.
TEST(Grid, PointsAreDocumentsWithoutLists) {
  const auto all = points("{\"z\": 0,\n\"a\": [1,\n2], \"b\": {\"c\": [\"x\"], \"d\": 4}}");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(to_text(all[1].node),
            to_text(parse_document(R"({"z": 0, "a": 2, "b": {"c": "x", "d": 4}})", "y")));
  EXPECT_EQ(all[0].node.find("a")->line, 2U);
  EXPECT_EQ(all[1].node.find("a")->line, 3U);
}

TEST(Grid, RangesAreLists) {
  EXPECT_EQ(names(R"({"a": {"from": 1, "to": 4}})"), (Names{"a=1", "a=2", "a=3", "a=4"}));
  EXPECT_EQ(names(R"({"a": {"from": 0.5, "to": 1.5, "step": 0.1}})"),
            (Names{"a=0.5", "a=0.6", "a=0.7", "a=0.8", "a=0.9", "a=1", "a=1.1", "a=1.2", "a=1.3",
                   "a=1.4", "a=1.5"}));
  EXPECT_EQ(names(R"({"a": {"from": 1, "to": 2, "step": 0.7}})"), (Names{"a=1", "a=1.7"}));
  EXPECT_EQ(names(R"({"a": {"from": -1, "to": -1}})"), Names{"a=-1"});
  EXPECT_EQ(points(R"({"a": {"from": 1, "to": 101, "step": 2}})").size(), 51U);
  // Among the values of a list, a range stands for its values.
  EXPECT_EQ(names(R"({"a": [{"from": 1, "to": 3}, 10]})"), (Names{"a=1", "a=2", "a=3", "a=10"}));
  expect_error("{\n\"a\": {\"from\": 2, \"to\": 1}}", "x.json:2: the range 'a' has no values");
  expect_error("{\n\"a\": {\"from\": 1, \"to\": 2, \"step\": 0}}", "x.json:2: the range 'a'");
  expect_error("{\n\"a\": {\"from\": 1, \"to\": 2, \"step\": -1}}", "x.json:2: the range 'a'");
  expect_error("{\n\"a\": {\"from\": 0, \"to\": 1, \"step\": 1e-9}}", "x.json:2: the range 'a'");
  expect_error("{\n\"a\": {\"from\": 0, \"to\": \"inf\"}}", "x.json:2: the range 'a'");
  expect_error("{\"a\": {\"from\": 0,\n\"to\": true}}", "x.json:2: 'to' is true;");
  expect_error("{\"a\": {\"from\": 0, \"to\": 1,\n\"stp\": 1}}",
               "x.json:2: 'stp' is not a key of the range 'a'. Did you mean 'step'");
}

TEST(Grid, ListsOfObjectsAreNamedByTheirNames) {
  EXPECT_EQ(names(R"({"noise": [{"name": "stable", "alpha": [1.1, 2]}, {"name": "cauchy"}]})"),
            (Names{"noise=stable, alpha=1.1", "noise=stable, alpha=2", "noise=cauchy"}));
  EXPECT_EQ(names(R"({"a": [{"x": 1}, {"x": 2}]})"), (Names{"a=1", "a=2"}));
  // Two of the same name are told apart.
  const Names twice = names(R"({"noise": [{"name": "stable", "alpha": 1.1},
                                          {"name": "stable", "alpha": 2}, {"name": "cauchy"}]})");
  EXPECT_EQ(std::set<std::string>(twice.begin(), twice.end()).size(), 3U);
  EXPECT_EQ(twice[2], "noise=cauchy");
}

TEST(Grid, KeptKeysStayAsTheyAre) {
  const auto all = points(R"({"methods": [{"tau": [1, 2]}], "a": [1, 2]})", {"methods"});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(name(all[0].axes), "a=1");
  ASSERT_NE(all[0].node.find("methods")->list(), nullptr);
  EXPECT_EQ((*all[0].node.find("methods")->list())[0].find("tau")->list()->size(), 2U);
}

TEST(Grid, Mistakes) {
  expect_error("{\n\"a\": []}", "x.json:2: the list 'a' is empty");
  expect_error("{\"b\": [1],\n\"a\": {\n\"c\": []}}", "x.json:3: the list 'c' is empty");
  expect_error("{\"a\": [1,\n[2]]}", "x.json:2: 'a' is a list of lists");
  expect_error("{\"a\": [1, 2,\n1]}", "x.json:2: 'a' has 1 twice");
  expect_error("{\"a\": [\"x\",\n\"x\"]}", "x.json:2: 'a' has x twice");
  std::string huge = "{";
  for (int i = 0; i < 8; ++i)
    huge += std::string(i == 0 ? "" : ",\n") + "\"k" + std::to_string(i) +
            "\": {\"from\": 1, \"to\": 100}";
  expect_error(huge + "}", "x.json:3: with 'k2' the grid has more than 100000 points");
}

// Results know an axis by its name alone.
TEST(Grid, NoTwoAxesHaveTheSameName) {
  EXPECT_EQ(names(R"({"x": {"mu": [1]}, "y": {"mu": [3]}})"), Names{"mu=1, y.mu=3"});
  EXPECT_EQ(names(R"({"noise": {"name": ["a"]}, "objective": {"name": ["b"]}})"),
            Names{"name=a, objective.name=b"});
  EXPECT_EQ(names(R"({"noise": [{"name": "a", "noise": [2]}]})"), Names{"noise=a, noise.noise=2"});
  // Nor that of a column of the results.
  EXPECT_EQ(names(R"({"eta": {"value": [1]}})"), Names{"eta.value=1"});
}

TEST(Grid, WhatIsNoObjectIsAMistake) {
  for (const char* text : {"[1, 2]", "3", "\"vclip\"", "null"}) {
    SCOPED_TRACE(text);
    EXPECT_THROW((void)points(text), Error);
  }
}

TEST(Grid, NumbersOnAxes) {
  const Axes axes = {{"a", 1.5}, {"b", std::string("x")}};
  EXPECT_EQ(number_on(axes, "a"), 1.5);
  EXPECT_TRUE(std::isnan(number_on(axes, "b")));
  EXPECT_TRUE(std::isnan(number_on(axes, "c")));
}

}  // namespace
}  // namespace medgrad::lab
