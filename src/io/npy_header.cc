#include "io/npy_header.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "base/text.h"
#include "io/row_source.h"
#include "medgrad/error.h"

namespace medgrad::internal {
namespace {

// Reads the few Python literals that NumPy writes.
class Literals {
 public:
  Literals(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{} has a malformed NPY header: {}.", name_, what));
  }

  bool accept(char c) {
    skip_blanks();
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("a '{}' is missing", c));
  }
  bool at_end() {
    skip_blanks();
    return text_.empty();
  }

  std::string string() {
    skip_blanks();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"'))
      fail("a string is missing");
    const std::size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) fail("a string has no end");
    std::string value(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return value;
  }

  // The text of a nested list, for structured element types: shown, not understood.
  std::string list() {
    skip_blanks();
    const std::size_t end = text_.find(']');
    if (end == std::string_view::npos) fail("a list has no end");
    std::string value(text_.substr(0, end + 1));
    text_.remove_prefix(text_.rfind(']') + 1);
    return value;
  }

  bool boolean() {
    skip_blanks();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    fail("'fortran_order' is neither True nor False");
  }

  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> values;
    expect('(');
    while (!accept(')')) {
      values.push_back(integer());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }

 private:
  void skip_blanks() {
    const std::size_t n = text_.find_first_not_of(" \t\r\n");
    text_.remove_prefix(std::min(n, text_.size()));
  }

  std::uint64_t integer() {
    skip_blanks();
    std::uint64_t value = 0;
    const auto [stop, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc()) fail("its shape is not made of whole numbers");
    text_.remove_prefix(static_cast<std::size_t>(stop - text_.data()));
    accept('L');  // Python 2 wrote long integers so
    return value;
  }

  std::string_view text_;
  const std::string& name_;
};

std::string text_of(const std::vector<std::uint64_t>& shape) {
  std::string text = "(";
  for (const std::uint64_t n : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& name) {
  Literals in(text, name);
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::uint64_t>> shape;
  in.expect('{');
  while (!in.accept('}')) {
    const std::string key = in.string();
    in.expect(':');
    if (key == "descr") {
      descr = in.accept('[') ? "[" + in.list() : in.string();
    } else if (key == "fortran_order") {
      fortran_order = in.boolean();
    } else if (key == "shape") {
      shape = in.tuple();
    } else {
      in.fail("it has an unknown key " + quoted(key));
    }
    // Structured types were shown as far as the list goes; the rest of the header is of no use.
    if (descr && descr->starts_with('['))
      return {.descr = *descr, .fortran_order = false, .shape = {}};
    if (!in.accept(',')) {
      in.expect('}');
      break;
    }
  }
  if (!in.at_end()) in.fail("something follows the dictionary");
  if (!descr) in.fail("'descr' is missing");
  if (!fortran_order) in.fail("'fortran_order' is missing");
  if (!shape) in.fail("'shape' is missing");
  return {.descr = *descr, .fortran_order = *fortran_order, .shape = *shape};
}

NpyShape checked_shape(const NpyHeader& header, const std::string& name) {
  const NpyType type = npy_type(header.descr, name);
  const std::vector<std::uint64_t>& shape = header.shape;
  if (shape.size() > 2) {
    throw Error(
        fmt::format("{} has shape {}; one dimension (a single row) or two (rows) are needed.", name,
                    text_of(shape)));
  }
  const std::uint64_t rows = shape.size() == 2 ? shape[0] : 1;
  const std::uint64_t dimension = shape.empty() ? 1 : shape.back();
  if (rows == 0 || dimension == 0)
    throw Error(fmt::format("{} is empty: there are no {} in shape {}.", name,
                            rows == 0 ? "rows" : "columns", text_of(shape)));
  constexpr std::uint64_t kMostElements = std::numeric_limits<std::int64_t>::max() / 8;
  if (dimension > kMostElements / rows)
    throw Error(
        fmt::format("{} has shape {}, which is more than memory can hold.", name, text_of(shape)));
  return {.type = type,
          .rows = static_cast<std::size_t>(rows),
          .dimension = static_cast<std::size_t>(dimension),
          // With one row or one column both orders are the same bytes.
          .by_columns = header.fortran_order && rows > 1 && dimension > 1};
}

NpyStart read_npy_start(Input& input) {
  const std::string& name = input.name();
  const auto fail_short = [&name] {
    throw Error(name + " is truncated: it ends within the NPY header.");
  };
  constexpr std::size_t kPrefix = kNpyMagic.size() + 2;  // magic and version
  const std::string_view prefix = input.peek(kPrefix);
  if (prefix.empty()) throw Error(name + " is empty: there are no rows.");
  if (!prefix.starts_with(kNpyMagic)) {
    throw Error(name + " is not an NPY file, as its name says: it does not begin with \\x93NUMPY.");
  }
  if (prefix.size() < kPrefix) fail_short();
  const int major = static_cast<unsigned char>(prefix[6]);
  const int minor = static_cast<unsigned char>(prefix[7]);
  if (major < 1 || major > 3 || minor != 0) {
    throw Error(fmt::format("{} has NPY version {}.{}; versions 1.0 to 3.0 can be read.", name,
                            major, minor));
  }
  input.skip(kPrefix);
  const std::size_t width = major == 1 ? 2 : 4;
  const std::string_view bytes = input.peek(width);
  if (bytes.size() < width) fail_short();
  std::size_t length = 0;
  for (std::size_t i = width; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  input.skip(width);
  // Real headers have about a hundred characters; a damaged length must not allocate gigabytes.
  constexpr std::size_t kLongest = 1 << 20;
  if (length > kLongest) {
    throw Error(fmt::format("{} has a malformed NPY header: a length of {} bytes.", name, length));
  }
  std::string text(length, '\0');
  if (input.read(text) < length) fail_short();
  return {.shape = checked_shape(parse_npy_header(text, name), name),
          .offset = kPrefix + width + length};
}

std::string make_npy_header(ElementType type, std::size_t rows, std::size_t dimension) {
  std::string text(kNpyMagic);
  constexpr std::size_t length = kNpyHeaderBytes - 10;  // what follows magic, version and length
  text += {'\x01', '\x00', static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  text += "{'descr': '";
  text += type == ElementType::float32 ? "<f4" : "<f8";
  text += fmt::format("', 'fortran_order': False, 'shape': ({}, {}), }}", rows, dimension);
  text.resize(kNpyHeaderBytes - 1, ' ');
  return text + '\n';
}

}  // namespace medgrad::internal
