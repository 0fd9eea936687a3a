// The page of `noise fit --report`: pictures of the tails of a sample.
#pragma once

#include <span>
#include <string>

#include "noise_fit.h"

namespace medgrad::app {

// One HTML file that needs nothing but a browser: Hill plot, mean excess, quantiles against the
// fitted law. `name` is that of the data, `command` makes the page again.
void write_tail_report(const std::string& file, std::span<const double> sample, const NoiseFit& fit,
                       const std::string& name, const std::string& command);

}  // namespace medgrad::app
