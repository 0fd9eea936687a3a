// Logarithm, exponential, sine and cosine over SIMD lanes, with the same bits on every target.
//
// Highway's own (hwy/contrib/math) fuse multiplications and additions where the processor can, so
// that AVX2 and SSE4 differ in the last bit; a seed would then name different numbers on different
// machines. Here a fused operation (MulAdd) is fused everywhere: where the processor cannot, the C
// library does it, which is slow and exact. Everything else is rounded by itself. The ranges are
// those that the samplers need: arguments are positive and in range by construction, nothing is
// NaN. Errors are below 2 units in the last place, 3 for expm1 (tests/noise/math_test.cc).
// Polynomials interpolate at Chebyshev nodes, to 1e-17 (double) and 1e-8 (float).
#if defined(MEDGRAD_NOISE_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEDGRAD_NOISE_MATH_INL_H_
#undef MEDGRAD_NOISE_MATH_INL_H_
#else
#define MEDGRAD_NOISE_MATH_INL_H_
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

#include "hwy/highway.h"
#include "kernels/fused-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::noise::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct Math;

template <>
struct Math<double> {
  // (sin y - y) / y^3 and (cos y - 1 + y^2/2) / y^4 in y^2, |y| <= pi/4; the former also for pi/2.
  static constexpr double kSin[] = {-0.166666666666666646,    0.00833333333333094849,
                                    -0.000198412698367585743, 2.75573161025524401e-6,
                                    -2.50511318450036206e-8,  1.59181292948663809e-10};
  static constexpr double kCos[] = {0.0416666666666666654,    -0.00138888888888873972,
                                    0.0000248015872987656879, -2.75573172717297929e-7,
                                    2.08761462684031955e-9,   -1.13826324255215756e-11};
  static constexpr double kSinHalf[] = {-0.166666666666666666,    0.00833333333333331587,
                                        -0.000198412698412549738, 2.75573192191632334e-6,
                                        -2.50521076169961829e-8,  1.60589773124640875e-10,
                                        -7.64397029679856908e-13, 2.73144476698636727e-15};
  // (2 atanh s - 2 s) / s^3 in s^2, |s| <= (sqrt 2 - 1)/(sqrt 2 + 1).
  static constexpr double kLog[] = {
      0.666666666666666969, 0.399999999998995045, 0.285714286259754849, 0.22222211134795077,
      0.181828891252618821, 0.153317216005516905, 0.146164496850889051};
  // (e^r - 1 - r) / r^2, |r| <= log(2)/2.
  static constexpr double kExp[] = {0.500000000000000102,     0.166666666666666675,
                                    0.0416666666666241279,    0.00833333333333006183,
                                    0.00138888889172137169,   0.000198412698630536169,
                                    0.0000248015212959543751, 2.75572684599970648e-6,
                                    2.76200884454097482e-7,   2.51003854955103191e-8};
  static constexpr double kLn2High = 0.6931471803691238, kLn2Low = 1.9082149292705877e-10;
  static constexpr int kMantissa = 52;
  static constexpr std::uint64_t kOne = 0x3FF0000000000000, kRootHalf = 0x3FE6A09E667F3BCD;
  static constexpr std::uint64_t kMantissaMask = 0x000FFFFFFFFFFFFF;
  static constexpr std::uint64_t kTwoToMantissa = 0x4330000000000000;  // the bits of 2^52
  static constexpr double kBias = 4503599627370496.0 + 1023;
  static constexpr std::uint64_t kExponentBias = 1023;
  static constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to a whole
  static constexpr double kLargestExponent = 1400;      // e^this overflows even times 1e-200
};

template <>
struct Math<float> {
  static constexpr float kSin[] = {-0.166666646623f, 0.00833274827063f, -0.000195878908804f};
  static constexpr float kCos[] = {0.0416666646595f, -0.00138883030359f, 0.0000245479420851f};
  static constexpr float kSinHalf[] = {-0.166666659638f, 0.0083332421351f, -0.000198227394886f,
                                       2.63475639181e-6f};
  static constexpr float kLog[] = {0.666666850396f, 0.39988780566f, 0.29579949392f};
  static constexpr float kExp[] = {0.5f, 0.166665769897f, 0.0416665546172f, 0.00836317905272f,
                                   0.00139261835877f};
  static constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440055e-4f;
  static constexpr int kMantissa = 23;
  static constexpr std::uint32_t kOne = 0x3F800000, kRootHalf = 0x3F3504F3;
  static constexpr std::uint32_t kMantissaMask = 0x007FFFFF;
  static constexpr std::uint32_t kTwoToMantissa = 0x4B000000;
  static constexpr float kBias = 8388608.0f + 127;
  static constexpr std::uint32_t kExponentBias = 127;
  static constexpr float kRound = 12582912.0f;
  static constexpr float kLargestExponent = 170;
};

