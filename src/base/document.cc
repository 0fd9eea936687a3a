#include "base/document.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "medgrad/error.h"

namespace medgrad {
namespace {

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

// What the parser has against a document, of what it says about it:
// "… parse error at line 3, column 5: syntax error while parsing value - unexpected '}'; expected
// …" "… syntax error while parsing object separator - invalid literal; last read: '…'; expected
// ':'" "… number overflow parsing '1e999'"
std::string reason(const nlohmann::detail::exception& e) {
  std::string text = e.what();
  constexpr std::string_view kOverflow = "number overflow parsing ";
  if (const std::size_t at = text.find(kOverflow); at != std::string::npos)
    return fmt::format("the number {} is out of range", text.substr(at + kOverflow.size()));
  if (text.find("unexpected end of input") != std::string::npos) return "it ends too early";
  const std::size_t dash = text.find(" - ");
  if (dash != std::string::npos) text.erase(0, dash + 3);
  if (const std::size_t shown = text.find("; last read: "); shown != std::string::npos) {
    const std::size_t after = text.rfind("; expected");
    text.erase(shown, after == std::string::npos || after < shown ? after : after - shown);
  }
  std::ranges::replace(text, '\n', ' ');
  return text;
}

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
  bool end_object() override {
    check_keys(std::get<Node::Object>(stack_.back()->value));
    return close();
  }
  bool end_array() override { return close(); }
  bool key(string_t& k) override {
    std::get<Node::Object>(stack_.back()->value).emplace_back(std::move(k), Node{{}, line_});
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) override {
    throw Error(
        fmt::format("{}: this is not JSON: {}.", internal::line_of(file_, line_), reason(e)));
  }

  Node root;

 private:
  // Sorted, since documents of other programs have thousands of keys in one object.
  void check_keys(const Node::Object& object) const {
    std::vector<const Node::Object::value_type*> entries;
    for (const auto& entry : object) entries.push_back(&entry);
    const auto by_key = [](const auto* a, const auto* b) { return a->first < b->first; };
    std::ranges::stable_sort(entries, by_key);
    const auto same = [](const auto* a, const auto* b) { return a->first == b->first; };
    const auto twice = std::ranges::adjacent_find(entries, same);
    if (twice == entries.end()) return;
    const auto& [key, second] = **std::next(twice);
    throw Error(fmt::format("{}: {} is given twice.", internal::line_of(file_, second.line),
                            internal::quoted(key)));
  }
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
      throw Error(internal::line_of(file_, line_) + ": this is nested more than 100 values deep.");
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
  if (const bool* const it = truth()) return *it ? "true" : "false";
  constexpr std::string_view kKinds[] = {"null", "", "a number", "text", "a list", "an object"};
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

}  // namespace medgrad
