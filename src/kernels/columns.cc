#include "kernels/columns.h"

#include <cstdint>
#include <utility>

#include "kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/columns.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// x * 0 is 0 for finite x and NaN otherwise, and NaN stays in a sum. Four sums hide the latency.
template <class T>
bool AllFinite(const T* const* rows, std::size_t n, std::size_t begin, std::size_t end) {
  const hn::ScalableTag<T> d;
  const std::size_t N = hn::Lanes(d);
  const auto zero = hn::Zero(d);
  auto s0 = zero, s1 = zero, s2 = zero, s3 = zero;
  T tail = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const T* HWY_RESTRICT x = rows[i];
    std::size_t j = begin;
    for (; j + 4 * N <= end; j += 4 * N) {
      // The same row's part of the next block: many rows in turn are more than hardware follows.
      for (std::size_t line = 0; line < 4 * N * sizeof(T); line += 64)
        hwy::Prefetch(reinterpret_cast<const char*>(x + j + (end - begin)) + line);
      s0 = hn::Add(s0, hn::Mul(zero, hn::LoadU(d, x + j)));
      s1 = hn::Add(s1, hn::Mul(zero, hn::LoadU(d, x + j + N)));
      s2 = hn::Add(s2, hn::Mul(zero, hn::LoadU(d, x + j + 2 * N)));
      s3 = hn::Add(s3, hn::Mul(zero, hn::LoadU(d, x + j + 3 * N)));
    }
    for (; j + N <= end; j += N) s0 = hn::Add(s0, hn::Mul(zero, hn::LoadU(d, x + j)));
    for (; j < end; ++j) tail += x[j] * T{0};
  }
  const auto sum = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
  return hn::AllTrue(d, hn::Eq(sum, zero)) && tail == T{0};
}

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

// Also adds 0 times the sum of the column to `alarm`: NaN from then on if an entry is not finite
// (or the sum overflows).
template <std::size_t N, class D, std::size_t... I>
HWY_INLINE hn::Vec<D> MedianOf(D d, const hn::TFromD<D>* const* rows, std::size_t j,
                               hn::Vec<D>& alarm, std::index_sequence<I...>) {
  static constexpr MedianNetwork<N> kNetwork;
  hn::Vec<D> v[N];
  for (std::size_t i = 0; i < N; ++i) v[i] = hn::LoadU(d, rows[i] + j);
  hn::Vec<D> sum = v[0];
  for (std::size_t i = 1; i < N; ++i) sum = hn::Add(sum, v[i]);
  alarm = hn::Add(alarm, hn::Mul(sum, hn::Zero(d)));
  (Compare<kNetwork.comparators[I]>(v), ...);
  if constexpr (N % 2 == 1) {
    return v[N / 2];
  } else {
    return Midpoint(d, v[N / 2 - 1], v[N / 2]);
  }
}

// kStream: past the cache; `out` is aligned to vectors then.
template <std::size_t N, bool kStream, class T>
bool MediansOf(const T* const* rows, std::size_t begin, std::size_t end, T* HWY_RESTRICT out) {
  constexpr auto kAll = std::make_index_sequence<MedianNetwork<N>().count>();
  const hn::ScalableTag<T> d;
  const T* local[N];  // the compiler cannot know that writing `out` leaves `rows` alone
  for (std::size_t i = 0; i < N; ++i) local[i] = rows[i];
  std::size_t j = begin;
  auto alarm = hn::Zero(d);
  for (; j + hn::Lanes(d) <= end; j += hn::Lanes(d)) {
    for (std::size_t i = 0; i < N; ++i) hwy::Prefetch(local[i] + j + 2048 / sizeof(T));
    const auto median = MedianOf<N>(d, local, j, alarm, kAll);
    if constexpr (kStream) {
      hn::Stream(median, d, out + (j - begin));
    } else {
      hn::StoreU(median, d, out + (j - begin));
    }
  }
  const hn::CappedTag<T, 1> one;
  auto tail_alarm = hn::Zero(one);
  for (; j < end; ++j)
    hn::StoreU(MedianOf<N>(one, local, j, tail_alarm, kAll), one, out + (j - begin));
  return hn::AllTrue(d, hn::Eq(alarm, hn::Zero(d))) && hn::GetLane(tail_alarm) == T{0};
}

