#include "lab/experiments.h"

#include <algorithm>

#include "core/suggest.h"
#include "medgrad/error.h"

namespace medgrad::lab {
namespace {

struct Finder {
  std::string_view prefix;  // of the experiment's name
  void (*add)(const Experiment&, Results&);
};

constexpr Finder kFinders[] = {{"moments", moments_findings},
                               {"projection", projection_findings},
                               {"toy", toy_findings},
                               {"least-squares", least_squares_findings},
                               {"huber-ablation", huber_findings},
                               {"rates", rates_findings}};

}  // namespace

bool is_language_experiment(std::string_view name) {
  return std::ranges::find(language_experiments(), name, &BuiltIn::name) !=
         language_experiments().end();
}

bool is_language_experiment(const Node& document) {
  const Node* const kind = document.find("kind");
  if (kind == nullptr || kind->text() == nullptr) return false;
  return std::ranges::any_of(language_experiments(), [&](const BuiltIn& one) {
    const Node known = parse_document(one.text, std::string(one.name));
    return *known.find("kind")->text() == *kind->text();
  });
}

std::vector<std::string_view> built_in_names() {
  std::vector<std::string_view> names;
  for (const std::span<const BuiltIn> table : {built_in_experiments(), language_experiments()})
    for (const BuiltIn& one : table) names.push_back(one.name);
  return names;
}

const BuiltIn& find_built_in(std::string_view name) {
  std::vector<std::string_view> known;
  for (const std::span<const BuiltIn> table : {built_in_experiments(), language_experiments()}) {
    for (const BuiltIn& one : table) {
      if (one.name == name) return one;
      known.push_back(one.name);
    }
  }
  fail_unknown("an experiment", name, known, "medgrad list experiments");
}

void add_findings(const Experiment& experiment, Results& results) {
  for (const Finder& finder : kFinders)
    if (experiment.name.starts_with(finder.prefix)) finder.add(experiment, results);
  if (results.figures.empty()) any_findings(experiment, results);
}

}  // namespace medgrad::lab
