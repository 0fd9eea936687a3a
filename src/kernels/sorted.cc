#include "kernels/sorted.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sorted.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/double-inl.h"
#include "kernels/network-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {

// A vector is a cache line at most.
// (A function: GCC 12 shows variables like this in a shared library.)
template <class T>
consteval std::size_t Line() {
  return 64 / sizeof(T);
}
template <class T>
using Tag = hn::CappedTag<T, Line<T>()>;

template <std::size_t N>
inline constexpr MedianNetwork<N> kMedianOf{};

// Sums of the n columns at j, as an alarm: 0 times the sum of a column is NaN where an entry is not
// finite, and stays in the sum of those. fill(i) takes the place of row i where there are fewer.
template <std::size_t N, std::size_t kLeast, class D, class T, class Fill, class V = hn::Vec<D>>
HWY_INLINE void LoadAll(D d, const T* const* at, std::size_t n, std::size_t j, const Fill& fill,
                        V* HWY_RESTRICT v, V& alarm) {
  auto sum = hn::Zero(d);
  for (std::size_t i = 0; i < N; ++i) {
    if (i < kLeast || i < n) {
      v[i] = hn::LoadU(d, at[i] + j);
      sum = hn::Add(sum, v[i]);
    } else {
      v[i] = fill(i);
    }
  }
  alarm = hn::Add(alarm, hn::Mul(sum, hn::Zero(d)));
}

// The median of n rows, kLeast <= n <= N, in a network for N, N even: filled up with the smallest
// and the largest numbers, as many of the one as of the other, or one more of these. False if an
// entry is not finite.
template <std::size_t N, std::size_t kLeast, class T>
bool PaddedMediansOf(const T* const* rows, std::size_t n, std::size_t begin, std::size_t count,
                     T* HWY_RESTRICT out) {
  const Tag<T> d;
  const auto inf = hn::Set(d, std::numeric_limits<T>::infinity());
  T few[Line<T>()];
  T* HWY_RESTRICT const to = count < hn::Lanes(d) ? few : out;
  auto alarm = hn::Zero(d);
  VisitVectors<N>(
      d, rows, n, begin,
      count, [&](const T* const* at, std::size_t j) HWY_ATTR __attribute__((always_inline)) {
        if constexpr (N <= kSortedDirectly) {
          for (std::size_t i = 0; i < kLeast; ++i) hwy::Prefetch(at[i] + j + 2048 / sizeof(T));
        }
        hn::Vec<decltype(d)> v[N];
        const auto fill = [&](std::size_t i)
                              HWY_ATTR { return (i - n) % 2 == 0 ? inf : hn::Neg(inf); };
        LoadAll<N, kLeast>(d, at, n, j, fill, v, alarm);
        CompareAll<kMedianOf<N>>(v);
        hn::StoreU(n % 2 == 1 ? v[N / 2 - 1] : Midpoint(d, v[N / 2 - 1], v[N / 2]), d, to + j);
      });
  if (to == few) std::copy_n(few, count, out);
  return hn::AllTrue(d, hn::Eq(alarm, hn::Zero(d)));
}

template <class T>
bool PaddedMedians(const T* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                   T* out) {
  const std::size_t count = end - begin;
  if (n <= 20) return PaddedMediansOf<20, 1>(rows, n, begin, count, out);
  if (n <= 24) return PaddedMediansOf<24, 21>(rows, n, begin, count, out);
  if (n <= 28) return PaddedMediansOf<28, 25>(rows, n, begin, count, out);
  if (n <= 32) return PaddedMediansOf<32, 29>(rows, n, begin, count, out);
  if (n <= 40) return PaddedMediansOf<40, 33>(rows, n, begin, count, out);
  if (n <= 48) return PaddedMediansOf<48, 41>(rows, n, begin, count, out);
  return PaddedMediansOf<64, 49>(rows, n, begin, count, out);
}

// All of the network of N, without pruning.
template <std::size_t N>
struct SortNetwork {
  static constexpr std::size_t count_all() {
    std::size_t all = 0;
    visit_sort_network(N, [&](std::size_t, std::size_t) { ++all; });
    return all;
  }
  static constexpr std::size_t count = count_all();
  std::array<Comparator, count_all()> comparators{};
  constexpr SortNetwork() {
    std::size_t c = 0;
    visit_sort_network(N, [&](std::size_t a, std::size_t b) {
      comparators[c].low = static_cast<std::uint16_t>(a);
      comparators[c++].high = static_cast<std::uint16_t>(b);
    });
  }
};

