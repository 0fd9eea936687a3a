// Differences from a centre in double, with scales for rows of any size (gram.h).
#if defined(MEDGRAD_KERNELS_DIFFERENCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEDGRAD_KERNELS_DIFFERENCE_INL_H_
#undef MEDGRAD_KERNELS_DIFFERENCE_INL_H_
#else
#define MEDGRAD_KERNELS_DIFFERENCE_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "kernels/double-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// (x - c) s. Scales below one come first, as they are there because the difference may overflow;
// those above one come last, as c itself may be large.
enum class Scaling { kNone, kFirst, kLast };
inline Scaling ScalingBy(const double* scales, std::size_t i) {
  return scales == nullptr ? Scaling::kNone : scales[i] < 1 ? Scaling::kFirst : Scaling::kLast;
}

template <class D, class T, class C, class V = hn::Vec<D>>
HWY_INLINE V Difference(D d, const T* x, const C* c, Scaling scaling, V scale) {
  V a = LoadAsDouble(d, x), b = c == nullptr ? hn::Zero(d) : LoadAsDouble(d, c);
  if (scaling == Scaling::kNone) return hn::Sub(a, b);
  if (scaling == Scaling::kLast) return hn::Mul(hn::Sub(a, b), scale);
  return hn::Sub(hn::Mul(a, scale), hn::Mul(b, scale));
}

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
