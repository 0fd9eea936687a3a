// The paper's experiments, built in: their files, and what their results say.
//
// An experiment is a JSON file in experiments/; what is special about one beyond its settings, the
// claims of the paper's text it checks and the figures in the paper's arrangement, is a function
// here, found by the experiment's name. Experiments of one's own get figures of everything they
// measured.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/results.h"
#include "lab/study.h"

namespace medgrad::lab {

struct BuiltIn {
  std::string_view name;
  std::string_view text;  // the file
};

// In the order of the paper.
[[nodiscard]] std::span<const BuiltIn> built_in_experiments();
// Those on language models, which need libtorch and data: files of other keys, read and run by
// src/language. Their names and files are here for whoever lists and prints them.
[[nodiscard]] std::span<const BuiltIn> language_experiments();
[[nodiscard]] bool is_language_experiment(std::string_view name);
// The names in both tables.
[[nodiscard]] std::vector<std::string_view> built_in_names();
// Is it such a file, whoever wrote it? They have a "kind" of their own.
[[nodiscard]] bool is_language_experiment(const Node& document);
// Of either table. Throws Error with the nearest name where there is none of that name.
[[nodiscard]] const BuiltIn& find_built_in(std::string_view name);

// Fills in claims, notes and figures.
void add_findings(const Experiment& experiment, Results& results);

// One per experiment or family of experiments. Claims that need what was not measured say so.
void moments_findings(const Experiment& experiment, Results& results);
void projection_findings(const Experiment& experiment, Results& results);
void toy_findings(const Experiment& experiment, Results& results);
void least_squares_findings(const Experiment& experiment, Results& results);
void huber_findings(const Experiment& experiment, Results& results);
void rates_findings(const Experiment& experiment, Results& results);
void any_findings(const Experiment& experiment, Results& results);

}  // namespace medgrad::lab
