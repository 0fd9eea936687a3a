// Is a stable law a fair description of the components of rows?
#pragma once

#include <optional>

#include "medgrad/stable_fit.h"
#include "medgrad/tail_verdict.h"
#include "noise/noise_matrix.h"

namespace medgrad::noise {

// `law` is that of all entries together, in columns that are centred and have one scale. Three
// tests, of which the smallest p-value counts three times:
//
//   - eight evenly spaced components one by one: the test of stable_fit.h, and
//   - whether the alpha that it finds is that of all entries. Entries of one row depend on each
//     other, so the smallest p-value of each counts times the number of components. These p-values
//     are those of large samples: where they speak against the law it is asked for samples of its
//     own, of as many numbers, and only what is farther out than all of these counts.
//   - whether any of all components reaches too far for the law (reach.h).
//
// A lighter component that is none of the eight is not found. Nothing where no component could be
// tested.
[[nodiscard]] std::optional<StableTest> component_test(const NoiseMatrix& noise,
                                                       const StableFit& law, ThreadPool* pool);

}  // namespace medgrad::noise
