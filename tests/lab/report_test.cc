#include "lab/report/report.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/temporary_folder.h"
#include "lab/report/figure.h"
#include "lab/report/gnuplot.h"
#include "lab/report/paper.h"
#include "lab/studies.h"
#include "medgrad/build_info.h"
#include "medgrad/error.h"
#include "medgrad/version.h"

namespace medgrad::lab {
namespace {

namespace fs = std::filesystem;
using ::medgrad::testing::content;
using ::medgrad::testing::TemporaryFolder;

const char* const kSummary = R"({"experiment": "toy", "claims": [], "rows": []})";

// What the page's script reads: the text between <script … id="data"> and the next </script>.
nlohmann::json data_of(const std::string& html) {
  const std::string begin = R"(id="data">)";
  const std::size_t from = html.find(begin) + begin.size();
  return nlohmann::json::parse(html.substr(from, html.find("</script>", from) - from));
}

void result_folder(const TemporaryFolder& folder, const std::string& name,
                   const std::string& summary = kSummary) {
  fs::create_directories(folder / name);
  (void)folder.file(name + "/summary.json", summary);
}

std::vector<ReportSection> load(const std::vector<fs::path>& places) {
  return load_sections(places);
}

std::string error_of(const std::vector<fs::path>& places) {
  try {
    (void)load_sections(places);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Report, EveryTextArrivesAsItWas) {
  const std::string evil = "</script><script>alert(1)</script> <!-- \"'\\ \n τ \xE2\x80\xA8";
  const std::string json = nlohmann::json({{"experiment", evil}}).dump();
  const std::vector<ReportSection> sections = {
      {.name = evil, .label = evil, .config = "{\"a\": [1, null]}", .summary = json, .figures = ""},
      {.name = "b",
       .label = "b",
       .config = "",
       .summary = kSummary,
       .figures = R"({"figures":[]})"}};
  const std::string html = report_html(sections, {.title = "<A & B>", .command = evil});
  const nlohmann::json data = data_of(html);
  EXPECT_EQ(data["command"], evil);
  EXPECT_EQ(data["title"], "<A & B>");
  ASSERT_EQ(data["sections"].size(), 2U);
  EXPECT_EQ(data["sections"][0]["name"], evil);
  EXPECT_EQ(data["sections"][0]["label"], evil);
  EXPECT_EQ(data["sections"][0]["summary"]["experiment"], evil);
  EXPECT_EQ(data["sections"][0]["config"].dump(), R"({"a":[1,null]})");
  EXPECT_TRUE(data["sections"][0]["figures"].is_null());
  EXPECT_EQ(data["sections"][1]["figures"].dump(), R"({"figures":[]})");
  EXPECT_NE(html.find("<title>&lt;A &amp; B&gt;</title>"), std::string::npos);
  EXPECT_EQ(html.find("alert(1)</script>"), std::string::npos);
}

TEST(Report, NeedsNothingFromOutside) {
  const std::string html = report_html({});
  EXPECT_TRUE(html.starts_with("<!doctype html>"));
  EXPECT_TRUE(html.ends_with("</html>\n"));
  EXPECT_NE(html.find("Chart.js v3"), std::string::npos);
  for (const char* const mark : {"@title@", "@style@", "@data@", "@chart@", "@script@",
                                 "src=\"http", "href=\"http", "@import", "url(http"})
    EXPECT_EQ(html.find(mark), std::string::npos) << mark;
  const nlohmann::json data = data_of(html);
  EXPECT_TRUE(data["sections"].empty());
  for (const auto& look : data["looks"]) EXPECT_EQ(look["light"].get<std::string>().size(), 7U);
}

TEST(Report, IsWrittenWholeAndAlone) {
  const TemporaryFolder folder;
  write_report(folder / "index.html", {});
  EXPECT_EQ(content(folder / "index.html"), report_html({}));
  EXPECT_EQ(folder.files(), 1U);
}

TEST(LoadSections, TakesResultFoldersAndFoldersOfThem) {
  const TemporaryFolder folder;
  result_folder(folder, "out/b");
  result_folder(folder, "out/a", R"({"experiment": "moments"})");
  fs::create_directories(folder / "out/nothing");
  (void)folder.file("out/index.html", "");
  (void)folder.file("out/b/config.json", "{\"seed\": 1}");
  const auto sections = load({folder / "out"});
  ASSERT_EQ(sections.size(), 2U);
  EXPECT_EQ(sections[0].name, "moments");
  EXPECT_EQ(sections[0].label, "a");
  EXPECT_EQ(sections[1].name, "toy");
  EXPECT_EQ(sections[1].config, "{\"seed\": 1}");
  EXPECT_EQ(sections[1].figures, "");
  EXPECT_EQ(sections[1].folder, fs::path(folder / "out/b"));
  EXPECT_EQ(load({folder / "out/b"})[0].label, "b");
  EXPECT_EQ(load({folder / "out/b/"})[0].label, "b");
}

TEST(LoadSections, LabelsTellRunsApart) {
  const TemporaryFolder folder;
  for (const char* const name : {"one/toy", "two/toy", "two/other", "deep/one/toy"})
    result_folder(folder, name);
  const auto labels = [](const std::vector<ReportSection>& sections) {
    std::vector<std::string> all;
    for (const ReportSection& section : sections) all.push_back(section.label);
    return all;
  };
  using Labels = std::vector<std::string>;
  EXPECT_EQ(labels(load({folder / "one/toy", folder / "two/toy"})), (Labels{"one", "two"}));
  EXPECT_EQ(labels(load({folder / "one", folder / "two/toy/"})), (Labels{"one", "two"}));
  EXPECT_EQ(labels(load({folder / "two/toy", folder / "two/other"})), (Labels{"toy", "other"}));
  // No single part of these paths is different in all three.
  const std::string a = folder / "one/toy", b = folder / "two/toy", c = folder / "deep/one/toy";
  EXPECT_EQ(labels(load({a, b, c})), (Labels{a, b, c}));
  EXPECT_EQ(labels(load({a, a, a})), (Labels{a, a + " (2)", a + " (3)"}));
}

TEST(LoadSections, MistakesNameTheFile) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "empty");
  EXPECT_EQ(error_of({folder / "no"}), folder / "no" + " does not exist.");
  EXPECT_EQ(error_of({folder.file("file", "")}), folder / "file" + " is not a folder.");
  EXPECT_EQ(
      error_of({folder / "empty"}),
      folder / "empty" +
          " has no summary.json: it is neither a result folder nor a folder of result folders.");
  result_folder(folder, "a", "{\n\n\"x\": }");
  EXPECT_EQ(error_of({folder / "a"}), folder / "a/summary.json:3: this is not JSON.");
  result_folder(folder, "a", "[]");
  EXPECT_EQ(error_of({folder / "a"}), folder / "a/summary.json: the content must be an object.");
  result_folder(folder, "a", R"({"experiment": 3})");
  EXPECT_EQ(error_of({folder / "a"}), folder / "a/summary.json: experiment must be a text.");
  result_folder(folder, "a", R"({"experiment": "e", "rows": [1]})");
  EXPECT_EQ(error_of({folder / "a"}), folder / "a/summary.json: each of rows must be an object.");
  result_folder(folder, "a");
  (void)folder.file("a/figures.json", R"({"figures": {}})");
  EXPECT_EQ(error_of({folder / "a"}), folder / "a/figures.json: figures must be a list.");
  fs::remove(folder / "a/figures.json");
  (void)folder.file("a/config.json", "");
  EXPECT_EQ(error_of({folder / "a"}), folder / "a/config.json:1: this is not JSON.");
}

Figure strange_figure() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Figure figure{.id = "strange", .title = "", .caption = ""};
  Panel panel{
      .id = "p", .title = "it's `date` $(date) %d \\ \n plot", .y = {.label = "'", .log = true}};
  panel.series.push_back({.name = "<&> '\"", .key = "new key", .x = {1, 2}, .y = {nan, nan}});
  panel.series.push_back({.name = "", .key = "", .x = {}, .y = {}});
  panel.series.push_back(
      {.name = "ok", .key = "vclip", .x = {1, 2}, .y = {1, -1}, .low = {nan, 0}, .high = {2, 2}});
  Panel nothing{.id = "q", .title = ""};
  Panel heat{.id = "h", .title = ""};
  heat.heat = HeatMap{.x = {"it's"}, .y = {"\""}, .z = {nan}, .log = true, .label = "'"};
  figure.panels = {panel, nothing, heat};
  return figure;
}

