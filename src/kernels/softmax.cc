#include "kernels/softmax.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>

#include "kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax.cc"
#include "hwy/foreach_target.h"  // re-includes this file per target
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct ExpOf;

// e^r - 1 - r = r^2 p(r) for |r| <= log(2) / 2: Cephes' expf.
template <>
struct ExpOf<float> {
  static constexpr float kPolynomial[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                          4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
  static constexpr float kLog2High = 0.693359375f, kLog2Low = -2.12194440e-4f;
  static constexpr float kRound = 0x1.8p23f, kLowest = -87.0f;
  static constexpr int kMantissa = 23;
  static constexpr std::uint32_t kBias = 127;
};

// Taylor's series: the next term is below 2e-17.
template <>
struct ExpOf<double> {
  static constexpr double kPolynomial[] = {
      1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
      1.0 / 5040,       1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5};
  static constexpr double kLog2High = 6.93147180369123816490e-01;
  static constexpr double kLog2Low = 1.90821492927058770002e-10;
  static constexpr double kRound = 0x1.8p52, kLowest = -708.0;
  static constexpr int kMantissa = 52;
  static constexpr std::uint64_t kBias = 1023;
};

// e^x for x <= 0, and zero below 1e-38 or 1e-307: 2^k e^r with k = x / log 2 rounded, whose bits
// the sum with kRound ends in. A NaN stays one.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp(D d, V x) {
  using C = ExpOf<hn::TFromD<D>>;
  const hn::RebindToUnsigned<D> du;
  const V round = hn::Set(d, C::kRound);
  const V shifted =
      hn::MulAdd(x, hn::Set(d, static_cast<hn::TFromD<D>>(1.44269504088896338700)), round);
  const V k = hn::Sub(shifted, round);
  V r = hn::NegMulAdd(k, hn::Set(d, C::kLog2High), x);
  r = hn::NegMulAdd(k, hn::Set(d, C::kLog2Low), r);
  V p = hn::Set(d, C::kPolynomial[0]);
  for (size_t i = 1; i < std::size(C::kPolynomial); ++i)
    p = hn::MulAdd(p, r, hn::Set(d, C::kPolynomial[i]));
  p = hn::Add(hn::MulAdd(p, hn::Mul(r, r), r), hn::Set(d, hn::TFromD<D>{1}));
  const auto power =
      hn::ShiftLeft<C::kMantissa>(hn::Add(hn::BitCast(du, shifted), hn::Set(du, C::kBias)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, C::kLowest)), hn::Mul(p, hn::BitCast(d, power)));
}

template <class T>
using Tag = hn::ScalableTag<T>;

// Rows are taken by vectors, four at a time; the rest is padded with `pad` to a vector of its own.
template <class T, class F>
HWY_INLINE void ByVectors(const T* x, const T* bias, size_t n, T pad, const F& f) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  const auto at = [&](size_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    return bias == nullptr ? v : hn::Add(v, hn::LoadU(d, bias + i));
  };
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    f(at(i), i, 0, lanes);
    f(at(i + lanes), i + lanes, 1, lanes);
    f(at(i + 2 * lanes), i + 2 * lanes, 2, lanes);
    f(at(i + 3 * lanes), i + 3 * lanes, 3, lanes);
  }
  for (; i + lanes <= n; i += lanes) f(at(i), i, 0, lanes);
  if (i == n) return;
  HWY_ALIGN T rest[kLanes];
  for (size_t k = 0; k < lanes; ++k)
    rest[k] = i + k >= n ? pad : bias == nullptr ? x[i + k] : x[i + k] + bias[i + k];
  f(hn::Load(d, rest), i, 1, n - i);
}

template <class T, class V>
HWY_INLINE void StoreSome(V v, T* to, size_t count) {
  const Tag<T> d;
  if (count == hn::Lanes(d)) return hn::StoreU(v, d, to);
  HWY_ALIGN T rest[kLanes];
  hn::Store(v, d, rest);
  std::copy_n(rest, count, to);
}

template <class T>
HWY_INLINE T Peak(const T* x, const T* bias, size_t n) {
  const Tag<T> d;
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  auto m0 = hn::Set(d, kNone), m1 = m0, m2 = m0, m3 = m0;
  ByVectors(x, bias, n, kNone, [&](auto v, size_t, int k, size_t) HWY_ATTR {
    auto& m = k == 0 ? m0 : k == 1 ? m1 : k == 2 ? m2 : m3;
    m = hn::Max(m, v);
  });
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(m0, m1), hn::Max(m2, m3))));
}

// Rounding in a sum grows with its length: long rows are summed by pieces, and these in double.
constexpr size_t kPiece = 2048;

