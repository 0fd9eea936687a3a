#include "language/gradient_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "lab/study.h"
#include "language/gradients.h"

namespace medgrad::language {
namespace {

using lab::Reader;

constexpr auto kMany = std::size_t{1} << 40;
constexpr std::string_view kAuto = "auto";

// The entries of a list, or the one value that stands for a list of one.
Node::List entries(const Node* node) {
  if (node == nullptr) return {};
  return node->list() != nullptr ? *node->list() : Node::List{*node};
}

[[noreturn]] void wrong(const Reader& reader, const Node& at, std::string_view key,
                        std::string_view should) {
  const bool scalar = at.number() != nullptr || at.text() != nullptr;
  reader.fail(at, fmt::format("'{}' has {}{}; it must be {}.", key, at.kind(),
                              scalar ? fmt::format(" ({})", plain(at)) : "", should));
}

// Where `fits` takes kAutomaticNumber, it is written "auto".
std::vector<double> numbers(Reader& reader, std::string_view key, std::string_view should,
                            bool (*fits)(double), std::vector<double> fallback) {
  const Node* const node = reader.any(key);
  if (node == nullptr) return fallback;
  std::vector<double> values;
  for (const Node& entry : entries(node)) {
    const bool automatic = entry.text() != nullptr && *entry.text() == kAuto;
    if (!automatic && entry.number() == nullptr) wrong(reader, entry, key, should);
    const double x = automatic ? kAutomaticNumber : *entry.number();
    if (!fits(x)) wrong(reader, entry, key, should);
    if (std::ranges::count(values, x) > 0)
      reader.fail(entry, fmt::format("'{}' names a value twice.", key));
    values.push_back(x);
  }
  if (values.empty()) wrong(reader, *node, key, should);
  return values;
}

// In results it is called as in the file, but for its tau, which is an axis.
FollowedMethod read_followed(const Node& node, const std::string& file) {
  const Node object = lab::method_object(node, file, "a method");
  Reader keys(object, file, "a method");
  FollowedMethod made{.given = node, .name = keys.text("name"), .key = {}, .values = {}};
  const Entry<OnlineMethod>& entry = keys.located(
      node, [&]() -> const auto& { return find_online_method(made.name); });
  made.key = entry.name;
  made.values = lab::read_given(keys, entry);
  for (const auto& [name, value] : made.values)
    if (name != "tau")
      made.name += fmt::format(":{}={}", name, entry.find(name)->value_text(value));
  made.labelled = keys.any("label") != nullptr;
  made.name = keys.label(made.name);
  keys.finish();
  return made;
}

// Each with every tau that it is followed with, and no two of the same name and tau.
void read_methods(Reader& reader, GradientSettings& s) {
  const Node* const node = reader.any("methods");
  if (node != nullptr) s.methods.clear();
  for (const Node& entry : entries(node)) s.methods.push_back(read_followed(entry, reader.file()));
  std::vector<std::pair<std::string, double>> names;
  for (const FollowedMethod& method : s.methods) {
    const Node& at = node == nullptr ? reader.node() : method.given;
    const Parameter* const size = find_online_method(method.key).find("tau");
    for (const double tau : taus_of(method, s)) {
      if (tau == kAutomaticNumber && size != nullptr && !size->range.automatic)
        reader.fail(at, fmt::format("'{0}' has no tau = auto; give it a tau of its own, as in "
                                    "{0}:tau=0.1.",
                                    method.name));
      reader.located(at, [&] { validate<float>(tracking_method(method.key, tau, method.values)); });
      const std::pair name(method.name, tau);
      if (std::ranges::count(names, name) > 0)
        reader.fail(at, fmt::format("'{}' is named twice.", method.name));
      names.push_back(name);
    }
  }
}

Node number_node(double x) { return {x, 1}; }
Node tau_node(double x) {
  return x == kAutomaticNumber ? Node(std::string(kAuto), 1) : number_node(x);
}
Node text_node(std::string text) { return {std::move(text), 1}; }
template <class Values, class Make>
Node list_node(const Values& values, Make make) {
  Node::List list;
  for (const auto& value : values) list.push_back(make(value));
  return {std::move(list), 1};
}

// "[64, 256]" as "64, 256".
std::string shown(const Node& node) {
  if (node.list() == nullptr) return plain(node);
  std::string text;
  for (const Node& entry : *node.list()) text += (text.empty() ? "" : ", ") + plain(entry);
  return text.empty() ? "none" : text;
}

}  // namespace

std::vector<FollowedMethod> papers_methods() {
  std::vector<FollowedMethod> methods;
  for (const char* const name : {"ema", "vclip", "cclip"})
    methods.push_back(read_followed(text_node(name), ""));
  return methods;
}

std::vector<double> taus_of(const FollowedMethod& method, const GradientSettings& settings) {
  const auto own = method.values.find("tau");
  return own == method.values.end() ? settings.tau : std::vector<double>{own->second};
}

GradientSettings read_gradient_settings(const Node& document, const std::string& file) {
  Reader reader(document, file, "the experiment");
  GradientSettings s;
  s.experiment = lab::read_name(reader);
  (void)reader.word("kind", {"gradients"}, "gradients");
  s.title = reader.text("title", s.experiment);
  s.description = reader.text("description", "");
  s.findings = reader.text("findings", "");
  s.task = reader.text("task");
  const TaskInfo& info =
      reader.located(*reader.any("task"), [&]() -> const TaskInfo& { return find_task(s.task); });
  s.size = reader.word("size", {"paper", "small"}, "paper") == "small" ? Size::small : Size::paper;
  const auto is_size = [](double x) { return x >= 0 && x < 1e9 && x == std::floor(x); };
  for (const double x :
       numbers(reader, "batch", "whole numbers, or 0 for the paper's", is_size, {0}))
    s.batch.push_back(x == 0 ? info.batch : static_cast<std::size_t>(x));
  s.dropout = reader.number("dropout", 0);
  if (!(s.dropout >= 0 && s.dropout < 1))
    wrong(reader, *reader.any("dropout"), "dropout", "at least 0 and below 1");
  s.limit = reader.whole("limit", 0, 0, kMany);
  s.seed = reader.whole("seed", 0, 0, std::size_t{1} << 53);
  const auto is_tau = [](double x) { return range::or_auto(range::positive).contains(x); };
  s.tau = numbers(reader, "tau", "numbers above 0, or auto", is_tau, s.tau);
  read_methods(reader, s);
  s.steps = reader.whole("steps", s.steps, 1, kMany);
  s.random_order = reader.word("order", {"cyclic", "random"}, "cyclic") == "random";
  s.noise = reader.truth("noise", false);
  if (const Node* const scale = reader.any("paper_scale")) s.paper_scale = *scale;
  (void)reader.any("data");
  reader.finish();
  if (s.methods.empty() && !s.noise)
    reader.fail(document, "there is nothing to do: 'methods' is empty and 'noise' is false.");
  if (s.limit == 1 && s.noise)
    reader.fail(document, "the noise of gradients needs at least two batches.");
  return s;
}

Node to_document(const GradientSettings& s) {
  Node::Object object = {
      {"experiment", text_node(s.experiment)},
      {"kind", text_node("gradients")},
      {"title", text_node(s.title)},
      {"description", text_node(s.description)},
      {"task", text_node(s.task)},
      {"size", text_node(s.size == Size::paper ? "paper" : "small")},
      {"batch", list_node(s.batch, [](auto x) { return number_node(static_cast<double>(x)); })},
      {"dropout", number_node(s.dropout)},
      {"limit", number_node(static_cast<double>(s.limit))},
      {"seed", number_node(static_cast<double>(s.seed))},
      {"methods", list_node(s.methods, [](const FollowedMethod& one) { return one.given; })},
      {"tau", list_node(s.tau, tau_node)},
      {"steps", number_node(static_cast<double>(s.steps))},
      {"order", text_node(s.random_order ? "random" : "cyclic")},
      {"noise", {s.noise, 1}}};
  if (!s.findings.empty()) object.insert(object.begin() + 2, {"findings", text_node(s.findings)});
  if (s.paper_scale.object() != nullptr) object.emplace_back("paper_scale", s.paper_scale);
  return {std::move(object), 1};
}

Node at_paper_scale(Node document) {
  const Node* const scale = document.find("paper_scale");
  if (scale == nullptr || scale->object() == nullptr) return document;
  const Node::Object over = *scale->object();
  std::erase_if(std::get<Node::Object>(document.value),
                [](const auto& entry) { return entry.first == "paper_scale"; });
  for (const auto& [key, value] : over) put(document, key, value);
  return document;
}

std::string scaled_down(const Node& document) {
  const Node* const scale = document.find("paper_scale");
  if (scale == nullptr || scale->object() == nullptr) return {};
  std::string keys;
  for (const auto& [key, value] : *scale->object()) {
    const Node* const here = document.find(key);
    if (here != nullptr && shown(*here) == shown(value)) continue;
    keys += fmt::format("{}{} {} instead of {}", keys.empty() ? "" : "; ", key,
                        here == nullptr ? "not given" : shown(*here),
                        key.ends_with("limit") && shown(value) == "0" ? "none" : shown(value));
  }
  if (keys.empty()) return {};
  return fmt::format("Scaled down: {}; paper_scale of config.json has the paper's.", keys);
}

void put(Node& document, const std::string& key, Node value) {
  if (Node* const there = document.find(key)) {
    *there = std::move(value);
  } else if (auto* const object = std::get_if<Node::Object>(&document.value)) {
    object->emplace_back(key, std::move(value));
  }
}

}  // namespace medgrad::language
