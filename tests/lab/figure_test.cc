#include "lab/report/figure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "lab/report/json_text.h"
#include "lab/report/layout.h"
#include "medgrad/error.h"

namespace medgrad::lab {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::string error_of(std::string_view json) {
  try {
    (void)figures_from_json(json);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Figure everything() {
  Figure figure{.id = "fig-1_a",
                .title = "A \"title\" </script>",
                .caption = "τ = 0.01\n",
                .columns = 3,
                .statistic = Statistic::median,
                .paper = "Figure 2, left"};
  Panel lines{
      .id = "left", .title = "α", .x = {"1/α", false, 0.5, {}}, .y = {"error", true, {}, 10}};
  lines.series.push_back({.name = "VClip",
                          .key = "vclip",
                          .style = SeriesStyle::points,
                          .x = {1, 2, 3},
                          .y = {0.5, kNaN, kInf},
                          .low = {0.25, 1e-300, -kInf},
                          .high = {1e300, 2, kNaN},
                          .se = {0.125, 0, 1},
                          .diverged = {2, 3},
                          .median = {0.5, 1, kInf},
                          .lower = {0.25, kNaN, 2},
                          .upper = {3, 4, kInf},
                          .shade = 1});
  lines.series.push_back(
      {.name = "", .key = "bound", .style = SeriesStyle::dashed, .x = {}, .y = {}});
  lines.note = "a note";
  Panel geometry{.id = "plane", .title = "", .equal_aspect = true};
  geometry.series.push_back(
      {.name = "ball", .key = "l2", .style = SeriesStyle::area, .x = {0, 1, 0}, .y = {0, 0, 1}});
  Panel heat{.id = "heat", .title = "h"};
  heat.heat = HeatMap{.x = {"a", "b"},
                      .y = {"c", "d", "e"},
                      .z = {1, 2, 3, kNaN, kInf, 6},
                      .median = {1, 1, 2, 3, 5, kInf},
                      .log = true,
                      .label = "z"};
  figure.panels = {lines, geometry, heat};
  return figure;
}

void expect_same(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(a[i]))
      EXPECT_NEAR(a[i], b[i], 1e-7 * std::fabs(a[i])) << i;  // half an ulp of a float is 6e-8
    else
      EXPECT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) << i;
  }
}

TEST(Figure, ComesBackFromJson) {
  const Figure before = everything();
  const std::string text = to_json_text({&before, 1});
  const std::vector<Figure> figures = figures_from_json(text);
  ASSERT_EQ(figures.size(), 1U);
  const Figure& after = figures[0];
  EXPECT_EQ(after.id, before.id);
  EXPECT_EQ(after.title, before.title);
  EXPECT_EQ(after.caption, before.caption);
  EXPECT_EQ(after.columns, before.columns);
  ASSERT_EQ(after.panels.size(), 3U);
  const Panel &panel = after.panels[0], &was = before.panels[0];
  EXPECT_EQ(panel.x.label, "1/α");
  EXPECT_FALSE(panel.x.log);
  EXPECT_EQ(panel.x.min, 0.5);
  EXPECT_FALSE(panel.x.max.has_value());
  EXPECT_TRUE(panel.y.log);
  EXPECT_EQ(panel.y.max, 10);
  EXPECT_EQ(panel.note, was.note);
  ASSERT_EQ(panel.series.size(), 2U);
  EXPECT_EQ(panel.series[0].name, "VClip");
  EXPECT_EQ(panel.series[0].key, "vclip");
  EXPECT_EQ(panel.series[0].style, SeriesStyle::points);
  EXPECT_EQ(panel.series[0].shade, 1);
  EXPECT_FALSE(panel.series[1].shade.has_value());
  EXPECT_EQ(after.statistic, Statistic::median);
  EXPECT_EQ(after.paper, "Figure 2, left");
  expect_same(was.series[0].median, panel.series[0].median);
  expect_same(was.series[0].lower, panel.series[0].lower);
  expect_same(was.series[0].upper, panel.series[0].upper);
  expect_same(before.panels[2].heat->median, after.panels[2].heat->median);
  expect_same(was.series[0].x, panel.series[0].x);
  expect_same(was.series[0].y, panel.series[0].y);
  expect_same(was.series[0].low, panel.series[0].low);
  expect_same(was.series[0].high, panel.series[0].high);
  expect_same(was.series[0].se, panel.series[0].se);
  expect_same(was.series[0].diverged, panel.series[0].diverged);
  EXPECT_EQ(panel.series[1].style, SeriesStyle::dashed);
  EXPECT_TRUE(after.panels[1].equal_aspect);
  EXPECT_EQ(after.panels[1].series[0].style, SeriesStyle::area);
  ASSERT_TRUE(after.panels[2].heat.has_value());
  EXPECT_EQ(after.panels[2].heat->x, before.panels[2].heat->x);
  EXPECT_EQ(after.panels[2].heat->y, before.panels[2].heat->y);
  EXPECT_TRUE(after.panels[2].heat->log);
  EXPECT_EQ(after.panels[2].heat->label, "z");
  expect_same(before.panels[2].heat->z, after.panels[2].heat->z);
  // What was read is written as the same text.
  EXPECT_EQ(to_json_text(figures), text);
}