template <bool kStore, class T>
HWY_INLINE T PieceOfExponentials(T* out, const T* x, const T* bias, size_t n, T peak) {
  const Tag<T> d;
  const auto c = hn::Set(d, peak);
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  ByVectors(x, bias, n, -std::numeric_limits<T>::infinity(),
            [&](auto v, [[maybe_unused]] size_t i, int k, [[maybe_unused]] size_t count) HWY_ATTR {
              const auto e = Exp(d, hn::Sub(v, c));
              auto& s = k == 0 ? s0 : k == 1 ? s1 : k == 2 ? s2 : s3;
              s = hn::Add(s, e);
              if constexpr (kStore) StoreSome(e, out + i, count);
            });
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

template <bool kStore, class T>
HWY_INLINE RowSum<T> Exponentials(T* out, const T* x, const T* bias, size_t n) {
  const T peak = Peak(x, bias, n);
  double sum = 0;
  for (size_t i = 0; i < n; i += kPiece) {
    const T* b = bias == nullptr ? nullptr : bias + i;
    T* to = kStore ? out + i : nullptr;
    sum += static_cast<double>(
        PieceOfExponentials<kStore>(to, x + i, b, std::min(kPiece, n - i), peak));
  }
  return {peak, static_cast<T>(sum)};
}

template <class T>
HWY_INLINE void Softmax(T* x, const T* bias, size_t n) {
  const Tag<T> d;
  const T inverse = T{1} / Exponentials<true>(x, x, bias, n).sum;
  ByVectors<T>(x, nullptr, n, 0, [&](auto v, size_t i, int, size_t count) HWY_ATTR {
    StoreSome(hn::Mul(v, hn::Set(d, inverse)), x + i, count);
  });
}

template <class T>
HWY_INLINE void SoftmaxGradient(const T* p, T* g, size_t n, T scale) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  auto sum = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    sum = hn::MulAdd(hn::LoadU(d, p + i), hn::LoadU(d, g + i), sum);
  T dot = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < n; ++i) dot += p[i] * g[i];
  const auto all = hn::Set(d, dot), by = hn::Set(d, scale);
  for (i = 0; i + lanes <= n; i += lanes) {
    const auto centred = hn::Sub(hn::LoadU(d, g + i), all);
    hn::StoreU(hn::Mul(hn::Mul(by, hn::LoadU(d, p + i)), centred), d, g + i);
  }
  for (; i < n; ++i) g[i] = scale * p[i] * (g[i] - dot);
}

RowSum<float> ExponentialsF32(float* x, const float* bias, size_t n) {
  return Exponentials<true>(x, x, bias, n);
}
RowSum<double> ExponentialsF64(double* x, const double* bias, size_t n) {
  return Exponentials<true>(x, x, bias, n);
}
RowSum<float> SumF32(const float* x, const float* bias, size_t n) {
  return Exponentials<false, float>(nullptr, x, bias, n);
}
RowSum<double> SumF64(const double* x, const double* bias, size_t n) {
  return Exponentials<false, double>(nullptr, x, bias, n);
}
void SoftmaxF32(float* x, const float* bias, size_t n) { Softmax(x, bias, n); }
void SoftmaxF64(double* x, const double* bias, size_t n) { Softmax(x, bias, n); }
void GradientF32(const float* p, float* g, size_t n, float s) { SoftmaxGradient(p, g, n, s); }
void GradientF64(const double* p, double* g, size_t n, double s) { SoftmaxGradient(p, g, n, s); }

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::kernels {

HWY_EXPORT(ExponentialsF32);
HWY_EXPORT(ExponentialsF64);
HWY_EXPORT(SumF32);
HWY_EXPORT(SumF64);
HWY_EXPORT(SoftmaxF32);
HWY_EXPORT(SoftmaxF64);
HWY_EXPORT(GradientF32);
HWY_EXPORT(GradientF64);

template <>
RowSum<float> exponentials(float* x, const float* bias, std::size_t n) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(ExponentialsF32)(x, bias, n);
}
template <>
RowSum<double> exponentials(double* x, const double* bias, std::size_t n) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(ExponentialsF64)(x, bias, n);
}
template <>
RowSum<float> sum_exponentials(const float* x, const float* bias, std::size_t n) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(SumF32)(x, bias, n);
}
template <>
RowSum<double> sum_exponentials(const double* x, const double* bias, std::size_t n) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(SumF64)(x, bias, n);
}
template <>
void softmax(float* x, const float* bias, std::size_t n) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(SoftmaxF32)(x, bias, n);
}
template <>
void softmax(double* x, const double* bias, std::size_t n) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(SoftmaxF64)(x, bias, n);
}
template <>
void softmax_gradient(const float* p, float* g, std::size_t n, float scale) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(GradientF32)(p, g, n, scale);
}
template <>
void softmax_gradient(const double* p, double* g, std::size_t n, double scale) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(GradientF64)(p, g, n, scale);
}

}  // namespace medgrad::kernels
#endif  // HWY_ONCE
