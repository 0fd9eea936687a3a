// The paper, and which of its figures ours stand for.
#pragma once

#include <string_view>

namespace medgrad::lab {

struct Paper {
  std::string_view title, authors, url;
};
inline constexpr Paper kPaper = {
    "Tracking the Median of Gradients with a Stochastic Proximal Point Method",
    "Schaipp, Garrigos, Şimşekli and Gower, TMLR 2025", "https://arxiv.org/abs/2402.12828"};

// "Figure 3a": the paper's counterpart of that figure of a built-in experiment; empty where it has
// none.
[[nodiscard]] std::string_view paper_figure(std::string_view experiment, std::string_view figure);

}  // namespace medgrad::lab
