// The paper's experiments, built in: their files, and what their results say.
//
// An experiment is a JSON file in experiments/; what is special about one beyond its settings, the
// claims of the paper's text it checks and the figures in the paper's arrangement, is a function
// here that its file names as "findings". Experiments that name none get figures of everything
// they measured.
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
  bool needs_libtorch;    // and data: those on language models, of kinds that src/language knows
};

// In the order of the paper.
[[nodiscard]] std::span<const BuiltIn> built_in_experiments();
[[nodiscard]] std::vector<std::string_view> built_in_names();
// Throws Error with the nearest name where there is none of that name.
[[nodiscard]] const BuiltIn& find_built_in(std::string_view name);
// Whether a file, whoever wrote it, is of a kind that needs libtorch.
[[nodiscard]] bool needs_libtorch(const Node& document);

// Fills in claims, notes and figures, as the experiment's file declares.
void add_findings(const Experiment& experiment, Results& results);

// Figures of everything that was measured.
void any_findings(const Experiment& experiment, Results& results);
// One per experiment or family of experiments. Claims that need what was not measured say so.
void moments_findings(const Experiment& experiment, Results& results);
void projection_findings(const Experiment& experiment, Results& results);
void toy_findings(const Experiment& experiment, Results& results);
void toy_small_tau_findings(const Experiment& experiment, Results& results);
void toy_skewed_findings(const Experiment& experiment, Results& results);
// Independent, state-dependent and dependent noise.
void least_squares_s1_findings(const Experiment& experiment, Results& results);
void least_squares_s2_findings(const Experiment& experiment, Results& results);
void least_squares_s3_findings(const Experiment& experiment, Results& results);
void huber_findings(const Experiment& experiment, Results& results);
void rates_findings(const Experiment& experiment, Results& results);
// Beyond the paper's: rules against liars, and centered clipping as an estimator of the geometric
// median.
void byzantine_findings(const Experiment& experiment, Results& results);
void centered_clipping_findings(const Experiment& experiment, Results& results);
// tau = auto: losses of any scale, and steps with a wrong gradient.
void scale_findings(const Experiment& experiment, Results& results);
void corrupted_findings(const Experiment& experiment, Results& results);

}  // namespace medgrad::lab
