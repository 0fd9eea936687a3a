// Runs experiments on gradients at fixed weights, from settings to results.
#pragma once

#include <memory>
#include <vector>

#include "lab/study.h"
#include "language/gradient_results.h"
#include "language/gradient_settings.h"

namespace medgrad::language {

// "kind": "gradients".
[[nodiscard]] std::unique_ptr<lab::Study> read_gradient_study(lab::Reader& reader);

// For every batch size: the task is opened, its full gradient taken, noise is measured, and methods
// follow it, as the settings say. Throws Error where data is missing, and lab::Interrupted; what
// was measured until then is in context.work, a folder with a file per batch size, and is not
// measured again.
[[nodiscard]] std::vector<MeasuredBatch> measure_gradients(const GradientSettings& settings,
                                                           const lab::StudyContext& context = {});

}  // namespace medgrad::language