TEST(Figure, JsonIsValidAndSaysNonFiniteInWords) {
  const Figure figure = everything();
  const auto json = nlohmann::json::parse(to_json_text({&figure, 1}));
  const auto& series = json["figures"][0]["panels"][0]["series"][0];
  EXPECT_EQ(series["y"].dump(), R"([0.5,null,"inf"])");
  EXPECT_EQ(series["low"][2], "-inf");
  EXPECT_EQ(nlohmann::json::parse(to_json_text({})).dump(), R"({"figures":[]})");
}

TEST(Figure, NumbersInJsonAreShortAndClose) {
  // Integers exactly up to 1e9; everything else to within half an ulp of a float.
  for (const double value : {0.0, -1.0, 1000.0, 123456789.0, 0.1, -0.3, 1.0 / 3, 1e-30, 6.02e23,
                             1e-45, 1e-310, 1.7e308, -4e200, 999999999.5, 1e9}) {
    std::string text;
    append_json_number(text, value);
    EXPECT_NEAR(std::strtod(text.c_str() + (text[0] == '-'), nullptr), std::fabs(value),
                6e-8 * std::fabs(value))
        << text;
    EXPECT_LE(text.size(), 16U) << text;
  }
  std::string text;
  append_json_number(text, 0.1);
  EXPECT_EQ(text, "0.1");
}

TEST(Figure, TextThatIsNoUtf8IsMadeSo) {
  std::string text;
  append_json_string(text, "a\xff\"\n");
  EXPECT_EQ(text, "\"a\xEF\xBF\xBD\\\"\\n\"");
}

TEST(Figure, MistakesAreNamed) {
  EXPECT_EQ(error_of("{"), "the text is not JSON.");
  EXPECT_EQ(error_of("{}"), "figures must be a list.");
  EXPECT_EQ(error_of(R"({"figures": 1})"), "figures must be a list.");
  EXPECT_EQ(error_of(R"({"figures": [1]})"), "figures[0] must be an object.");
  EXPECT_EQ(error_of(R"({"figures": [{"id": "a/b"}]})"),
            "figures[0].id must be a name of letters, digits, '-' and '_'.");
  const auto panel = [](const std::string& fields) {
    return error_of(R"({"figures": [{"id": "a", "panels": [{)" + fields + "}]}]}");
  };
  EXPECT_EQ(panel(R"("title": 1)"), "figures[0].panels[0].title must be a text.");
  EXPECT_EQ(panel(R"("equal_aspect": 1)"),
            "figures[0].panels[0].equal_aspect must be true or false.");
  EXPECT_EQ(panel(R"("series": [{"x": [1, 2], "y": [1]}])"),
            "figures[0].panels[0].series[0].y must be as long as x.");
  EXPECT_EQ(panel(R"("series": [{"x": [1], "y": [1], "low": [1]}])"),
            "figures[0].panels[0].series[0].high must be as long as low.");
  EXPECT_EQ(
      panel(R"("series": [{"x": ["a"], "y": [1]}])"),
      "figures[0].panels[0].series[0].x must be made of numbers, null, \"inf\" and \"-inf\".");
  EXPECT_EQ(panel(R"("series": [{"style": "bars"}])"),
            "figures[0].panels[0].series[0].style must be line, points, dashed or area.");
  EXPECT_EQ(panel(R"("heat": {"x": ["a"], "y": ["b"], "z": []})"),
            "figures[0].panels[0].heat.z must be one number for each pair of y and x.");
  EXPECT_EQ(panel(R"("heat": {"x": ["a"], "y": ["b"], "z": [1], "median": [1, 2]})"),
            "figures[0].panels[0].heat.median must be as long as z.");
  EXPECT_EQ(panel(R"("series": [{"x": [1], "y": [1], "median": [1, 2]}])"),
            "figures[0].panels[0].series[0].median must be as long as x.");
  EXPECT_EQ(panel(R"("series": [{"x": [1], "y": [1], "lower": [1]}])"),
            "figures[0].panels[0].series[0].upper must be as long as lower.");
  EXPECT_EQ(error_of(R"({"figures": [{"id": "a", "columns": 0}]})"),
            "figures[0].columns must be a number from 1 to 12.");
  EXPECT_EQ(error_of(R"({"figures": [{"id": "a", "statistic": "mode"}]})"),
            "figures[0].statistic must be mean or median.");
}

