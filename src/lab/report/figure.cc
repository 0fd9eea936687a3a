#include "lab/report/figure.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "base/json.h"
#include "lab/report/json_text.h"
#include "medgrad/error.h"

namespace medgrad::lab {
namespace {

constexpr std::array<std::string_view, 4> kStyles = {"line", "points", "dashed", "area"};
constexpr std::array<std::string_view, 2> kStatistics = {"mean", "median"};

// ---- Writing ------------------------------------------------------------------------------------

// Text is appended piece by piece: figures hold tens of thousands of numbers, and a document tree
// of them would take longer than an experiment.
class Writer {
 public:
  void field(std::string_view name, std::string_view text) {
    if (text.empty()) return;
    key(name);
    append_json_string(out_, text);
  }
  void field(std::string_view name, bool value) {
    if (!value) return;
    key(name);
    out_ += "true";
  }
  void field(std::string_view name, double value) {
    key(name);
    append_json_number(out_, value);
  }
  void field(std::string_view name, std::span<const double> values) {
    if (values.empty()) return;
    list(name, values, [this](double value) { append_json_number(out_, value); });
  }
  void field(std::string_view name, std::span<const std::string> texts) {
    list(name, texts, [this](const std::string& text) { append_json_string(out_, text); });
  }
  template <class Values, class F>
  void list(std::string_view name, const Values& values, F write) {
    key(name);
    out_ += '[';
    for (const auto& value : values) {
      separate('[');
      write(value);
    }
    out_ += ']';
  }
  template <class F>
  void object(F fields) {
    out_ += '{';
    fields();
    out_ += '}';
  }
  template <class F>
  void object(std::string_view name, F fields) {
    key(name);
    object(fields);
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void separate(char open) {
    if (out_.back() != open) out_ += ',';
  }
  void key(std::string_view name) {
    separate('{');
    out_ += '"';
    out_ += name;
    out_ += "\":";
  }
  std::string out_;
};

void write(Writer& to, const Axis& axis) {
  to.field("label", axis.label);
  to.field("log", axis.log);
  if (axis.min) to.field("min", *axis.min);
  if (axis.max) to.field("max", *axis.max);
}

void write(Writer& to, const Series& series) {
  to.field("name", series.name);
  to.field("key", series.key);
  to.field("style", kStyles[static_cast<std::size_t>(series.style)]);
  if (series.shade) to.field("shade", *series.shade);
  to.field("x", series.x);
  to.field("y", series.y);
  to.field("low", series.low);
  to.field("high", series.high);
  to.field("se", series.se);
  to.field("median", series.median);
  to.field("lower", series.lower);
  to.field("upper", series.upper);
  to.field("diverged", series.diverged);
}

void write(Writer& to, const HeatMap& heat) {
  to.field("x", heat.x);
  to.field("y", heat.y);
  to.field("log", heat.log);
  to.field("label", heat.label);
  to.field("z", heat.z);
  to.field("median", heat.median);
}

void write(Writer& to, const Panel& panel) {
  to.field("id", panel.id);
  to.field("title", panel.title);
  to.object("x", [&] { write(to, panel.x); });
  to.object("y", [&] { write(to, panel.y); });
  to.field("equal_aspect", panel.equal_aspect);
  to.field("note", panel.note);
  to.list("series", panel.series,
          [&](const Series& series) { to.object([&] { write(to, series); }); });
  if (panel.heat) to.object("heat", [&] { write(to, *panel.heat); });
  if (panel.marks.empty()) return;
  to.list("marks", panel.marks, [&](const Mark& mark) {
    to.object([&] {
      to.field("x", mark.x);
      to.field("text", mark.text);
    });
  });
}

void write(Writer& to, const Figure& figure) {
  to.field("id", figure.id);
  to.field("title", figure.title);
  to.field("caption", figure.caption);
  to.field("columns", static_cast<double>(figure.columns));
  if (figure.statistic != Statistic::mean)
    to.field("statistic", kStatistics[static_cast<std::size_t>(figure.statistic)]);
  to.field("paper", figure.paper);
  if (!figure.band.empty()) to.field("band", figure.band);
  to.list("panels", figure.panels,
          [&](const Panel& panel) { to.object([&] { write(to, panel); }); });
}

// ---- Reading ------------------------------------------------------------------------------------

// One object of the document and the way to it, for messages: "figures[0].panels[2]".
class FigureReader {
 public:
  FigureReader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json_.is_object()) fail("", "an object");
  }

