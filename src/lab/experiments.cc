#include "lab/experiments.h"

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

const BuiltIn& find_built_in(std::string_view name) {
  std::vector<std::string_view> known;
  for (const BuiltIn& one : built_in_experiments()) {
    if (one.name == name) return one;
    known.push_back(one.name);
  }
  throw Error("'" + std::string(name) + "' is no experiment; the nearest is '" +
              std::string(nearest(name, known)) + "' (medgrad list experiments shows all).");
}

void add_findings(const Experiment& experiment, Results& results) {
  for (const Finder& finder : kFinders)
    if (experiment.name.starts_with(finder.prefix)) finder.add(experiment, results);
  if (results.figures.empty()) any_findings(experiment, results);
}

}  // namespace medgrad::lab