TEST(Layout, RangesHoldWhatCanBeDrawn) {
  Panel panel;
  panel.x.log = true;
  panel.series.push_back({.name = "",
                          .key = "a",
                          .x = {0, 1, 100},
                          .y = {5, kNaN, -kInf},
                          .low = {-20, 1, 1},
                          .high = {6, 7, kInf}});
  const Range x = x_range(panel), y = y_range(panel);
  EXPECT_TRUE(x.min > 0.5 && x.min < 1 && x.max > 100 && x.max < 200);
  EXPECT_TRUE(y.min < -20 && y.min > -25 && y.max > 7 && y.max < 10);
  panel.y.min = -1;
  panel.y.max = 3;
  EXPECT_EQ(y_range(panel).min, -1);
  EXPECT_EQ(y_range(panel).max, 3);
}

TEST(Layout, DrawsTheStatisticOfTheFigure) {
  Series series{.name = "", .key = "a", .x = {1}, .y = {100}, .low = {1}, .high = {1000}};
  Panel panel;
  panel.series = {series};
  EXPECT_EQ(drawn(series, Statistic::median).y[0], 100);  // there is no other
  panel.series[0].median = {3};
  panel.series[0].lower = {2};
  panel.series[0].upper = {4};
  const Drawn shown = drawn(panel.series[0], Statistic::median);
  EXPECT_EQ(shown.y[0], 3);
  EXPECT_EQ(shown.low[0], 2);
  EXPECT_EQ(shown.high[0], 4);
  EXPECT_EQ(drawn(panel.series[0], Statistic::mean).high[0], 1000);
  EXPECT_LT(y_range(panel, Statistic::median).max, 5);
  EXPECT_GT(y_range(panel, Statistic::mean).max, 1000);
  series.low.clear();
  series.high.clear();
  series.se = {10};
  EXPECT_EQ(drawn(series, Statistic::mean).high[0], 110);
}

TEST(Layout, RangesAreNeverEmpty) {
  for (const bool log : {false, true}) {
    for (const std::vector<double>& values : {std::vector<double>{},
                                              {kNaN},
                                              {3.0},
                                              {-3.0, -3.0},
                                              {0.0},
                                              {kInf},
                                              {1e308, -1e308},
                                              {5e-324}}) {
      Panel panel;
      panel.y.log = log;
      panel.series.push_back({.name = "", .key = "a", .x = values, .y = values});
      const Range range = y_range(panel);
      EXPECT_TRUE(range.min < range.max && std::isfinite(range.min) && std::isfinite(range.max));
      EXPECT_TRUE(!log || range.min > 0);
    }
  }
}

TEST(Layout, LegendHasOneEntryPerKey) {
  Figure figure;
  Panel panel;
  for (const char* name : {"VClip, 1/α = 0.5", "VClip, 1/α = 0.6"})
    panel.series.push_back({.name = name, .key = "vclip", .x = {}, .y = {}});
  for (const char* name : {"α", "β"})  // the same first byte
    panel.series.push_back({.name = name, .key = "other", .x = {}, .y = {}});
  panel.series.push_back({.name = "exact (C_n)", .key = "exact", .x = {}, .y = {}});
  figure.panels = {panel, panel};
  const std::vector<LegendEntry> entries = legend(figure);
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].name, "VClip");
  EXPECT_EQ(entries[1].name, "other");  // nothing in common, so the key
  EXPECT_EQ(entries[2].name, "exact (C_n)");

  figure.panels[0].series.resize(2);
  figure.panels.resize(1);
  figure.panels[0].series[0].shade = 0.25;
  const std::vector<LegendEntry> curves = legend(figure);
  ASSERT_EQ(curves.size(), 2U);  // of a single key
  EXPECT_EQ(curves[0].name, "VClip, 1/α = 0.5");
  EXPECT_EQ(curves[0].shade, 0.25);
}

