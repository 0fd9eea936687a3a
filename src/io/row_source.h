// What RowReader stands on: a file format that yields rows of one element type.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/input.h"
#include "medgrad/io.h"

namespace medgrad::internal {

class RowSource {
 public:
  explicit RowSource(Input input) : input_(std::move(input)) {}
  virtual ~RowSource() = default;
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;

  [[nodiscard]] const std::string& name() const { return input_.name(); }
  [[nodiscard]] ElementType element_type() const { return type_; }
  [[nodiscard]] std::size_t dimension() const { return dimension_; }
  // As the file's header line has them; empty where there is none.
  [[nodiscard]] std::span<const std::string> columns() const { return names_; }
  // One sentence on what has been changed while reading so far; empty where nothing was.
  [[nodiscard]] virtual std::string note() const { return {}; }
  void before_waiting(std::function<void()> call) { input_.before_waiting(std::move(call)); }
  // Line (text) or row (NPY) that next() gave last.
  [[nodiscard]] virtual std::size_t position() const = 0;
  [[nodiscard]] virtual std::optional<std::size_t> rows() const { return std::nullopt; }
  // Before the first row: see RowReader.
  virtual void turn_row() {}
  // Writes dimension() elements of element_type().
  virtual bool next(void* row) = 0;
  // All rows as they lie in the file, mapped into memory; null where that cannot be done.
  [[nodiscard]] virtual std::shared_ptr<const void> map() const { return nullptr; }

 protected:
  Input input_;
  ElementType type_ = ElementType::float64;
  std::size_t dimension_ = 0;
  std::vector<std::string> names_;
};

[[nodiscard]] std::unique_ptr<RowSource> open_csv(Input input);
[[nodiscard]] std::unique_ptr<RowSource> open_npy(Input input);

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

}  // namespace medgrad::internal
