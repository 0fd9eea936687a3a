// Text with one vector per line.
//
// Numbers are parsed where they lie in the buffer; a line is never held as text, so that a line of
// 1e8 numbers costs no more than the numbers. Only a number that touches the end of the buffer, or
// that is unusual (a plus sign, out of range), takes the slow way through a complete token.
#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

#include "io/row_source.h"
#include "medgrad/error.h"

namespace medgrad::internal {
namespace {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }
constexpr bool ends_line(char c) { return c == '\n' || c == '\r'; }
constexpr bool ends_number(char c) { return c == ',' || is_blank(c) || ends_line(c) || c == '#'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Of a well-formed decimal number that a double cannot hold: is it too large, or too small? The
// position of its first significant digit, the exponent included, tells.
bool is_too_large(std::string_view number) {
  long long exponent = 0;
  const std::size_t e = number.find_first_of("eE");
  if (e != std::string_view::npos) {
    std::string_view digits = number.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (result.ec == std::errc::result_out_of_range) return !digits.starts_with('-');
    number = number.substr(0, e);
  }
  const std::size_t first = number.find_first_of("123456789");
  if (first == std::string_view::npos) return false;
  const std::size_t point = std::min(number.find('.'), number.size());
  return static_cast<long long>(point) - static_cast<long long>(first) + exponent > 0;
}

class CsvRows final : public RowSource {
 public:
  explicit CsvRows(Input input) : RowSource(std::move(input)) {
    if (input_.peek(kByteOrderMark.size()) == kByteOrderMark) input_.skip(kByteOrderMark.size());
    dimension_ = read_line([this](std::size_t, double x) { first_.push_back(x); });
    if (dimension_ == 0) throw Error(name() + " is empty: there are no rows.");
  }

  std::size_t position() const override { return row_line_; }

  bool next(void* out) override {
    double* const row = static_cast<double*>(out);
    if (!first_.empty()) {
      std::copy(first_.begin(), first_.end(), row);
      first_ = {};
      return true;
    }
    const std::size_t d = dimension_;
    const std::size_t count = read_line([row, d](std::size_t i, double x) {
      if (i < d) row[i] = x;
    });
    if (count == 0) return false;
    if (count != d) {
      fail("the row has " + std::to_string(count) + (count == 1 ? " value" : " values") +
           " where the rows before have " + std::to_string(d) + ".");
    }
    return true;
  }

 private:
  static constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(line_of(name(), row_line_) + ": " + what);
  }

  // Calls store(i, value) for the values of the next line that has any; their number, or 0 where
  // the text ends.
  template <class Store>
  std::size_t read_line(Store store) {
    std::size_t count = 0;
    bool after_comma = false;
    row_line_ = line_;
    for (;;) {
      std::string_view text = input_.peek();
      if (text.empty() && input_.more()) continue;
      const bool at_end = text.empty();
      const char c = at_end ? '\n' : text.front();
      // The second half of a CRLF: the first half has ended the line.
      const bool after_return = std::exchange(after_return_, false) && c == '\n' && !at_end;
      if (after_return || is_blank(c)) {
        input_.skip(1);
      } else if (c == '#') {
        skip_comment();
      } else if (c == ',') {
        if (after_comma || count == 0) fail_empty_field();
        after_comma = true;
        input_.skip(1);
      } else if (!ends_line(c)) {
        store(count++, read_number(text));
        after_comma = false;
      } else {
        if (after_comma) fail_empty_field();
        if (at_end) return count;
        input_.skip(1);
        after_return_ = c == '\r';
        ++line_;
        if (count > 0) return count;
        row_line_ = line_;
      }
    }
  }

  [[noreturn]] void fail_empty_field() const {
    fail("a value is missing before or after a comma.");
  }

  void skip_comment() {
    for (;;) {
      const std::string_view text = input_.peek();
      const std::size_t end = text.find_first_of("\r\n");
      input_.skip(std::min(end, text.size()));
      if (end != std::string_view::npos || !input_.more()) return;
    }
  }

  double read_number(std::string_view text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && stop != end && ends_number(*stop)) {
      input_.skip(static_cast<std::size_t>(stop - text.data()));
      return value;
    }
    return parse_token(take_token());
  }

  // The characters up to the next separator, however many reads it takes.
  std::string_view take_token() {
    std::size_t length = 0;
    for (;;) {
      const std::string_view text = input_.peek();
      while (length < text.size() && !ends_number(text[length])) ++length;
      if (length < text.size()) break;
      if (length >= Input::kLongestPeek) fail(quoted(text) + " is not a number.");
      if (!input_.more()) break;
    }
    const std::string_view token = input_.peek().substr(0, length);
    input_.skip(length);
    return token;
  }

  double parse_token(std::string_view token) const {
    std::string_view number = token;
    if (number.starts_with('+') && number.size() > 1 && number[1] != '-') number.remove_prefix(1);
    double value = 0;
    const char* const end = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data(), end, value);
    if (stop != end || error == std::errc::invalid_argument) fail_not_a_number(token);
    if (error == std::errc()) return value;
    if (is_too_large(number)) fail(quoted(token) + " is too large for a float64.");
    return number.starts_with('-') ? -0.0 : 0.0;
  }

  [[noreturn]] void fail_not_a_number(std::string_view token) const {
    // Names of columns in the first line are the likely reason for a word there.
    const bool header = dimension_ == 0 && first_.empty() && !is_digit(token.front());
    fail(quoted(token) + " is not a number" + (header ? "; a header has to begin with #." : "."));
  }

  std::size_t line_ = 1, row_line_ = 1;
  bool after_return_ = false;
  std::vector<double> first_;  // read ahead to know the dimension
};

}  // namespace

std::unique_ptr<RowSource> open_csv(Input input) {
  return std::make_unique<CsvRows>(std::move(input));
}

}  // namespace medgrad::internal