// Families of several methods: each method once, solid, and then what the shades mean.
TEST(Layout, LegendExplainsShades) {
  Figure figure;
  for (const char* key : {"vclip", "momentum"}) {
    Panel panel;
    const std::string begin = key == std::string("vclip") ? "" : "momentum, ";
    for (int i = 0; i < 30; ++i)
      panel.series.push_back({.name = begin + "1/α = " + std::to_string(i),
                              .key = key,
                              .x = {},
                              .y = {},
                              .shade = i / 29.0});
    figure.panels.push_back(panel);
  }
  const std::vector<LegendEntry> entries = legend(figure);
  ASSERT_EQ(entries.size(), 14U);
  EXPECT_EQ(entries[1].name, "momentum");
  const auto looks = looks_of({&figure, 1});
  EXPECT_EQ(colour_of(looks.at("momentum"), entries[1].shade), looks.at("momentum").light);
  EXPECT_EQ(dash_of(looks.at("momentum"), entries[1].style, entries[1].shade), Dash::solid);
  EXPECT_EQ(entries[2].key, "shades");
  EXPECT_EQ(entries[2].name, "1/α = 0");
  EXPECT_EQ(entries[2].shade, 0);
  EXPECT_EQ(entries[13].name, "1/α = 29");
  EXPECT_EQ(entries[13].shade, 1);
}

TEST(Layout, EveryKeyHasALookAndKnownOnesKeepTheirs) {
  Figure figure;
  figure.panels.resize(1);
  for (int i = 0; i < 40; ++i)
    figure.panels[0].series.push_back(
        {.name = "", .key = "k" + std::to_string(i), .x = {}, .y = {}});
  figure.panels[0].series.push_back({.name = "", .key = "vclip", .x = {}, .y = {}});
  const auto looks = looks_of({&figure, 1});
  for (const Series& series : figure.panels[0].series)
    EXPECT_EQ(looks.at(series.key).light.size(), 7U);
  EXPECT_EQ(looks.at("vclip").light, "#0072b2");
  EXPECT_NE(looks.at("k0").light, looks.at("k1").light);
  EXPECT_EQ(colour_of(looks.at("vclip"), {}), "#0072b2");
}

TEST(Palette, ContrastIsThatOfWebPages) {
  EXPECT_NEAR(contrast("#000000", "#ffffff"), 21, 1e-12);
  EXPECT_EQ(contrast("#0072b2", "#0072b2"), 1);
  EXPECT_NEAR(contrast("#777777", "#ffffff"), 4.478, 1e-3);  // as WCAG 2 has it
  EXPECT_EQ(contrast("#ffffff", "#777777"), contrast("#777777", "#ffffff"));
}

// A method with a parameter of its own stands beside the one without.
TEST(Palette, TheFirstTenOthersLookLikeNoKnownKey) {
  for (const Look& other : other_looks().first(10))
    for (const Look& known : known_looks())
      EXPECT_FALSE(other.light == known.light && other.dash == known.dash) << known.key;
}

// The palest of a family is still seen, on white and on black, and shades differ in order.
TEST(Palette, ShadesGoFromVisibleToDeep) {
  for (const auto& looks : {known_looks(), other_looks()}) {
    for (const Look& look : looks) {
      for (const auto& [colour, surface] :
           {std::pair(look.light, kLightSurface), std::pair(look.dark, kDarkSurface)}) {
        const Ramp ramp = ramp_of(colour, surface);
        EXPECT_EQ(at(ramp, kFullColour), colour);
        EXPECT_GE(contrast(at(ramp, 0), surface.colour), kLeastContrast) << look.key << colour;
        for (const double shade : {0.25, 0.5, 0.75, 1.0})
          EXPECT_GE(contrast(at(ramp, shade), surface.colour),
                    contrast(at(ramp, shade - 0.25), surface.colour))
              << look.key << colour << shade;
      }
    }
  }
}

// Methods that meet in the paper's figures differ in their dashes, not in colour alone.
TEST(Palette, DashesTellMethodsApart) {
  const auto looks = looks_of({});
  for (const std::vector<const char*>& together :
       {std::vector{"momentum", "vclip", "cclip", "huber", "clipped-sgd", "adam"},
        {"sgd-m", "vclip", "cclip", "clipped-sgd", "adam"},
        {"smgd-l1", "smgd-l2", "smgd-mean"},
        {"mean", "median", "geometric-median", "huber-location", "trimmed-mean"}}) {
    for (const char* a : together) {
      for (const char* b : together) {
        if (a == b) continue;
        EXPECT_NE(looks.at(a).dash, looks.at(b).dash) << a << " " << b;
        EXPECT_NE(looks.at(a).light, looks.at(b).light) << a << " " << b;
      }
    }
  }
}

}  // namespace
}  // namespace medgrad::lab
