#include "base/place.h"

#include <fmt/core.h>

#include <cmath>

#include "base/text.h"
#include "medgrad/error.h"

namespace medgrad {

std::string Place::path() const {
  if (in_ == nullptr) return "";
  const std::string above = in_->path();
  if (key_.empty()) return fmt::format("{}[{}]", above, index_);
  return above + (above.empty() ? "" : ".") + std::string(key_);
}

void Place::fail(const std::string& sentence) const {
  const std::string where = path();
  throw Error(fmt::format("{}: {} {}", *file_, where.empty() ? "the document" : where, sentence));
}

void Place::must_be(const Node& value, const std::string& what) const {
  const bool scalar = value.list() == nullptr && value.object() == nullptr;
  const std::string is = scalar ? internal::quoted(plain(value)) : std::string(value.kind());
  fail(fmt::format("is {}; it must be {}.", is, what));
}

const Node& member(const Node& object, std::string_view key, const Place& place) {
  if (object.object() == nullptr) place.must_be(object, "an object");
  const Node* const found = object.find(key);
  if (found == nullptr) place.fail(fmt::format("has no '{}'.", key));
  return *found;
}

const Node::List& list_of(const Node& value, const Place& place) {
  if (value.list() == nullptr) place.must_be(value, "a list");
  return *value.list();
}

const std::string& text_of(const Node& value, const Place& place) {
  if (value.text() == nullptr) place.must_be(value, "text");
  return *value.text();
}

std::size_t whole_number_of(const Node& value, const Place& place) {
  constexpr double kMost = 0x1p53;  // past it, doubles leave whole numbers out
  const double* const x = value.number();
  if (x == nullptr || !(*x >= 0) || *x != std::floor(*x))
    place.must_be(value, "a whole number, 0 or more");
  if (*x > kMost) place.must_be(value, "at most 9007199254740992");
  return static_cast<std::size_t>(*x);
}

}  // namespace medgrad
