// Values of a document that other programs wrote, each with the path that leads to it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/document.h"

namespace medgrad {

// Where a value stands in its document, said only when it is asked for:
// "data[3].paragraphs[0].qas". Such documents are often one line long, so a path says more than a
// line. Each place points to the one it lies in.
class Place {
 public:
  explicit Place(const std::string& file) : file_(&file) {}
  Place(const Place& in, std::string_view key) : in_(&in), file_(in.file_), key_(key) {}
  Place(const Place& in, std::size_t index) : in_(&in), file_(in.file_), index_(index) {}

  // "train-v1.1.json: data[3] is 7; it must be <what>."
  [[noreturn]] void must_be(const Node& value, const std::string& what) const;
  // "train-v1.1.json: data[3] <sentence>"
  [[noreturn]] void fail(const std::string& sentence) const;

 private:
  [[nodiscard]] std::string path() const;

  const Place* in_ = nullptr;
  const std::string* file_;
  std::string_view key_;
  std::size_t index_ = 0;
};

// The value of a key; the place is that of the object. An Error where there is none.
[[nodiscard]] const Node& member(const Node& object, std::string_view key, const Place& place);
[[nodiscard]] const Node::List& list_of(const Node& value, const Place& place);
[[nodiscard]] const std::string& text_of(const Node& value, const Place& place);
[[nodiscard]] std::size_t whole_number_of(const Node& value, const Place& place);

}  // namespace medgrad
