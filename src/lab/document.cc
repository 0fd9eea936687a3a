#include "lab/document.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/suggest.h"

namespace medgrad::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kDepth = 100;  // of nesting; trees are walked by recursion

// Characters of the text, counting lines. The parser looks one character ahead of what it has
// understood, so a line only counts once something after its end was read.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, std::size_t* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    if (line_ != nullptr) {
      if (ended_) ++*line_;
      ended_ = *at_ == '\n';
    }
    ++at_;
    return *this;
  }
  Cursor operator++(int) {
    Cursor old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const Cursor& a, const Cursor& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  std::size_t* line_;
  bool ended_ = false;
};

// Builds the tree from the parser's events.
class Builder : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string file, const std::size_t& line) : file_(std::move(file)), line_(line) {}

  bool null() override { return put({}); }
  bool boolean(bool v) override { return put(v); }
  bool number_integer(number_integer_t v) override { return put(static_cast<double>(v)); }
  bool number_unsigned(number_unsigned_t v) override { return put(static_cast<double>(v)); }
  bool number_float(number_float_t v, const string_t&) override { return put(v); }
  bool string(string_t& v) override { return put(std::move(v)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Node::Object{}); }
  bool start_array(std::size_t) override { return open(Node::List{}); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& k) override {
    auto& object = std::get<Node::Object>(stack_.back()->value);
    for (const auto& [name, value] : object) {
      if (name == k)
        throw Error(file_ + ":" + std::to_string(line_) + ": '" + k + "' is given twice.");
    }
    object.emplace_back(std::move(k), Node{{}, line_});
    return true;
  }
  bool parse_error(std::size_t, const std::string& token,
                   const nlohmann::detail::exception& e) override {
    // "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error while …"
    // "[json.exception.out_of_range.406] number overflow parsing '1e999'"
    const std::string text = e.what();
    std::size_t begin = text.find(": ");
    if (begin == std::string::npos) begin = text.find("] ");
    std::string reason = begin == std::string::npos ? text : text.substr(begin + 2);
    std::ranges::replace(reason, '\n', ' ');
    throw Error(file_ + ":" + std::to_string(line_) + ": this is not JSON" +
                (token.empty() ? "" : " (at '" + token.substr(0, 30) + "')") + ": " + reason + ".");
  }

  Node root;

 private:
  Node& place() {
    if (stack_.empty()) return root;
    Node& top = *stack_.back();
    if (auto* list = std::get_if<Node::List>(&top.value)) return list->emplace_back();
    return std::get<Node::Object>(top.value).back().second;
  }
  bool put(Node::Value value) {
    Node& node = place();
    node.value = std::move(value);
    node.line = line_;
    return true;
  }
  // A pointer into a list stays valid: while it is on the stack, nothing is added beside it.
  bool open(Node::Value value) {
    if (stack_.size() == kDepth)
      throw Error(file_ + ":" + std::to_string(line_) + ": this is nested too deeply.");
    Node& node = place();
    node.value = std::move(value);
    node.line = line_;
    stack_.push_back(&node);
    return true;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }

  std::string file_;
  const std::size_t& line_;
  std::vector<Node*> stack_;
};

Json json_of(const Node& node) {
  if (const Node::List* list = node.list()) {
    Json json = Json::array();
    for (const Node& item : *list) json.push_back(json_of(item));
    return json;
  }
  if (const Node::Object* object = node.object()) {
    Json json = Json::object();
    for (const auto& [key, value] : *object) json[key] = json_of(value);
    return json;
  }
  if (const double* x = node.number()) {
    const bool whole = *x == std::floor(*x) && std::abs(*x) < 1e15;
    return whole ? Json(static_cast<std::int64_t>(*x)) : Json(*x);
  }
  if (const std::string* text = node.text()) return *text;
  if (const bool* truth = node.truth()) return *truth;
  return nullptr;
}

}  // namespace

Node::Node() = default;
Node::Node(Value its_value, std::size_t its_line) : value(std::move(its_value)), line(its_line) {}
Node::Node(const Node&) = default;
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(const Node&) = default;
Node& Node::operator=(Node&&) noexcept = default;
Node::~Node() = default;

const Node* Node::find(std::string_view key) const {
  if (const Object* entries = object()) {
    for (const auto& [name, node] : *entries)
      if (name == key) return &node;
  }
  return nullptr;
}
Node* Node::find(std::string_view key) { return const_cast<Node*>(std::as_const(*this).find(key)); }

std::string_view Node::kind() const {
  constexpr std::string_view kKinds[] = {"null", "true or false", "a number",
                                         "text", "a list",        "an object"};
  return kKinds[value.index()];
}

Node parse_document(std::string_view text, const std::string& file) {
  std::size_t line = 1;
  Builder builder(file, line);
  Json::sax_parse(Cursor(text.data(), &line), Cursor(text.data() + text.size(), nullptr), &builder,
                  Json::input_format_t::json, true, true);
  return std::move(builder.root);
}

