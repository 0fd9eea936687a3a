// Sums of kLanes partial sums in the order of sum_lanes (simd.h), in registers.
#if defined(MEDGRAD_KERNELS_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEDGRAD_KERNELS_LANES_INL_H_
#undef MEDGRAD_KERNELS_LANES_INL_H_
#else
#define MEDGRAD_KERNELS_LANES_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "kernels/simd.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The sum of the lanes of a vector, halves added to halves.
template <class D>
HWY_INLINE hn::TFromD<D> SumHalves(D d, hn::Vec<D> v) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D()) > 1) {
    const hn::Half<D> half;
    return SumHalves(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
#endif
  (void)d;
  return hn::GetLane(v);
}

// The lanes in the vectors of v, which is used up.
template <class D, std::size_t kParts>
HWY_INLINE hn::TFromD<D> SumParts(D d, hn::Vec<D> (&v)[kParts]) {
  for (std::size_t size = kParts / 2; size > 0; size /= 2) {
    for (std::size_t p = 0; p < size; ++p) v[p] = hn::Add(v[p], v[p + size]);
  }
  return SumHalves(d, v[0]);
}

template <class T>
HWY_INLINE T SumOfLanes(const T* HWY_RESTRICT lanes) {
  const hn::CappedTag<T, kLanes> d;
  hn::Vec<decltype(d)> v[kLanes / hn::MaxLanes(decltype(d)())];
  for (std::size_t p = 0; p < kLanes / hn::Lanes(d); ++p)
    v[p] = hn::LoadU(d, lanes + p * hn::Lanes(d));
  return SumParts(d, v);
}

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
