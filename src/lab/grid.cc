#include "lab/grid.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>

#include "medgrad/error.h"
#include "medgrad/io.h"

namespace medgrad::lab {
namespace {

constexpr double kMaxValues = 1e5;

// What results call their own columns.
constexpr std::string_view kTaken[] = {"method", "metric", "run", "step", "value",   "mean",
                                       "median", "min",    "max", "se",   "diverged"};

[[noreturn]] void fail(const std::string& file, const Node& at, const std::string& sentence) {
  throw Error(fmt::format("{}:{}: {}", file, at.line, sentence));
}

bool is_range(const Node& node) {
  return node.find("from") != nullptr && node.find("to") != nullptr;
}

// from, from + step, … up to `to`, each rounded to 12 digits: 0.5 + 3 * 0.1 is 0.8.
Node list_of_range(const Node& node, const std::string& key, const std::string& file) {
  Reader reader(node, file, fmt::format("the range '{}'", key));
  const double from = reader.number("from"), to = reader.number("to"),
               step = reader.number("step", 1);
  reader.finish();
  const double count = std::floor((to - from) / step + 1e-9) + 1;
  if (!(step > 0) || !(count >= 1) || count > kMaxValues)
    fail(file, node, fmt::format("the range '{}' has no values, or too many.", key));
  Node::List list;
  for (double i = 0; i < count; ++i) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.12g", from + i * step);
    list.push_back({std::strtod(digits, nullptr), node.line});
  }
  return {std::move(list), node.line};
}

AxisValue name_of(const Node& item, std::size_t index) {
  if (const double* x = item.number()) return *x;
  if (const Node* name = item.find("name")) return plain(*name);
  if (item.object() != nullptr) return static_cast<double>(index + 1);
  return plain(item);
}

// Objects may have the same name; then they are called "stable 1", "stable 2", by their places.
std::vector<AxisValue> names_of(const Node::List& list) {
  std::vector<AxisValue> names;
  for (std::size_t i = 0; i < list.size(); ++i) names.push_back(name_of(list[i], i));
  std::vector<AxisValue> told_apart = names;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].object() != nullptr && std::ranges::count(names, names[i]) > 1)
      told_apart[i] = to_text(names[i]) + " " + std::to_string(i + 1);
  }
  return told_apart;
}

class Expansion {
 public:
  Expansion(const std::string& file, const std::vector<std::string>& kept)
      : file_(file), kept_(kept) {}

  std::vector<GridPoint> value(const Node& node, const std::string& key) const {
    if (is_range(node)) return value(list_of_range(node, key, file_), key);
    if (const Node::List* list = node.list()) return items(*list, node, key);
    if (node.object() != nullptr) return entries(node);
    return {{{}, node}};
  }

  // The points of an object: the product of those of its values.
  std::vector<GridPoint> entries(const Node& node) const {
    std::vector<GridPoint> points = {{{}, {Node::Object{}, node.line}}};
    for (const auto& [key, child] : *node.object()) {
      const bool kept = std::ranges::find(kept_, key) != kept_.end();
      const std::vector<GridPoint> choices =
          kept ? std::vector<GridPoint>{{{}, child}} : value(child, key);
      if (static_cast<double>(points.size()) * static_cast<double>(choices.size()) > kMaxValues)
        fail(file_, child, fmt::format("with '{}' the grid has more than 100000 points.", key));
      std::vector<GridPoint> product;
      for (const GridPoint& point : points) {
        for (const GridPoint& choice : choices) {
          GridPoint& made = product.emplace_back(point);
          for (const auto& [axis, at] : choice.axes) add_axis(made.axes, axis, at, key);
          std::get<Node::Object>(made.node.value).emplace_back(key, choice.node);
        }
      }
      points = std::move(product);
    }
    return points;
  }

 private:
  // An axis below `key`, under a name that no other has: "value", or "eta.value".
  static void add_axis(Axes& axes, const std::string& name, const AxisValue& at,
                       const std::string& key) {
    const bool taken = name != key && std::ranges::find(kTaken, name) != std::end(kTaken);
    const bool known = std::ranges::find(axes, name, &Axes::value_type::first) != axes.end();
    axes.emplace_back(taken || known ? key + "." + name : name, at);
  }

  // The list with ranges among its values written out.
  Node::List flat(const Node::List& list, const std::string& key) const {
    Node::List values;
    for (const Node& item : list) {
      if (!is_range(item)) {
        values.push_back(item);
        continue;
      }
      const Node range = list_of_range(item, key, file_);
      values.insert(values.end(), range.list()->begin(), range.list()->end());
    }
    return values;
  }

  std::vector<GridPoint> items(const Node::List& given, const Node& node,
                               const std::string& key) const {
    if (given.empty())
      fail(file_, node, fmt::format("the list '{}' is empty; an axis needs a value.", key));
    const Node::List list = flat(given, key);
    const std::vector<AxisValue> names = names_of(list);
    std::vector<GridPoint> points;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].list() != nullptr)
        fail(file_, list[i], fmt::format("'{}' is a list of lists.", key));
      if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
          names.begin() + static_cast<std::ptrdiff_t>(i))
        fail(file_, list[i], fmt::format("'{}' has {} twice.", key, to_text(names[i])));
      for (const GridPoint& point : value(list[i], key)) {
        GridPoint& made = points.emplace_back(GridPoint{{{key, names[i]}}, point.node});
        for (const auto& [axis, at] : point.axes) add_axis(made.axes, axis, at, key);
      }
    }
    return points;
  }

  const std::string& file_;
  const std::vector<std::string>& kept_;
};

}  // namespace

std::string to_text(const AxisValue& value) {
  if (const std::string* text = std::get_if<std::string>(&value)) return *text;
  std::string text;
  append_number(text, std::get<double>(value));
  return text;
}

double number_on(const Axes& axes, std::string_view name) {
  for (const auto& [key, value] : axes)
    if (key == name && std::holds_alternative<double>(value)) return std::get<double>(value);
  return std::numeric_limits<double>::quiet_NaN();
}

std::vector<GridPoint> expand(const Node& node, const std::string& file,
                              const std::vector<std::string>& kept) {
  if (node.object() == nullptr)
    fail(file, node, fmt::format("there is {} where an object must be.", node.kind()));
  return Expansion(file, kept).entries(node);
}

}  // namespace medgrad::lab
