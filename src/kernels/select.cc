#include "kernels/select.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/network.h"
#include "kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/select.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/double-inl.h"
#include "kernels/network-inl.h"

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

// Where the sample has the rank, seen from how far its entry of number `index` missed it, and a
// little beyond, so that the rank is between the two.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V NextIndex(D d, V index, V count, V target, std::size_t n) {
  using T = hn::TFromD<D>;
  const V share = hn::Set(d, static_cast<T>(kSample) / static_cast<T>(n));
  const V missed = hn::Mul(hn::Sub(target, count), share);
  const V at = hn::Add(index, hn::Add(missed, hn::CopySign(hn::Set(d, T{1}), missed)));
  return hn::Round(hn::Min(hn::Max(at, hn::Zero(d)), hn::Set(d, static_cast<T>(kSample - 1))));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V EntryOf(D d, const V (&sample)[kSample], V index) {
  using T = hn::TFromD<D>;
  V entry = sample[0];
  for (std::size_t i = 1; i < kSample; ++i)
    entry = hn::IfThenElse(hn::Ge(index, hn::Set(d, static_cast<T>(i))), sample[i], entry);
  return entry;
}

// Where a straight line between the ends has the rank.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Interpolated(D d, const Bracket<D>& in, V target) {
  using T = hn::TFromD<D>;
  const V share = hn::Div(hn::Sub(target, in.count_lo), hn::Sub(in.count_hi, in.count_lo));
  return hn::Add(hn::Mul(in.lo, hn::Sub(hn::Set(d, T{1}), share)), hn::Mul(in.hi, share));
}

// The entry of rank k in the columns of one vector. Pivots are entries of the sample until the rank
// is between two of them, then a straight line leads to it.
template <class D, class T, class V = hn::Vec<D>>
HWY_INLINE V SelectLanes(D d, const T* HWY_RESTRICT tile, std::size_t n, V k,
                         const V (&sample)[kSample]) {
  const V target = hn::Sub(k, hn::Set(d, T{0.5}));
  const V least = hn::Set(d, -std::numeric_limits<T>::infinity()), none = hn::Zero(d);
  const V most = hn::Set(d, std::numeric_limits<T>::max()), all = hn::Set(d, static_cast<T>(n));
  Bracket<D> in{least, most, none, all};
  const std::size_t first =
      std::min(static_cast<std::size_t>(hn::GetLane(target) * kSample) / n, kSample - 1);
  V count = none, pivot = sample[first], index = hn::Set(d, static_cast<T>(first));
  bool entries = false;  // are the ends entries?
  for (int pass = 1;; ++pass) {
    const auto near_lo = hn::Le(hn::Sub(k, in.count_lo), hn::Set(d, T{2}));
    const auto near_hi = hn::Le(hn::Sub(in.count_hi, k), hn::Set(d, T{1}));
    const auto done = hn::Or(near_lo, near_hi);
    if (hn::AllTrue(d, done)) return NextToEnd(d, tile, n, in, k);
    bool tighten = pass >= 10 && pass % 4 == 2;
    const auto closed = hn::And(hn::Gt(in.lo, least), hn::Lt(in.count_hi, all));
    const bool open = pass > 1 && !entries && !hn::AllTrue(d, hn::Or(done, closed));
    if (open) {
      index = NextIndex(d, index, count, target, n);
      pivot = EntryOf(d, sample, index);
      const auto inside = hn::And(hn::Gt(pivot, in.lo), hn::Lt(pivot, in.hi));
      // The sample has no more to say. Where many are equal, ends that are entries show it.
      tighten = tighten || pass > 4 || !hn::AllTrue(d, hn::Or(hn::Or(done, closed), inside));
    }
    if (tighten) {
      const auto same = Tighten(d, tile, n, in);
      if (hn::AllTrue(d, same)) return in.hi;
      if (hn::AllTrue(d, hn::Or(done, same)))
        return hn::IfThenElse(same, in.hi, NextToEnd(d, tile, n, in, k));
      entries = true;
    }
    const V halfway = Halfway(d, in.lo, in.hi);
    if (pass > 1) {
      const V line = pass > 7 && pass % 2 == 1 ? halfway : Interpolated(d, in, target);
      pivot = open && !entries ? hn::IfThenElse(closed, line, pivot) : line;
    }
    const auto inside = hn::And(hn::Gt(pivot, in.lo), hn::Lt(pivot, in.hi));
    pivot = hn::IfThenElse(inside, pivot, halfway);
    count = CountAtMost(d, tile, n, pivot);
    const auto to_lo = hn::Lt(count, k);
    in.lo = hn::IfThenElse(to_lo, pivot, in.lo);
    in.count_lo = hn::IfThenElse(to_lo, count, in.count_lo);
    in.hi = hn::IfThenElse(to_lo, in.hi, pivot);
    in.count_hi = hn::IfThenElse(to_lo, in.count_hi, count);
  }
}

