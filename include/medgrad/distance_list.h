// Every distance of the library. A new one needs its header and its name here, nothing else: the
// registry, the command line, the documents and the property tests find it.
#pragma once

#include <variant>

#include "medgrad/distances.h"

#pragma GCC visibility push(default)
namespace medgrad {

using BuiltInDistance = std::variant<Squared, L1, L2, Lp, Huber>;

}  // namespace medgrad
#pragma GCC visibility pop
