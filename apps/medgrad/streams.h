// What commands that turn rows into rows have in common.
#pragma once

#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command.h"
#include "medgrad/estimator.h"
#include "medgrad/io.h"
#include "medgrad/sample.h"
#include "medgrad/thread_pool.h"
#include "status_line.h"

namespace medgrad::app {

// What FILE arguments with rows are, for the help.
inline constexpr const char* kRowsHelp =
    "rows (.csv or .npy, also gzipped; - or nothing: standard input)";
// The same at greater length, below the options.
[[nodiscard]] std::string files_help();

// The rows of FILE, or of standard input where it is empty; whoever sits at a terminal is told so.
[[nodiscard]] RowReader open_rows(const std::string& file, const Common& common);
// That hint, where one of the files is standard input.
void hint_at_terminal(std::span<const std::string> files, const Common& common);
// What was converted while reading.
void tell_notes(std::span<const std::string> notes, const Common& common);
void tell_note(const RowReader& reader, const Common& common);

// Throws Error where the file that an option says to write is one of those that are read.
void keep_inputs(std::string_view option, const std::string& path,
                 std::span<const std::string> inputs);

// --out and --format, and --header where the rows that are written have the columns of those read.
class RowOutput {
 public:
  void declare(Options& options);
  void declare_header(Options& options);
  // Checks both before anything is read or computed, and that no file of `inputs` is overwritten.
  void check(std::span<const std::string> inputs = {}) const;
  // `dimension`: the length of the rows, should there be none.
  [[nodiscard]] RowWriter open(std::size_t dimension = 0) const;
  // With --header the names are written first; `source` is where they would have come from.
  [[nodiscard]] RowWriter open(std::span<const std::string> names, const std::string& source,
                               std::size_t dimension = 0) const;
  // For results that are no rows in JSON: is it asked for, and where to write it.
  [[nodiscard]] bool is_json() const { return format() == FileFormat::json; }
  // Throws Error where `what` is asked for as NPY, being no rows of numbers.
  void refuse_npy(std::string_view what) const;
  [[nodiscard]] std::string path() const { return out_.empty() ? "-" : out_; }

 private:
  [[nodiscard]] FileFormat format() const;
  std::string out_, format_;
  bool header_ = false;
};

// --non-finite reject|robust.
class NonFiniteOption {
 public:
  void declare(Options& options);
  [[nodiscard]] NonFinite value() const;

 private:
  std::string text_ = "reject";
};

// Threads only where vectors are long enough to share; results do not depend on them.
[[nodiscard]] std::unique_ptr<ThreadPool> make_pool(const Common& common, std::size_t elements);

// "1234 of 5000 rows", on a terminal only: in a pipe a filter is silent.
class Progress {
 public:
  Progress(const Common& common, std::optional<std::size_t> total) : line_(common), total_(total) {}
  void row();

 private:
  StatusLine line_;
  std::optional<std::size_t> total_;
  std::size_t rows_ = 0;
};

// Calls f with a zero of the element type: the way from a file's type to a template.
template <class F>
void with_element_type(ElementType type, F f) {
  if (type == ElementType::float32) {
    f(float{});
  } else {
    f(double{});
  }
}

// The index of the first component that is NaN or infinite.
template <Real T>
[[nodiscard]] std::optional<std::size_t> first_non_finite(std::span<const T> row) {
  for (std::size_t i = 0; i < row.size(); ++i)
    if (!std::isfinite(row[i])) return i;
  return std::nullopt;
}
// "3 entries are NaN and 1 infinite."
void warn_non_finite(const Common& common, std::size_t nan, std::size_t inf);
// "data.csv:3: component 2 ('loss') is nan; <advice>."
[[nodiscard]] std::string non_finite_sentence(const std::string& where, std::size_t index,
                                              double value, const std::string& advice,
                                              std::span<const std::string> names = {});

// --center: what rules that clip do so around.
class CenterOption {
 public:
  void declare(Options& options, const std::string& help);
  [[nodiscard]] bool given() const { return !file_.empty(); }
  [[nodiscard]] const std::string& file() const { return file_; }  // empty where it was not given
  // Throws Error if it is given for a rule, called `name`, that does not clip.
  void check(const Rule& rule, std::string_view name) const;
  // Empty where there is none. `rows` is the file of the rows, of length d.
  template <Real T>
  [[nodiscard]] std::vector<T> read(std::size_t d, const std::string& rows,
                                    std::vector<std::string>& notes) const;

 private:
  std::string file_;
};

// Runs `use`, which reads the matrix: an Error says where its rows came from, and about a number
// that is not finite, in which line it is and what could be done about it.
template <Real T, class Use>
auto with_places(const Matrix<T>& matrix, const std::string& source, const std::string& advice,
                 Use&& use) {
  try {
    return use();
  } catch (const NonFiniteInput& error) {
    throw Error(non_finite_sentence(matrix.where(error.row()), error.index(),
                                    static_cast<double>(matrix.row(error.row())[error.index()]),
                                    advice, matrix.columns()));
  } catch (const Error& error) {
    throw error.at(source);
  }
}

}  // namespace medgrad::app
