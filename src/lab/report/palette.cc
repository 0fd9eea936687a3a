#include "lab/report/palette.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace medgrad::lab {
namespace {

// One line per key: docs/images/tracking.py reads them from here, too.
constexpr std::array kKnown = {
    // Online methods, and the same distances as optimisers.
    Look{"momentum", "#d55e00", "#ff8a3d", Dash::dash_dotted},
    Look{"sgd-m", "#d55e00", "#ff8a3d", Dash::dash_dotted},
    Look{"vclip", "#0072b2", "#5ab4f5"},
    Look{"cclip", "#009e73", "#3fd1a3", Dash::long_dashed},
    Look{"huber", "#b5529a", "#e79acb", Dash::dashed},
    Look{"clipped-sgd", "#d99100", "#f2c14e", Dash::dotted},
    Look{"clipped-mean", "#d99100", "#f2c14e", Dash::dotted},
    Look{"adam", "#3fa0dc", "#9ad4ff", Dash::dash_dot_dotted},
    Look{"median-adam", "#6a51a3", "#b6a3f2", Dash::dash_dot_dotted},
    Look{"cclip-adam", "#6a51a3", "#b6a3f2", Dash::dotted},
    Look{"sgd", "#8c510a", "#d8a25c", Dash::dotted},
    Look{"sign-sgd", "#a0a000", "#d9d94a", Dash::dash_dot_dotted},
    Look{"sign", "#a0a000", "#d9d94a", Dash::dash_dot_dotted},
    Look{"normalized", "#7f3b08", "#d8a25c", Dash::dotted},
    Look{"lp", "#6a51a3", "#b6a3f2", Dash::dash_dot_dotted},
    // Several samples per step: grey.
    Look{"smgd-l1", "#333333", "#f0f0f0"},
    Look{"smgd-median", "#333333", "#f0f0f0"},
    Look{"smgd-l2", "#6e6e6e", "#b8b8b8", Dash::dashed},
    Look{"smgd-geometric-median", "#6e6e6e", "#b8b8b8", Dash::dashed},
    Look{"smgd-mean", "#9a9a9a", "#8a8a8a", Dash::dotted},
    // Sample estimators and aggregators.
    Look{"mean", "#d55e00", "#ff8a3d", Dash::dash_dotted},
    Look{"median", "#009e73", "#3fd1a3", Dash::long_dashed},
    Look{"geometric-median", "#0072b2", "#5ab4f5"},
    Look{"lp-median", "#6a51a3", "#b6a3f2", Dash::dash_dot_dotted},
    Look{"median-of-means", "#3fa0dc", "#9ad4ff", Dash::dotted},
    Look{"huber-location", "#b5529a", "#e79acb", Dash::dashed},
    Look{"trimmed-mean", "#8c510a", "#d8a25c", Dash::dotted},
    Look{"krum", "#a0a000", "#d9d94a"},
    Look{"multi-krum", "#a0a000", "#d9d94a", Dash::dashed},
    Look{"meamed", "#d99100", "#f2c14e", Dash::long_dashed},
    Look{"centered-clipping", "#0072b2", "#5ab4f5", Dash::dash_dotted},
    // What is not measured but known.
    Look{"m", "#222222", "#f0f0f0"},
    Look{"g", "#d55e00", "#ff8a3d"},
    Look{"exact", "#222222", "#f0f0f0"},
    Look{"theory", "#222222", "#f0f0f0"},
    Look{"bound", "#222222", "#f0f0f0"},
    // In legends: the shades of several methods at once.
    Look{"shades", "#777777", "#9a9a9a"},
};

// First what no known key looks like: VClip and VClip with tau = auto share a panel.
constexpr std::array kOthers = {
    Look{"", "#6a51a3", "#b6a3f2"},
    Look{"", "#8c510a", "#d8a25c", Dash::dash_dotted},
    Look{"", "#0072b2", "#5ab4f5", Dash::long_dashed},
    Look{"", "#d55e00", "#ff8a3d", Dash::dashed},
    Look{"", "#009e73", "#3fd1a3", Dash::dotted},
    Look{"", "#b5529a", "#e79acb", Dash::dash_dot_dotted},
    Look{"", "#d99100", "#f2c14e"},
    Look{"", "#3fa0dc", "#9ad4ff", Dash::dash_dotted},
    Look{"", "#6a51a3", "#b6a3f2", Dash::long_dashed},
    Look{"", "#8c510a", "#d8a25c", Dash::dashed},
    Look{"", "#0072b2", "#5ab4f5"},
    Look{"", "#d55e00", "#ff8a3d", Dash::dash_dotted},
    Look{"", "#009e73", "#3fd1a3", Dash::long_dashed},
    Look{"", "#b5529a", "#e79acb", Dash::dashed},
    Look{"", "#d99100", "#f2c14e", Dash::dotted},
    Look{"", "#3fa0dc", "#9ad4ff", Dash::dash_dot_dotted},
};

using Channels = std::array<double, 3>;  // from 0 to 255

Channels channels(std::string_view colour) {
  Channels parts{};
  for (std::size_t i = 0; i < 3; ++i) {
    int part = 0;
    std::from_chars(colour.data() + 1 + 2 * i, colour.data() + 3 + 2 * i, part, 16);
    parts[i] = part;
  }
  return parts;
}

// `share` of the second colour, the rest of the first.
std::string mixed(std::string_view first, std::string_view second, double share) {
  const Channels a = channels(first), b = channels(second);
  std::string out = "#";
  for (std::size_t i = 0; i < 3; ++i) {
    std::array<char, 4> hex;
    const long part = std::lround(a[i] + (b[i] - a[i]) * share);
    std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned>(part) & 0xFFU);
    out += hex.data();
  }
  return out;
}