  [[nodiscard]] std::string text(const char* name) const {
    const Json* value = find(name);
    if (value == nullptr) return {};
    if (!value->is_string()) fail(name, "a text");
    return value->get<std::string>();
  }
  [[nodiscard]] bool flag(const char* name) const {
    const Json* value = find(name);
    if (value == nullptr) return false;
    if (!value->is_boolean()) fail(name, "true or false");
    return value->get<bool>();
  }
  [[nodiscard]] std::optional<double> number(const char* name) const {
    const Json* value = find(name);
    if (value == nullptr || value->is_null()) return std::nullopt;
    return to_double(name, *value);
  }
  [[nodiscard]] std::vector<double> numbers(const char* name) const {
    std::vector<double> values;
    if (const Json* list = find_list(name)) {
      values.reserve(list->size());
      for (const Json& value : *list) values.push_back(to_double(name, value));
    }
    return values;
  }
  [[nodiscard]] std::vector<std::string> texts(const char* name) const {
    std::vector<std::string> values;
    if (const Json* list = find_list(name)) {
      for (const Json& value : *list) {
        if (!value.is_string()) fail(name, "a list of texts");
        values.push_back(value.get<std::string>());
      }
    }
    return values;
  }
  [[nodiscard]] bool has(const char* name) const { return find(name) != nullptr; }
  [[nodiscard]] FigureReader object(const char* name) const {
    static const Json empty = Json::object();
    const Json* value = find(name);
    return {value == nullptr ? empty : *value, path(name)};
  }
  // Calls f with a FigureReader for each object of the list.
  template <class F>
  void each(const char* name, F f) const {
    const Json* list = find_list(name);
    if (list == nullptr) return;
    for (std::size_t i = 0; i < list->size(); ++i)
      f(FigureReader((*list)[i], fmt::format("{}[{}]", path(name), i)));
  }
  [[noreturn]] void fail(const std::string& name, const std::string& right) const {
    throw Error(fmt::format("{} must be {}.", name.empty() ? where_ : path(name), right));
  }

 private:
  [[nodiscard]] std::string path(const std::string& name) const {
    return where_.empty() ? name : where_ + "." + name;
  }
  [[nodiscard]] const Json* find(const char* name) const {
    const auto found = json_.find(name);
    return found == json_.end() ? nullptr : &*found;
  }
  [[nodiscard]] const Json* find_list(const char* name) const {
    const Json* list = find(name);
    if (list != nullptr && !list->is_array()) fail(name, "a list");
    return list;
  }
  [[nodiscard]] double to_double(const char* name, const Json& value) const {
    if (value.is_number()) return value.get<double>();
    if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
    if (value == "inf") return std::numeric_limits<double>::infinity();
    if (value == "-inf") return -std::numeric_limits<double>::infinity();
    fail(name, "made of numbers, null, \"inf\" and \"-inf\"");
  }

