// How every method looks in every figure: one colour per key, on white and on black, and one
// pattern of dashes.
//
// The colours are Okabe and Ito's, which people with any kind of colour blindness can tell apart,
// made lighter for dark pages. Estimators that see several samples per step are grey, as in the
// paper's figures. Dashes are the second channel: methods that meet in a figure differ in them, so
// that a curve is seen where it lies on another one, and by those who see no colours.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace medgrad::lab {

enum class Dash : unsigned char {
  solid,
  long_dashed,
  dashed,
  dotted,
  dash_dotted,
  dash_dot_dotted
};

// Lengths in pixels: drawn, left out, drawn, …; nothing for a solid line.
[[nodiscard]] std::span<const int> pattern(Dash dash);

struct Look {
  std::string_view key;
  std::string_view light, dark;  // "#rrggbb": on a light page (and on paper), on a dark page
  Dash dash = Dash::solid;
};

// The known keys.
[[nodiscard]] std::span<const Look> known_looks();
// For any others, in the order in which they appear; after the last one they repeat.
[[nodiscard]] std::span<const Look> other_looks();

// What figures are drawn on, and its opposite.
struct Surface {
  std::string_view colour, ink;
};
inline constexpr Surface kLightSurface = {"#ffffff", "#000000"},
                         kDarkSurface = {"#161c23", "#ffffff"};

// The colours of a family of curves: the palest, the colour itself, the deepest. The palest is at
// least this far from the surface, as the contrast of web pages is measured (1 is none, 21 black on
// white).
inline constexpr double kLeastContrast = 2.2;
using Ramp = std::array<std::string, 3>;
[[nodiscard]] Ramp ramp_of(std::string_view colour, const Surface& surface);
// The colour at a shade from 0, the palest, to 1, the deepest; in the middle it is the key's own.
inline constexpr double kFullColour = 0.5;
[[nodiscard]] std::string at(const Ramp& ramp, double shade);
// (L1 + 0.05) / (L2 + 0.05) of the relative luminances, the lighter one on top.
[[nodiscard]] double contrast(std::string_view colour, std::string_view other);

// Colours of heat maps from the smallest to the largest number (viridis).
inline constexpr std::array<std::string_view, 9> kHeatColours = {"#440154", "#472d7b", "#3b528b",
                                                                 "#2c728e", "#21918c", "#28ae80",
                                                                 "#5ec962", "#addc30", "#fde725"};

}  // namespace medgrad::lab
