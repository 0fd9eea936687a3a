#include "lab/report/palette.h"

namespace medgrad::lab {
namespace {

constexpr std::array kKnown = {
    // Online methods, and the same distances as optimisers.
    Look{"momentum", "#d55e00", "#ff8a3d"},
    Look{"sgd-m", "#d55e00", "#ff8a3d"},
    Look{"vclip", "#0072b2", "#5ab4f5"},
    Look{"cclip", "#009e73", "#3fd1a3"},
    Look{"huber", "#b5529a", "#e79acb"},
    Look{"clipped-sgd", "#d99100", "#f2c14e"},
    Look{"clipped-mean", "#d99100", "#f2c14e"},
    Look{"adam", "#3fa0dc", "#9ad4ff"},
    Look{"median-adam", "#6a51a3", "#b6a3f2"},
    Look{"sgd", "#8c510a", "#d8a25c"},
    Look{"sign-sgd", "#a0a000", "#d9d94a"},
    Look{"sign", "#a0a000", "#d9d94a"},
    Look{"normalized", "#7f3b08", "#d8a25c", Dash::dashed},
    Look{"lp", "#6a51a3", "#b6a3f2"},
    // Several samples per step: grey.
    Look{"smgd-l1", "#333333", "#f0f0f0"},
    Look{"smgd-median", "#333333", "#f0f0f0"},
    Look{"smgd-l2", "#6e6e6e", "#b8b8b8", Dash::dashed},
    Look{"smgd-geometric-median", "#6e6e6e", "#b8b8b8", Dash::dashed},
    Look{"smgd-mean", "#9a9a9a", "#8a8a8a", Dash::dotted},
    // Sample estimators and aggregators.
    Look{"mean", "#d55e00", "#ff8a3d"},
    Look{"median", "#009e73", "#3fd1a3"},
    Look{"geometric-median", "#0072b2", "#5ab4f5"},
    Look{"lp-median", "#6a51a3", "#b6a3f2"},
    Look{"median-of-means", "#3fa0dc", "#9ad4ff"},
    Look{"huber-location", "#b5529a", "#e79acb"},
    Look{"trimmed-mean", "#8c510a", "#d8a25c"},
    Look{"krum", "#a0a000", "#d9d94a"},
    Look{"multi-krum", "#a0a000", "#d9d94a", Dash::dashed},
    Look{"meamed", "#d99100", "#f2c14e"},
    Look{"centered-clipping", "#0072b2", "#5ab4f5", Dash::dashed},
    // What is not measured but known.
    Look{"m", "#222222", "#f0f0f0"},
    Look{"g", "#d55e00", "#ff8a3d"},
    Look{"exact", "#222222", "#f0f0f0"},
    Look{"theory", "#222222", "#f0f0f0"},
    Look{"bound", "#222222", "#f0f0f0"},
};

constexpr std::array kOthers = {
    Look{"", "#0072b2", "#5ab4f5"},
    Look{"", "#d55e00", "#ff8a3d"},
    Look{"", "#009e73", "#3fd1a3"},
    Look{"", "#b5529a", "#e79acb"},
    Look{"", "#d99100", "#f2c14e"},
    Look{"", "#3fa0dc", "#9ad4ff"},
    Look{"", "#6a51a3", "#b6a3f2"},
    Look{"", "#8c510a", "#d8a25c"},
    Look{"", "#0072b2", "#5ab4f5", Dash::dashed},
    Look{"", "#d55e00", "#ff8a3d", Dash::dashed},
    Look{"", "#009e73", "#3fd1a3", Dash::dashed},
    Look{"", "#b5529a", "#e79acb", Dash::dashed},
    Look{"", "#d99100", "#f2c14e", Dash::dotted},
    Look{"", "#3fa0dc", "#9ad4ff", Dash::dotted},
    Look{"", "#6a51a3", "#b6a3f2", Dash::dotted},
    Look{"", "#8c510a", "#d8a25c", Dash::dotted},
};

}  // namespace

std::span<const Look> known_looks() { return kKnown; }
std::span<const Look> other_looks() { return kOthers; }

}  // namespace medgrad::lab
