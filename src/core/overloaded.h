// One function object out of several, for std::visit.
#pragma once

namespace medgrad {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
// Clang 14 does not deduce the parameters of an aggregate by itself.
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace medgrad
