// The search for entries of given ranks in the columns of a tile (select.h), by counting.
#if defined(MEDGRAD_KERNELS_SEARCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEDGRAD_KERNELS_SEARCH_INL_H_
#undef MEDGRAD_KERNELS_SEARCH_INL_H_
#else
#define MEDGRAD_KERNELS_SEARCH_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "hwy/highway.h"
#include "kernels/network.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A tile has one cache line of every row, one after the other: one vector, or a few side by side.
// (A function: GCC 12 shows variables like this in a shared library.)
template <class T>
consteval std::size_t Line() {
  return 64 / sizeof(T);
}
template <class T>
using Tag = hn::CappedTag<T, Line<T>()>;

// count + 1 where the mask is set.
template <class D, class M, class V = hn::Vec<D>>
HWY_INLINE V AddIf(D d, M mask, V count) {
#if HWY_TARGET <= HWY_AVX3
  return hn::IfThenElse(mask, hn::Add(count, hn::Set(d, 1)), count);
#else
  return hn::Sub(count, hn::VecFromMask(d, mask));
#endif
}

// How many of the n entries of each column are <= pivot.
template <class D, class T, class V = hn::Vec<D>>
HWY_INLINE V CountAtMost(D d, const T* HWY_RESTRICT x, std::size_t n, V pivot) {
  const hn::RebindToSigned<D> whole;
  auto a = hn::Zero(whole), b = a;
  const auto count = [&](std::size_t row, auto sum) HWY_ATTR {
    const auto mask = hn::Le(hn::LoadU(d, x + row * Line<T>()), pivot);
    return AddIf(whole, hn::RebindMask(whole, mask), sum);
  };
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4, x += 4 * Line<T>()) {
    a = count(0, a);
    b = count(1, b);
    a = count(2, a);
    b = count(3, b);
  }
  for (; i < n; ++i, x += Line<T>()) a = count(0, a);
  return hn::ConvertTo(d, hn::Add(a, b));
}

// The same for two pivots.
template <class D, class T, class V = hn::Vec<D>>
HWY_INLINE V CountBoth(D d, const T* HWY_RESTRICT x, std::size_t n, V p, V q, V& at_most_q) {
  const hn::RebindToSigned<D> whole;
  auto a = hn::Zero(whole), b = a, e = a, f = a;
  const auto count = [&](std::size_t row, auto& of_p, auto& of_q) HWY_ATTR {
    const V v = hn::LoadU(d, x + row * Line<T>());
    of_p = AddIf(whole, hn::RebindMask(whole, hn::Le(v, p)), of_p);
    of_q = AddIf(whole, hn::RebindMask(whole, hn::Le(v, q)), of_q);
  };
  std::size_t i = 0;
  for (; i + 2 <= n; i += 2, x += 2 * Line<T>()) {
    count(0, a, b);
    count(1, e, f);
  }
  if (i < n) count(0, a, b);
  at_most_q = hn::ConvertTo(d, hn::Add(b, f));
  return hn::ConvertTo(d, hn::Add(a, e));
}

// Numbers as integers in the same order.
template <class D, class V = hn::Vec<D>>
HWY_INLINE auto Key(D /*d*/, V x) {
  using Bits = hn::TFromD<hn::RebindToSigned<D>>;
  const hn::RebindToSigned<D> whole;
  const auto bits = hn::BitCast(whole, x);
  const auto most = hn::Set(whole, std::numeric_limits<Bits>::max());
  return hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), most));
}
template <class D, class K>
HWY_INLINE hn::Vec<D> FromKey(D d, K key) {
  using Bits = hn::TFromD<hn::RebindToSigned<D>>;
  const hn::RebindToSigned<D> whole;
  const auto most = hn::Set(whole, std::numeric_limits<Bits>::max());
  return hn::BitCast(d, hn::Xor(key, hn::And(hn::BroadcastSignBit(key), most)));
}
// The next smaller number. -0 is not smaller than 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Below(D d, V x) {
  const V below = FromKey(d, hn::Sub(Key(d, x), hn::Set(hn::RebindToSigned<D>(), 1)));
  const V tiny = hn::Set(d, -std::numeric_limits<hn::TFromD<D>>::denorm_min());
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), tiny, below);
}
// A number with about as many others between it and a as between it and b; a <= b.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Halfway(D d, V a, V b) {
  const auto p = Key(d, a), q = Key(d, b);
  return FromKey(d, hn::Add(hn::And(p, q), hn::ShiftRight<1>(hn::Xor(p, q))));
}