template <class D>
using Constants = Math<hn::TFromD<D>>;

template <class V>
struct Pair {
  V sin, cos;
};

using kernels::HWY_NAMESPACE::MulAdd;  // rounded once

// c - a b, rounded once.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V NegMulAdd(D d, V a, V b, V c) {
  return MulAdd(d, hn::Neg(a), b, c);
}

// Is the sign bit set? (-0 < 0 is false.)
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> IsNegative(D d, V x) {
  const hn::RebindToSigned<D> di;
  return hn::RebindMask(d, hn::Lt(hn::BitCast(di, x), hn::Zero(di)));
}

// c[0] + c[1] x + c[2] x^2 + ... by halves (Estrin): Horner's chain, twice as long for each
// coefficient as an addition takes, would leave the processor waiting.
template <class V>
struct Powers {
  V x, x2, x4, x8;
};
template <std::size_t kFirst, std::size_t kCount, class D, class V, std::size_t kAll>
HWY_INLINE V PolynomialPart(D d, const Powers<V>& powers, const hn::TFromD<D> (&c)[kAll]) {
  static_assert(kCount <= 16);
  if constexpr (kCount == 1) {
    return hn::Set(d, c[kFirst]);
  } else {
    constexpr std::size_t kHalf = kCount > 8 ? 8 : kCount > 4 ? 4 : kCount > 2 ? 2 : 1;
    const V& power = kHalf == 8   ? powers.x8
                     : kHalf == 4 ? powers.x4
                     : kHalf == 2 ? powers.x2
                                  : powers.x;
    return MulAdd(d, PolynomialPart<kFirst + kHalf, kCount - kHalf>(d, powers, c), power,
                  PolynomialPart<kFirst, kHalf>(d, powers, c));
  }
}
template <class D, std::size_t kCount, class V = hn::Vec<D>>
HWY_INLINE V Polynomial(D d, V x, const hn::TFromD<D> (&c)[kCount]) {
  const V x2 = hn::Mul(x, x), x4 = hn::Mul(x2, x2);
  // The largest term by itself: its sum with the rest is then rounded only once.
  const V rest = PolynomialPart<1, kCount - 1>(d, Powers<V>{x, x2, x4, hn::Mul(x4, x4)}, c);
  return MulAdd(d, x, rest, hn::Set(d, c[0]));
}

// sin y for 0 <= y <= pi/4, and for 0 <= y <= pi/2.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V SinQuarter(D d, V y) {
  const V z = hn::Mul(y, y);
  return MulAdd(d, hn::Mul(y, z), Polynomial(d, z, Constants<D>::kSin), y);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V SinHalf(D d, V y) {
  const V z = hn::Mul(y, y);
  return MulAdd(d, hn::Mul(y, z), Polynomial(d, z, Constants<D>::kSinHalf), y);
}

// Both for 0 <= y <= pi/4.
template <class D, class V = hn::Vec<D>>
HWY_INLINE Pair<V> SinCosQuarter(D d, V y) {
  const V z = hn::Mul(y, y);
  const V sin = MulAdd(d, hn::Mul(y, z), Polynomial(d, z, Constants<D>::kSin), y);
  const V half = hn::Mul(z, hn::Set(d, hn::TFromD<D>(0.5)));
  // What 1 - half loses is added back, so that the error stays below one unit.
  const V one = hn::Set(d, hn::TFromD<D>(1)), body = hn::Sub(one, half);
  const V lost = hn::Sub(hn::Sub(one, body), half);
  const V tail = MulAdd(d, hn::Mul(z, z), Polynomial(d, z, Constants<D>::kCos), lost);
  return {sin, hn::Add(body, tail)};
}

// Both for 0 <= x <= pi/2.
template <class D, class V = hn::Vec<D>>
HWY_INLINE Pair<V> SinCosHalf(D d, V x) {
  using T = hn::TFromD<D>;
  const auto upper = hn::Gt(x, hn::Set(d, static_cast<T>(std::numbers::pi / 4)));
  const V other = hn::Sub(hn::Set(d, static_cast<T>(std::numbers::pi / 2)), x);
  const Pair<V> p = SinCosQuarter(d, hn::IfThenElse(upper, other, x));
  return {hn::IfThenElse(upper, p.cos, p.sin), hn::IfThenElse(upper, p.sin, p.cos)};
}

// sin and cos of pi v for 0 <= v <= 1/2. The fold at 1/4 is exact.
template <class D, class V = hn::Vec<D>>
HWY_INLINE Pair<V> SinCosPi(D d, V v) {
  using T = hn::TFromD<D>;
  const auto upper = hn::Gt(v, hn::Set(d, T(0.25)));
  const V near = hn::IfThenElse(upper, hn::Sub(hn::Set(d, T(0.5)), v), v);
  const Pair<V> p = SinCosQuarter(d, hn::Mul(near, hn::Set(d, std::numbers::pi_v<T>)));
  return {hn::IfThenElse(upper, p.cos, p.sin), hn::IfThenElse(upper, p.sin, p.cos)};
}