template <std::size_t N>
inline constexpr SortNetwork<N> kSortOf{};

// What is asked for: means of the middle entries, or, with `odd`, of those nearest to the median.
template <class T>
struct Wanted {
  std::size_t n, f;
  Divisor<T> count;
  T *out, *odd;
};
// What came of it: is every sum finite, and every column settled by its distances?
struct Outcome {
  bool finite = true, settled = true;
};

// Of ranks i < f and i + n - f the one that is nearer to the middle, which is that of two if n is
// even: the one below and the one above are then as far from it. `odd` is 1 where both are equally
// far, which is looked for again where it is so or they are equal. entry(i) is that of rank i.
template <class D, class Entry, class V = hn::Vec<D>>
HWY_INLINE void AddNearer(D d, std::size_t n, std::size_t f, const Entry& entry, DoubleSum<D>& sum,
                          V& odd) {
  const V lower = entry((n - 1) / 2), upper = entry(n / 2);
  auto tie = hn::Lt(lower, lower);
  for (std::size_t i = 0; i < f; ++i) {
    const V low = entry(i), high = entry(i + n - f);
    const V below = hn::Sub(lower, low), above = hn::Sub(high, upper);
    sum.add(hn::IfThenElse(hn::Lt(above, below), high, low));
    tie = hn::Or(tie, hn::Eq(above, below));
  }
  if (hn::AllFalse(d, tie)) return;
  for (std::size_t i = 0; i < f; ++i) {
    const V low = entry(i), high = entry(i + n - f);
    const auto equal = hn::Eq(hn::Sub(high, upper), hn::Sub(lower, low));
    odd = hn::IfThenElse(hn::And(equal, hn::Lt(low, high)), hn::Set(d, hn::TFromD<D>(1)), odd);
  }
}

// Stores the mean, and with it whether the order of the rows or an overflow leaves it open.
template <class D, class T, class V = hn::Vec<D>>
HWY_INLINE void StoreNear(D d, const DoubleSum<D>& sum, const Wanted<T>& wanted, V odd,
                          std::size_t j, Outcome& outcome) {
  if (!sum.store_mean(wanted.count, wanted.out + j))
    odd = hn::IfThenElse(hn::IsFinite(hn::LoadU(d, wanted.out + j)), odd, hn::Set(d, T{1}));
  hn::StoreU(odd, d, wanted.odd + j);
  outcome.settled = hn::AllTrue(d, hn::Eq(odd, hn::Zero(d))) && outcome.settled;
}

// n rows, kLeast <= n <= N, sorted. Up to 16 of them stay in registers; those that are chosen by a
// rank that is not known to the compiler are read from a tile. One function for both means, so that
// each network is there once. False if an entry is not finite.
template <std::size_t N, std::size_t kLeast, class T>
bool SortedMeansOf(const T* const* rows, const Wanted<T>& wanted, std::size_t begin,
                   std::size_t count, Outcome& outcome) {
  const Tag<T> d;
  const std::size_t n = wanted.n, f = wanted.f, lanes = hn::Lanes(d);
  const auto infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  const auto inf = [&](std::size_t) HWY_ATTR { return infinity; };
  const auto none = hn::Zero(d);
  alignas(64) T tile[N * Line<T>()];
  auto alarm = none;
  VisitVectors<N>(
      d, rows, n, begin,
      count, [&](const T* const* at, std::size_t j) HWY_ATTR __attribute__((always_inline)) {
        hn::Vec<decltype(d)> v[N];
        LoadAll<N, kLeast>(d, at, n, j, inf, v, alarm);
        if constexpr (N <= kSortedDirectly) {
          for (std::size_t i = 0; i < kLeast; ++i) hwy::Prefetch(at[i] + j + 2048 / sizeof(T));
        }
        CompareAll<kSortOf<N>>(v);
        const bool near = wanted.odd != nullptr;
        if (N > 16 || near)
          for (std::size_t i = 0; i < N; ++i) hn::Store(v[i], d, tile + i * lanes);
        DoubleSum<Tag<T>> sum;
        auto odd = none;
        if (near) {
          const auto entry = [&](std::size_t i) HWY_ATTR { return hn::Load(d, tile + i * lanes); };
          AddNearer(d, n, f, entry, sum, odd);
        }
        if constexpr (N <= 16) {
          for (std::size_t i = 0; i < N; ++i)
            if (i >= f && i + f < n) sum.add(v[i]);
        } else {
          for (std::size_t i = f; i < n - f; ++i) sum.add_from(tile + i * lanes);
        }
        if (near) {
          StoreNear(d, sum, wanted, odd, j, outcome);
        } else {
          outcome.finite = sum.store_mean(wanted.count, wanted.out + j) && outcome.finite;
        }
      });
  return hn::AllTrue(d, hn::Eq(alarm, none));
}