// A few rows of the tile, sorted: the first pivots.
constexpr std::size_t kSample = 16;
struct SampleNetwork {
  std::uint8_t low[kSample * kSample] = {}, high[kSample * kSample] = {};
  std::size_t count = 0;
  constexpr SampleNetwork() {
    visit_sort_network(kSample, [this](std::size_t a, std::size_t b) {
      low[count] = static_cast<std::uint8_t>(a);
      high[count++] = static_cast<std::uint8_t>(b);
    });
  }
};
template <class V, std::size_t... I>
HWY_INLINE void SortSample(V (&s)[kSample], std::index_sequence<I...>) {
  static constexpr SampleNetwork kNetwork;
  const auto compare = [](V& a, V& b) HWY_ATTR {
    const V low = hn::Min(a, b);
    b = hn::Max(a, b);
    a = low;
  };
  (compare(s[kNetwork.low[I]], s[kNetwork.high[I]]), ...);
}
template <class D, class T, class V = hn::Vec<D>>
HWY_INLINE void TakeSample(D d, const T* HWY_RESTRICT tile, std::size_t n, V (&s)[kSample]) {
  for (std::size_t i = 0; i < kSample; ++i)
    s[i] = hn::LoadU(d, tile + (2 * i + 1) * n / (2 * kSample) * Line<T>());
  SortSample(s, std::make_index_sequence<SampleNetwork().count>());
}

// What is known of the entry of rank k in each column: it is > lo, with count_lo < k entries <= lo,
// and <= hi, with count_hi >= k entries <= hi.
template <class D>
struct Bracket {
  hn::Vec<D> lo, hi, count_lo, count_hi;
};

// Moves both ends to entries: lo to just below the smallest one > lo, hi to the largest <= hi.
// Returns where they are the same.
template <class D, class T, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> Tighten(D d, const T* HWY_RESTRICT x, std::size_t n, Bracket<D>& in) {
  const V most = hn::Set(d, std::numeric_limits<T>::infinity());
  V least_above = most, most_below = hn::Neg(most);
  for (std::size_t i = 0; i < n; ++i, x += Line<T>()) {
    const V v = hn::LoadU(d, x);
    least_above = hn::IfThenElse(hn::Gt(v, in.lo), hn::Min(least_above, v), least_above);
    most_below = hn::IfThenElse(hn::Le(v, in.hi), hn::Max(most_below, v), most_below);
  }
  in.lo = Below(d, least_above);
  in.hi = most_below;
  return hn::Eq(least_above, most_below);
}

// The entry of rank k where it is one of the two next to lo or to hi. What is next to hi is so to
// -hi among the negatives.
template <class D, class T, class V = hn::Vec<D>>
HWY_INLINE V NextToEnd(D d, const T* HWY_RESTRICT x, std::size_t n, const Bracket<D>& in, V k) {
  const V most = hn::Set(d, std::numeric_limits<T>::infinity());
  const V above = hn::Sub(k, in.count_lo);
  const auto from_lo = hn::Le(above, hn::Set(d, T{2}));
  const V place =
      hn::IfThenElse(from_lo, above, hn::Add(hn::Sub(in.count_hi, k), hn::Set(d, T{1})));
  const V sign = hn::IfThenZeroElse(from_lo, hn::Set(d, T{-0.0}));
  const V bound = hn::IfThenElse(from_lo, in.lo, Below(d, hn::Neg(in.hi)));
  V first = most, second = most;
  for (std::size_t i = 0; i < n; ++i, x += Line<T>()) {
    V v = hn::Xor(hn::LoadU(d, x), sign);
    v = hn::IfThenElse(hn::Gt(v, bound), v, most);
    second = hn::Min(second, hn::Max(first, v));
    first = hn::Min(first, v);
  }
  return hn::Xor(hn::IfThenElse(hn::Gt(place, hn::Set(d, T{1})), second, first), sign);
}

