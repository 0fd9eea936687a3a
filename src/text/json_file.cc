#include "text/json_file.h"

#include <algorithm>
#include <set>
#include <vector>

#include "io/row_source.h"

namespace medgrad::text {
namespace {

constexpr std::size_t kDepth = 100;

std::size_t line_at(std::string_view text, std::size_t byte) {
  const auto before = std::ranges::count(text.substr(0, byte), '\n');
  return 1 + static_cast<std::size_t>(before);
}

// Sees every key before the parser forgets that it had it already.
class Watch {
 public:
  explicit Watch(const std::string& file) : file_(file), keys_(kDepth + 2) {}

  bool operator()(int level, Json::parse_event_t event, const Json& parsed) {
    const auto depth = static_cast<std::size_t>(level);
    if (depth > kDepth) throw Error(file_ + " is nested more than 100 values deep.");
    if (event == Json::parse_event_t::object_start) keys_[depth + 1].clear();
    if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_[depth].insert(key).second)
        throw Error(file_ + ": the key " + internal::quoted(key) +
                    " is given twice in one object.");
    }
    return true;
  }

 private:
  const std::string& file_;
  std::vector<std::set<std::string>> keys_;  // of the object that is open at each depth
};

}  // namespace

Json parse_json(std::string_view text, const std::string& file) {
  Watch watch(file);
  try {
    return Json::parse(text, [&watch](int depth, Json::parse_event_t event, const Json& parsed) {
      return watch(depth, event, parsed);
    });
  } catch (const Json::parse_error& error) {
    const std::size_t byte = error.byte == 0 ? 0 : error.byte - 1;
    if (byte >= text.size()) throw Error(file + " is not valid JSON: it ends too early.");
    throw Error(internal::line_of(file, line_at(text, byte)) +
                ": this is not valid JSON, from byte " + std::to_string(byte) + " of the file on.");
  } catch (const Json::exception&) {
    throw Error(file + " is not valid JSON: a number is out of range.");
  }
}

std::string Place::path() const {
  if (in_ == nullptr) return "";
  const std::string above = in_->path();
  if (key_.empty()) return above + "[" + std::to_string(index_) + "]";
  return above + (above.empty() ? "" : ".") + std::string(key_);
}

void Place::fail(const std::string& sentence) const {
  const std::string where = path();
  throw Error(*file_ + ": " + (where.empty() ? "the document" : where) + " " + sentence);
}

void Place::must_be(const Json& value, const std::string& what) const {
  const std::string is = value.is_array()    ? "a list"
                         : value.is_object() ? "an object"
                                             : internal::quoted(value.dump());
  fail("is " + is + "; it must be " + what + ".");
}

const Json& member(const Json& object, std::string_view key, const Place& place) {
  if (!object.is_object()) place.must_be(object, "an object");
  const auto found = object.find(key);
  if (found == object.end()) place.fail("has no '" + std::string(key) + "'.");
  return *found;
}

const Json::array_t& list_of(const Json& value, const Place& place) {
  if (!value.is_array()) place.must_be(value, "a list");
  return value.get_ref<const Json::array_t&>();
}

const std::string& text_of(const Json& value, const Place& place) {
  if (!value.is_string()) place.must_be(value, "text");
  return value.get_ref<const std::string&>();
}

std::size_t whole_number_of(const Json& value, const Place& place) {
  if (!value.is_number_unsigned()) place.must_be(value, "a whole number, 0 or more");
  return value.get<std::size_t>();
}

}  // namespace medgrad::text
