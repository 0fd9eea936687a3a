#include "io/csv_dialect.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace medgrad::internal {
namespace {

constexpr std::string_view kBlankCharacters = " \t";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlankCharacters);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlankCharacters) + 1 - begin);
}

// One that a double cannot hold is a number as well.
bool is_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return stop == end && error != std::errc::invalid_argument;
}

// The line without its comment, with quoted text blotted out.
std::string outline(std::string_view line) {
  std::string text;
  bool in_quotes = false;
  for (const char c : line) {
    if (c == '"') in_quotes = !in_quotes;
    if (c == '#' && !in_quotes) break;
    text += in_quotes || c == '"' ? 'q' : c;
  }
  return text;
}

char separator_of(std::string_view line) {
  const std::string text = outline(line);
  for (const char c : {';', ','})
    if (text.find(c) != std::string::npos) return c;
  if (trimmed(text).find('\t') == std::string_view::npos) return kBlanks;
  const std::vector<CsvField> pieces = split_line(line, '\t');
  const bool aligned = std::ranges::any_of(pieces, [](const CsvField& piece) {
    const std::vector<CsvField> words = split_line(piece.text, kBlanks);
    return !piece.quoted && words.size() > 1 &&
           std::ranges::all_of(words, is_number, &CsvField::text);
  });
  return aligned ? kBlanks : '\t';
}

}  // namespace

std::vector<CsvField> split_line(std::string_view line, char separator) {
  std::vector<CsvField> fields;
  const bool blanks = separator == kBlanks;
  const auto is_separator = [&](char c) { return blanks ? c == ' ' || c == '\t' : c == separator; };
  const auto is_padding = [&](char c) { return (c == ' ' || c == '\t') && c != separator; };
  std::size_t at = 0;
  const auto skip = [&](auto which) {
    while (at < line.size() && which(line[at])) ++at;
  };
  for (bool more = true; more;) {
    CsvField field;
    if (blanks) skip(is_separator);
    skip(is_padding);
    if (at < line.size() && line[at] == '"') {
      field.quoted = true;
      for (++at; at < line.size(); ++at) {
        if (line[at] == '"' && !(at + 1 < line.size() && line[at + 1] == '"')) break;
        if (line[at] == '"') ++at;
        field.text += line[at];
      }
      at = std::min(at + 1, line.size());
    }
    std::string rest;  // of an unquoted field all of it; behind a quote nothing belongs
    while (at < line.size() && !is_separator(line[at]) && line[at] != '#') rest += line[at++];
    field.text += trimmed(rest);
    more = at < line.size() && is_separator(line[at]);
    if (more) ++at;
    if (!blanks || field.quoted || !field.text.empty()) fields.push_back(std::move(field));
  }
  return fields;
}

bool begins_like_a_number(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return text.empty() || text.front() == '.' || (text.front() >= '0' && text.front() <= '9');
}

CsvDialect detect_dialect(std::string_view line, bool complete) {
  CsvDialect dialect{.separator = separator_of(line)};
  std::vector<CsvField> fields = split_line(line, dialect.separator);
  if (!complete && fields.size() > 1) fields.pop_back();  // it may go on
  const bool numbers = std::ranges::any_of(fields, is_number, &CsvField::text);
  const bool words = std::ranges::any_of(
      fields, [](const CsvField& field) { return !begins_like_a_number(field.text); });
  dialect.header = words && !numbers;
  return dialect;
}

std::string_view plural_of(char separator) {
  switch (separator) {
    case ',':
      return "commas";
    case ';':
      return "semicolons";
    case '\t':
      return "tabs";
    default:
      return "blanks";
  }
}

std::string header_field(std::string_view name) {
  if (name.find_first_of(" \t\r\n,;\"#") == std::string_view::npos) return std::string(name);
  std::string text = "\"";
  for (const char c : name) text.append(c == '"' ? 2 : 1, c);
  return text + "\"";
}

}  // namespace medgrad::internal
