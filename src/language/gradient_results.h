// Results of what was measured on gradients at fixed weights.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/study.h"
#include "language/gradient_settings.h"
#include "language/gradients.h"

namespace medgrad::language {

// What was measured at one batch size.
struct MeasuredBatch {
  std::size_t batch = 0;
  std::string data;  // and the model: what they were, in a sentence
  std::size_t batches = 0, dimension = 0;
  double norm = 0, largest = 0;                  // of the full gradient
  std::optional<libtorch::GradientNoise> noise;  // where it was asked for
  Tracking tracking;                             // of the methods below
};

// The methods that are followed, in the order of Tracking::errors, and what results call them.
struct TrackedMethod {
  std::string name, key;
  double tau = 0;  // kAutomaticNumber: auto
  OnlineMethod method;
};
[[nodiscard]] std::vector<TrackedMethod> tracked_methods(const GradientSettings& settings);

// Results and config.json; `measured` has one for every batch size, in the order of the settings.
[[nodiscard]] lab::Finished gradient_results(const GradientSettings& settings,
                                             std::span<const MeasuredBatch> measured);

}  // namespace medgrad::language
