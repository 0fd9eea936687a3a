// What commands that turn rows into rows have in common.
#pragma once

#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "command.h"
#include "medgrad/estimator.h"
#include "medgrad/io.h"
#include "medgrad/thread_pool.h"
#include "status_line.h"

namespace medgrad::app {

// --out and --format.
class RowOutput {
 public:
  void declare(Options& options);
  // Checks both before anything is read or computed.
  void check() const;
  // `dimension`: the length of the rows, should there be none.
  [[nodiscard]] RowWriter open(std::size_t dimension = 0) const;
  // For results that are no rows in JSON: is it asked for, and where to write it.
  [[nodiscard]] bool is_json() const { return format() == FileFormat::json; }
  // Throws Error where `what` is asked for as NPY, being no rows of numbers.
  void refuse_npy(std::string_view what) const;
  [[nodiscard]] std::string path() const { return out_.empty() ? "-" : out_; }

 private:
  [[nodiscard]] FileFormat format() const;
  std::string out_, format_;
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
// "data.csv:3: component 2 is nan; <advice>."
[[nodiscard]] std::string non_finite_sentence(const std::string& where, std::size_t index,
                                              double value, const std::string& advice);

}  // namespace medgrad::app
