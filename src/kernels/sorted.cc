#include "kernels/sorted.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sorted.cc"
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

// The median of n rows, kLeast <= n <= N, in a network for N, N even: filled up with the smallest
// and the largest numbers, as many of the one as of the other, or one more of these.
template <std::size_t N, std::size_t kLeast, class T>
void PaddedMediansOf(const T* const* rows, std::size_t n, std::size_t count, T* HWY_RESTRICT out) {
  const Tag<T> d;
  const auto inf = hn::Set(d, std::numeric_limits<T>::infinity());
  T few[Line<T>()];
  T* HWY_RESTRICT const to = count < hn::Lanes(d) ? few : out;
  VisitVectors<N>(d, rows, n, 0, count, [&](const T* const* at, std::size_t j) HWY_ATTR {
    hn::Vec<decltype(d)> v[N];
    for (std::size_t i = 0; i < N; ++i) {
      if (i < kLeast || i < n) {
        v[i] = hn::LoadU(d, at[i] + j);
      } else {
        v[i] = (i - n) % 2 == 0 ? inf : hn::Neg(inf);
      }
    }
    CompareAll<kMedianOf<N>>(v);
    hn::StoreU(n % 2 == 1 ? v[N / 2 - 1] : Midpoint(d, v[N / 2 - 1], v[N / 2]), d, to + j);
  });
  if (to == few) std::copy_n(few, count, out);
}

