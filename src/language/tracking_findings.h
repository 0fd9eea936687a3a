// What following the full gradient at fixed weights shows: claims of the paper and curves.
//
// They look at these metrics, on the axes `batch` and `tau`:
//
//     relative_error        |m_t - ∇| / |∇| over the steps
//     final_relative_error  after the last one
//     early_relative_error  after 1/tau steps (rounded up), where there are so many
//     steps_to_half         first step after which it is below 0.5; inf where it never is
//     overtakes_vclip       (momentum) from this step on it is below VClip's; inf where it is not
#pragma once

#include <span>

#include "lab/results.h"
#include "lab/study.h"

namespace medgrad::language {

// First step (counted from 1) after which the error is below `level`; inf where it never is.
[[nodiscard]] double steps_below(std::span<const double> errors, double level);
// First step from which on `a` stays below `b` to the end; inf where it is not below at the end.
[[nodiscard]] double overtakes(std::span<const double> a, std::span<const double> b);

// The claims on momentum, VClip and CClip at the first tau that is a number, and the curves.
void tracking_findings(const lab::Experiment& experiment, lab::Results& results);

}  // namespace medgrad::language
