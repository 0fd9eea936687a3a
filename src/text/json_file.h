// JSON from files of others: whatever is wrong is an Error with file and line.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "medgrad/error.h"

namespace medgrad::text {

using Json = nlohmann::json;

// Throws Error where the text is no JSON, a key is given twice in an object, or values are nested
// more than 100 deep. `file` is what messages call it.
[[nodiscard]] Json parse_json(std::string_view text, const std::string& file);

// Where a value stands in its document, said only when it is asked for:
// "data[3].paragraphs[0].qas". Each one points to the value it lies in.
class Place {
 public:
  explicit Place(const std::string& file) : file_(&file) {}
  Place(const Place& in, std::string_view key) : in_(&in), file_(in.file_), key_(key) {}
  Place(const Place& in, std::size_t index) : in_(&in), file_(in.file_), index_(index) {}

  // "train-v1.1.json: data[3] is 7; it must be <what>."
  [[noreturn]] void must_be(const Json& value, const std::string& what) const;
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
[[nodiscard]] const Json& member(const Json& object, std::string_view key, const Place& place);
[[nodiscard]] const Json::array_t& list_of(const Json& value, const Place& place);
[[nodiscard]] const std::string& text_of(const Json& value, const Place& place);
[[nodiscard]] std::size_t whole_number_of(const Json& value, const Place& place);

}  // namespace medgrad::text