// Trimmed means of n rows, kLeast <= n <= 2 H, 4 f <= n, for which two sorted halves a and b are
// enough. The f smallest of all are the smaller ones of a_i and b_{f-1-i}, i < f: the larger ones
// stay. So at the other end, and all between stay.
template <std::size_t H, std::size_t kLeast, class T>
bool HalvesMeansOf(const T* const* rows, const Wanted<T>& wanted, std::size_t begin,
                   std::size_t count, Outcome& outcome) {
  const Tag<T> d;
  const std::size_t n = wanted.n, f = wanted.f, lanes = hn::Lanes(d);
  const std::size_t of_b = n / 2, of_a = n - of_b;
  const auto infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  const auto inf = [&](std::size_t) HWY_ATTR { return infinity; };
  alignas(64) T tile[2 * H * Line<T>()];
  const T *const a = tile, *const b = tile + H * lanes;
  auto alarm = hn::Zero(d);
  VisitVectors<2 * H>(
      d, rows, n, begin,
      count, [&](const T* const* at, std::size_t j) HWY_ATTR __attribute__((always_inline)) {
        if constexpr (2 * H <= kSortedDirectly) {
          for (std::size_t i = 0; i < kLeast; ++i) hwy::Prefetch(at[i] + j + 2048 / sizeof(T));
        }
        for (std::size_t half = 0; half < 2; ++half) {
          hn::Vec<decltype(d)> v[H];
          LoadAll<H, kLeast / 2>(d, at + half * of_a, half == 0 ? of_a : of_b, j, inf, v, alarm);
          CompareAll<kSortOf<H>>(v);
          for (std::size_t i = 0; i < H; ++i) hn::Store(v[i], d, tile + (half * H + i) * lanes);
        }
        const auto of = [&](const T* x, std::size_t i)
                            HWY_ATTR { return hn::Load(d, x + i * lanes); };
        DoubleSum<Tag<T>> sum;
        for (std::size_t i = 0; i < f; ++i) {
          sum.add(hn::Max(of(a, i), of(b, f - 1 - i)));
          sum.add(hn::Min(of(a, of_a - 1 - i), of(b, of_b - f + i)));
        }
        for (std::size_t i = f; i < of_a - f; ++i) sum.add_from(a + i * lanes);
        for (std::size_t i = f; i < of_b - f; ++i) sum.add_from(b + i * lanes);
        outcome.finite = sum.store_mean(wanted.count, wanted.out + j) && outcome.finite;
      });
  return hn::AllTrue(d, hn::Eq(alarm, hn::Zero(d)));
}

template <class T>
bool HalvesMeans(const T* const* rows, const Wanted<T>& wanted, std::size_t begin,
                 std::size_t count, Outcome& outcome) {
  const std::size_t n = wanted.n;
  if (n <= 20) return HalvesMeansOf<10, 17>(rows, wanted, begin, count, outcome);
  if (n <= 24) return HalvesMeansOf<12, 21>(rows, wanted, begin, count, outcome);
  if (n <= 28) return HalvesMeansOf<14, 25>(rows, wanted, begin, count, outcome);
  if (n <= 32) return HalvesMeansOf<16, 29>(rows, wanted, begin, count, outcome);
  if (n <= 40) return HalvesMeansOf<20, 33>(rows, wanted, begin, count, outcome);
  if (n <= 48) return HalvesMeansOf<24, 41>(rows, wanted, begin, count, outcome);
  if (n <= 64) return HalvesMeansOf<32, 49>(rows, wanted, begin, count, outcome);
  if (n <= 80) return HalvesMeansOf<40, 65>(rows, wanted, begin, count, outcome);
  if (n <= 96) return HalvesMeansOf<48, 81>(rows, wanted, begin, count, outcome);
  return HalvesMeansOf<64, 97>(rows, wanted, begin, count, outcome);
}

