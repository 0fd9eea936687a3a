#include "streams.h"

#include <unistd.h>

#include <cstdio>

#include "medgrad/error.h"
#include "method_choice.h"

namespace medgrad::app {

void RowOutput::declare(Options& options) {
  options.value(
      "--out", out_, "FILE",
      "write to FILE (.csv, .json or .npy), whole or not at all, instead of standard output");
  options.value("--format", format_, "F", "csv, json or npy (default: csv, or as FILE ends)");
}

FileFormat RowOutput::format() const {
  if (format_.empty()) return out_.empty() || out_ == "-" ? FileFormat::csv : format_of(out_);
  check_word("--format", format_, {"csv", "json", "npy"});
  return format_ == "csv"    ? FileFormat::csv
         : format_ == "json" ? FileFormat::json
                             : FileFormat::npy;
}

void RowOutput::check() const {
  const bool to_stdout = out_.empty() || out_ == "-";
  if (format() == FileFormat::npy && to_stdout && ::isatty(STDOUT_FILENO) == 1)
    throw Error("--format npy is binary and not for a terminal; give a file with --out.");
}

RowWriter RowOutput::open(std::size_t dimension) const { return {path(), format(), dimension}; }

void RowOutput::refuse_npy(std::string_view what) const {
  if (format() == FileFormat::npy) throw Error(std::string(what) + " writes csv or json, not npy.");
}

void NonFiniteOption::declare(Options& options) {
  options.value("--non-finite", text_, "HOW",
                "NaN and infinities: reject is an error (default); robust takes NaN as missing and "
                "an infinity as very large");
}

NonFinite NonFiniteOption::value() const {
  check_word("--non-finite", text_, {"reject", "robust"});
  return text_ == "robust" ? NonFinite::robust : NonFinite::reject;
}

std::unique_ptr<ThreadPool> make_pool(const Common& common, std::size_t elements) {
  constexpr std::size_t kWorthSharing = 1 << 15;
  const unsigned threads = thread_count("--threads", common.threads);
  if (elements < kWorthSharing || threads == 1) return nullptr;
  return std::make_unique<ThreadPool>(threads);
}

void Progress::row() {
  ++rows_;
  if (!line_.on_terminal() || !line_.due()) return;
  const std::string of = total_ ? " of " + std::to_string(*total_) : "";
  line_.write(std::to_string(rows_) + of + " rows");
}

void warn_non_finite(const Common& common, std::size_t nan, std::size_t inf) {
  warn(common, std::to_string(nan) + " entries are NaN and " + std::to_string(inf) + " infinite.");
}

std::string non_finite_sentence(const std::string& where, std::size_t index, double value,
                                const std::string& advice) {
  const std::string what = std::isnan(value) ? "nan" : text_of(value);
  return where + ": component " + std::to_string(index + 1) + " is " + what + "; " + advice + ".";
}

}  // namespace medgrad::app