TEST(Gnuplot, DrawsEvenWhatIsStrange) {
  const TemporaryFolder folder;
  const Figure figure = strange_figure();
  const std::string problem = write_svg({&figure, 1}, folder / "");
  if (problem.find("not installed") != std::string::npos) GTEST_SKIP() << problem;
  EXPECT_EQ(problem, "");
  const std::string svg = content(folder / "strange.svg");
  EXPECT_NE(svg.find("$(date)"), std::string::npos);
  EXPECT_NE(svg.find("&lt;&amp;"), std::string::npos);
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
  EXPECT_EQ(write_pdf({&figure, 1}, folder / ""), "");
  EXPECT_TRUE(content(folder / "strange.pdf").starts_with("%PDF-"));
}

TEST(Gnuplot, MarksWhereRunsDiverged) {
  const TemporaryFolder folder;
  Figure figure{.id = "a", .title = "", .caption = "", .panels = {{.id = "p", .title = ""}}};
  figure.panels[0].series = {{.name = "VClip", .key = "vclip", .x = {1, 2, 3}, .y = {1, 2, NAN}}};
  const auto crosses = [&] {
    const std::string problem = write_svg({&figure, 1}, folder / "");
    const std::string svg = content(folder / "a.svg");
    std::size_t count = 0;
    for (std::size_t at = svg.find("×"); at != std::string::npos; at = svg.find("×", at + 1))
      ++count;
    return problem.empty() ? std::to_string(count) : problem;
  };
  const std::string none = crosses();
  if (none.find("not installed") != std::string::npos) GTEST_SKIP() << none;
  EXPECT_EQ(none, "0");
  figure.panels[0].series[0].diverged = {2, 3, NAN};
  EXPECT_EQ(crosses(), "2");
}

