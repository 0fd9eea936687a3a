// A JSON document that knows where everything stands in its file.
//
// All JSON that comes from outside is read by this: what people write (experiments) and what other
// programs wrote. A mistake in one is told with file and line. Comments, of either kind, are
// allowed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace medgrad {

// A value of the document and the line it stands on.
struct Node {
  using List = std::vector<Node>;
  using Object = std::vector<std::pair<std::string, Node>>;  // in the order of the file
  using Value = std::variant<std::monostate, bool, double, std::string, List, Object>;

  // All in document.cc: a compiler that looks into them here finds a pair that is not yet one.
  Node();
  Node(Value its_value, std::size_t its_line);
  Node(const Node&);
  Node(Node&&) noexcept;
  Node& operator=(const Node&);
  Node& operator=(Node&&) noexcept;
  ~Node();

  Value value;
  std::size_t line = 1;

  [[nodiscard]] const List* list() const { return std::get_if<List>(&value); }
  [[nodiscard]] const Object* object() const { return std::get_if<Object>(&value); }
  [[nodiscard]] const double* number() const { return std::get_if<double>(&value); }
  [[nodiscard]] const std::string* text() const { return std::get_if<std::string>(&value); }
  [[nodiscard]] const bool* truth() const { return std::get_if<bool>(&value); }
  // The value of a key, or nullptr.
  [[nodiscard]] const Node* find(std::string_view key) const;
  [[nodiscard]] Node* find(std::string_view key);
  // "a number", "a list", "true", …: what an error calls it.
  [[nodiscard]] std::string_view kind() const;
};

// Reads a document. Throws Error ("toy.json:3: …") where it is no JSON, or a key is given twice.
[[nodiscard]] Node parse_document(std::string_view text, const std::string& file);
// The document as JSON text, indented; numbers with the fewest digits that read back the same.
[[nodiscard]] std::string to_text(const Node& node);
// "3", "\"abc\"": a scalar as it stands in JSON, without quotes for text.
[[nodiscard]] std::string plain(const Node& scalar);

}  // namespace medgrad
