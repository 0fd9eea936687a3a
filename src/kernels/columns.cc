#include "kernels/columns.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/columns.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/double-inl.h"
#include "kernels/fused-inl.h"
#include "kernels/network-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows that are read side by side: as many streams as a processor follows.
inline constexpr std::size_t kRowsAtOnce = 16;

// x * 0 is 0 for finite x and NaN otherwise, and NaN stays in a sum. Four sums hide the latency.
// kCopy: and copies.
template <bool kCopy, class T>
bool AllFinite(const T* const* rows, std::size_t n, std::size_t begin, std::size_t end,
               std::size_t stride, T* copy) {
  const hn::ScalableTag<T> d;
  const std::size_t N = hn::Lanes(d);
  const auto zero = hn::Zero(d);
  auto s0 = zero, s1 = zero, s2 = zero, s3 = zero;
  T tail = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const T* HWY_RESTRICT x = rows[i];
    T* HWY_RESTRICT const to = kCopy ? copy + i * stride - begin : nullptr;
    const auto load = [&](std::size_t at) HWY_ATTR {
      const auto v = hn::LoadU(d, x + at);
      if constexpr (kCopy) hn::StoreU(v, d, to + at);
      return hn::Mul(zero, v);
    };
    std::size_t j = begin;
    for (; j + 4 * N <= end; j += 4 * N) {
      // The same row's part of the next block: many rows in turn are more than hardware follows.
      for (std::size_t line = 0; line < 4 * N * sizeof(T); line += 64)
        hwy::Prefetch(reinterpret_cast<const char*>(x + j + (end - begin)) + line);
      s0 = hn::Add(s0, load(j));
      s1 = hn::Add(s1, load(j + N));
      s2 = hn::Add(s2, load(j + 2 * N));
      s3 = hn::Add(s3, load(j + 3 * N));
    }
    for (; j + N <= end; j += N) s0 = hn::Add(s0, load(j));
    for (; j < end; ++j) {
      tail += x[j] * T{0};
      if constexpr (kCopy) to[j] = x[j];
    }
  }
  const auto sum = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
  return hn::AllTrue(d, hn::Eq(sum, zero)) && tail == T{0};
}

template <std::size_t N>
inline constexpr MedianNetwork<N> kMedianOf{};

// How many entries ahead lines of n rows are asked for: some 16 KiB are under way then, as much as
// the memory's latency takes. (Measured on Zen 5: 2 KiB for any n take up to a fifth longer.)
template <class T>
consteval std::size_t Ahead(std::size_t n) {
  return (n <= 3 ? 5120 : n <= 8 ? 3072 : 1024) / sizeof(T);
}

// False if an entry is not finite: 0 times the sum of a column is NaN then, and stays in the sum of
// those (also if that sum overflows). kStream: past the cache, for a vector at least. (Not an
// argument: a test for each vector shows in the time of a few rows.)
template <std::size_t N, bool kStream, class T>
bool MediansOf(const T* const* rows, std::size_t begin, std::size_t count, T* HWY_RESTRICT out) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  T few[hn::MaxLanes(d)];
  T* HWY_RESTRICT const to = count < lanes ? few : out;
  auto alarm = hn::Zero(d);
  VisitVectors<N>(
      d, rows, N, begin, count,
      [&](const T* const* at, std::size_t j) HWY_ATTR {
        for (std::size_t i = 0; i < N; ++i) hwy::Prefetch(at[i] + j + Ahead<T>(N));
        hn::Vec<decltype(d)> v[N];
        for (std::size_t i = 0; i < N; ++i) v[i] = hn::LoadU(d, at[i] + j);
        auto sum = v[0];
        for (std::size_t i = 1; i < N; ++i) sum = hn::Add(sum, v[i]);
        alarm = hn::Add(alarm, hn::Mul(sum, hn::Zero(d)));
        CompareAll<kMedianOf<N>>(v);
        const auto median = N % 2 == 1 ? v[N / 2] : Midpoint(d, v[(N - 1) / 2], v[N / 2]);
        if (kStream && LeadOf(d, to + j) == 0) {
          hn::Stream(median, d, to + j);
        } else {
          hn::StoreU(median, d, to + j);
        }
      },
      kStream ? out : nullptr);
  if (to == few) std::copy_n(few, count, out);
  return hn::AllTrue(d, hn::Eq(alarm, hn::Zero(d)));
}

