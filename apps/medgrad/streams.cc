#include "streams.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/text.h"
#include "io/row_source.h"
#include "medgrad/error.h"
#include "method_choice.h"

namespace medgrad::app {

std::string files_help() {
  return "\nfiles:\n" +
         columns(
             {{".csv",
               "rows of numbers, separated by commas, semicolons, tabs or blanks, as in the first "
               "line; a header line, quotes, Windows line ends and # comments are understood"},
              {".npy",
               "two dimensions are rows, one is a single row; every real type, byte order and "
               "memory order is converted, with a note, to float32 or float64"},
              {".gz", "either of them, gzipped"}});
}

RowReader open_rows(const std::string& file, const Common& common) {
  const std::string files[] = {file.empty() ? "-" : file};
  hint_at_terminal(files, common);
  return RowReader(files[0]);
}

void hint_at_terminal(std::span<const std::string> files, const Common& common) {
  if (std::ranges::find(files, "-") != files.end() && ::isatty(STDIN_FILENO) == 1)
    warn(common, "reading rows from standard input; end with Ctrl-D.");
}

void tell_notes(std::span<const std::string> notes, const Common& common) {
  for (const std::string& note : notes) warn(common, note);
}

void tell_note(const RowReader& reader, const Common& common) {
  if (const std::string note = reader.note(); !note.empty()) warn(common, note);
}

void RowOutput::declare(Options& options) {
  options.value("--out", out_, "FILE",
                "write to FILE (.csv, .json or .npy) instead of standard output");
  options.value("--format", format_, "F", "csv, json or npy (default: by FILE's ending, or csv)");
  options.offer("--format", {"csv", "json", "npy"});
}

void RowOutput::declare_header(Options& options) {
  options.flag("--header", header_,
               "begin CSV with the names of the columns, as the header line of FILE has them");
}

FileFormat RowOutput::format() const {
  if (format_.empty()) return out_.empty() || out_ == "-" ? FileFormat::csv : format_of(out_);
  check_word("--format", format_, {"csv", "json", "npy"});
  return format_ == "csv"    ? FileFormat::csv
         : format_ == "json" ? FileFormat::json
                             : FileFormat::npy;
}

void keep_inputs(std::string_view option, const std::string& path,
                 std::span<const std::string> inputs) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return;
  for (const std::string& input : inputs) {
    if (std::filesystem::equivalent(path, input, ignored))
      throw Error(std::string(option), path, "that file is read, and would be overwritten");
  }
}

void RowOutput::check(std::span<const std::string> inputs) const {
  keep_inputs("--out", path(), inputs);
  if (header_ && format() != FileFormat::csv)
    throw Error("--header is for csv only; json and npy have no header line.");
  const bool to_stdout = out_.empty() || out_ == "-";
  if (format() == FileFormat::npy && to_stdout && ::isatty(STDOUT_FILENO) == 1)
    throw Error("--format npy is binary and would garble the terminal; give a file with --out.");
}

RowWriter RowOutput::open(std::size_t dimension) const { return {path(), format(), dimension}; }

RowWriter RowOutput::open(std::span<const std::string> names, const std::string& source,
                          std::size_t dimension) const {
  if (header_ && names.empty())
    throw Error(fmt::format("--header: {} has no header line.", source));
  if (!header_) names = {};
  return {path(), format(), dimension, names};
}

void RowOutput::refuse_npy(std::string_view what) const {
  if (format() == FileFormat::npy) throw Error(std::string(what) + " writes csv or json, not npy.");
}

void CenterOption::declare(Options& options, const std::string& help) {
  options.value("--center", file_, "FILE", help);
}

void CenterOption::check(const Rule& rule, std::string_view name) const {
  if (file_.empty() || takes_center(rule)) return;
  throw Error(fmt::format(
      "{} does not take --center; only what clips does: clipped-mean, centered-clipping, clip "
      "and arc.",
      name));
}

template <Real T>
std::vector<T> CenterOption::read(std::size_t d, const std::string& rows,
                                  std::vector<std::string>& notes) const {
  if (file_.empty()) return {};
  auto center = read_vector<T>(file_, d, fmt::format("a row of {} has {}", rows, d), &notes);
  if (const auto bad = first_non_finite(std::span<const T>(center))) {
    throw Error(non_finite_sentence(file_, *bad, static_cast<double>(center[*bad]),
                                    "the centre must be finite"));
  }
  return center;
}

template std::vector<float> CenterOption::read(std::size_t, const std::string&,
                                               std::vector<std::string>&) const;
template std::vector<double> CenterOption::read(std::size_t, const std::string&,
                                                std::vector<std::string>&) const;

void NonFiniteOption::declare(Options& options) {
  options.value("--non-finite", text_, "HOW",
                "how to treat NaN and infinities: reject (default) stops with an error; robust "
                "treats NaN as missing and an infinity as very large");
  options.offer("--non-finite", {"reject", "robust"});
}

NonFinite NonFiniteOption::value() const {
  check_word("--non-finite", text_, {"reject", "robust"});
  return text_ == "robust" ? NonFinite::robust : NonFinite::reject;
}

std::unique_ptr<ThreadPool> make_pool(const Common& common, std::size_t elements) {
  constexpr std::size_t kWorthSharing = 1 << 15;
  if (elements < kWorthSharing || common.threads == 1) return nullptr;
  return std::make_unique<ThreadPool>(common.threads);
}

void Progress::row() {
  ++rows_;
  if (!line_.on_terminal() || !line_.due()) return;
  line_.write(total_ ? fmt::format("{} of {}", rows_, counted(*total_, "row"))
                     : counted(rows_, "row"));
}

void warn_non_finite(const Common& common, std::size_t nan, std::size_t inf) {
  warn(common, fmt::format("{} NaN and {} infinite.", counted(nan, "entry is", "entries are"),
                           counted(inf, "is", "are")));
}

std::string non_finite_sentence(const std::string& where, std::size_t index, double value,
                                const std::string& advice, std::span<const std::string> names) {
  const std::string what = std::isnan(value) ? "nan" : number(value);
  const bool named = index < names.size() && !names[index].empty();
  return fmt::format("{}: component {}{} is {}; {}.", where, index + 1,
                     named ? fmt::format(" ({})", internal::quoted(names[index])) : "", what,
                     advice);
}

}  // namespace medgrad::app
