#include "lab/reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/suggest.h"

namespace medgrad::lab {
namespace {

// The finite number that a text is, as the command line reads it.
std::optional<double> number_in(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double x = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, x);
  if (error != std::errc() || stop != end || !std::isfinite(x)) return std::nullopt;
  return x;
}

}  // namespace

Error placed(const Error& error, const std::string& file, const Node& at) {
  return file.empty() ? error : error.at(fmt::format("{}:{}", file, at.line));
}

Node method_object(const Node& node, const std::string& file, const std::string& what) {
  if (node.text() == nullptr) {
    const Reader is_object(node, file, what);
    return node;
  }
  const auto at = [&](Node::Value value) { return Node(std::move(value), node.line); };
  try {
    const MethodText given = parse_method_text(*node.text());
    Node::Object object = {{"name", at(given.name)}};
    for (const auto& [key, text] : given.parameters) {
      const std::optional<double> x = number_in(text);
      object.emplace_back(key, x ? at(*x) : at(text));
    }
    return at(std::move(object));
  } catch (const Error& error) {
    throw placed(error, file, node);
  }
}

Reader::Reader(const Node& node, std::string file, std::string what)
    : node_(node), file_(std::move(file)), what_(std::move(what)) {
  if (node.object() == nullptr)
    fail(node, fmt::format("{} is {}; it must be an object.", what_, node.kind()));
}

void Reader::fail(const Node& at, const std::string& sentence) const {
  throw placed(Error(sentence), file_, at);
}

const Node* Reader::take(std::string_view key) {
  if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
  return node_.find(key);
}

const Node& Reader::must(std::string_view key) {
  const Node* node = take(key);
  if (node == nullptr) fail(node_, fmt::format("{} has no '{}'.", what_, key));
  return *node;
}

double Reader::number(std::string_view key, std::optional<double> fallback) {
  const Node* node = take(key);
  if (node == nullptr && fallback) return *fallback;
  const Node& found = must(key);
  if (const double* x = found.number()) return *x;
  if (found.text() != nullptr && *found.text() == "inf") return kInfinity;
  fail(found, fmt::format("'{}' is {}; it must be a number.", key, found.kind()));
}

double Reader::number(const Parameter& parameter) {
  const Node* node = take(parameter.name);
  if (node == nullptr && !parameter.required()) return parameter.fallback;
  const Node& found = must(parameter.name);
  if (found.text() != nullptr) refuse_quoted_number(parameter.name, found);
  return located(found, [&] {
    double x = 0;
    if (found.truth() != nullptr && parameter.words.size() == 2) {
      x = parameter.read(plain(found));
    } else if (const std::string* const text = found.text()) {
      x = parameter.read(*text);
    } else if (found.number() != nullptr) {
      x = *found.number();
    } else {
      throw Error(std::string(parameter.name), std::string(found.kind()),
                  parameter.range.automatic    ? "it must be a number or auto"
                  : parameter.words.size() > 0 ? "it must be " + parameter.range_text()
                                               : "it must be a number");
    }
    parameter.check(x);
    return x;
  });
}

void Reader::refuse_quoted_number(std::string_view key, const Node& text) const {
  if (number_in(*text.text()))
    fail(text,
         fmt::format("'{0}' is \"{1}\", in quotes; a number has none: {1}.", key, *text.text()));
}

std::string Reader::label(const std::string& fallback) {
  std::string label = text("label", fallback);
  if (label.empty())
    fail(*node_.find("label"), "'label' is empty; it is what results call the method.");
  return label;
}

std::size_t Reader::whole(std::string_view key, std::optional<std::size_t> fallback,
                          std::size_t min, std::size_t max) {
  const auto real = fallback ? std::optional(static_cast<double>(*fallback)) : std::nullopt;
  const double x = number(key, real);
  if (x != std::floor(x) || x < static_cast<double>(min) || x > static_cast<double>(max)) {
    fail(must(key), fmt::format("'{}' is {}; it must be a whole number from {} to {}.", key,
                                plain(must(key)), min, max));
  }
  return static_cast<std::size_t>(x);
}

bool Reader::truth(std::string_view key, bool fallback) {
  const Node* node = take(key);
  if (node == nullptr) return fallback;
  if (const bool* truth = node->truth()) return *truth;
  fail(*node, fmt::format("'{}' is {}; it must be true or false.", key, node->kind()));
}

std::string Reader::text(std::string_view key, std::optional<std::string> fallback) {
  const Node* node = take(key);
  if (node == nullptr && fallback) return *fallback;
  const Node& found = must(key);
  if (const std::string* text = found.text()) return *text;
  fail(found, fmt::format("'{}' is {}; it must be text.", key, found.kind()));
}

std::string Reader::word(std::string_view key, std::initializer_list<std::string_view> words,
                         std::string_view fallback) {
  return word(key, std::span<const std::string_view>(words.begin(), words.size()), fallback);
}

std::string Reader::word(std::string_view key, std::span<const std::string_view> words,
                         std::string_view fallback) {
  std::string given = text(key, std::string(fallback));
  if (std::ranges::find(words, given) != words.end()) return given;
  fail(*node_.find(key), fmt::format("'{}' is '{}'{}", key, given, instead_of(given, words)));
}

const Node* Reader::any(std::string_view key) { return take(key); }

void Reader::finish() const {
  for (const auto& [key, node] : *node_.object()) {
    if (std::ranges::find(known_, key) != known_.end()) continue;
    const std::vector<std::string_view> known(known_.begin(), known_.end());
    fail(node, fmt::format("'{}' is not a key of {}{}", key, what_, instead_of(key, known)));
  }
}

}  // namespace medgrad::lab
