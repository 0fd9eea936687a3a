// The built-in experiments as a whole: they read, their findings stand any results, and their files
// are what the documentation says.
#include "lab/experiments.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "io/temporary_folder.h"
#include "lab/report/figure.h"
#include "lab/runner.h"
#include "lab/studies.h"
#include "testing.h"

namespace medgrad::lab {
namespace {

using nlohmann::json;
using testing::built_in;
using testing::run;
using testing::with;

// Small enough to be run a hundred times.
Node small(std::string_view name) {
  Node document = built_in(name);
  if (name == "projection") return document;
  if (name == "moments") return with(document, {{"trials", "50"}, {"n", "[1, 3, 5]"}});
  if (name == "centered-clipping") return with(document, {{"clip", "[1, 0.5]"}, {"seeds", "1"}});
  if (name == "byzantine")
    return with(document, {{"rules", R"(["mean", "median", "krum"])"},
                           {"attacks", R"(["sign-flip", "nan"])"},
                           {"trade_off", R"({"trials": 20, "f": 4})"},
                           {"part", R"([{"name": "regression", "skew": [0, 1], "f": [0, 8],
                                         "objective": {"name": "least-squares", "d": 2}}])"},
                           {"steps", "4"},
                           {"seeds", "1"}});
  if (Node* const parts = document.find("part"))  // no number of steps of their own
    for (Node& part : std::get<Node::List>(parts->value))
      std::erase_if(std::get<Node::Object>(part.value),
                    [](const auto& entry) { return entry.first == "steps"; });
  return with(document, {{"steps", name == "rates" ? "[10, 20]" : "20"}, {"seeds", "2"}});
}

