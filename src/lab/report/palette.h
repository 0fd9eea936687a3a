// How every method looks in every figure: one colour per key, on white and on black.
//
// The colours are Okabe and Ito's, which people with any kind of colour blindness can tell apart,
// made lighter for dark pages. Estimators that see several samples per step are grey, as in the
// paper's figures; dashes tell keys apart where colours repeat.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace medgrad::lab {

enum class Dash : unsigned char { solid, dashed, dotted, dash_dotted };

struct Look {
  std::string_view key;
  std::string_view light, dark;  // "#rrggbb": on a light page (and on paper), on a dark page
  Dash dash = Dash::solid;
};

// The known keys.
[[nodiscard]] std::span<const Look> known_looks();
// For any others, in the order in which they appear; after the last one they repeat.
[[nodiscard]] std::span<const Look> other_looks();

// Colours of heat maps from the smallest to the largest number (viridis).
inline constexpr std::array<std::string_view, 9> kHeatColours = {"#440154", "#472d7b", "#3b528b",
                                                                 "#2c728e", "#21918c", "#28ae80",
                                                                 "#5ec962", "#addc30", "#fde725"};

}  // namespace medgrad::lab
