#include "lab/report/paper.h"

namespace medgrad::lab {
namespace {

struct Counterpart {
  std::string_view experiment, figure, paper;
};

// Numbers as in the published PDF, where the appendix counts on.
constexpr Counterpart kCounterparts[] = {
    {"moments", "moments", "Figure 1"},
    {"toy", "final-error", "Figure 2, left"},
    {"toy", "convergence", "Figure 2, right"},
    {"side-by-side", "least-squares", "Figure 3"},
    {"least-squares-s1", "objective", "Figure 3a"},
    {"least-squares-s2", "objective", "Figure 3b"},
    {"least-squares-s3", "objective", "Figure 3c"},
    {"train-ptb", "training", "Figures 4a and 5a"},
    {"train-wikitext2", "training", "Figures 4b and 5b"},
    {"train-squad", "training", "Figures 4c and 5c"},
    {"projection", "projection", "Figure 6"},
    {"side-by-side", "toy-ablation", "Figure 7"},
    {"toy-small-tau", "final-error", "Figure 7, left"},
    {"toy-skewed", "final-error", "Figure 7, right"},
    {"huber-ablation", "final-objective", "Figure 8"},
    {"huber-ablation", "curves", "Figure 8"},
    {"fixed-ptb", "tracking", "Figure 9"},
    {"fixed-wikitext2", "tracking", "Figure 10"},
};

}  // namespace

std::string_view paper_figure(std::string_view experiment, std::string_view figure) {
  for (const Counterpart& one : kCounterparts)
    if (one.experiment == experiment && one.figure == figure) return one.paper;
  return {};
}

}  // namespace medgrad::lab
