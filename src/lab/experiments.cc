#include "lab/experiments.h"

#include <algorithm>

#include "base/suggest.h"
#include "medgrad/error.h"

namespace medgrad::lab {
const Catalogue& synthetic_catalogue() {
  static const Catalogue catalogue = {
      // Projections have no chance in them, and moments count trials.
      .kinds = {{"trajectories", read_trajectories, Adjustable::seeds},
                {"moments", read_moments, Adjustable::none},
                {"projection", read_projection, Adjustable::none},
                {"byzantine", read_byzantine, Adjustable::seeds, "byzantine"},
                {"centered-clipping", read_centered_clipping, Adjustable::seeds,
                 "centered-clipping"}},
      .findings = {{"moments", moments_findings},
                   {"projection", projection_findings},
                   {"toy", toy_findings},
                   {"toy-small-tau", toy_small_tau_findings},
                   {"toy-skewed", toy_skewed_findings},
                   {"least-squares-s1", least_squares_s1_findings},
                   {"least-squares-s2", least_squares_s2_findings},
                   {"least-squares-s3", least_squares_s3_findings},
                   {"huber-ablation", huber_findings},
                   {"rates", rates_findings},
                   {"byzantine", byzantine_findings},
                   {"centered-clipping", centered_clipping_findings},
                   {"scale", scale_findings},
                   {"corrupted", corrupted_findings}}};
  return catalogue;
}

bool needs_libtorch(const Node& document) {
  const Node* const kind = document.find("kind");
  if (kind == nullptr || kind->text() == nullptr) return false;
  return std::ranges::any_of(built_in_experiments(), [&](const BuiltIn& one) {
    if (!one.needs_libtorch) return false;
    const Node known = parse_document(one.text, std::string(one.name));
    return *known.find("kind")->text() == *kind->text();
  });
}

std::vector<std::string_view> built_in_names() {
  std::vector<std::string_view> names;
  for (const BuiltIn& one : built_in_experiments()) names.push_back(one.name);
  return names;
}

const BuiltIn& find_built_in(std::string_view name) {
  std::vector<std::string_view> known;
  for (const BuiltIn& one : built_in_experiments()) {
    if (one.name == name) return one;
    known.push_back(one.name);
  }
  fail_unknown("an experiment", name, known, "medgrad list experiments");
}

void add_findings(const Experiment& experiment, Results& results) {
  if (experiment.findings != nullptr) experiment.findings(experiment, results);
  if (results.figures.empty()) any_findings(experiment, results);
}

}  // namespace medgrad::lab