double luminance(std::string_view colour) {
  constexpr Channels kWeights = {0.2126, 0.7152, 0.0722};
  const Channels parts = channels(colour);
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const double c = parts[i] / 255;
    sum += kWeights[i] * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
  }
  return sum;
}

}  // namespace

std::span<const Look> known_looks() { return kKnown; }
std::span<const Look> other_looks() { return kOthers; }

std::span<const int> pattern(Dash dash) {
  static constexpr std::array<int, 2> kLong = {12, 4}, kDashed = {6, 4}, kDotted = {2, 3};
  static constexpr std::array<int, 4> kDashDot = {9, 3, 2, 3};
  static constexpr std::array<int, 6> kDashDotDot = {9, 3, 2, 3, 2, 3};
  switch (dash) {
    case Dash::solid:
      return {};
    case Dash::long_dashed:
      return kLong;
    case Dash::dashed:
      return kDashed;
    case Dash::dotted:
      return kDotted;
    case Dash::dash_dotted:
      return kDashDot;
    case Dash::dash_dot_dotted:
      return kDashDotDot;
  }
  return {};
}

double contrast(std::string_view colour, std::string_view other) {
  const double a = luminance(colour) + 0.05, b = luminance(other) + 0.05;
  return std::max(a, b) / std::min(a, b);
}

Ramp ramp_of(std::string_view colour, const Surface& surface) {
  constexpr double kPalest = 0.65, kDeepest = 0.55, kStep = 0.01;
  double share = kPalest;
  while (share > 0 &&
         contrast(mixed(colour, surface.colour, share), surface.colour) < kLeastContrast)
    share -= kStep;
  return {mixed(colour, surface.colour, std::max(share, 0.0)), std::string(colour),
          mixed(colour, surface.ink, kDeepest)};
}

std::string at(const Ramp& ramp, double shade) {
  const double place = 2 * std::clamp(shade, 0.0, 1.0);
  return place < 1 ? mixed(ramp[0], ramp[1], place) : mixed(ramp[1], ramp[2], place - 1);
}

}  // namespace medgrad::lab
