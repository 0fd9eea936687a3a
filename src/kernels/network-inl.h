// Networks (network.h) on vectors of columns, and the midpoint of two middle values.
#if defined(MEDGRAD_KERNELS_NETWORK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEDGRAD_KERNELS_NETWORK_INL_H_
#undef MEDGRAD_KERNELS_NETWORK_INL_H_
#else
#define MEDGRAD_KERNELS_NETWORK_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

// How many entries come before the first address that is aligned to vectors.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE std::size_t LeadOf(D d, const T* address) {
  const std::size_t bytes = hn::Lanes(d) * sizeof(T);
  return (bytes - reinterpret_cast<std::uintptr_t>(address) % bytes) % bytes / sizeof(T);
}

// Calls visit(rows, j) for vectors of columns that cover all `count` > 0 of n rows, with rows to
// read at j: the last vector overlaps the one before; fewer columns than a vector are copied, and
// there are zeros beyond them. N >= n is a constant. One call, so that a network is there once.
// Where all rows are off by the same, as numpy's are, the second vector begins where they are
// aligned, since what lies across two lines of the cache takes twice as long to read; or where
// `out` is, if it is not null.
template <std::size_t N, class D, class Visit>
HWY_INLINE void VisitVectors(D d, const hn::TFromD<D>* const* rows, std::size_t n,
                             std::size_t begin, std::size_t count, Visit&& visit,
                             const hn::TFromD<D>* out = nullptr) {
  using T = hn::TFromD<D>;
  const std::size_t lanes = hn::Lanes(d);
  const T* local[N];  // the compiler cannot know that writing results leaves `rows` alone
  for (std::size_t i = 0; i < n; ++i) local[i] = rows[i] + begin;
  std::size_t lead = LeadOf(d, out != nullptr ? out : local[0]);
  for (std::size_t i = 1; i < n && out == nullptr; ++i)
    if (LeadOf(d, local[i]) != lead) lead = 0;
  T part[N * hn::MaxLanes(D())];
  if (count < lanes) {
    for (std::size_t i = 0; i < n; ++i) {
      T* const line = part + i * lanes;
      std::fill(std::copy_n(local[i], count, line), line + lanes, T{0});
      local[i] = line;
    }
    count = lanes;
  }
  const std::size_t last = count - lanes;
  for (std::size_t j = 0, next = lead > 0 ? lead : lanes;;
       j = std::min(next, last), next += lanes) {
    visit(local, j);
    if (j == last) break;
  }
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
// All comparators of a network, which is an object with static storage. Processors without AVX2
// are so rare that a loop has to do: the networks in full would double the time to compile them.
template <const auto& kNetwork, class V>
HWY_INLINE void CompareAll(V* HWY_RESTRICT v) {
  for (std::size_t i = 0; i < kNetwork.count; ++i) {
    const Comparator& c = kNetwork.comparators[i];
    const V a = v[c.low], b = v[c.high];
    v[c.low] = hn::Min(a, b);
    v[c.high] = hn::Max(a, b);
  }
}
#else
template <Comparator c, class V>
HWY_INLINE void Compare(V* HWY_RESTRICT v) {
  const V a = v[c.low], b = v[c.high];
  if constexpr (c.keep_low) v[c.low] = hn::Min(a, b);
  if constexpr (c.keep_high) v[c.high] = hn::Max(a, b);
}

template <const auto& kNetwork, std::size_t kFrom, class V, std::size_t... I>
HWY_INLINE void ComparePart([[maybe_unused]] V* HWY_RESTRICT v, std::index_sequence<I...>) {
  (Compare<kNetwork.comparators[kFrom + I]>(v), ...);
}
// All comparators of a network, which is an object with static storage: from kFrom on, in parts, as
// compilers limit how deep an expression may nest.
template <const auto& kNetwork, std::size_t kFrom = 0, class V>
HWY_INLINE void CompareAll(V* HWY_RESTRICT v) {
  constexpr std::size_t kPart = std::min<std::size_t>(kNetwork.count - kFrom, 128);
  ComparePart<kNetwork, kFrom>(v, std::make_index_sequence<kPart>());
  if constexpr (kFrom + kPart < kNetwork.count) CompareAll<kNetwork, kFrom + kPart>(v);
}
#endif

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
