// The inner loop of Adam's step on one contiguous run of components:
//
//     v <- beta2 v + (1 - beta2) g^2,   w <- shrink w - rate m / (sqrt(v) / root + epsilon)
//
// where g stands for g + decay w. A NaN in g leaves its v as it was; a g whose square would
// overflow counts as the largest that would not. Every operation is one that IEEE 754 rounds in one
// way, so all targets give the same bits.
#pragma once

#include <cstddef>

namespace medgrad::kernels {

template <class T>
struct AdaptRun {
  const T* m;
  const T* g;
  T* v;
  T* w;
  std::size_t n;
};

struct Adapt {
  double beta2 = 0.999, epsilon = 1e-8;
  double rate = 0;  // eta / (1 - beta1^t)
  double root = 1;  // sqrt(1 - beta2^t)
  double shrink = 1, decay = 0;
};

template <class T>
void adapt(const AdaptRun<T>& run, const Adapt& how);

}  // namespace medgrad::kernels