template <class T>
void PaddedMedians(const T* const* rows, std::size_t n, std::size_t count, T* out) {
  if (n <= 20) return PaddedMediansOf<20, 1>(rows, n, count, out);
  if (n <= 24) return PaddedMediansOf<24, 21>(rows, n, count, out);
  if (n <= 28) return PaddedMediansOf<28, 25>(rows, n, count, out);
  if (n <= 32) return PaddedMediansOf<32, 29>(rows, n, count, out);
  if (n <= 40) return PaddedMediansOf<40, 33>(rows, n, count, out);
  if (n <= 48) return PaddedMediansOf<48, 41>(rows, n, count, out);
  PaddedMediansOf<64, 49>(rows, n, count, out);
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

// Calls use(j) for the vectors of columns, sorted in the tile: a vector per rank. False if an entry
// is not finite: 0 times the sum of a column is NaN then, and stays in the sum of those.
template <std::size_t N, std::size_t kLeast, class T, class Use>
bool SortVectors(const T* const* rows, std::size_t n, std::size_t begin, std::size_t count,
                 T* HWY_RESTRICT tile, Use&& use) {
  const Tag<T> d;
  const auto inf = hn::Set(d, std::numeric_limits<T>::infinity());
  auto alarm = hn::Zero(d);
  VisitVectors<N>(d, rows, n, begin, count, [&](const T* const* at, std::size_t j) HWY_ATTR {
    hn::Vec<decltype(d)> v[N];
    auto sum = hn::Zero(d);
    for (std::size_t i = 0; i < N; ++i) {
      if (i < kLeast || i < n) {
        v[i] = hn::LoadU(d, at[i] + j);
        sum = hn::Add(sum, v[i]);
      } else {
        v[i] = inf;
      }
    }
    alarm = hn::Add(alarm, hn::Mul(sum, hn::Zero(d)));
    CompareAll<kSortOf<N>>(v);
    for (std::size_t i = 0; i < N; ++i) hn::Store(v[i], d, tile + i * hn::Lanes(d));
    use(j);
  });
  return hn::AllTrue(d, hn::Eq(alarm, hn::Zero(d)));
}
template <class T, class Use>
bool SortAll(const T* const* rows, std::size_t n, std::size_t begin, std::size_t count, T* tile,
             Use&& use) {
  if (n <= 3) return SortVectors<3, 1>(rows, n, begin, count, tile, use);
  if (n == 4) return SortVectors<4, 4>(rows, n, begin, count, tile, use);
  if (n == 5) return SortVectors<5, 5>(rows, n, begin, count, tile, use);
  if (n == 6) return SortVectors<6, 6>(rows, n, begin, count, tile, use);
  if (n <= 8) return SortVectors<8, 7>(rows, n, begin, count, tile, use);
  if (n <= 10) return SortVectors<10, 9>(rows, n, begin, count, tile, use);
  if (n <= 12) return SortVectors<12, 11>(rows, n, begin, count, tile, use);
  if (n <= 16) return SortVectors<16, 13>(rows, n, begin, count, tile, use);
  if (n <= 24) return SortVectors<24, 17>(rows, n, begin, count, tile, use);
  if (n <= 32) return SortVectors<32, 25>(rows, n, begin, count, tile, use);
  if (n <= 48) return SortVectors<48, 33>(rows, n, begin, count, tile, use);
  return SortVectors<64, 49>(rows, n, begin, count, tile, use);
}

// The mean of ranks [f, n - f) (from 0) of a sorted tile; false if a sum overflows.
template <class T>
HWY_INLINE bool TrimmedMean(const T* HWY_RESTRICT tile, std::size_t n, std::size_t f,
                            T* HWY_RESTRICT mean) {
  const Tag<T> d;
  DoubleSum<decltype(d)> sum;
  for (std::size_t i = f; i < n - f; ++i) sum.add(hn::Load(d, tile + i * hn::Lanes(d)));
  return sum.store_mean(static_cast<double>(n - 2 * f), mean);
}

// Those n - f that are nearest to the median.
template <class T>
HWY_INLINE void NearMean(const T* HWY_RESTRICT tile, std::size_t n, std::size_t f,
                         T* HWY_RESTRICT mean, T* HWY_RESTRICT odd) {
  const Tag<T> d;
  const auto rank = [&](std::size_t i) HWY_ATTR { return hn::Load(d, tile + i * hn::Lanes(d)); };
  const auto middle = Midpoint(d, rank((n - 1) / 2), rank(n / 2)), one = hn::Set(d, T{1});
  auto ties = hn::Zero(d);
  DoubleSum<decltype(d)> sum;
  for (std::size_t i = 0; i < f; ++i) {
    const auto low = rank(i), high = rank(i + n - f);
    const auto below = hn::Sub(middle, low), above = hn::Sub(high, middle);
    sum.add(hn::IfThenElse(hn::Lt(above, below), high, low));
    const auto tie = hn::And(hn::Eq(above, below), hn::Gt(below, hn::Zero(d)));
    ties = hn::IfThenElse(tie, one, ties);
  }
  for (std::size_t i = f; i < n - f; ++i) sum.add(rank(i));
  (void)sum.store_mean(static_cast<double>(n - f), mean);
  hn::StoreU(hn::IfThenElse(hn::IsFinite(hn::LoadU(d, mean)), ties, one), d, odd);
}

// One function for both, so that each network is there once; `odd` is null for trimmed means.
template <class T>
bool SortedMeans(const T* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                 std::size_t f, T* out, T* odd) {
  alignas(64) T tile[kSortedRows * Line<T>()];
  T few[Line<T>()], few_odd[Line<T>()];
  const std::size_t count = end - begin;
  const bool is_few = count < hn::Lanes(Tag<T>());
  T *const to = is_few ? few : out, *const odd_to = is_few ? few_odd : odd;
  bool finite = true;
  const bool entries = SortAll(rows, n, begin, count, tile, [&](std::size_t j) HWY_ATTR {
    if (odd == nullptr) {
      finite = TrimmedMean(tile, n, f, to + j) && finite;
    } else {
      NearMean(tile, n, f, to + j, odd_to + j);
    }
  });
  if (is_few) std::copy_n(few, count, out);
  if (is_few && odd != nullptr) std::copy_n(few_odd, count, odd);
  return finite && entries;
}

void PaddedMediansF32(const float* const* rows, std::size_t n, std::size_t count, float* out) {
  PaddedMedians(rows, n, count, out);
}
void PaddedMediansF64(const double* const* rows, std::size_t n, std::size_t count, double* out) {
  PaddedMedians(rows, n, count, out);
}
bool MeansF32(const float* const* rows, std::size_t n, std::size_t begin, std::size_t end,
              std::size_t f, float* out, float* odd) {
  return SortedMeans(rows, n, begin, end, f, out, odd);
}
bool MeansF64(const double* const* rows, std::size_t n, std::size_t begin, std::size_t end,
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
void sorted_medians(const float* const* rows, std::size_t n, std::size_t count, float* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(PaddedMediansF32)(rows, n, count, out);
}
template <>
void sorted_medians(const double* const* rows, std::size_t n, std::size_t count, double* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(PaddedMediansF64)(rows, n, count, out);
}
template <>
bool sorted_means(const float* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                  std::size_t f, float* out) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(MeansF32)(rows, n, begin, end, f, out, nullptr);
}
template <>
bool sorted_means(const double* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                  std::size_t f, double* out) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(MeansF64)(rows, n, begin, end, f, out, nullptr);
}
template <>
bool sorted_near_means(const float* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                       std::size_t f, float* out, float* odd) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(MeansF32)(rows, n, begin, end, f, out, odd);
}
template <>
bool sorted_near_means(const double* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                       std::size_t f, double* out, double* odd) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(MeansF64)(rows, n, begin, end, f, out, odd);
}

}  // namespace medgrad::kernels
#endif  // HWY_ONCE
