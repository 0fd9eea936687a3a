// Every sample estimator of the library. A new one needs its header and its name here, nothing
// else: the registry, the command line, the optimisers, the documents and the property tests find
// it.
#pragma once

#include <variant>

#include "medgrad/rules.h"
#include "medgrad/sample_methods.h"

#pragma GCC visibility push(default)
namespace medgrad {

using SampleMethod = std::variant<Mean, Median, GeometricMedian, LpMedian, MedianOfMeans,
                                  HuberLocation, TrimmedMean, SampleClippedMean, Krum, MultiKrum,
                                  MeaMed, Mda, Smea, Monna, Caf, CenteredClipping>;

}  // namespace medgrad
#pragma GCC visibility pop