std::string to_text(const Node& node) { return json_of(node).dump(2) + "\n"; }

std::string plain(const Node& scalar) {
  if (const std::string* text = scalar.text()) return *text;
  return json_of(scalar).dump();
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
      double x = 0;
      const char* const end = text.data() + text.size();
      const auto [stop, error] = std::from_chars(text.data(), end, x);
      const bool is_number = error == std::errc() && stop == end && std::isfinite(x);
      object.emplace_back(key, is_number ? at(x) : at(text));
    }
    return at(std::move(object));
  } catch (const Error& error) {
    throw error.at(file + ":" + std::to_string(node.line));
  }
}

// ---- Reader -------------------------------------------------------------------------------------

Reader::Reader(const Node& node, std::string file, std::string what)
    : node_(node), file_(std::move(file)), what_(std::move(what)) {
  if (node.object() == nullptr)
    fail(node, what_ + " is " + std::string(node.kind()) + "; it must be an object.");
}

std::string Reader::place(const Node& at) const { return file_ + ":" + std::to_string(at.line); }

void Reader::fail(const Node& at, const std::string& sentence) const {
  throw Error(place(at) + ": " + sentence);
}

const Node* Reader::take(std::string_view key) {
  if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
  return node_.find(key);
}

const Node& Reader::must(std::string_view key) {
  const Node* node = take(key);
  if (node == nullptr) fail(node_, what_ + " has no '" + std::string(key) + "'.");
  return *node;
}

double Reader::number(std::string_view key, std::optional<double> fallback) {
  const Node* node = take(key);
  if (node == nullptr && fallback) return *fallback;
  const Node& found = must(key);
  if (const double* x = found.number()) return *x;
  if (found.text() != nullptr && *found.text() == "inf") return kInfinity;
  fail(found,
       "'" + std::string(key) + "' is " + std::string(found.kind()) + "; it must be a number.");
}

double Reader::number(const Parameter& parameter) {
  const Node* node = take(parameter.name);
  if (node == nullptr && !parameter.required()) return parameter.fallback;
  const Node& found = must(parameter.name);
  return located(found, [&] {
    double x = 0;
    if (const bool* truth = found.truth(); truth != nullptr && parameter.words.size() == 2) {
      x = *truth ? 1 : 0;
    } else if (found.text() != nullptr && (parameter.words.size() > 0 || *found.text() == "inf")) {
      x = parameter.read(*found.text());
    } else {
      x = number(parameter.name);
    }
    parameter.check(x);
    return x;
  });
}

std::size_t Reader::whole(std::string_view key, std::optional<std::size_t> fallback,
                          std::size_t min, std::size_t max) {
  const auto real = fallback ? std::optional(static_cast<double>(*fallback)) : std::nullopt;
  const double x = number(key, real);
  if (x != std::floor(x) || x < static_cast<double>(min) || x > static_cast<double>(max)) {
    fail(must(key), "'" + std::string(key) + "' is " + plain(must(key)) +
                        "; it must be a whole number from " + std::to_string(min) + " to " +
                        std::to_string(max) + ".");
  }
  return static_cast<std::size_t>(x);
}

bool Reader::truth(std::string_view key, bool fallback) {
  const Node* node = take(key);
  if (node == nullptr) return fallback;
  if (const bool* truth = node->truth()) return *truth;
  fail(*node, "'" + std::string(key) + "' is " + std::string(node->kind()) +
                  "; it must be true or false.");
}

std::string Reader::text(std::string_view key, std::optional<std::string> fallback) {
  const Node* node = take(key);
  if (node == nullptr && fallback) return *fallback;
  const Node& found = must(key);
  if (const std::string* text = found.text()) return *text;
  fail(found, "'" + std::string(key) + "' is " + std::string(found.kind()) + "; it must be text.");
}

std::string Reader::word(std::string_view key, std::initializer_list<std::string_view> words,
                         std::string_view fallback) {
  return word(key, std::span<const std::string_view>(words.begin(), words.size()), fallback);
}

std::string Reader::word(std::string_view key, std::span<const std::string_view> words,
                         std::string_view fallback) {
  std::string given = text(key, std::string(fallback));
  if (std::ranges::find(words, given) != words.end()) return given;
  fail(*node_.find(key),
       "'" + std::string(key) + "' is '" + given + "'" + instead_of(given, words));
}

const Node* Reader::any(std::string_view key) { return take(key); }

void Reader::finish() const {
  for (const auto& [key, node] : *node_.object()) {
    if (std::ranges::find(known_, key) != known_.end()) continue;
    const std::vector<std::string_view> known(known_.begin(), known_.end());
    fail(node, "'" + key + "' is not a key of " + what_ + instead_of(key, known));
  }
}

}  // namespace medgrad::lab