template <bool kStream, class T, std::size_t... N>
bool MediansOfAny(const T* const* rows, std::size_t n, std::size_t begin, std::size_t count, T* out,
                  std::index_sequence<N...>) {
  bool finite = false;  // one of them is the n that is asked for
  (void)((n == N + 1 && (finite = MediansOf<N + 1, kStream>(rows, begin, count, out), true)) ||
         ...);
  return finite;
}

template <class T>
bool RegisterMedians(const T* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                     T* out, bool stream) {
  const std::size_t count = end - begin;
  if (count == 0) return true;
  constexpr auto kAll = std::make_index_sequence<kRegisterRows>();
  if (!stream || count < hn::Lanes(hn::ScalableTag<T>()))
    return MediansOfAny<false>(rows, n, begin, count, out, kAll);
  const bool finite = MediansOfAny<true>(rows, n, begin, count, out, kAll);
  hwy::FlushStream();
  return finite;
}

// Some of the rows: adds them to sums that begin with 0 (kFirst) or are in memory, and leaves them
// there or (kLast) divides by `total` what is the sum then. `alarm` is NaN from the first sum on
// that is not finite.
template <bool kFirst, bool kLast, class D, class T>
HWY_INLINE void AddRows(D d, const T* const* rows, std::size_t n, const double* weights,
                        double total, std::size_t j, double* HWY_RESTRICT sum, T* HWY_RESTRICT out,
                        hn::Vec<D>& alarm) {
  using V = hn::Vec<D>;
  constexpr std::size_t kParts = hn::MaxLanes(D()) == 1 ? 1 : 2;
  const std::size_t N = hn::Lanes(d);
  V s[kParts];
  for (std::size_t p = 0; p < kParts; ++p) s[p] = kFirst ? hn::Zero(d) : hn::LoadU(d, sum + p * N);
  if (weights == nullptr) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t p = 0; p < kParts; ++p)
        s[p] = hn::Add(s[p], LoadAsDouble(d, rows[i] + j + p * N));
    }
  } else {
    for (std::size_t i = 0; i < n; ++i) {
      const V w = hn::Set(d, weights[i]);
      for (std::size_t p = 0; p < kParts; ++p)
        s[p] = MulAdd(d, w, LoadAsDouble(d, rows[i] + j + p * N), s[p]);
    }
  }
  for (std::size_t p = 0; p < kParts; ++p) {
    if constexpr (kLast) {
      alarm = hn::Add(alarm, hn::Mul(s[p], hn::Zero(d)));
      StoreAs(hn::Div(s[p], hn::Set(d, total)), d, out + p * N);
    } else {
      hn::StoreU(s[p], d, sum + p * N);
    }
  }
}

template <bool kFirst, bool kLast, class T>
bool AddSomeRows(const T* const* rows, std::size_t n, const double* weights, double total,
                 std::size_t begin, std::size_t end, double* sum, T* out) {
  const hn::ScalableTag<double> d;
  const hn::CappedTag<double, 1> one;
  const T* local[kRowsAtOnce];
  for (std::size_t i = 0; i < n; ++i) local[i] = rows[i] + begin;
  auto alarm = hn::Zero(d);
  auto last = hn::Zero(one);
  const std::size_t count = end - begin, step = (hn::Lanes(d) == 1 ? 1 : 2) * hn::Lanes(d);
  std::size_t j = 0;
  for (; j + step <= count; j += step) {
    if (j % (64 / sizeof(T)) == 0) {
      for (std::size_t i = 0; i < n; ++i) hwy::Prefetch(local[i] + j + 1024 / sizeof(T));
    }
    AddRows<kFirst, kLast>(d, local, n, weights, total, j, sum + j, out + j, alarm);
  }
  for (; j < count; ++j)
    AddRows<kFirst, kLast>(one, local, n, weights, total, j, sum + j, out + j, last);
  return hn::AllTrue(d, hn::Eq(alarm, hn::Zero(d))) && hn::GetLane(last) == 0;
}