  const Json& json_;
  std::string where_;
};

Axis read_axis(const FigureReader& from) {
  return {from.text("label"), from.flag("log"), from.number("min"), from.number("max")};
}

Series read_series(const FigureReader& from) {
  Series series;
  series.name = from.text("name");
  series.key = from.text("key");
  if (from.has("style")) {
    const auto* const style = std::find(kStyles.begin(), kStyles.end(), from.text("style"));
    if (style == kStyles.end()) from.fail("style", "line, points, dashed or area");
    series.style = static_cast<SeriesStyle>(style - kStyles.begin());
  }
  series.x = from.numbers("x");
  series.y = from.numbers("y");
  series.low = from.numbers("low");
  series.high = from.numbers("high");
  series.se = from.numbers("se");
  series.median = from.numbers("median");
  series.lower = from.numbers("lower");
  series.upper = from.numbers("upper");
  series.shade = from.number("shade");
  series.diverged = from.numbers("diverged");
  const std::size_t n = series.x.size();
  if (series.y.size() != n) from.fail("y", "as long as x");
  if (series.low.size() != series.high.size()) from.fail("high", "as long as low");
  if (!series.low.empty() && series.low.size() != n) from.fail("low", "as long as x");
  if (!series.se.empty() && series.se.size() != n) from.fail("se", "as long as x");
  if (!series.median.empty() && series.median.size() != n) from.fail("median", "as long as x");
  if (series.lower.size() != series.upper.size()) from.fail("upper", "as long as lower");
  if (!series.lower.empty() && series.lower.size() != n) from.fail("lower", "as long as x");
  return series;
}

HeatMap read_heat(const FigureReader& from) {
  HeatMap heat;
  heat.x = from.texts("x");
  heat.y = from.texts("y");
  heat.z = from.numbers("z");
  heat.log = from.flag("log");
  heat.label = from.text("label");
  if (heat.z.size() != heat.x.size() * heat.y.size())
    from.fail("z", "one number for each pair of y and x");
  heat.median = from.numbers("median");
  if (!heat.median.empty() && heat.median.size() != heat.z.size())
    from.fail("median", "as long as z");
  return heat;
}

Panel read_panel(const FigureReader& from) {
  Panel panel;
  panel.id = from.text("id");
  panel.title = from.text("title");
  panel.x = read_axis(from.object("x"));
  panel.y = read_axis(from.object("y"));
  panel.equal_aspect = from.flag("equal_aspect");
  panel.note = from.text("note");
  from.each("series", [&](const FigureReader& one) { panel.series.push_back(read_series(one)); });
  if (from.has("heat")) panel.heat = read_heat(from.object("heat"));
  from.each("marks", [&](const FigureReader& one) {
    if (!one.number("x")) one.fail("x", "a number");
    panel.marks.push_back({*one.number("x"), one.text("text")});
  });
  return panel;
}

bool names_a_file(std::string_view id) {
  return !id.empty() && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

Figure read_figure(const FigureReader& from) {
  Figure figure;
  figure.id = from.text("id");
  if (!names_a_file(figure.id)) from.fail("id", "a name of letters, digits, '-' and '_'");
  figure.title = from.text("title");
  figure.caption = from.text("caption");
  figure.band = from.text("band");
  const double columns = from.number("columns").value_or(2);
  if (!(columns >= 1 && columns <= 12)) from.fail("columns", "a number from 1 to 12");
  figure.columns = static_cast<int>(columns);
  if (from.has("statistic")) {
    const auto* const found =
        std::find(kStatistics.begin(), kStatistics.end(), from.text("statistic"));
    if (found == kStatistics.end()) from.fail("statistic", "mean or median");
    figure.statistic = static_cast<Statistic>(found - kStatistics.begin());
  }
  figure.paper = from.text("paper");
  from.each("panels", [&](const FigureReader& one) { figure.panels.push_back(read_panel(one)); });
  return figure;
}

}  // namespace

std::string to_json_text(std::span<const Figure> figures) {
  Writer to;
  to.object([&] {
    to.list("figures", figures,
            [&](const Figure& figure) { to.object([&] { write(to, figure); }); });
  });
  return to.take();
}

std::vector<Figure> figures_from_json(std::string_view text) {
  const Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) throw Error("the text is not JSON.");
  std::vector<Figure> figures;
  const FigureReader from(document, "");
  if (!from.has("figures")) from.fail("figures", "a list");
  from.each("figures", [&](const FigureReader& one) { figures.push_back(read_figure(one)); });
  return figures;
}

}  // namespace medgrad::lab