// The entry of rank k + 1 where `value` is that of rank k.
template <class D, class T, class V = hn::Vec<D>>
HWY_INLINE V NextRank(D d, const T* HWY_RESTRICT x, std::size_t n, V value, V k) {
  const hn::RebindToSigned<D> whole;
  V next = hn::Set(d, std::numeric_limits<T>::infinity());
  auto count = hn::Zero(whole);
  for (std::size_t i = 0; i < n; ++i, x += Line<T>()) {
    const V v = hn::LoadU(d, x);
    const auto above = hn::Gt(v, value);
    next = hn::IfThenElse(above, hn::Min(next, v), next);
    count = AddIf(whole, hn::RebindMask(whole, above), count);
  }
  const V at_most = hn::Sub(hn::Set(d, static_cast<T>(n)), hn::ConvertTo(d, count));
  return hn::IfThenElse(hn::Gt(at_most, k), value, next);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V EntryOf(D d, const V (&sample)[kSample], V index) {
  using T = hn::TFromD<D>;
  V entry = sample[0];
  for (std::size_t i = 1; i < kSample; ++i)
    entry = hn::IfThenElse(hn::Ge(index, hn::Set(d, static_cast<T>(i))), sample[i], entry);
  return entry;
}

// The search for the entry of rank k in the columns of one vector. Pivots are entries of the sample
// until the rank is between two of them, then a straight line leads to it. With kLean it leans
// towards an end that has not moved for a while (as in the Illinois method), which is faster in
// tails and a little slower in the middle.
template <bool kLean, class D>
class Search {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  using M = hn::Mask<D>;

 public:
  HWY_INLINE Search(D d, std::size_t n, V k)
      : in_{hn::Set(d, -std::numeric_limits<T>::infinity()),
            hn::Set(d, std::numeric_limits<T>::max()), hn::Zero(d), hn::Set(d, static_cast<T>(n))},
        k_(k),
        target_(hn::Sub(k, hn::Set(d, T{0.5}))),
        count_(hn::Zero(d)),
        of_lo_(hn::Set(d, T{1})),
        of_hi_(of_lo_),
        up_(hn::Lt(k, hn::Zero(d))),
        down_(up_),
        same_(up_),
        n_(n) {
    const std::size_t first = static_cast<std::size_t>(hn::GetLane(target_) * kSample) / n;
    index_ = hn::Set(d, static_cast<T>(std::min(first, kSample - 1)));
  }

  // What to count next; false where the entry is found, or one of the two next to an end.
  HWY_INLINE bool Aim(D d, const T* HWY_RESTRICT tile, const V (&sample)[kSample]) {
    const auto done = hn::Or(hn::Le(hn::Sub(k_, in_.count_lo), hn::Set(d, T{2})),
                             hn::Le(hn::Sub(in_.count_hi, k_), hn::Set(d, T{1})));
    if (hn::AllTrue(d, hn::Or(done, same_))) return false;
    ++pass_;
    const V all = hn::Set(d, static_cast<T>(n_));
    const auto between = hn::And(hn::Gt(in_.count_lo, hn::Zero(d)), hn::Lt(in_.count_hi, all));
    const auto closed = hn::Or(done, between);
    const bool open = !entries_ && (pass_ == 1 || !hn::AllTrue(d, closed));
    bool tighten = pass_ >= 10 && pass_ % 4 == 2;
    V pivot = in_.hi;
    if (open) {
      if (pass_ > 1) index_ = NextIndex(d);
      pivot = EntryOf(d, sample, index_);
      // The sample has no more to say. Where many are equal, ends that are entries show it.
      if (pass_ > 1)
        tighten = tighten || pass_ > 4 || !hn::AllTrue(d, hn::Or(closed, Inside(pivot)));
    }
    if (tighten) {
      same_ = Tighten(d, tile, n_, in_);
      if (hn::AllTrue(d, hn::Or(done, same_))) return false;
      entries_ = true;
    }
    const V halfway = Halfway(d, in_.lo, in_.hi);
    if (pass_ > 1) {
      const V line = pass_ > 7 && pass_ % 2 == 1 && (!kLean || pass_ > 12) ? halfway : OnLine(d);
      pivot = open && !entries_ ? hn::IfThenElse(closed, line, pivot) : line;
    }
    pivot_ = hn::IfThenElse(Inside(pivot), pivot, halfway);
    return true;
  }
  [[nodiscard]] HWY_INLINE V pivot() const { return pivot_; }
  // So many are at most as large as the pivot.
  HWY_INLINE void Take(D d, V count) {
    const auto to_lo = hn::Lt(count, k_);
    in_.lo = hn::IfThenElse(to_lo, pivot_, in_.lo);
    in_.count_lo = hn::IfThenElse(to_lo, count, in_.count_lo);
    in_.hi = hn::IfThenElse(to_lo, in_.hi, pivot_);
    in_.count_hi = hn::IfThenElse(to_lo, in_.count_hi, count);
    count_ = count;
    if constexpr (kLean) {
      const V one = hn::Set(d, T{1}), less = hn::Set(d, static_cast<T>(2.0 / 3));
      const auto to_hi = hn::Not(to_lo);
      of_hi_ = hn::IfThenElse(hn::And(to_lo, up_), hn::Mul(of_hi_, less), one);
      of_lo_ = hn::IfThenElse(hn::And(to_hi, down_), hn::Mul(of_lo_, less), one);
      up_ = to_lo;
      down_ = to_hi;
    }
  }
  // The entry, once there is nothing more to count.
  [[nodiscard]] HWY_INLINE V Found(D d, const T* HWY_RESTRICT tile) const {
    if (hn::AllTrue(d, same_)) return in_.hi;
    return hn::IfThenElse(same_, in_.hi, NextToEnd(d, tile, n_, in_, k_));
  }

 private:
  [[nodiscard]] HWY_INLINE M Inside(V x) const {
    return hn::And(hn::Gt(x, in_.lo), hn::Lt(x, in_.hi));
  }
  // Where the sample has the rank, seen from how far its last entry missed it, and a little beyond,
  // so that the rank is between the two.
  [[nodiscard]] HWY_INLINE V NextIndex(D d) const {
    const V share = hn::Set(d, static_cast<T>(kSample) / static_cast<T>(n_));
    const V missed = hn::Mul(hn::Sub(target_, count_), share);
    const V at = hn::Add(index_, hn::Add(missed, hn::CopySign(hn::Set(d, T{1}), missed)));
    return hn::Round(hn::Min(hn::Max(at, hn::Zero(d)), hn::Set(d, static_cast<T>(kSample - 1))));
  }
  // Where a straight line between the ends has the rank.
  [[nodiscard]] HWY_INLINE V OnLine(D d) const {
    V above = hn::Sub(target_, in_.count_lo), all = hn::Sub(in_.count_hi, in_.count_lo);
    if constexpr (kLean) {
      above = hn::Mul(above, of_lo_);
      all = hn::Add(above, hn::Mul(hn::Sub(in_.count_hi, target_), of_hi_));
    }
    const V share = hn::Div(above, all);
    return hn::Add(hn::Mul(in_.lo, hn::Sub(hn::Set(d, T{1}), share)), hn::Mul(in_.hi, share));
  }

  Bracket<D> in_;
  V k_, target_, index_, count_, pivot_;
  V of_lo_, of_hi_;  // weights of the ends
  M up_, down_;      // which of them moved
  M same_;           // where they are the same entry
  std::size_t n_;
  int pass_ = 0;
  bool entries_ = false;  // are the ends entries?
};

template <bool kLean, class D, class T, class V = hn::Vec<D>>
HWY_INLINE V SelectLanes(D d, const T* HWY_RESTRICT tile, std::size_t n, V k,
                         const V (&sample)[kSample]) {
  Search<kLean, D> search(d, n, k);
  while (search.Aim(d, tile, sample)) search.Take(d, CountAtMost(d, tile, n, search.pivot()));
  return search.Found(d, tile);
}

// Two at once, for which the tile is read once.
template <class D, class T, class V = hn::Vec<D>>
HWY_INLINE void SelectTwo(D d, const T* HWY_RESTRICT tile, std::size_t n, V k, V l,
                          const V (&sample)[kSample], V& of_k, V& of_l) {
  Search<true, D> a(d, n, k), b(d, n, l);
  bool more_a = a.Aim(d, tile, sample), more_b = b.Aim(d, tile, sample);
  while (more_a && more_b) {
    V below = hn::Zero(d);
    const V count = CountBoth(d, tile, n, a.pivot(), b.pivot(), below);
    a.Take(d, count);
    b.Take(d, below);
    more_a = a.Aim(d, tile, sample);
    more_b = b.Aim(d, tile, sample);
  }
  for (; more_a; more_a = a.Aim(d, tile, sample)) a.Take(d, CountAtMost(d, tile, n, a.pivot()));
  for (; more_b; more_b = b.Aim(d, tile, sample)) b.Take(d, CountAtMost(d, tile, n, b.pivot()));
  of_k = a.Found(d, tile);
  of_l = b.Found(d, tile);
}

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