// A positive number as 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2).
template <class V>
struct Split {
  V f, k;
};
template <class D, class V = hn::Vec<D>>
HWY_INLINE Split<V> SplitPositive(D d, V x) {
  using C = Constants<D>;
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::Add(hn::BitCast(du, x), hn::Set(du, C::kOne - C::kRootHalf));
  const auto biased = hn::ShiftRight<C::kMantissa>(bits);
  const auto mantissa =
      hn::Add(hn::And(bits, hn::Set(du, C::kMantissaMask)), hn::Set(du, C::kRootHalf));
  return {hn::Sub(hn::BitCast(d, mantissa), hn::Set(d, hn::TFromD<D>(1))),
          hn::Sub(hn::BitCast(d, hn::Or(biased, hn::Set(du, C::kTwoToMantissa))),
                  hn::Set(d, C::kBias))};
}

// log(2^k (1 + f)) by 2 atanh(f / (2 + f)); a small f gives a small result of full accuracy.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V LogSplit(D d, const Split<V>& x) {
  using C = Constants<D>;
  using T = hn::TFromD<D>;
  const V square = hn::Mul(hn::Mul(x.f, x.f), hn::Set(d, T(0.5)));
  const V s = hn::Div(x.f, hn::Add(hn::Set(d, T(2)), x.f)), z = hn::Mul(s, s);
  const V r = hn::Mul(z, Polynomial(d, z, C::kLog));
  const V low = MulAdd(d, s, hn::Add(square, r), hn::Mul(x.k, hn::Set(d, C::kLn2Low)));
  return MulAdd(d, x.k, hn::Set(d, C::kLn2High), hn::Sub(x.f, hn::Sub(square, low)));
}

// log x for normal x > 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V LogPositive(D d, V x) {
  return LogSplit(d, SplitPositive(d, x));
}

// 2^k from t = k + kRound, whose low bits are k.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V PowerOfTwo(D d, V t) {
  using C = Constants<D>;
  const hn::RebindToUnsigned<D> du;
  const auto k = hn::Add(hn::BitCast(du, t), hn::Set(du, C::kExponentBias));
  return hn::BitCast(d, hn::ShiftLeft<C::kMantissa>(k));
}

// x = k log 2 + r: e^r - 1, with k and k + kRound.
template <class V>
struct Reduced {
  V minus_one, k, t;
};
template <class D, class V = hn::Vec<D>>
HWY_INLINE Reduced<V> ReduceExp(D d, V x) {
  using C = Constants<D>;
  using T = hn::TFromD<D>;
  const V round = hn::Set(d, C::kRound);
  const V t = MulAdd(d, x, hn::Set(d, static_cast<T>(std::numbers::log2e)), round);
  const V k = hn::Sub(t, round);
  const V high = NegMulAdd(d, k, hn::Set(d, C::kLn2High), x);
  const V r = NegMulAdd(d, k, hn::Set(d, C::kLn2Low), high);
  return {MulAdd(d, hn::Mul(r, r), Polynomial(d, r, C::kExp), r), k, t};
}

// e^x - 1 where e^x is a normal number.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Expm1(D d, V x) {
  const Reduced<V> e = ReduceExp(d, x);
  const V power = PowerOfTwo(d, e.t);
  return MulAdd(d, power, e.minus_one, hn::Sub(power, hn::Set(d, hn::TFromD<D>(1))));
}

// b e^x where e^x is a normal number.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V TimesModestExp(D d, V b, V x) {
  const Reduced<V> e = ReduceExp(d, x);
  return hn::Mul(MulAdd(d, b, e.minus_one, b), PowerOfTwo(d, e.t));
}

// b e^x for any finite x: the power of two is applied in two halves, so that only a product that is
// itself out of range becomes infinite or 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V TimesExp(D d, V b, V x) {
  using C = Constants<D>;
  using T = hn::TFromD<D>;
  const V limit = hn::Set(d, C::kLargestExponent), round = hn::Set(d, C::kRound);
  const Reduced<V> e = ReduceExp(d, hn::Min(hn::Max(x, hn::Neg(limit)), limit));
  const V first = hn::Add(hn::Mul(e.k, hn::Set(d, T(0.5))), round);
  const V second = hn::Add(hn::Sub(e.k, hn::Sub(first, round)), round);
  const V product = hn::Mul(MulAdd(d, b, e.minus_one, b), PowerOfTwo(d, first));
  return hn::Mul(product, PowerOfTwo(d, second));
}

}  // namespace medgrad::noise::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard, once per target
