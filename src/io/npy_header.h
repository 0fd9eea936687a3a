// The header of NumPy's .npy format: a Python dictionary in text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/input.h"
#include "io/npy_type.h"
#include "medgrad/io.h"

namespace medgrad::internal {

struct NpyHeader {
  std::string descr;  // "<f8"
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

// "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }" and the like; an Error that begins
// with `name` where it is anything else.
[[nodiscard]] NpyHeader parse_npy_header(std::string_view text, const std::string& name);

// Rows and their length, after checking that they can be read. One dimension is one row, none at
// all one row of one value.
struct NpyShape {
  NpyType type;
  std::size_t rows = 1, dimension = 1;
  bool by_columns = false;  // Fortran order, where it makes a difference
  [[nodiscard]] std::size_t row_bytes() const { return dimension * type.size; }
  [[nodiscard]] std::size_t bytes() const { return rows * row_bytes(); }
};
[[nodiscard]] NpyShape checked_shape(const NpyHeader& header, const std::string& name);

// Magic, version and header, read to where the data begin.
struct NpyStart {
  NpyShape shape;
  std::size_t offset = 0;  // of the data
};
[[nodiscard]] NpyStart read_npy_start(Input& input);

// A complete version-1 header, magic included, of kNpyHeaderBytes bytes whatever the shape.
inline constexpr std::size_t kNpyHeaderBytes = 128;
[[nodiscard]] std::string make_npy_header(ElementType type, std::size_t rows,
                                          std::size_t dimension);

}  // namespace medgrad::internal