// Copies a line of every row, the columns from j on; beyond `count` there are zeros.
template <class T>
HWY_INLINE void FillTile(const T* const* rows, std::size_t n, std::size_t j, std::size_t count,
                         T* HWY_RESTRICT tile) {
  const Tag<T> d;
  const std::size_t N = hn::Lanes(d);
  if (j + Line<T>() <= count) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t part = 0; part < Line<T>(); part += N)
        hn::StoreU(hn::LoadU(d, rows[i] + j + part), d, tile + i * Line<T>() + part);
    }
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    T* const line = tile + i * Line<T>();
    std::fill(std::copy_n(rows[i] + j, count - j, line), line + Line<T>(), T{0});
  }
}
template <class T>
T* Aligned(T* x) {
  const auto over = reinterpret_cast<std::uintptr_t>(x) % 64;
  return over == 0 ? x : x + (64 - over) / sizeof(T);
}

template <class T>
void Select(const T* const* rows, std::size_t n, std::size_t count, std::size_t rank, T* low,
            T* high, T* room) {
  const Tag<T> d;
  T* const tile = Aligned(room);
  T of_k[Line<T>()], next[Line<T>()];
  const auto k = hn::Set(d, static_cast<T>(rank));
  for (std::size_t j = 0; j < count; j += Line<T>()) {
    FillTile(rows, n, j, count, tile);
    for (std::size_t part = 0; part < Line<T>(); part += hn::Lanes(d)) {
      hn::Vec<decltype(d)> sample[kSample];
      TakeSample(d, tile + part, n, sample);
      const auto value = SelectLanes(d, tile + part, n, k, sample);
      hn::StoreU(hn::Add(value, hn::Zero(d)), d, of_k + part);  // -0 becomes +0
      if (high == nullptr) continue;
      const auto above = NextRank(d, tile + part, n, value, k);
      hn::StoreU(hn::Add(above, hn::Zero(d)), d, next + part);
    }
    const std::size_t width = std::min(Line<T>(), count - j);
    std::copy_n(of_k, width, low + j);
    if (high != nullptr) std::copy_n(next, width, high + j);
  }
}

