#include "kernels/combine.h"

#include <cmath>
#include <type_traits>

#include "kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/combine.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/difference-inl.h"
#include "kernels/double-inl.h"
#include "kernels/fused-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Loads c as double, 0 where there is none.
template <class D, class T>
HWY_INLINE hn::Vec<D> LoadCentre(D d, const T* c, std::size_t j) {
  return c == nullptr ? hn::Zero(d) : LoadAsDouble(d, c + j);
}

// What comes next in a row: many rows in turn are more than hardware follows.
template <class T>
HWY_INLINE void FetchNext(const T* x) {
  hwy::Prefetch(x + 1024 / sizeof(T));
}

// Squared distances of kRows rows without scales, over whole blocks of kLanes columns. Several rows
// at once, for independent additions and one reading of the centre.
template <std::size_t kRows, class T, class C>
void AddSquaredRows(const T* const* rows, std::size_t count, const C* HWY_RESTRICT centre,
                    double* HWY_RESTRICT lanes) {
  const hn::CappedTag<double, kLanes> d;
  const std::size_t N = hn::Lanes(d);
  for (std::size_t part = 0; part < kLanes; part += N) {
    hn::Vec<decltype(d)> sum[kRows];
    for (std::size_t i = 0; i < kRows; ++i) sum[i] = hn::LoadU(d, lanes + i * kLanes + part);
    for (std::size_t block = 0; block + kLanes <= count; block += kLanes) {
      const auto c = LoadCentre(d, centre, block + part);
      if (part == 0 && block % (64 / sizeof(T)) == 0) {
        for (std::size_t i = 0; i < kRows; ++i) FetchNext(rows[i] + block);
      }
      for (std::size_t i = 0; i < kRows; ++i) {
        const auto v = hn::Sub(LoadAsDouble(d, rows[i] + block + part), c);
        sum[i] = MulAdd(d, v, v, sum[i]);
      }
    }
    for (std::size_t i = 0; i < kRows; ++i) hn::StoreU(sum[i], d, lanes + i * kLanes + part);
  }
}

// The columns from `begin` on of one row, one by one.
template <class T, class C>
void AddSquaredRest(const T* x, std::size_t begin, std::size_t count, const C* centre,
                    Scaling scaling, double scale, double* lanes) {
  const hn::CappedTag<double, 1> one;
  for (std::size_t j = begin; j < count; ++j) {
    const auto v = Difference(one, x + j, centre == nullptr ? nullptr : centre + j, scaling,
                              hn::Set(one, scale));
    lanes[j % kLanes] = std::fma(hn::GetLane(v), hn::GetLane(v), lanes[j % kLanes]);
  }
}

template <class T, class C>
void AddSquaredDistances(const T* const* rows, std::size_t n, std::size_t count, const C* centre,
                         const double* scales, double* lanes) {
  if (scales != nullptr) {  // rare
    for (std::size_t i = 0; i < n; ++i)
      AddSquaredRest(rows[i], 0, count, centre, ScalingBy(scales, i), scales[i],
                     lanes + i * kLanes);
    return;
  }
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) AddSquaredRows<4>(rows + i, count, centre, lanes + i * kLanes);
  if (n - i == 3) AddSquaredRows<3>(rows + i, count, centre, lanes + i * kLanes);
  if (n - i == 2) AddSquaredRows<2>(rows + i, count, centre, lanes + i * kLanes);
  if (n - i == 1) AddSquaredRows<1>(rows + i, count, centre, lanes + i * kLanes);
  for (i = 0; i < n; ++i)
    AddSquaredRest(rows[i], count / kLanes * kLanes, count, centre, Scaling::kNone, 1,
                   lanes + i * kLanes);
}

// The sums over all rows, with scales, which is rare.
template <class T>
void SumScaled(const T* const* rows, std::size_t n, std::size_t count, const T* anchor,
               const double* coefficients, const double* scales, double* sum) {
  const hn::CappedTag<double, 1> one;
  for (std::size_t j = 0; j < count; ++j) {
    auto all = hn::Zero(one);
    for (std::size_t i = 0; i < n; ++i) {
      if (coefficients[i] == 0) continue;
      const auto v = Difference(one, rows[i] + j, anchor == nullptr ? nullptr : anchor + j,
                                ScalingBy(scales, i), hn::Set(one, scales[i]));
      all = MulAdd(one, hn::Set(one, coefficients[i]), v, all);
    }
    sum[j] = hn::GetLane(all);
  }
}

