// The element types of .npy files, and the way from each to float or double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "medgrad/io.h"

namespace medgrad::internal {

struct NpyType {
  enum class Kind : std::uint8_t { boolean, signed_integer, unsigned_integer, floating };
  Kind kind = Kind::floating;
  std::size_t size = sizeof(double);  // bytes
  bool big_endian = false;

  // What it is read as. Halves and floats are floats; all integers are doubles, which hold them
  // exactly up to 2^53.
  [[nodiscard]] ElementType element_type() const {
    return kind == Kind::floating && size <= sizeof(float) ? ElementType::float32
                                                           : ElementType::float64;
  }
  // Does the file hold the bits of that type?
  [[nodiscard]] bool is_native() const {
    return kind == Kind::floating && size >= sizeof(float) && !big_endian;
  }
  [[nodiscard]] std::string name() const;  // "int16", "big-endian float64"
};

// "<f8", ">i4", "|u1", …; an Error that begins with `name` where it is no real number or none that
// can be converted.
[[nodiscard]] NpyType npy_type(const std::string& descr, const std::string& name);

// Elements as they lie in the file to numbers of type T, which must be the type's element_type().
// Returns how many were rounded.
template <Real T>
std::size_t convert(const NpyType& type, const char* in, std::span<T> out);

}  // namespace medgrad::internal
