// The header of NumPy's .npy format: a Python dictionary in text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

// Rows and their length, after checking that they can be read row by row.
struct NpyShape {
  ElementType type;
  std::size_t rows, dimension;
  [[nodiscard]] std::size_t row_bytes() const {
    return dimension * (type == ElementType::float32 ? sizeof(float) : sizeof(double));
  }
};
[[nodiscard]] NpyShape checked_shape(const NpyHeader& header, const std::string& name);

// A complete version-1 header, magic included, of kNpyHeaderBytes bytes whatever the shape.
inline constexpr std::size_t kNpyHeaderBytes = 128;
[[nodiscard]] std::string make_npy_header(ElementType type, std::size_t rows,
                                          std::size_t dimension);

}  // namespace medgrad::internal