TEST(Gnuplot, DrawsIntoAnyFolder) {
  const TemporaryFolder folder;
  const Figure figure{.id = "a", .title = "", .caption = "", .panels = {{.id = "p", .title = ""}}};
  for (const char* const name : {"it's", "'", "\"q\"", "`date`", "b\\n", "τ and %s", "$HOME"}) {
    fs::create_directories(folder / name);
    const std::string problem = write_svg({&figure, 1}, folder / name);
    if (problem.find("not installed") != std::string::npos) GTEST_SKIP() << problem;
    EXPECT_EQ(problem, "");
    EXPECT_TRUE(fs::exists(fs::path(folder / name) / "a.svg")) << name;
  }
}

TEST(Gnuplot, SaysWhyThereAreNoFiles) {
  const TemporaryFolder folder;
  const Figure figure = strange_figure();
  const std::string problem = write_svg({&figure, 1}, folder / "nowhere");
  EXPECT_TRUE(problem.starts_with("There are no SVG and PDF files of the figures: gnuplot "))
      << problem;
  EXPECT_EQ(write_svg({}, folder / "nowhere"), "");
}

TEST(Gnuplot, DrawsMediansAndDashes) {
  Figure figure{.id = "a", .title = "", .caption = "", .statistic = Statistic::median};
  Panel panel{.id = "p", .title = ""};
  for (const char* key : {"huber", "vclip"})
    panel.series.push_back({.name = key,
                            .key = key,
                            .x = {1, 2},
                            .y = {111, 222},
                            .low = {100, 200},
                            .high = {133, 244},
                            .median = {3, 4},
                            .lower = {1, 2},
                            .upper = {5, 6}});
  figure.panels = {panel};
  const Drawing drawing{{&figure, 1}, "folder"};
  std::string script = gnuplot_script({&drawing, 1}, {.svg = true, .pdf = false});
  EXPECT_NE(script.find("\n1 3 1 5\n"), std::string::npos) << script;
  EXPECT_EQ(script.find("\n1 111"), std::string::npos);
  // The dashed one lies on top, though it comes first in the figure.
  EXPECT_LT(script.find("$s1 using 1:2 with lines"), script.find("$s0 using 1:2 with lines"));
  EXPECT_NE(script.find("dt (10,7)"), std::string::npos);
  figure.statistic = Statistic::mean;
  script = gnuplot_script({&drawing, 1}, {.svg = true, .pdf = false});
  EXPECT_NE(script.find("\n1 111 100 133\n"), std::string::npos) << script;
}

