// Value and gradient of the two-layer network, for objective.cc.
#pragma once

#include <span>

#include "medgrad/objective.h"

namespace medgrad {

[[nodiscard]] double network_value(const Network& f, std::span<const double> w);
void network_gradient(const Network& f, std::span<const double> w, std::span<double> out);

}  // namespace medgrad
