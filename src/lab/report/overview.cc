#include "lab/report/overview.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "lab/report/figure.h"
#include "lab/report/paper.h"
#include "medgrad/error.h"

namespace medgrad::lab {
namespace {

// A figure made of one panel of each of some experiments.
struct Recipe {
  std::string_view id, title, caption, panel;
  std::vector<std::string_view> experiments, titles;
};

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = {
      {"least-squares",
       "Least squares with heavy-tailed noise",
       "Independent, state-dependent and dependent noise (the paper's settings S1, S2, S3). Sample "
       "methods, in "
       "grey, take five gradients per step.",
       "objective",
       {"least-squares-s1", "least-squares-s2", "least-squares-s3"},
       {"S1: independent", "S2: state-dependent", "S3: dependent"}},
      {"toy-ablation",
       "Estimating a fixed vector: a smaller τ, and skewed noise",
       "Final error against 1/α. With a small τ momentum is best for Gaussian noise only; under "
       "skewed noise the "
       "median is not the target.",
       "final-error",
       {"toy-small-tau", "toy-skewed"},
       {"τ = 0.001", "skewed noise"}},
  };
  return all;
}

// The figure of that experiment with that panel alone, where there is exactly one section of it and
// it has such a panel.
std::optional<Figure> figure_of(std::span<const ReportSection> sections,
                                std::string_view experiment, std::string_view id) {
  const auto is_it = [&](const ReportSection& section) { return section.name == experiment; };
  if (std::ranges::count_if(sections, is_it) != 1) return {};
  const std::string& text = std::ranges::find_if(sections, is_it)->figures;
  if (text.empty()) return {};
  for (Figure& figure : figures_from_json(text))
    for (Panel& panel : figure.panels)
      if (panel.id == id) {
        Panel alone = std::move(panel);
        figure.panels = {std::move(alone)};
        return std::move(figure);
      }
  return {};
}

}  // namespace

std::optional<ReportSection> paper_figures(std::span<const ReportSection> sections) {
  std::vector<Figure> figures;
  for (const Recipe& recipe : recipes()) {
    Figure figure{.id = std::string(recipe.id),
                  .title = std::string(recipe.title),
                  .caption = std::string(recipe.caption),
                  .columns = static_cast<int>(recipe.experiments.size()),
                  .paper = std::string(paper_figure("side-by-side", recipe.id))};
    for (std::size_t i = 0; i < recipe.experiments.size(); ++i) {
      std::optional<Figure> from = figure_of(sections, recipe.experiments[i], recipe.panel);
      if (!from) break;
      figure.statistic = from->statistic;
      Panel& panel = figure.panels.emplace_back(std::move(from->panels.front()));
      panel.id = recipe.experiments[i];
      panel.title = recipe.titles[i];
    }
    if (figure.panels.size() == recipe.experiments.size()) figures.push_back(std::move(figure));
  }
  if (figures.empty()) return {};
  return ReportSection{
      .name = "side-by-side",
      .label = "side-by-side",
      .config = {},
      .summary =
          R"({"experiment": "side-by-side", "title": "Side by side, as in the paper", )"
          R"("description": "Figures of the paper that show several experiments; each has its own )"
          R"(section below.", "paper": false, "claims": [], "rows": []})",
      .figures = to_json_text(figures)};
}

}  // namespace medgrad::lab
