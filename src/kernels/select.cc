#include "kernels/select.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/select.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/double-inl.h"
#include "kernels/search-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// From one tile to the next: an odd number of lines, so that those of a row go to different places
// of the cache.
template <class T>
constexpr std::size_t TileStride(std::size_t n) {
  return (n | 1) * Line<T>();
}
template <class T>
T* Aligned(T* x) {
  const auto over = reinterpret_cast<std::uintptr_t>(x) % 64;
  return over == 0 ? x : x + (64 - over) / sizeof(T);
}

// Copies `count` columns of every row, the ones from j on, as one tile after the other; beyond the
// last column there are zeros. False if an entry is not finite: x * 0 is NaN then, and stays in a
// sum.
template <class T>
HWY_INLINE bool FillTiles(const T* const* rows, std::size_t n, std::size_t j, std::size_t count,
                          T* HWY_RESTRICT tiles) {
  const Tag<T> d;
  const std::size_t N = hn::Lanes(d), stride = TileStride<T>(n);
  const std::size_t lines = count / Line<T>(), rest = count % Line<T>();
  const auto zero = hn::Zero(d);
  auto even = zero, odd = zero;
  for (std::size_t i = 0; i < n; ++i) {
    const T* HWY_RESTRICT x = rows[i] + j;
    T* HWY_RESTRICT to = tiles + i * Line<T>();
    for (std::size_t line = 0; line < lines; ++line, x += Line<T>(), to += stride) {
      // The same row's part of the next columns: many rows in turn are more than hardware follows.
      hwy::Prefetch(x + count);
      for (std::size_t part = 0; part < Line<T>(); part += N) {
        const auto v = hn::LoadU(d, x + part);
        hn::StoreU(v, d, to + part);
        auto& alarm = line % 2 == 0 ? even : odd;
        alarm = hn::Add(alarm, hn::Mul(v, zero));
      }
    }
    if (rest == 0) continue;
    std::fill(std::copy_n(x, rest, to), to + Line<T>(), T{0});
    for (std::size_t part = 0; part < Line<T>(); part += N)
      even = hn::Add(even, hn::Mul(hn::LoadU(d, to + part), zero));
  }
  return hn::AllTrue(d, hn::Eq(hn::Add(even, odd), zero));
}

// Calls visit(tile, j, width) for the tiles of all columns, j being the first of `width` in it.
// False if an entry is not finite, or visit() says so.
template <class T, class Visit>
HWY_INLINE bool VisitTiles(const T* const* rows, std::size_t n, std::size_t count, T* tiles,
                           const Visit& visit) {
  const std::size_t step = tile_columns(n);
  for (std::size_t begin = 0; begin < count; begin += step) {
    const std::size_t columns = std::min(step, count - begin);
    if (!FillTiles(rows, n, begin, columns, tiles)) return false;
    const T* tile = tiles;
    for (std::size_t j = 0; j < columns; j += Line<T>(), tile += TileStride<T>(n))
      if (!visit(tile, begin + j, std::min(Line<T>(), columns - j))) return false;
  }
  return true;
}