// The mean of the entries of rank f + 1 … n - f of a vector of columns, which are from `first` to
// `last`: those between, and of those equal to one of them as many as there are left. False if a
// sum overflows.
template <class D, class T, class V = hn::Vec<D>>
HWY_INLINE bool TrimmedMeans(D d, const T* HWY_RESTRICT x, std::size_t n, std::size_t f, V first,
                             V last, const Divisor<T>& count, T* HWY_RESTRICT mean) {
  const hn::RebindToSigned<D> whole;
  DoubleSum<D> sum;
  auto within = hn::Zero(whole);
  for (std::size_t i = 0; i < n; ++i) {
    const V v = hn::LoadU(d, x + i * Line<T>());
    const auto mask = hn::And(hn::Gt(v, first), hn::Lt(v, last));
    sum.add(hn::IfThenElseZero(mask, v));
    within = AddIf(whole, hn::RebindMask(whole, mask), within);
  }
  const T kept = static_cast<T>(n - 2 * f);
  const V rest = hn::Sub(hn::Set(d, kept), hn::ConvertTo(d, within));
  V at_first = hn::Set(d, T{1});
  if (!hn::AllTrue(d, hn::Eq(rest, hn::Set(d, T{2})))) {  // ties, or the two are equal
    at_first = hn::Sub(CountAtMost(d, x, n, first), hn::Set(d, static_cast<T>(f)));
    at_first = hn::Min(at_first, rest);
  }
  sum.add_times(at_first, first);
  sum.add_times(hn::Sub(rest, at_first), last);
  const bool finite = sum.store_mean(count, mean);
  hn::StoreU(hn::IfThenElse(hn::Eq(first, last), first, hn::LoadU(d, mean)), d, mean);
  return finite;
}

template <class T>
bool Trimmed(const T* const* rows, std::size_t n, std::size_t count, std::size_t f, T* out,
             T* room) {
  const Tag<T> d;
  T* const tile = Aligned(room);
  T mean[Line<T>()];
  const Divisor<T> kept(static_cast<double>(n - 2 * f));
  const auto from = hn::Set(d, static_cast<T>(f + 1)), to = hn::Set(d, static_cast<T>(n - f));
  for (std::size_t j = 0; j < count; j += Line<T>()) {
    FillTile(rows, n, j, count, tile);
    for (std::size_t part = 0; part < Line<T>(); part += hn::Lanes(d)) {
      hn::Vec<decltype(d)> sample[kSample];
      TakeSample(d, tile + part, n, sample);
      const auto first = SelectLanes(d, tile + part, n, from, sample);
      const auto last = SelectLanes(d, tile + part, n, to, sample);
      if (!TrimmedMeans(d, tile + part, n, f, first, last, kept, mean + part)) return false;
    }
    std::copy_n(mean, std::min(Line<T>(), count - j), out + j);
  }
  return true;
}

// The mean of the n - f entries of a vector of columns that are nearest to the median. `distances`
// is room for a vector of each row.
template <class D, class T>
HWY_INLINE void NearMeans(D d, const T* HWY_RESTRICT x, std::size_t n, std::size_t f,
                          const Divisor<T>& count, T* HWY_RESTRICT distances, T* HWY_RESTRICT mean,
                          T* HWY_RESTRICT odd) {
  const hn::RebindToSigned<D> whole;
  using V = hn::Vec<D>;
  V sample[kSample];
  const std::size_t rank = (n + 1) / 2;
  const V half = hn::Set(d, static_cast<T>(rank)), kept = hn::Set(d, static_cast<T>(n - f));
  TakeSample(d, x, n, sample);
  const V lower = SelectLanes(d, x, n, half, sample);
  const V upper = n % 2 == 0 ? NextRank(d, x, n, lower, half) : lower;
  const V most = hn::Set(d, std::numeric_limits<T>::max());
  for (std::size_t i = 0; i < n; ++i) {
    const V at = hn::LoadU(d, x + i * Line<T>());
    const V r = hn::Max(hn::Sub(lower, at), hn::Sub(at, upper));
    hn::StoreU(hn::Min(r, most), d, distances + i * Line<T>());
  }
  TakeSample(d, distances, n, sample);
  const V last = SelectLanes(d, distances, n, kept, sample);
  DoubleSum<D> sum;
  auto near = hn::Zero(whole);
  for (std::size_t i = 0; i < n; ++i) {
    const auto mask = hn::Le(hn::LoadU(d, distances + i * Line<T>()), last);
    sum.add(hn::IfThenElseZero(mask, hn::LoadU(d, x + i * Line<T>())));
    near = AddIf(whole, hn::RebindMask(whole, mask), near);
  }
  (void)sum.store_mean(count, mean);
  const auto good = hn::And(hn::Eq(hn::ConvertTo(d, near), kept), hn::IsFinite(hn::LoadU(d, mean)));
  hn::StoreU(hn::IfThenZeroElse(good, hn::Set(d, T{1})), d, odd);
}