// What a mean of the middle half of N needs of a network: entries that are only added up need no
// order among themselves, nor do those that are only cut off. With kNear the latter do, and the two
// in the middle.
template <std::size_t N, bool kNear>
struct QuarterNetwork {
  std::array<Comparator, SortNetwork<N>::count> comparators{};
  std::size_t count = 0;

  constexpr QuarterNetwork() {
    constexpr SortNetwork<N> kAll;
    const auto kind = [](std::size_t i) {
      const bool own = kNear && (i < N / 4 || i >= N - N / 4 || i == (N - 1) / 2 || i == N / 2);
      return own ? 3 + i : i < N / 4 ? 0 : i < N - N / 4 ? 1 : 2;
    };
    bool read[N] = {};  // by a comparator that is kept
    std::size_t first = kAll.count;
    for (std::size_t c = kAll.count; c-- > 0;) {
      Comparator one = kAll.comparators[c];
      if (!read[one.low] && !read[one.high] && kind(one.low) == kind(one.high)) continue;
      one.keep_low = read[one.low] || kind(one.low) % 2 == 1 || kind(one.low) > 2;
      one.keep_high = read[one.high] || kind(one.high) % 2 == 1 || kind(one.high) > 2;
      if (!one.keep_low && !one.keep_high) continue;
      read[one.low] = read[one.high] = true;
      comparators[--first] = one;
    }
    count = kAll.count - first;
    for (std::size_t c = 0; c < count; ++c) comparators[c] = comparators[first + c];
  }
};
template <std::size_t N, bool kNear>
inline constexpr QuarterNetwork<N, kNear> kQuarterOf{};

// Means of N rows of floats of which a quarter is cut off, at either end or the farthest from the
// median (kNear): what is known to the compiler stays in registers.
template <std::size_t N, bool kNear>
bool QuarterMeansOf(const float* const* rows, const Wanted<float>& wanted, std::size_t begin,
                    std::size_t count, Outcome& outcome) {
  const Tag<float> d;
  auto alarm = hn::Zero(d);
  VisitVectors<N>(
      d, rows, N, begin,
      count, [&](const float* const* at, std::size_t j) HWY_ATTR __attribute__((always_inline)) {
        hn::Vec<decltype(d)> v[N];
        LoadAll<N, N>(
            d, at, N, j, [&](std::size_t) HWY_ATTR { return hn::Zero(d); }, v, alarm);
        for (std::size_t i = 0; i < N; ++i) hwy::Prefetch(at[i] + j + 2048 / sizeof(float));
        CompareAll<kQuarterOf<N, kNear>>(v);
        DoubleSum<Tag<float>> sum;
        for (std::size_t i = N / 4; i < N - N / 4; ++i) sum.add(v[i]);
        if constexpr (kNear) {
          auto odd = hn::Zero(d);
          AddNearer(
              d, N, N / 4, [&](std::size_t i) HWY_ATTR { return v[i]; }, sum, odd);
          StoreNear(d, sum, wanted, odd, j, outcome);
        } else {
          outcome.finite = sum.store_mean(wanted.count, wanted.out + j) && outcome.finite;
        }
      });
  return hn::AllTrue(d, hn::Eq(alarm, hn::Zero(d)));
}
template <bool kNear>
bool QuarterMeans(const float* const* rows, const Wanted<float>& wanted, std::size_t begin,
                  std::size_t count, Outcome& outcome) {
  if (wanted.n == 4) return QuarterMeansOf<4, kNear>(rows, wanted, begin, count, outcome);
  if (wanted.n == 8) return QuarterMeansOf<8, kNear>(rows, wanted, begin, count, outcome);
  if (wanted.n == 12) return QuarterMeansOf<12, kNear>(rows, wanted, begin, count, outcome);
  return QuarterMeansOf<16, kNear>(rows, wanted, begin, count, outcome);
}

