// Runs experiments on gradients at fixed weights, from settings to results.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "lab/study.h"
#include "language/batch_gradients.h"
#include "language/gradient_settings.h"
#include "medgrad/thread_pool.h"

namespace medgrad::language {

struct GradientStudyOptions {
  std::size_t memory = kGradientMemory;       // for gradients that are kept; changes no number
  ThreadPool* pool = nullptr;                 // of the estimators; changes no number
  std::function<void(double)> progress = {};  // the share that is done
};

// "kind": "gradients".
[[nodiscard]] std::unique_ptr<lab::Study> read_gradient_study(lab::Reader& reader);

// Results and config.json. For every batch size: the task is opened, its full gradient taken,
// methods follow it, and noise is measured, as the settings say. Throws Error where data is
// missing.
[[nodiscard]] lab::Finished run_gradient_study(const GradientSettings& settings,
                                               const GradientStudyOptions& options = {});

}  // namespace medgrad::language
