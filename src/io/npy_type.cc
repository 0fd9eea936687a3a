#include "io/npy_type.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "base/text.h"
#include "io/row_source.h"
#include "medgrad/error.h"

namespace medgrad::internal {
namespace {

static_assert(std::endian::native == std::endian::little, "NPY data is used as it lies on disk.");

template <std::size_t size>
struct Bits;
template <>
struct Bits<1> {
  using type = std::uint8_t;
  static type swapped(type x) { return x; }
};
template <>
struct Bits<2> {
  using type = std::uint16_t;
  static type swapped(type x) { return __builtin_bswap16(x); }
};
template <>
struct Bits<4> {
  using type = std::uint32_t;
  static type swapped(type x) { return __builtin_bswap32(x); }
};
template <>
struct Bits<8> {
  using type = std::uint64_t;
  static type swapped(type x) { return __builtin_bswap64(x); }
};

struct Half {
  std::uint16_t bits;
};

float to_float(Half half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half.bits & 0x8000U) << 16;
  const std::uint32_t exponent = half.bits >> 10 & 31U, fraction = half.bits & 0x3FFU;
  if (exponent == 0) {  // zero or denormal: multiples of 2^-24
    const float value = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

// Has the integer more than the 53 bits of a double between its first and its last one?
template <class Integer>
bool is_rounded(Integer x) {
  if constexpr (sizeof(Integer) < sizeof(double)) {
    return false;
  } else {
    const auto bits = static_cast<std::uint64_t>(x);
    const std::uint64_t magnitude = x < 0 ? -bits : bits;
    return magnitude != 0 && magnitude >> std::countr_zero(magnitude) >> 53 != 0;
  }
}

template <class From, bool swap, Real T>
std::size_t convert_all(const char* in, std::span<T> out) {
  using Word = Bits<sizeof(From)>;
  std::size_t rounded = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    typename Word::type bits;
    std::memcpy(&bits, in + i * sizeof bits, sizeof bits);
    if constexpr (swap) bits = Word::swapped(bits);
    const From x = std::bit_cast<From>(bits);
    if constexpr (std::is_same_v<From, Half>) {
      out[i] = static_cast<T>(to_float(x));
    } else {
      out[i] = static_cast<T>(x);
      if constexpr (std::is_integral_v<From>) rounded += is_rounded(x) ? 1 : 0;
    }
  }
  return rounded;
}

template <class From, Real T>
std::size_t convert_from(bool swap, const char* in, std::span<T> out) {
  return swap ? convert_all<From, true>(in, out) : convert_all<From, false>(in, out);
}

}  // namespace

template <Real T>
std::size_t convert(const NpyType& type, const char* in, std::span<T> out) {
  assert(type.element_type() == kElementType<T>);
  const bool swap = type.big_endian;
  if constexpr (std::is_same_v<T, float>) {
    return type.size == 2 ? convert_from<Half>(swap, in, out) : convert_from<float>(swap, in, out);
  } else {
    switch (type.kind) {
      case NpyType::Kind::boolean:
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = in[i] != 0 ? 1 : 0;
        return 0;
      case NpyType::Kind::signed_integer:
        return type.size == 1   ? convert_from<std::int8_t>(swap, in, out)
               : type.size == 2 ? convert_from<std::int16_t>(swap, in, out)
               : type.size == 4 ? convert_from<std::int32_t>(swap, in, out)
                                : convert_from<std::int64_t>(swap, in, out);
      case NpyType::Kind::unsigned_integer:
        return type.size == 1   ? convert_from<std::uint8_t>(swap, in, out)
               : type.size == 2 ? convert_from<std::uint16_t>(swap, in, out)
               : type.size == 4 ? convert_from<std::uint32_t>(swap, in, out)
                                : convert_from<std::uint64_t>(swap, in, out);
      case NpyType::Kind::floating:
        break;
    }
    return convert_from<double>(swap, in, out);
  }
}

std::string NpyType::name() const {
  const std::string bits = std::to_string(8 * size);
  const std::string order = big_endian ? "big-endian " : "";
  switch (kind) {
    case Kind::boolean:
      return "bool";
    case Kind::signed_integer:
      return fmt::format("{}int{}", order, bits);
    case Kind::unsigned_integer:
      return fmt::format("{}uint{}", order, bits);
    case Kind::floating:
      break;
  }
  return fmt::format("{}float{}", order, bits);
}

NpyType npy_type(const std::string& descr, const std::string& name) {
  using Kind = NpyType::Kind;
  const auto fail = [&](const std::string& what) {
    throw Error(fmt::format("{} holds {}; save it as float32 or float64.", name, what));
  };
  const std::string_view order = std::string_view(descr).substr(0, 1);
  const std::string_view type = std::string_view(descr).substr(order.size());
  const bool known_order = !order.empty() && std::string_view("<>=|").find(order[0]) < 4;
  if (known_order && (type == "f16" || type == "f12"))
    fail(fmt::format("long doubles ({}), whose bits depend on the machine", quoted(descr)));
  if (known_order && type.starts_with('c'))
    fail(fmt::format("complex numbers ({})", quoted(descr)));
  struct Known {
    std::string_view type;
    Kind kind;
    std::size_t size;
  };
  constexpr Known kKnown[] = {{"b1", Kind::boolean, 1},          {"i1", Kind::signed_integer, 1},
                              {"i2", Kind::signed_integer, 2},   {"i4", Kind::signed_integer, 4},
                              {"i8", Kind::signed_integer, 8},   {"u1", Kind::unsigned_integer, 1},
                              {"u2", Kind::unsigned_integer, 2}, {"u4", Kind::unsigned_integer, 4},
                              {"u8", Kind::unsigned_integer, 8}, {"f2", Kind::floating, 2},
                              {"f4", Kind::floating, 4},         {"f8", Kind::floating, 8}};
  const auto* const known = std::ranges::find(kKnown, type, &Known::type);
  if (!known_order || known == std::end(kKnown)) fail("elements of type " + quoted(descr));
  return {.kind = known->kind, .size = known->size, .big_endian = order == ">" && known->size > 1};
}

template std::size_t convert(const NpyType&, const char*, std::span<float>);
template std::size_t convert(const NpyType&, const char*, std::span<double>);

}  // namespace medgrad::internal
