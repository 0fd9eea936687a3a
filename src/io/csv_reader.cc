// Text with one vector per line.
//
// Numbers are parsed where they lie in the buffer; a line of them is never held as text, so that
// 1e8 numbers cost no more than the numbers. Only a number that touches the end of the buffer, or
// that is unusual (in quotes, with a plus sign, out of range), takes the slow way through a
// complete token. The line with the names is held: it is there once.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "io/csv_dialect.h"
#include "io/row_source.h"
#include "medgrad/error.h"

namespace medgrad::internal {
namespace {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }
constexpr bool ends_line(char c) { return c == '\n' || c == '\r'; }

// Ways to say that there is no value.
constexpr std::string_view kMissing[] = {"NA", "N/A", "n/a", "na", "null", "NULL", "None", "NaT"};

// "1,5" and the like: a number whose comma would have to be a point.
bool has_decimal_comma(std::string text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos || !begins_like_a_number(text)) return false;
  text[comma] = '.';
  const std::size_t sign = text.starts_with('+') ? 1 : 0;
  double value = 0;
  const char* const end = text.data() + text.size();
  return std::from_chars(text.data() + sign, end, value).ptr == end;
}

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
    skip_byte_order_mark();
    if (find_first_line()) {
      const auto [line, complete] = peek_line();
      const CsvDialect dialect = detect_dialect(line, complete);
      separator_ = dialect.separator;
      if (dialect.header) read_header();
    }
    const std::size_t count = read_line([this](std::size_t, double x) { first_.push_back(x); });
    if (count == 0) {
      throw Error(name() + (names_.empty() ? " is empty: there are no rows."
                                           : " has a header but no rows below it."));
    }
    if (!names_.empty() && count != names_.size())
      fail_length(count, "header has " + counted(names_.size(), "name"));
    dimension_ = count;
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
    if (count != d) fail_length(count, "rows before have " + std::to_string(d));
    return true;
  }

 private:
  // ---- The beginning ----------------------------------------------------------------------------

  void skip_byte_order_mark() {
    // As much as it takes to see a difference: a terminal may have sent two bytes and wait.
    const auto begins_with = [this](std::string_view mark) {
      return input_.peek(1) == mark.substr(0, 1) && input_.peek(mark.size()) == mark;
    };
    constexpr std::string_view kUtf8 = "\xEF\xBB\xBF";
    if (begins_with(kUtf8)) input_.skip(kUtf8.size());
    if (begins_with("\xFF\xFE") || begins_with("\xFE\xFF"))
      throw Error(name() + " is text in UTF-16; save it as UTF-8.");
  }

  // Goes to the beginning of the first line that is neither empty nor a comment; false where there
  // is none.
  bool find_first_line() {
    for (std::size_t blanks = 0;;) {
      const std::string_view text = input_.peek().substr(0, Input::kLongestPeek);
      while (blanks < text.size() && is_blank(text[blanks])) ++blanks;
      if (blanks == text.size() && blanks < Input::kLongestPeek) {
        if (!input_.more()) return false;
        continue;
      }
      const char c = blanks < text.size() ? text[blanks] : ' ';
      if (std::exchange(after_return_, false) && blanks == 0 && c == '\n') {
        input_.skip(1);
        continue;
      }
      if (c != '#' && !ends_line(c) && !is_blank(c)) return true;
      input_.skip(std::exchange(blanks, 0));
      if (c == '#') skip_comment();
      if (ends_line(c)) end_line(c);
    }
  }

  // The line that begins here, up to its end outside quotes; of a long one the beginning, and
  // false.
  std::pair<std::string_view, bool> peek_line() {
    bool in_quotes = false, in_comment = false;
    for (std::size_t at = 0;; ++at) {
      if (at == Input::kLongestPeek) return {input_.peek().substr(0, at), false};
      if (at == input_.peek().size() && !input_.more()) return {input_.peek(), true};
      const char c = input_.peek()[at];
      if (ends_line(c) && !in_quotes) return {input_.peek().substr(0, at), true};
      if (static_cast<unsigned char>(c) < ' ' && !is_blank(c) && !ends_line(c)) {
        throw Error(
            fmt::format("{}: {} has no place in text; rows are read from .csv and .npy files.",
                        line_of(name(), line_), quoted(std::string_view(&c, 1))));
      }
      in_comment = in_comment || (c == '#' && !in_quotes);
      in_quotes = in_quotes != (c == '"' && !in_comment);
    }
  }

  void read_header() {
    constexpr std::size_t kLongest = std::size_t{1} << 26;
    row_line_ = line_;
    std::string line;
    bool in_quotes = false;
    for (;;) {
      if (input_.peek().empty() && !input_.more()) break;
      const char c = input_.peek().front();
      if (!in_quotes && (ends_line(c) || c == '#')) break;
      if (in_quotes && c == '\n') ++line_;
      if (c == '"') in_quotes = !in_quotes;
      if (line.size() == kLongest) fail("the header line is longer than 64 MiB.");
      line += c;
      input_.skip(1);
    }
    if (in_quotes) fail("a quotation mark of the header line has no second one.");
    for (CsvField& field : split_line(line, separator_)) names_.push_back(std::move(field.text));
  }

  // ---- Rows -------------------------------------------------------------------------------------

  [[nodiscard]] bool ends_number(char c) const {
    return c == separator_ || is_blank(c) || ends_line(c) || c == '#';
  }

  void end_line(char c) {
    input_.skip(1);
    after_return_ = c == '\r';
    ++line_;
  }

  // Calls store(i, value) for the values of the next line that has any; their number, or 0 where
  // the text ends.
  template <class Store>
  std::size_t read_line(Store store) {
    std::size_t count = 0;
    bool has_value = false;  // has the field that we are in its value?
    bool expected = false;   // must there be one?
    row_line_ = line_;
    for (;;) {
      const std::string_view text = input_.peek();
      if (text.empty() && input_.more()) continue;
      const bool at_end = text.empty();
      const char c = at_end ? '\n' : text.front();
      // The second half of a CRLF: the first half has ended the line.
      const bool after_return = std::exchange(after_return_, false) && c == '\n' && !at_end;
      if (after_return) {
        input_.skip(1);
      } else if (c == separator_ || is_blank(c)) {
        if (c == separator_ && c != kBlanks) {
          if (!has_value) fail_missing(count);
          expected = true;
          has_value = false;
        }
        input_.skip(1);
      } else if (c == '#') {
        skip_comment();
      } else if (!ends_line(c)) {
        if (has_value && separator_ != kBlanks) fail_no_separator(count - 1);
        has_value = read_numbers(text, count, store);
        expected = !has_value && separator_ != kBlanks;
      } else {
        if (expected && !has_value) fail_missing(count);
        if (at_end) return count;
        end_line(c);
        if (count > 0) return count;
        row_line_ = line_;
      }
    }
  }

  // Numbers with exactly one separator between them, as far as they go; or one that is anything
  // else. False where a separator was the last character.
  template <class Store>
  bool read_numbers(std::string_view text, std::size_t& count, Store& store) {
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    const char* at = begin;
    bool has_value = false;
    while (at != end) {
      double value = 0;
      const auto [stop, error] = std::from_chars(at, end, value);
      if (error != std::errc() || stop == end || !ends_number(*stop)) break;
      store(count++, value);
      has_value = *stop != separator_;
      at = has_value ? stop : stop + 1;
      if (has_value) break;
    }
    if (at == begin) {
      const double value = text.front() == '"' ? quoted_number(count) : plain_number(count);
      store(count++, value);
      return true;
    }
    input_.skip(static_cast<std::size_t>(at - begin));
    return has_value;
  }

  void skip_comment() {
    for (;;) {
      const std::string_view text = input_.peek();
      const std::size_t end = text.find_first_of("\r\n");
      input_.skip(std::min(end, text.size()));
      if (end != std::string_view::npos || !input_.more()) return;
    }
  }

  // The characters before the first one for which `ends` holds, however many reads it takes.
  template <class Ends>
  std::string_view peek_token(std::size_t column, Ends ends) {
    for (std::size_t length = 0;; ++length) {
      if (length == input_.peek().size() && !input_.more()) return input_.peek();
      if (ends(input_.peek()[length])) return input_.peek().substr(0, length);
      if (length + 1 == Input::kLongestPeek)
        fail_not_a_number(column, input_.peek().substr(0, length + 1));
    }
  }

  double plain_number(std::size_t column) {
    const std::string_view token = peek_token(column, [this](char c) { return ends_number(c); });
    const double value = to_number(column, token);
    input_.skip(token.size());
    return value;
  }

  double quoted_number(std::size_t column) {
    input_.skip(1);
    const std::string_view token =
        peek_token(column, [](char c) { return c == '"' || ends_line(c); });
    const bool closed = input_.peek().size() > token.size() && input_.peek()[token.size()] == '"';
    if (!closed) fail_at(column, "a quotation mark has no second one in the same line.");
    const std::size_t first = std::min(token.find_first_not_of(" \t"), token.size());
    const std::size_t last = token.find_last_not_of(" \t");
    const std::string_view number = token.substr(first, last + 1 - first);
    if (number.empty()) fail_missing(column);
    const double value = to_number(column, number);
    input_.skip(token.size() + 1);
    if (!peek_token(column, [this](char c) { return ends_number(c); }).empty())
      fail_at(column, "something follows a quotation mark.");
    return value;
  }

  double to_number(std::size_t column, std::string_view token) const {
    std::string_view number = token;
    if (number.starts_with('+') && number.size() > 1 && number[1] != '-') number.remove_prefix(1);
    double value = 0;
    const char* const end = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data(), end, value);
    if (stop != end || error == std::errc::invalid_argument) fail_not_a_number(column, token);
    if (error == std::errc()) return value;
    if (is_too_large(number)) fail_at(column, quoted(token) + " is too large for a float64.");
    return number.starts_with('-') ? -0.0 : 0.0;
  }

  // ---- What can be wrong ------------------------------------------------------------------------

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(line_of(name(), row_line_) + ": " + what);
  }

  [[noreturn]] void fail_at(std::size_t column, const std::string& what) const {
    throw Error(
        fmt::format("{}, {}: {}", line_of(name(), row_line_), column_of(column, names_), what));
  }

  [[noreturn]] void fail_length(std::size_t count, const std::string& others) const {
    fail(fmt::format("the row has {} where the {}.", counted(count, "value"), others));
  }

  [[noreturn]] void fail_missing(std::size_t column) const {
    fail_at(column, "the value is missing; nan can stand for it.");
  }

  [[noreturn]] void fail_no_separator(std::size_t column) const {
    fail_at(column, fmt::format("only blanks stand between two values; this file separates columns "
                                "by {}, and decimals need a point.",
                                plural_of(separator_)));
  }

  [[noreturn]] void fail_not_a_number(std::size_t column, std::string_view token) const {
    const bool first_row = dimension_ == 0 && names_.empty();
    std::string why = ".";
    if (has_decimal_comma(std::string(token))) {
      why = "; decimals need a point instead of the comma.";
    } else if (std::ranges::find(kMissing, token) != std::end(kMissing)) {
      why = "; nan can stand for a missing value.";
    } else if (first_row && !begins_like_a_number(token)) {
      why = "; a header line has names only, or begins with #.";
    }
    fail_at(column, fmt::format("{} is not a number{}", quoted(token), why));
  }

  std::size_t line_ = 1, row_line_ = 1;
  char separator_ = kBlanks;
  bool after_return_ = false;
  std::vector<double> first_;  // read ahead to know the dimension
};

}  // namespace

std::unique_ptr<RowSource> open_csv(Input input) {
  return std::make_unique<CsvRows>(std::move(input));
}

}  // namespace medgrad::internal