template <class T>
void Near(const T* const* rows, std::size_t n, std::size_t count, std::size_t f, T* out, T* odd,
          T* room) {
  const Tag<T> d;
  T* const tile = Aligned(room);
  T* const distances = Aligned(room + select_room<T>(n));
  const Divisor<T> kept(static_cast<double>(n - f));
  T mean[Line<T>()], odd_ones[Line<T>()];
  for (std::size_t j = 0; j < count; j += Line<T>()) {
    FillTile(rows, n, j, count, tile);
    for (std::size_t part = 0; part < Line<T>(); part += hn::Lanes(d))
      NearMeans(d, tile + part, n, f, kept, distances + part, mean + part, odd_ones + part);
    const std::size_t width = std::min(Line<T>(), count - j);
    std::copy_n(mean, width, out + j);
    std::copy_n(odd_ones, width, odd + j);
  }
}

void SelectF32(const float* const* rows, std::size_t n, std::size_t count, std::size_t k,
               float* low, float* high, float* tile) {
  Select(rows, n, count, k, low, high, tile);
}
void SelectF64(const double* const* rows, std::size_t n, std::size_t count, std::size_t k,
               double* low, double* high, double* tile) {
  Select(rows, n, count, k, low, high, tile);
}
bool TrimmedF32(const float* const* rows, std::size_t n, std::size_t count, std::size_t f,
                float* out, float* tile) {
  return Trimmed(rows, n, count, f, out, tile);
}
bool TrimmedF64(const double* const* rows, std::size_t n, std::size_t count, std::size_t f,
                double* out, double* tile) {
  return Trimmed(rows, n, count, f, out, tile);
}

void NearF32(const float* const* rows, std::size_t n, std::size_t count, std::size_t f, float* out,
             float* odd, float* tile) {
  Near(rows, n, count, f, out, odd, tile);
}
void NearF64(const double* const* rows, std::size_t n, std::size_t count, std::size_t f,
             double* out, double* odd, double* tile) {
  Near(rows, n, count, f, out, odd, tile);
}

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::kernels {
HWY_EXPORT(SelectF32);
HWY_EXPORT(SelectF64);
HWY_EXPORT(TrimmedF32);
HWY_EXPORT(TrimmedF64);
HWY_EXPORT(NearF32);
HWY_EXPORT(NearF64);

template <>
void select_columns(const float* const* rows, std::size_t n, std::size_t count, std::size_t k,
                    float* low, float* high, float* tile) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(SelectF32)(rows, n, count, k, low, high, tile);
}
template <>
void select_columns(const double* const* rows, std::size_t n, std::size_t count, std::size_t k,
                    double* low, double* high, double* tile) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(SelectF64)(rows, n, count, k, low, high, tile);
}
template <>
bool trimmed_columns(const float* const* rows, std::size_t n, std::size_t count, std::size_t f,
                     float* out, float* tile) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(TrimmedF32)(rows, n, count, f, out, tile);
}
template <>
bool trimmed_columns(const double* const* rows, std::size_t n, std::size_t count, std::size_t f,
                     double* out, double* tile) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(TrimmedF64)(rows, n, count, f, out, tile);
}
template <>
void near_columns(const float* const* rows, std::size_t n, std::size_t count, std::size_t f,
                  float* out, float* odd, float* tile) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(NearF32)(rows, n, count, f, out, odd, tile);
}
template <>
void near_columns(const double* const* rows, std::size_t n, std::size_t count, std::size_t f,
                  double* out, double* odd, double* tile) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(NearF64)(rows, n, count, f, out, odd, tile);
}

}  // namespace medgrad::kernels
#endif  // HWY_ONCE
