// The size S that tau = auto follows, and tau from it (estimator.h has the formulas).
#pragma once

#include <cstdint>
#include <span>

#include "kernels/squares.h"
#include "medgrad/estimator.h"

namespace medgrad {

// S after an increment of this norm; 0 stands for no S yet, before and after. `unbounded`: the
// vector had an infinite component.
[[nodiscard]] double next_size(const AutomaticTau& how, double size,
                               const kernels::ScaledNorm& norm, bool unbounded);

// S after a step in which `within` of the `moving` components were at most S.
[[nodiscard]] double next_size(const AutomaticTau& how, double size, std::uint64_t within,
                               std::uint64_t moving);

// The first S of components: the smallest of their sizes that has a share `level` of those that are
// not 0 at or below it; 0 where there are none, or it is as large as T allows. Reorders x.
template <Real T>
[[nodiscard]] double first_size(const AutomaticTau& how, std::span<T> x);

// theta S, a number that tau can be.
[[nodiscard]] double tau_at(const AutomaticTau& how, double size);

// mu S, likewise.
[[nodiscard]] Huber huber_at(const Huber& huber, double size);

}  // namespace medgrad