// Heavy tails are drawn as medians, but a bound on a mean beside means.
TEST(Findings, TheStatisticFollowsTheNoise) {
  const auto statistics = [](Node document) {
    std::vector<Statistic> all;
    for (const Figure& figure : testing::run(std::move(document)).figures)
      all.push_back(figure.statistic);
    return all;
  };
  using testing::built_in;
  using testing::with;
  const std::vector<std::pair<std::string, std::string>> small = {{"seeds", "2"}, {"steps", "5"}};
  const std::vector<Statistic> medians(2, Statistic::median), means(2, Statistic::mean);
  EXPECT_EQ(statistics(with(built_in("toy"), small)), medians);
  EXPECT_EQ(statistics(with(with(built_in("toy"), small),
                            {{"noise", R"({"name": "stable", "inv_alpha": [0.5]})"}})),
            means);
  EXPECT_EQ(statistics(with(built_in("huber-ablation"), small)), medians);
  EXPECT_EQ(statistics(with(built_in("rates"), {{"seeds", "2"}, {"steps", "[5, 6]"}})),
            std::vector{Statistic::mean});
  EXPECT_EQ(statistics(with(built_in("least-squares-s1"),
                            {{"experiment", "\"mine\""}, {"seeds", "2"}, {"steps", "5"}})),
            std::vector{Statistic::median});
}

TEST(Paper, FiguresAreOfExperimentsThatExist) {
  EXPECT_EQ(paper_figure("least-squares-s2", "objective"), "Figure 3b");
  EXPECT_EQ(paper_figure("toy", "convergence"), "Figure 2, right");
  EXPECT_EQ(paper_figure("toy-long", "convergence"), "");
  EXPECT_EQ(paper_figure("toy", "nothing"), "");
  for (const char* name :
       {"toy", "toy-small-tau", "toy-skewed", "moments", "projection", "least-squares-s1",
        "least-squares-s2", "least-squares-s3", "huber-ablation"}) {
    const Results results = testing::run(testing::with(
        testing::built_in(name),
        std::string(name) == "moments"
            ? std::vector<std::pair<std::string, std::string>>{{"trials", "10"}, {"n", "[3, 5]"}}
        : std::string(name) == "projection"
            ? std::vector<std::pair<std::string, std::string>>{}
            : std::vector<std::pair<std::string, std::string>>{{"seeds", "1"}, {"steps", "2"}}));
    ASSERT_FALSE(results.figures.empty()) << name;
    EXPECT_TRUE(paper_figure(name, results.figures.front().id).starts_with("Figure ")) << name;
  }
}

// What changes from run to run is in the page, by request only.
TEST(Report, SaysWhereItComesFrom) {
  EXPECT_EQ(data_of(report_html({}))["created"], "");
  ::setenv("SOURCE_DATE_EPOCH", "86399", 1);
  const Origin origin = origin_here();
  ::unsetenv("SOURCE_DATE_EPOCH");
  EXPECT_EQ(origin.created, "1970-01-01 23:59 UTC");
  EXPECT_TRUE(origin.build.starts_with("medgrad " + std::string(kVersion) + " (")) << origin.build;
  EXPECT_NE(origin.build.find(build_info().simd), std::string::npos);
  EXPECT_NE(origin.machine.find(" thread"), std::string::npos) << origin.machine;
  const nlohmann::json data = data_of(report_html({}, {.command = "c", .origin = origin}));
  EXPECT_EQ(data["created"], origin.created);
  EXPECT_EQ(data["machine"], origin.machine);
  EXPECT_EQ(data["build"], origin.build);
  EXPECT_EQ(data["paper_url"], "https://arxiv.org/abs/2402.12828");
}

// The paper's figure of three experiments appears where all three are there, once each.
TEST(Report, FiguresOfSeveralExperimentsComeTogether) {
  const auto section = [](const std::string& name, double y) {
    const Figure figure{
        .id = "objective",
        .title = "one",
        .caption = "",
        .columns = 1,
        .panels = {{.id = "objective",
                    .title = name,
                    .series = {{.name = "vclip", .key = "vclip", .x = {0}, .y = {y}}}}}};
    return ReportSection{.name = name,
                         .label = name,
                         .config = {},
                         .summary = kSummary,
                         .figures = to_json_text(std::span(&figure, 1))};
  };
  std::vector<ReportSection> sections = {section("least-squares-s1", 1),
                                         section("least-squares-s2", 2)};
  EXPECT_EQ(data_of(report_html(sections))["sections"].size(), 2U);
  sections.push_back(section("least-squares-s3", 3));
  const nlohmann::json all = data_of(report_html(sections))["sections"];
  ASSERT_EQ(all.size(), 4U);
  const nlohmann::json panels = all[0]["figures"]["figures"][0]["panels"];
  ASSERT_EQ(panels.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(panels[i]["series"][0]["y"][0], i + 1);
  sections.push_back(section("least-squares-s3", 4));  // which of the two?
  EXPECT_EQ(data_of(report_html(sections))["sections"].size(), 4U);
}

}  // namespace
}  // namespace medgrad::lab