template <class T>
bool Means(const T* const* rows, std::size_t n, const double* weights, double total,
           std::size_t begin, std::size_t end, double* sum, T* out) {
  if (n <= kRowsAtOnce)
    return AddSomeRows<true, true>(rows, n, weights, total, begin, end, sum, out);
  constexpr std::size_t kSome = kRowsAtOnce / 2;
  AddSomeRows<true, false>(rows, kSome, weights, total, begin, end, sum, out);
  std::size_t i = kSome;
  const auto from = [&](std::size_t k) { return weights == nullptr ? nullptr : weights + k; };
  for (; i + kSome < n; i += kSome)
    AddSomeRows<false, false>(rows + i, kSome, from(i), total, begin, end, sum, out);
  return AddSomeRows<false, true>(rows + i, n - i, from(i), total, begin, end, sum, out);
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
  return AllFinite<false, float>(rows, n, begin, end, 0, nullptr);
}
bool CopyFiniteF32(const float* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                   std::size_t stride, float* copy) {
  return AllFinite<true, float>(rows, n, begin, end, stride, copy);
}
bool AllFiniteF64(const double* const* rows, std::size_t n, std::size_t begin, std::size_t end) {
  return AllFinite<false, double>(rows, n, begin, end, 0, nullptr);
}
bool CopyFiniteF64(const double* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                   std::size_t stride, double* copy) {
  return AllFinite<true, double>(rows, n, begin, end, stride, copy);
}
bool MediansF32(const float* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                float* out, bool stream) {
  return RegisterMedians(rows, n, begin, end, out, stream);
}
bool MediansF64(const double* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                double* out, bool stream) {
  return RegisterMedians(rows, n, begin, end, out, stream);
}
bool MeansF32(const float* const* rows, std::size_t n, const double* weights, double total,
              std::size_t begin, std::size_t end, double* sum, float* out) {
  return Means(rows, n, weights, total, begin, end, sum, out);
}
bool MeansF64(const double* const* rows, std::size_t n, const double* weights, double total,
              std::size_t begin, std::size_t end, double* sum, double* out) {
  return Means(rows, n, weights, total, begin, end, sum, out);
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
HWY_EXPORT(CopyFiniteF32);
HWY_EXPORT(AllFiniteF64);
HWY_EXPORT(CopyFiniteF64);
HWY_EXPORT(MediansF32);
HWY_EXPORT(MediansF64);
HWY_EXPORT(MeansF32);
HWY_EXPORT(MeansF64);
HWY_EXPORT(MidpointsF32);
HWY_EXPORT(MidpointsF64);

template <>
bool all_finite(const float* const* rows, std::size_t n, std::size_t begin, std::size_t end) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(AllFiniteF32)(rows, n, begin, end);
}
template <>
bool copy_finite(const float* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                 std::size_t stride, float* copy) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(CopyFiniteF32)(rows, n, begin, end, stride, copy);
}
template <>
bool all_finite(const double* const* rows, std::size_t n, std::size_t begin, std::size_t end) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(AllFiniteF64)(rows, n, begin, end);
}
template <>
bool copy_finite(const double* const* rows, std::size_t n, std::size_t begin, std::size_t end,
                 std::size_t stride, double* copy) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(CopyFiniteF64)(rows, n, begin, end, stride, copy);
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
bool column_means(const float* const* rows, std::size_t n, const double* weights, double total,
                  std::size_t begin, std::size_t end, double* sum, float* out) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(MeansF32)(rows, n, weights, total, begin, end, sum, out);
}
template <>
bool column_means(const double* const* rows, std::size_t n, const double* weights, double total,
                  std::size_t begin, std::size_t end, double* sum, double* out) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(MeansF64)(rows, n, weights, total, begin, end, sum, out);
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