template <class T>
bool AnyMeans(const T* const* rows, const Wanted<T>& wanted, std::size_t begin, std::size_t count,
              Outcome& outcome) {
  const std::size_t n = wanted.n;
  // Sums of floats in double hardly depend on their order, those of doubles do.
  if constexpr (std::is_same_v<T, float>) {
    if (n <= 16 && n == 4 * wanted.f) {
      return wanted.odd == nullptr ? QuarterMeans<false>(rows, wanted, begin, count, outcome)
                                   : QuarterMeans<true>(rows, wanted, begin, count, outcome);
    }
    if (n > 16 && wanted.odd == nullptr && halves_are_enough<T>(n, wanted.f))
      return HalvesMeans(rows, wanted, begin, count, outcome);
  }
  if (n <= 3) return SortedMeansOf<3, 1>(rows, wanted, begin, count, outcome);
  if (n == 4) return SortedMeansOf<4, 4>(rows, wanted, begin, count, outcome);
  if (n == 5) return SortedMeansOf<5, 5>(rows, wanted, begin, count, outcome);
  if (n == 6) return SortedMeansOf<6, 6>(rows, wanted, begin, count, outcome);
  if (n <= 8) return SortedMeansOf<8, 7>(rows, wanted, begin, count, outcome);
  if (n <= 10) return SortedMeansOf<10, 9>(rows, wanted, begin, count, outcome);
  if (n <= 12) return SortedMeansOf<12, 11>(rows, wanted, begin, count, outcome);
  if (n <= 16) return SortedMeansOf<16, 13>(rows, wanted, begin, count, outcome);
  if (n <= 20) return SortedMeansOf<20, 17>(rows, wanted, begin, count, outcome);
  if (n <= 24) return SortedMeansOf<24, 21>(rows, wanted, begin, count, outcome);
  if (n <= 32) return SortedMeansOf<32, 25>(rows, wanted, begin, count, outcome);
  if (n <= 40) return SortedMeansOf<40, 33>(rows, wanted, begin, count, outcome);
  if (n <= 48) return SortedMeansOf<48, 41>(rows, wanted, begin, count, outcome);
  return SortedMeansOf<64, 49>(rows, wanted, begin, count, outcome);
}

template <class T>
NearMeans SortedMeans(const T* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                      std::size_t f, T* out, T* odd) {
  T few[Line<T>()], few_odd[Line<T>()];
  const std::size_t count = end - begin, kept = odd == nullptr ? n - 2 * f : n - f;
  const bool is_few = count < hn::Lanes(Tag<T>());
  const Wanted<T> wanted{n, f, Divisor<T>(static_cast<double>(kept)), is_few ? few : out,
                         is_few && odd != nullptr ? few_odd : odd};
  Outcome outcome;
  const bool entries = AnyMeans(rows, wanted, begin, count, outcome);
  if (is_few) std::copy_n(few, count, out);
  if (is_few && odd != nullptr) std::copy_n(few_odd, count, odd);
  return {entries && outcome.finite, outcome.settled};
}

bool PaddedMediansF32(const float* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                      float* out) {
  return PaddedMedians(rows, n, begin, end, out);
}
bool PaddedMediansF64(const double* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                      double* out) {
  return PaddedMedians(rows, n, begin, end, out);
}
NearMeans MeansF32(const float* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                   std::size_t f, float* out, float* odd) {
  return SortedMeans(rows, n, begin, end, f, out, odd);
}
NearMeans MeansF64(const double* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                   std::size_t f, double* out, double* odd) {
  return SortedMeans(rows, n, begin, end, f, out, odd);
}

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::kernels {
HWY_EXPORT(PaddedMediansF32);
HWY_EXPORT(PaddedMediansF64);
HWY_EXPORT(MeansF32);
HWY_EXPORT(MeansF64);

template <>
bool sorted_medians(const float* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                    float* out) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(PaddedMediansF32)(rows, n, begin, end, out);
}
template <>
bool sorted_medians(const double* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                    double* out) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(PaddedMediansF64)(rows, n, begin, end, out);
}
template <>
bool sorted_means(const float* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                  std::size_t f, float* out) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(MeansF32)(rows, n, begin, end, f, out, nullptr).finite;
}
template <>
bool sorted_means(const double* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                  std::size_t f, double* out) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(MeansF64)(rows, n, begin, end, f, out, nullptr).finite;
}
template <>
NearMeans sorted_near_means(const float* const* rows, std::size_t n, std::size_t begin,
                            std::size_t end, std::size_t f, float* out, float* odd) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(MeansF32)(rows, n, begin, end, f, out, odd);
}
template <>
NearMeans sorted_near_means(const double* const* rows, std::size_t n, std::size_t begin,
                            std::size_t end, std::size_t f, double* out, double* odd) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(MeansF64)(rows, n, begin, end, f, out, odd);
}

}  // namespace medgrad::kernels
#endif  // HWY_ONCE
