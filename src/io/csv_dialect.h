// How a text file separates its columns, and whether its first line names them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace medgrad::internal {

inline constexpr char kBlanks = ' ';  // as a separator: any run of blanks and tabs

// The first line that is neither empty nor a comment decides for the whole file.
//
// Separator: `;` where the line has one outside quotes; else `,`; else a tab, unless it is one
// blank among others (some piece between tabs is several numbers between blanks); else blanks.
//
// Header: no field of the line is a number, and some field is a word, that is, does not begin like
// a number. A line with words and numbers is no header but a mistake, and so is `1.5x` alone.
struct CsvDialect {
  char separator = kBlanks;
  bool header = false;
};

// `line` is that line, or as much of its beginning as is at hand, then with `complete` false.
[[nodiscard]] CsvDialect detect_dialect(std::string_view line, bool complete);

// The fields of a line, without the blanks around them and the quotes ("" inside quotes is one).
// A `#` outside quotes ends the line. With blanks as the separator there are no empty fields.
struct CsvField {
  std::string text;
  bool quoted = false;
};
[[nodiscard]] std::vector<CsvField> split_line(std::string_view line, char separator);

// How messages call it: "commas", "tabs".
[[nodiscard]] std::string_view plural_of(char separator);

// Does the text begin as numbers do: a digit or point, maybe after a sign?
[[nodiscard]] bool begins_like_a_number(std::string_view text);

// A name as it is written into a header line: in quotes where it would not be read back otherwise.
[[nodiscard]] std::string header_field(std::string_view name);

}  // namespace medgrad::internal