TEST(Experiments, AllOfThemAreBuiltInUnderTheirNames) {
  std::set<std::string_view> names;
  for (const BuiltIn& one : built_in_experiments()) {
    names.insert(one.name);
    const Node document = built_in(one.name);
    EXPECT_EQ(plain(*document.find("experiment")), one.name);
    EXPECT_FALSE(plain(*document.find("title")).empty());
    EXPECT_EQ(needs_libtorch(document), one.needs_libtorch) << one.name;
    if (one.needs_libtorch) continue;  // reading it is for src/language
    const Experiment experiment = read_experiment(document, "x.json");
    EXPECT_EQ(experiment.name, one.name);
    EXPECT_NE(experiment.title, one.name);
    EXPECT_FALSE(experiment.description.empty());
    EXPECT_NE(experiment.findings, nullptr) << one.name;
    EXPECT_GT(testing::tasks_of(experiment), 0U);
  }
  for (const char* name :
       {"moments", "projection", "toy", "toy-small-tau", "toy-long", "toy-skewed",
        "least-squares-s1", "least-squares-s2", "least-squares-s3", "huber-ablation", "rates",
        "byzantine", "centered-clipping", "fixed-ptb", "train-ptb", "corrupted-ptb"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_THROW((void)find_built_in("toi"), Error);
}

// Claims are those that a file declares, whatever the experiment is called.
TEST(Experiments, FindingsAreDeclared) {
  const auto claims = [](const Node& document) {
    std::vector<std::string> found;
    for (const Claim& claim : run(document).claims) found.push_back(claim.claim);
    return found;
  };
  const Node toy = small("toy");
  const std::vector<std::string> expected = claims(toy);
  EXPECT_EQ(expected.size(), 4U);
  EXPECT_EQ(claims(with(toy, {{"experiment", "\"mine\""}})), expected);
  Node without = toy;
  std::erase_if(std::get<Node::Object>(without.value),
                [](const auto& entry) { return entry.first == "findings"; });
  EXPECT_EQ(claims(without), std::vector<std::string>{});
  EXPECT_EQ(claims(with(toy, {{"findings", "\"toy-skewed\""}})).size(), 1U);
  EXPECT_EQ(medgrad::testing::message_of([&] {
              (void)read_experiment(with(toy, {{"findings", "\"toi\""}}), "x.json");
            }),
            "x.json:1: 'findings' is 'toi'. Did you mean 'toy'?");
}

TEST(Experiments, KindsSayWhichSettingsTheyHave) {
  for (const BuiltIn& one : built_in_experiments()) {
    const Node document = parse_document(one.text, std::string(one.name));
    const Kind* const kind = kind_of(document, synthetic_catalogue());
    ASSERT_EQ(kind == nullptr, one.needs_libtorch) << one.name;
    if (kind != nullptr) {
      EXPECT_EQ(document.find("seeds") != nullptr, kind->adjustable == Adjustable::seeds)
          << one.name;
    }
  }
}

TEST(Experiments, ResultsFromElsewhereAreWrittenToo) {
  const medgrad::testing::TemporaryFolder out;
  Group group{.method = "vclip",
              .key = "vclip",
              .metric = "relative_error",
              .steps = {1, 2},
              .runs = 1,
              .values = {1, 0.5}};
  summarise(group);
  const Finished finished{{.experiment = "mine",
                           .title = "Mine",
                           .description = "",
                           .notes = {"Half of it."},
                           .groups = {group},
                           .claims = {{"it falls", true, "from 1 to 0.5."}},
                           .figures = {}},
                          "{\"a\": 1}\n"};
  write_results({finished}, {.out = out / "results", .svg = false});
  EXPECT_EQ(medgrad::testing::content(out / "results/mine/config.json"), finished.config);
  EXPECT_EQ(medgrad::testing::content(out / "results/mine/results.csv"),
            results_csv(finished.results));
  EXPECT_EQ(medgrad::testing::content(out / "results/mine/summary.json"),
            summary_json(finished.results));
  EXPECT_NE(medgrad::testing::content(out / "results/index.html").find("it falls"),
            std::string::npos);
  // What is no result folder is told before anything is run.
  (void)out.file("results/file", "text");
  EXPECT_THROW((void)open_folders({{"file", "{}"}}, {.out = out / "results"}), Error);
}

// Findings can be declared for any experiment, whatever it measures.
TEST(Experiments, FindingsStandAnyResults) {
  for (const BuiltIn& one : built_in_experiments()) {
    if (one.needs_libtorch) continue;
    for (const Findings& findings : synthetic_catalogue().findings) {
      SCOPED_TRACE(std::string(one.name) + " with " + std::string(findings.name));
      const Results results =
          run(with(small(one.name), {{"findings", json(findings.name).dump()}}));
      const json summary = json::parse(summary_json(results));
      EXPECT_FALSE(summary["rows"].empty());
      EXPECT_FALSE(results.figures.empty());
      EXPECT_NO_THROW((void)figures_from_json(to_json_text(results.figures)));
      for (const Claim& claim : results.claims)
        EXPECT_FALSE(claim.claim.empty() || claim.evidence.empty());
    }
  }
}

// The same where every run of every method diverges, and where there is one method, point or run.
TEST(Experiments, FindingsStandDivergenceAndSmallGrids) {
  for (const BuiltIn& one : built_in_experiments()) {
    if (one.needs_libtorch) continue;
    SCOPED_TRACE(one.name);
    Node document = small(one.name);
    const char* const list = one.name == "byzantine" ? "rules" : "methods";
    if (one.name.starts_with("byzantine")) document = with(document, {{"eta", "1e200"}});
    if (one.name != "projection" && one.name != "moments" && one.name != "byzantine" &&
        one.name != "centered-clipping") {
      document = with(document, {{"seeds", "1"}, {"steps", "1"}});
      if (one.name.starts_with("least") || one.name.starts_with("huber"))
        document = with(document, {{"eta", "1e200"}, {"steps", "3"}});
      if (one.name.starts_with("toy"))
        document = with(document, {{"noise", R"({"inv_alpha": 1.2})"}});
    }
    const Node* const tried = document.find(list);
    const Node::List all = one.name == "rates" || tried == nullptr ? Node::List{} : *tried->list();
    for (std::size_t i = 0; i < all.size(); ++i) {
      document.find(list)->value = Node::List{all[i]};
      const Results results = run(document);
      EXPECT_TRUE(json::accept(summary_json(results)));
      EXPECT_NO_THROW((void)figures_from_json(to_json_text(results.figures)));
    }
  }
}

// ---- summary.json -------------------------------------------------------------------------------

std::set<std::string> keys(const json& object) {
  std::set<std::string> found;
  for (const auto& [key, value] : object.items()) found.insert(key);
  return found;
}

using Keys = std::set<std::string>;
const Keys kStatistics = {"method", "metric", "mean", "median", "min", "max", "se", "diverged"};

Keys statistics_and(std::initializer_list<const char*> more) {
  Keys all = kStatistics;
  for (const char* key : more) all.insert(key);
  return all;
}

json rows_of(std::string_view name, std::string_view metric) {
  const json summary = json::parse(summary_json(run(small(name))));
  for (const char* key : {"experiment", "version", "claims", "rows"})
    EXPECT_TRUE(summary.contains(key));
  for (const json& claim : summary["claims"])
    EXPECT_EQ(keys(claim), (Keys{"claim", "holds", "evidence"}));
  json rows = json::array();
  for (const json& row : summary["rows"])
    if (row["metric"] == metric) rows.push_back(row);
  EXPECT_FALSE(rows.empty()) << name << " " << metric;
  return rows;
}

TEST(Summary, Toy) {
  std::set<double> places;
  for (const json& row : rows_of("toy", "final_relative_error")) {
    EXPECT_EQ(keys(row), statistics_and({"n", "inv_alpha"}));
    EXPECT_EQ(row["n"], 2);
    places.insert(row["inv_alpha"].get<double>());
  }
  EXPECT_EQ(places, (std::set<double>{0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5}));
}

TEST(Summary, LeastSquares) {
  for (const char* name : {"least-squares-s1", "least-squares-s2", "least-squares-s3"}) {
    std::set<std::string> methods;
    for (const json& row : rows_of(name, "objective")) {
      EXPECT_EQ(keys(row), statistics_and({"n", "step"}));
      methods.insert(row["method"]);
      if (row["step"] == 0) {
        EXPECT_EQ(row["mean"], 5);
      }
    }
    EXPECT_EQ(methods.size(), 7U);
    EXPECT_FALSE(rows_of(name, "final_objective").empty());
  }
}

TEST(Summary, HuberAblation) {
  for (const json& row : rows_of("huber-ablation", "objective"))
    EXPECT_EQ(keys(row), statistics_and({"n", "step", "mu", "tau"}));
}

TEST(Summary, Moments) {
  for (const char* metric : {"first_moment", "second_moment"}) {
    std::set<std::pair<double, double>> places;
    for (const json& row : rows_of("moments", metric)) {
      EXPECT_EQ(keys(row), statistics_and({"runs", "alpha", "n"}));
      EXPECT_EQ(row["runs"], 50);
      places.emplace(row["alpha"], row["n"]);
    }
    EXPECT_EQ(places, (std::set<std::pair<double, double>>{
                          {1.1, 1}, {1.1, 3}, {1.1, 5}, {1.5, 1}, {1.5, 3}, {1.5, 5}}));
  }
}

}  // namespace
}  // namespace medgrad::lab