// v as T, and back.
template <class T, class D, class V = hn::Vec<D>>
HWY_INLINE V Rounded(D d, V v) {
  if constexpr (std::is_same_v<T, double>) {
    return v;
  } else {
    return hn::PromoteTo(d, hn::DemoteTo(hn::Rebind<float, D>(), v));
  }
}

// out = a + s, and the square of what that lost: exact where |a| >= |s| (Dekker), and close enough
// elsewhere, as it only sets a tolerance.
template <class D, class T, class V = hn::Vec<D>>
HWY_INLINE V StoreSum(D d, V a, V s, T* out) {
  const V all = hn::Add(a, s);
  StoreAs(all, d, out);
  const V lost = hn::Sub(s, hn::Sub(Rounded<T>(d, all), a));
  return hn::Mul(lost, lost);
}
template <class D, class T>
HWY_INLINE void FinishSum(D d, const T* anchor, const double* sum, std::size_t j, T* out,
                          double* error) {
  double* const lane = error + j % kLanes;
  const auto squares = StoreSum(d, LoadCentre(d, anchor, j), hn::LoadU(d, sum + j), out + j);
  hn::StoreU(hn::Add(hn::LoadU(d, lane), squares), d, lane);
}

// The same without scales, of the rows that count, a few at a time: on top of what `sum` has,
// unless they are the first.
constexpr std::size_t kRowsAtOnce = 16;
template <class T>
struct SomeRows {
  const T* x[kRowsAtOnce];
  double coefficients[kRowsAtOnce];
  std::size_t n = 0;
};
// Where a combination goes.
template <class T>
struct Written {
  const T* anchor;
  double* sum;
  T* out;
};
// Vectors of columns at once, and those that the lanes fill.
constexpr std::size_t kAtOnce = 4;
template <class D>
constexpr std::size_t kOfLanes = kLanes / hn::MaxLanes(D());

// With kLast all rows are in, and what their sum loses goes to the lanes in `error`.
template <bool kFirst, bool kLast, std::size_t K, class D, class T, class V = hn::Vec<D>>
HWY_INLINE void AddColumns(D d, const SomeRows<T>& rows, std::size_t j, const Written<T>& to,
                           V* error) {
  const std::size_t N = hn::Lanes(d);
  V acc[K], origin[K];
  for (std::size_t k = 0; k < K; ++k) {
    acc[k] = kFirst ? hn::Zero(d) : hn::LoadU(d, to.sum + j + k * N);
    origin[k] = LoadCentre(d, to.anchor, j + k * N);
  }
  for (std::size_t i = 0; i < rows.n; ++i) {
    const V coefficient = hn::Set(d, rows.coefficients[i]);
    for (std::size_t k = 0; k < K; ++k)
      acc[k] = MulAdd(d, coefficient, hn::Sub(LoadAsDouble(d, rows.x[i] + j + k * N), origin[k]),
                      acc[k]);
  }
  for (std::size_t k = 0; k < K; ++k) {
    hn::StoreU(acc[k], d, to.sum + j + k * N);
    if constexpr (kLast) {
      V& lane = error[k % kOfLanes<D>];
      lane = hn::Add(lane, StoreSum(d, origin[k], acc[k], to.out + j + k * N));
    }
  }
}
template <bool kFirst, bool kLast, class T>
void AddSome(const SomeRows<T>& rows, std::size_t count, const Written<T>& to, double* error) {
  const hn::CappedTag<double, kLanes> d;
  const hn::CappedTag<double, 1> one;
  using D = decltype(d);
  const std::size_t N = hn::Lanes(d);
  // In registers, where so many columns at once fill the lanes.
  constexpr bool kAtEnd = kLast && kAtOnce >= kOfLanes<D>;
  hn::Vec<D> lanes[kOfLanes<D>], unused[1] = {hn::Zero(d)};
  for (std::size_t k = 0; k < kOfLanes<D>; ++k) lanes[k] = hn::LoadU(d, error + k * N);
  std::size_t j = 0;
  for (; j + kAtOnce * N <= count; j += kAtOnce * N) {
    for (std::size_t i = 0; i < rows.n; ++i) {
      for (std::size_t line = 0; line < kAtOnce * N; line += 64 / sizeof(T))
        FetchNext(rows.x[i] + j + line);
    }
    AddColumns<kFirst, kAtEnd, kAtOnce>(d, rows, j, to, lanes);
  }
  if (kAtEnd)
    for (std::size_t k = 0; k < kOfLanes<D>; ++k) hn::StoreU(lanes[k], d, error + k * N);
  const std::size_t open = kAtEnd ? j : 0;
  for (; j + N <= count; j += N) AddColumns<kFirst, false, 1>(d, rows, j, to, unused);
  hn::Vec<decltype(one)> nothing[1] = {hn::Zero(one)};
  for (; j < count; ++j) AddColumns<kFirst, false, 1>(one, rows, j, to, nothing);
  if (!kLast) return;
  for (j = open; j + N <= count; j += N) FinishSum(d, to.anchor, to.sum, j, to.out, error);
  for (; j < count; ++j) FinishSum(one, to.anchor, to.sum, j, to.out, error);
}

