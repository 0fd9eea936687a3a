// Steps whose gradient is wrong, in experiments of every kind: {"share": 0.05, "kind": "bit-flip"}.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lab/reader.h"

namespace medgrad::lab {

// What is wrong with the gradients of some steps, the same ones for all methods.
struct Corruption {
  enum class Kind : std::uint8_t {
    scaled,           // times `factor`
    bit_flip,         // a random bit of the exponent of a random component flipped, `flips` times
    shuffled_labels,  // of the data with its labels (or targets) in another order
  };
  Kind kind = Kind::scaled;
  double share = 0;  // of the steps
  double factor = -100;
  std::size_t flips = 1;
};

inline constexpr std::size_t kMostFlips = 1'000'000;

// The names of the kinds, in their order.
inline constexpr std::array<std::string_view, 3> kCorruptionKinds = {"scaled", "bit-flip",
                                                                     "shuffled-labels"};
[[nodiscard]] std::string_view name(Corruption::Kind kind);
// The kind of that name, which must be one of them.
[[nodiscard]] Corruption::Kind corruption_named(std::string_view text);

// "share", "kind", and "factor" or "flips" where the kind has them; what else the object holds is
// left to the caller.
[[nodiscard]] Corruption read_corruption(Reader& reader);

}  // namespace medgrad::lab
