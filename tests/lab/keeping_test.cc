// Nothing is lost: results with other settings, pages of others, and what a stopped run has done.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "io/temporary_folder.h"
#include "lab/page.h"
#include "lab/runner.h"
#include "lab/settings.h"
#include "lab/studies.h"
#include "testing.h"

namespace medgrad::lab {
namespace {

namespace fs = std::filesystem;
using medgrad::testing::content;
using medgrad::testing::message_of;
using medgrad::testing::TemporaryFolder;
using testing::built_in;
using testing::tasks_of;
using testing::with;

Experiment small(const std::string& name, std::size_t seeds = 2) {
  return read_experiment(with(built_in(name), {{"seeds", std::to_string(seeds)}, {"steps", "5"}}),
                         name + ".json");
}

std::vector<Experiment> list(Experiment one) {
  std::vector<Experiment> all;
  all.push_back(std::move(one));
  return all;
}

std::string difference(const char* there, const char* asked) {
  return other_setting(parse_document(there, "a"), parse_document(asked, "b"));
}

TEST(Settings, TheFirstDifferenceIsNamed) {
  EXPECT_EQ(difference(R"({"seeds": 50})", R"({"seeds": 3})"), "'seeds' (50, not 3)");
  EXPECT_EQ(difference(R"({"a": 1, "b": {"c": [1, 2]}})", R"({"b": {"c": [1, 2]}, "a": 1})"), "");
  EXPECT_EQ(difference(R"({"b": {"c": [1, 2]}})", R"({"b": {"c": [2, 1]}})"), "'b'");
  EXPECT_EQ(difference(R"({"a": 1})", R"({"a": 1, "b": 2})"), "'b'");
  EXPECT_EQ(difference(R"({"a": 1, "b": 2})", R"({"a": 1})"), "'b'");
  EXPECT_EQ(difference(R"({"a": "1"})", R"({"a": 1})"), "'a' (1, not 1)");
  EXPECT_EQ(difference(R"({"a": true})", R"({"a": false})"), "'a' (true, not false)");
  // Words, and what a run writes there itself.
  EXPECT_EQ(difference(R"({"title": "x", "data": "y", "tried": [1]})", R"({"title": "z"})"), "");
}

TEST(Keeping, ResultsWithOtherSettingsStay) {
  const TemporaryFolder out;
  RunOptions options{.out = out / "results", .svg = false};
  (void)run_experiments(list(small("toy", 3)), options);
  const std::string before = content(out / "results/toy/results.csv");
  EXPECT_EQ(message_of([&] { (void)run_experiments(list(small("toy", 2)), options); }),
            (out / "results/toy") +
                " holds results with another 'seeds' (3, not 2); replace puts the "
                "new ones in their place, another out keeps both.");
  EXPECT_EQ(content(out / "results/toy/results.csv"), before);
  (void)run_experiments(list(small("toy", 3)), options);  // the same again is no question
  EXPECT_EQ(content(out / "results/toy/results.csv"), before);
  options.replace = true;
  (void)run_experiments(list(small("toy", 2)), options);
  EXPECT_NE(content(out / "results/toy/results.csv"), before);
  // What cannot be compared is not thrown away either.
  options.replace = false;
  fs::remove(out / "results/toy/config.json");
  EXPECT_NE(message_of([&] {
              (void)run_experiments(list(small("toy", 2)), options);
            }).find("holds results with settings that cannot be read"),
            std::string::npos);
}

TEST(Keeping, ThePageIsAboutAllThatIsThere) {
  const TemporaryFolder out;
  const RunOptions options{.out = out / "results", .svg = false, .command = "medgrad reproduce x"};
  const auto sections = [&] {
    const std::string page = content(out / "results/index.html");
    std::vector<std::string> found;
    constexpr std::string_view kName = "{\"name\":\"";
    for (std::size_t at = page.find(kName); at != std::string::npos;
         at = page.find(kName, at + 1)) {
      const std::size_t begin = at + kName.size();
      const std::string name = page.substr(begin, page.find('"', begin) - begin);
      if (page.substr(begin + name.size(), 10) == "\",\"label\":") found.push_back(name);
    }
    return found;
  };
  using Names = std::vector<std::string>;
  (void)run_experiments(list(small("huber-ablation")), options);
  EXPECT_EQ(sections(), Names{"huber-ablation"});
  EXPECT_NE(content(out / "results/index.html").find("medgrad reproduce x"), std::string::npos);
  (void)run_experiments(list(small("toy")), options);  // earlier in the paper
  EXPECT_EQ(sections(), (Names{"toy", "huber-ablation"}));
  EXPECT_NE(content(out / "results/index.html").find("medgrad report " + (out / "results")),
            std::string::npos);
  // A folder that is damaged is told and left out; one in the making is none.
  fs::create_directories(out / "results/broken");
  fs::create_directories(out / "results/.making-1-x");
  (void)out.file("results/broken/summary.json", "{");
  (void)out.file("results/.making-1-x/summary.json", R"({"experiment": "x"})");
  std::vector<std::string> warnings;
  RunOptions warned = options;
  warned.warn = [&](const std::string& sentence) { warnings.push_back(sentence); };
  (void)run_experiments(list(small("toy")), warned);
  EXPECT_EQ(sections(), (Names{"toy", "huber-ablation"}));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("broken/summary.json:1: "), std::string::npos) << warnings[0];
}

TEST(Keeping, APageOfOthersStaysAndNothingIsRun) {
  const TemporaryFolder out;
  fs::create_directories(out / "results");
  (void)out.file("results/index.html", "<p>my letters</p>");
  std::size_t tasks = 0;
  const RunOptions options{
      .out = out / "results", .svg = false, .progress = [&](double) { ++tasks; }};
  EXPECT_EQ(message_of([&] { (void)run_experiments(list(small("toy")), options); }),
            (out / "results/index.html") +
                " exists already and is not a report of medgrad; move it away or choose another "
                "out.");
  EXPECT_EQ(tasks, 0U);
  EXPECT_EQ(content(out / "results/index.html"), "<p>my letters</p>");
  fs::create_directories(out / "other/index.html");
  EXPECT_THROW(check_page(out / "other/index.html"), Error);
  EXPECT_NO_THROW(check_page(out / "nothing/index.html"));
}

TEST(Keeping, AStoppedRunGoesOnWhereItWas) {
  const TemporaryFolder out;
  std::vector<Experiment> experiments;
  experiments.push_back(small("toy"));
  experiments.push_back(small("least-squares-s1", 5));
  const std::size_t first = tasks_of(experiments[0]), second = tasks_of(experiments[1]);
  std::atomic<bool> stop = false;
  std::size_t ran = 0;
  RunOptions options{.out = out / "results", .svg = false, .stop = &stop};
  double share = 0;
  options.progress = [&](double now) {
    EXPECT_GT(now, share);
    share = now;
    if (++ran == first + 2) stop = true;
  };
  try {
    (void)run_experiments(experiments, options);
    ADD_FAILURE() << "it was not stopped";
  } catch (const Stopped& stopped) {
    EXPECT_EQ(stopped.finished, std::vector<std::string>{"toy"});
    EXPECT_EQ(stopped.experiment, "least-squares-s1");
    EXPECT_EQ(stopped.kept, "2 of " + std::to_string(second) + " parts are done");
  }
  EXPECT_TRUE(fs::exists(out / "results/toy/summary.json")) << "what is finished is written";
  EXPECT_FALSE(fs::exists(out / "results/least-squares-s1"));
  stop = false;
  share = 0;
  (void)run_experiments(experiments, options);
  EXPECT_EQ(ran, first + second) << "no task is done twice";
  EXPECT_EQ(share, 1);
  (void)run_experiments(experiments, {.out = out / "whole", .svg = false});
  for (const char* const name : {"toy", "least-squares-s1"})
    EXPECT_EQ(content(out / "results/" + std::string(name) + "/results.csv"),
              content(out / "whole/" + std::string(name) + "/results.csv"));
}

}  // namespace
}  // namespace medgrad::lab
