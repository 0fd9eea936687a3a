// The page of `noise fit --report`: pictures of the tails of a sample, or of rows.
#pragma once

#include <span>
#include <string>

#include "medgrad/rows.h"
#include "noise_fit.h"

namespace medgrad::app {

// One HTML file that needs nothing but a browser: Hill plot, mean excess, quantiles against the
// fitted law. `name` is that of the data, `command` makes the page again.
void write_tail_report(const std::string& file, std::span<const double> sample, const NoiseFit& fit,
                       const std::string& name, const std::string& command);

// The same of the norms of rows around their componentwise median, against the generalised Pareto
// law of the far ones, and of the component with the heaviest tail, against its stable law; a line
// for every component, or for the 32 heaviest (of fewer than 60 rows, 32 evenly
// spaced ones).
template <Real T>
void write_tail_report(const std::string& file, const Rows<T>& rows, const NoiseFit& fit,
                       const std::string& name, const std::string& command);

}  // namespace medgrad::app