template <class T>
bool Select(const T* const* rows, std::size_t n, std::size_t count, std::size_t rank, T* low,
            T* high, T* room) {
  const Tag<T> d;
  T of_k[Line<T>()], next[Line<T>()];
  const auto k = hn::Set(d, static_cast<T>(rank));
  return VisitTiles(
      rows, n, count, Aligned(room),
      [&](const T* tile, std::size_t j, std::size_t width) HWY_ATTR __attribute__((always_inline)) {
        for (std::size_t part = 0; part < Line<T>(); part += hn::Lanes(d)) {
          hn::Vec<decltype(d)> sample[kSample];
          TakeSample(d, tile + part, n, sample);
          const auto value = SelectLanes<false>(d, tile + part, n, k, sample);
          hn::StoreU(hn::Add(value, hn::Zero(d)), d, of_k + part);  // -0 becomes +0
          if (high == nullptr) continue;
          const auto above = NextRank(d, tile + part, n, value, k);
          hn::StoreU(hn::Add(above, hn::Zero(d)), d, next + part);
        }
        std::copy_n(of_k, width, low + j);
        if (high != nullptr) std::copy_n(next, width, high + j);
        return true;
      });
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
  T mean[Line<T>()];
  const Divisor<T> kept(static_cast<double>(n - 2 * f));
  const auto from = hn::Set(d, static_cast<T>(f + 1)), to = hn::Set(d, static_cast<T>(n - f));
  return VisitTiles(
      rows, n, count, Aligned(room),
      [&](const T* tile, std::size_t j, std::size_t width) HWY_ATTR __attribute__((always_inline)) {
        for (std::size_t part = 0; part < Line<T>(); part += hn::Lanes(d)) {
          hn::Vec<decltype(d)> sample[kSample];
          TakeSample(d, tile + part, n, sample);
          auto first = from, last = to;
          SelectTwo(d, tile + part, n, from, to, sample, first, last);
          if (!TrimmedMeans(d, tile + part, n, f, first, last, kept, mean + part)) return false;
        }
        std::copy_n(mean, width, out + j);
        return true;
      });
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
  const V lower = SelectLanes<false>(d, x, n, half, sample);
  const V upper = n % 2 == 0 ? NextRank(d, x, n, lower, half) : lower;
  const V most = hn::Set(d, std::numeric_limits<T>::max());
  for (std::size_t i = 0; i < n; ++i) {
    const V at = hn::LoadU(d, x + i * Line<T>());
    const V r = hn::Max(hn::Sub(lower, at), hn::Sub(at, upper));
    hn::StoreU(hn::Min(r, most), d, distances + i * Line<T>());
  }
  TakeSample(d, distances, n, sample);
  const V last = SelectLanes<true>(d, distances, n, kept, sample);
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
bool Near(const T* const* rows, std::size_t n, std::size_t count, std::size_t f, T* out, T* odd,
          T* room) {
  const Tag<T> d;
  T* const distances = Aligned(room);
  const Divisor<T> kept(static_cast<double>(n - f));
  T mean[Line<T>()], odd_ones[Line<T>()];
  return VisitTiles(
      rows, n, count, distances + n * Line<T>(),
      [&](const T* tile, std::size_t j, std::size_t width) HWY_ATTR __attribute__((always_inline)) {
        for (std::size_t part = 0; part < Line<T>(); part += hn::Lanes(d))
          NearMeans(d, tile + part, n, f, kept, distances + part, mean + part, odd_ones + part);
        std::copy_n(mean, width, out + j);
        std::copy_n(odd_ones, width, odd + j);
        return true;
      });
}

bool SelectF32(const float* const* rows, std::size_t n, std::size_t count, std::size_t k,
               float* low, float* high, float* tile) {
  return Select(rows, n, count, k, low, high, tile);
}
bool SelectF64(const double* const* rows, std::size_t n, std::size_t count, std::size_t k,
               double* low, double* high, double* tile) {
  return Select(rows, n, count, k, low, high, tile);
}
bool TrimmedF32(const float* const* rows, std::size_t n, std::size_t count, std::size_t f,
                float* out, float* tile) {
  return Trimmed(rows, n, count, f, out, tile);
}
bool TrimmedF64(const double* const* rows, std::size_t n, std::size_t count, std::size_t f,
                double* out, double* tile) {
  return Trimmed(rows, n, count, f, out, tile);
}

bool NearF32(const float* const* rows, std::size_t n, std::size_t count, std::size_t f, float* out,
             float* odd, float* tile) {
  return Near(rows, n, count, f, out, odd, tile);
}
bool NearF64(const double* const* rows, std::size_t n, std::size_t count, std::size_t f,
             double* out, double* odd, double* tile) {
  return Near(rows, n, count, f, out, odd, tile);
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
bool select_columns(const float* const* rows, std::size_t n, std::size_t count, std::size_t k,
                    float* low, float* high, float* tile) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(SelectF32)(rows, n, count, k, low, high, tile);
}
template <>
bool select_columns(const double* const* rows, std::size_t n, std::size_t count, std::size_t k,
                    double* low, double* high, double* tile) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(SelectF64)(rows, n, count, k, low, high, tile);
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
bool near_columns(const float* const* rows, std::size_t n, std::size_t count, std::size_t f,
                  float* out, float* odd, float* tile) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(NearF32)(rows, n, count, f, out, odd, tile);
}
template <>
bool near_columns(const double* const* rows, std::size_t n, std::size_t count, std::size_t f,
                  double* out, double* odd, double* tile) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(NearF64)(rows, n, count, f, out, odd, tile);
}

}  // namespace medgrad::kernels
#endif  // HWY_ONCE
