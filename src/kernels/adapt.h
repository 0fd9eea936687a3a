// The inner loop of Adam's step on one contiguous run of components:
//
//     v <- beta2 v + (1 - beta2) g^2,   w <- shrink w - rate m / (sqrt(v) / root + epsilon)
//
// where the quotient is (root rate) m / (sqrt(v) + root epsilon), with one division, and g stands
// for g + decay w. A NaN in g leaves its v as it was; a g whose square would
// overflow counts as the largest that would not. Every operation is one that IEEE 754 rounds in one
// way, so all targets give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/simd.h"

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

// The same with a first moment of its own, whose increments are cut at `cut` roots of v, in one
// pass:
//
//     d = clamp(g - m, -b, b),  b = (cut / root_before) sqrt(v),  no bound where v = 0
//     m <- m + share d,   v <- beta2 v + (1 - beta2) (m_before + d)^2,   w as above
//
// A NaN in g leaves its m and v as they were.
template <class T>
struct CutRun {
  T* m;
  const T* g;
  T* v;
  T* w;
  std::size_t n;
};

struct Cut {
  Adapt adapt;
  double share = 0.1;  // 1 - beta1
  double cut = 3;
  double root_before = 1;  // sqrt(1 - beta2^(t-1)); 1 before the first step, where v = 0
};

// What a pass saw; those over further runs add to it.
struct CutTally {
  double increment[kLanes] = {};  // (g - m)^2, each at most a quarter of the largest number
  double taken[kLanes] = {};      // d^2, likewise
  std::uint64_t clipped = 0, nan = 0, inf = 0;
};

template <class T>
void cut_and_adapt(const CutRun<T>& run, const Cut& how, CutTally& tally);

}  // namespace medgrad::kernels
