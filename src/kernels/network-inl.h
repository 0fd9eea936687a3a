// Comparators of networks (network.h) on vectors, and the midpoint of two middle values.
#if defined(MEDGRAD_KERNELS_NETWORK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEDGRAD_KERNELS_NETWORK_INL_H_
#undef MEDGRAD_KERNELS_NETWORK_INL_H_
#else
#define MEDGRAD_KERNELS_NETWORK_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/network.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// (a + b) / 2 where that does not overflow; else both are so large that halving them is exact.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Midpoint(D d, V a, V b) {
  const V half = hn::Set(d, hn::TFromD<D>(0.5));
  const V sum = hn::Mul(hn::Add(a, b), half);
  const V halves = hn::Add(hn::Mul(a, half), hn::Mul(b, half));
  return hn::IfThenElse(hn::IsFinite(sum), sum, halves);
}

template <Comparator c, class V>
HWY_INLINE void Compare(V* HWY_RESTRICT v) {
  const V a = v[c.low], b = v[c.high];
  if constexpr (c.keep_low) v[c.low] = hn::Min(a, b);
  if constexpr (c.keep_high) v[c.high] = hn::Max(a, b);
}

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
