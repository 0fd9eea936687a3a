// Comparators of networks (network.h) on vectors, and the midpoint of two middle values.
#if defined(MEDGRAD_KERNELS_NETWORK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEDGRAD_KERNELS_NETWORK_INL_H_
#undef MEDGRAD_KERNELS_NETWORK_INL_H_
#else
#define MEDGRAD_KERNELS_NETWORK_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <utility>

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

// All comparators of a network from kFrom on, which is an object with static storage. In parts, as
// compilers limit how deep an expression may nest.
template <const auto& kNetwork, std::size_t kFrom, class V, std::size_t... I>
HWY_INLINE void ComparePart(V* HWY_RESTRICT v, std::index_sequence<I...>) {
  (Compare<kNetwork.comparators[kFrom + I]>(v), ...);
}
template <const auto& kNetwork, std::size_t kFrom, class V>
HWY_INLINE void CompareFrom(V* HWY_RESTRICT v) {
  constexpr std::size_t kPart = std::min<std::size_t>(kNetwork.count - kFrom, 128);
  ComparePart<kNetwork, kFrom>(v, std::make_index_sequence<kPart>());
  if constexpr (kFrom + kPart < kNetwork.count) CompareFrom<kNetwork, kFrom + kPart>(v);
}

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