template <class T>
void Combine(const T* const* rows, std::size_t n, std::size_t count, const T* anchor,
             const double* coefficients, const double* scales, double* sum, T* out, double* error) {
  const hn::CappedTag<double, 1> one;
  if (scales != nullptr) {
    SumScaled(rows, n, count, anchor, coefficients, scales, sum);
    for (std::size_t j = 0; j < count; ++j) FinishSum(one, anchor, sum, j, out, error);
    return;
  }
  const Written<T> to{anchor, sum, out};
  SomeRows<T> some;
  bool first = true;
  for (std::size_t i = 0; i < n; ++i) {
    if (coefficients[i] != 0) {
      some.x[some.n] = rows[i];
      some.coefficients[some.n++] = coefficients[i];
    }
    const bool last = i + 1 == n;
    if (some.n < kRowsAtOnce && !last) continue;
    if (first) {
      last ? AddSome<true, true>(some, count, to, error)
           : AddSome<true, false>(some, count, to, error);
    } else {
      last ? AddSome<false, true>(some, count, to, error)
           : AddSome<false, false>(some, count, to, error);
    }
    first = false;
    some.n = 0;
  }
}

void AddSquaredDistancesF32(const float* const* rows, std::size_t n, std::size_t count,
                            const float* centre, const double* scales, double* lanes) {
  AddSquaredDistances(rows, n, count, centre, scales, lanes);
}
void AddSquaredDistancesMixed(const float* const* rows, std::size_t n, std::size_t count,
                              const double* centre, const double* scales, double* lanes) {
  AddSquaredDistances(rows, n, count, centre, scales, lanes);
}
void AddSquaredDistancesF64(const double* const* rows, std::size_t n, std::size_t count,
                            const double* centre, const double* scales, double* lanes) {
  AddSquaredDistances(rows, n, count, centre, scales, lanes);
}
void CombineF32(const float* const* rows, std::size_t n, std::size_t count, const float* anchor,
                const double* coefficients, const double* scales, double* sum, float* out,
                double* error) {
  Combine(rows, n, count, anchor, coefficients, scales, sum, out, error);
}
void CombineF64(const double* const* rows, std::size_t n, std::size_t count, const double* anchor,
                const double* coefficients, const double* scales, double* sum, double* out,
                double* error) {
  Combine(rows, n, count, anchor, coefficients, scales, sum, out, error);
}

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::kernels {
HWY_EXPORT(AddSquaredDistancesF32);
HWY_EXPORT(AddSquaredDistancesMixed);
HWY_EXPORT(AddSquaredDistancesF64);
HWY_EXPORT(CombineF32);
HWY_EXPORT(CombineF64);

template <>
void add_squared_distances(const float* const* rows, std::size_t n, std::size_t count,
                           const float* centre, const double* scales, double* lanes) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(AddSquaredDistancesF32)(rows, n, count, centre, scales, lanes);
}
template <>
void add_squared_distances(const float* const* rows, std::size_t n, std::size_t count,
                           const double* centre, const double* scales, double* lanes) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(AddSquaredDistancesMixed)(rows, n, count, centre, scales, lanes);
}
template <>
void add_squared_distances(const double* const* rows, std::size_t n, std::size_t count,
                           const double* centre, const double* scales, double* lanes) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(AddSquaredDistancesF64)(rows, n, count, centre, scales, lanes);
}
template <>
void combine(const float* const* rows, std::size_t n, std::size_t count, const float* anchor,
             const double* coefficients, const double* scales, double* sum, float* out,
             double* error) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(CombineF32)
  (rows, n, count, anchor, coefficients, scales, sum, out, error);
}
template <>
void combine(const double* const* rows, std::size_t n, std::size_t count, const double* anchor,
             const double* coefficients, const double* scales, double* sum, double* out,
             double* error) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(CombineF64)
  (rows, n, count, anchor, coefficients, scales, sum, out, error);
}

}  // namespace medgrad::kernels
#endif  // HWY_ONCE