template <bool kStream, class T, std::size_t... N>
bool RegisterMedians(const T* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                     T* out, std::index_sequence<N...>) {
  bool finite = false;  // one of them is the n that is asked for
  (void)((n == N + 1 && (finite = MediansOf<N + 1, kStream>(rows, begin, end, out), true)) || ...);
  return finite;
}
template <class T>
bool RegisterMedians(const T* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                     T* out, bool stream) {
  constexpr auto kAll = std::make_index_sequence<kRegisterRows>();
  if (!stream || reinterpret_cast<std::uintptr_t>(out) % 64 != 0)
    return RegisterMedians<false>(rows, n, begin, end, out, kAll);
  const bool finite = RegisterMedians<true>(rows, n, begin, end, out, kAll);
  hwy::FlushStream();
  return finite;
}

template <class T>
void RunNetwork(std::span<const Comparator> network, T* tile, std::size_t width) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  for (const Comparator c : network) {
    T* HWY_RESTRICT low = tile + c.low * width;
    T* HWY_RESTRICT high = tile + c.high * width;
    const auto pass = [&](auto tag, std::size_t j) {
      const auto a = hn::LoadU(tag, low + j), b = hn::LoadU(tag, high + j);
      if (c.keep_low) hn::StoreU(hn::Min(a, b), tag, low + j);
      if (c.keep_high) hn::StoreU(hn::Max(a, b), tag, high + j);
    };
    std::size_t j = 0;
    for (; j + hn::Lanes(d) <= width; j += hn::Lanes(d)) pass(d, j);
    for (; j < width; ++j) pass(one, j);
  }
}

template <class T>
void Midpoints(const T* a, const T* b, std::size_t count, T* out) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  std::size_t j = 0;
  for (; j + hn::Lanes(d) <= count; j += hn::Lanes(d))
    hn::StoreU(Midpoint(d, hn::LoadU(d, a + j), hn::LoadU(d, b + j)), d, out + j);
  for (; j < count; ++j)
    hn::StoreU(Midpoint(one, hn::LoadU(one, a + j), hn::LoadU(one, b + j)), one, out + j);
}

bool AllFiniteF32(const float* const* rows, std::size_t n, std::size_t begin, std::size_t end) {
  return AllFinite(rows, n, begin, end);
}
bool AllFiniteF64(const double* const* rows, std::size_t n, std::size_t begin, std::size_t end) {
  return AllFinite(rows, n, begin, end);
}
bool MediansF32(const float* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                float* out, bool stream) {
  return RegisterMedians(rows, n, begin, end, out, stream);
}
bool MediansF64(const double* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                double* out, bool stream) {
  return RegisterMedians(rows, n, begin, end, out, stream);
}
void RunNetworkF32(std::span<const Comparator> network, float* tile, std::size_t width) {
  RunNetwork(network, tile, width);
}
void RunNetworkF64(std::span<const Comparator> network, double* tile, std::size_t width) {
  RunNetwork(network, tile, width);
}
void MidpointsF32(const float* a, const float* b, std::size_t count, float* out) {
  Midpoints(a, b, count, out);
}
void MidpointsF64(const double* a, const double* b, std::size_t count, double* out) {
  Midpoints(a, b, count, out);
}

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::kernels {
HWY_EXPORT(AllFiniteF32);
HWY_EXPORT(AllFiniteF64);
HWY_EXPORT(MediansF32);
HWY_EXPORT(MediansF64);
HWY_EXPORT(RunNetworkF32);
HWY_EXPORT(RunNetworkF64);
HWY_EXPORT(MidpointsF32);
HWY_EXPORT(MidpointsF64);

template <>
bool all_finite(const float* const* rows, std::size_t n, std::size_t begin, std::size_t end) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(AllFiniteF32)(rows, n, begin, end);
}
template <>
bool all_finite(const double* const* rows, std::size_t n, std::size_t begin, std::size_t end) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(AllFiniteF64)(rows, n, begin, end);
}
template <>
bool register_medians(const float* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                      float* out, bool stream) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(MediansF32)(rows, n, begin, end, out, stream);
}
template <>
bool register_medians(const double* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                      double* out, bool stream) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(MediansF64)(rows, n, begin, end, out, stream);
}
template <>
void run_network(std::span<const Comparator> network, float* tile, std::size_t width) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(RunNetworkF32)(network, tile, width);
}
template <>
void run_network(std::span<const Comparator> network, double* tile, std::size_t width) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(RunNetworkF64)(network, tile, width);
}
template <>
void midpoints(const float* a, const float* b, std::size_t count, float* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(MidpointsF32)(a, b, count, out);
}
template <>
void midpoints(const double* a, const double* b, std::size_t count, double* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(MidpointsF64)(a, b, count, out);
}

}  // namespace medgrad::kernels
#endif  // HWY_ONCE
