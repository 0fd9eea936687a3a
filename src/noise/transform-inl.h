// The transforms of transform.h over SIMD lanes.
//
// Each is cut in two: Front takes sign(U), v and W to the factor b and the ratio r = P / (W cos U),
// Back takes these to the result. One loop over both would be a chain of some 400 cycles, too long
// for the processor to work on enough vectors at once.
#if defined(MEDGRAD_NOISE_TRANSFORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEDGRAD_NOISE_TRANSFORM_INL_H_
#undef MEDGRAD_NOISE_TRANSFORM_INL_H_
#else
#define MEDGRAD_NOISE_TRANSFORM_INL_H_
#endif

#include <cmath>
#include <limits>
#include <numbers>

#include "hwy/highway.h"
#include "noise/math-inl.h"
#include "noise/transform.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::noise::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_INLINE T Saturate(double x) {
  constexpr double kMax = std::numeric_limits<T>::max();
  return static_cast<T>(std::fmin(std::fmax(x, -kMax), kMax));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Saturated(D d, V x) {
  const V max = hn::Set(d, std::numeric_limits<hn::TFromD<D>>::max());
  return hn::Min(hn::Max(x, hn::Neg(max)), max);
}

// scale x + location, within the finite numbers. x may be infinite, never NaN; a scale of 0, to
// which a small one would be rounded in T, could make it so.
template <class T>
struct Affine {
  explicit Affine(const StablePlan& p)
      : scale(Saturate<T>(p.scale)), location(Saturate<T>(p.location)) {
    constexpr T kLeast = std::numeric_limits<T>::denorm_min();
    if (scale == 0) scale = p.scale < 0 ? -kLeast : kLeast;
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, V x) const {
    return Saturated(d, MulAdd(d, x, hn::Set(d, scale), hn::Set(d, location)));
  }
  T scale, location;
};

template <class V>
struct Parts {
  V b, r;
};

// X = tan U, and X = 2 sin U sqrt(W): all of it is b.
template <class T>
struct CauchyTransform {
  explicit CauchyTransform(const StablePlan& p) : affine(p) {}
  static constexpr bool kUsesW = false, kUsesR = false;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE Parts<V> Front(D d, V, V v, V) const {
    const auto p = SinCosPi(d, v);
    return {hn::Div(p.cos, p.sin), v};
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V Back(D d, V sign, const Parts<V>& x) const {
    return affine(d, hn::Xor(x.b, sign));
  }
  Affine<T> affine;
};
template <class T>
struct GaussianTransform {
  explicit GaussianTransform(const StablePlan& p) : affine(p) {}
  static constexpr bool kUsesW = true, kUsesR = false;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE Parts<V> Front(D d, V, V v, V w) const {
    const V x = hn::Mul(SinCosPi(d, v).cos, hn::Sqrt(w));
    return {hn::Add(x, x), v};
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V Back(D d, V sign, const Parts<V>& x) const {
    return affine(d, hn::Xor(x.b, sign));
  }
  Affine<T> affine;
};

// What the general transforms share: the constants, P, and the two quotients.
template <class T>
struct CmsBase {
  explicit CmsBase(const StablePlan& p)
      : affine(p),
        beta(static_cast<T>(p.beta)),
        delta_pi(static_cast<T>(p.delta * std::numbers::pi)),
        gap_pi(static_cast<T>(p.gap * std::numbers::pi)),
        sign_delta(static_cast<T>(p.sign)),
        ratio(static_cast<T>(std::fmin(p.ratio, kLargestRatio))),
        cotangent(static_cast<T>(p.cotangent)),
        cosecant(static_cast<T>(p.cosecant)) {}
  static constexpr bool kUsesW = true, kUsesR = true;

  // P from b = beta', the sine and cosine of |delta U|, and sin(|delta| pi v).
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V MixedP(D d, V b, Pair<V> du, V end) const {
    const V one = hn::Set(d, T(1));
    const V below =
        hn::Sub(hn::Mul(hn::Add(one, b), du.cos), hn::Mul(b, hn::Mul(hn::Set(d, cosecant), end)));
    const V above = hn::Add(du.cos, hn::Mul(b, hn::Mul(hn::Set(d, cotangent), du.sin)));
    return hn::IfThenElse(hn::Lt(b, hn::Zero(d)), below, above);
  }

  // tan U and r = P / (W cos U), with one division for both.
  template <class V>
  struct Quotients {
    V tan, r;
  };
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE Quotients<V> MakeQuotients(D d, Pair<V> end, V p, V w) const {
    const V inverse = hn::Div(hn::Set(d, T(1)), hn::Mul(w, end.sin));
    return {hn::Mul(end.cos, hn::Mul(w, inverse)), hn::Mul(p, inverse)};
  }
  // L, and t with the sign of beta'.
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V Exponent(D d, V r) const {
    return hn::Mul(hn::Set(d, ratio), LogPositive(d, r));
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V SignedT(D d, V sign) const {
    return hn::Xor(hn::Set(d, sign_delta * beta * cotangent), sign);
  }
  // Past it every sample is out of range, and its product with a logarithm must not be.
  static constexpr double kLargestRatio = 1e30;

  Affine<T> affine;
  T beta, delta_pi, gap_pi, sign_delta, ratio, cotangent, cosecant;
};

// |1 - alpha| <= 1/2, where |delta U| / 2 <= pi/8.
template <class T, bool kSkewed>
struct NearOneTransform : CmsBase<T> {
  using CmsBase<T>::CmsBase;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE Parts<V> Front(D d, V sign, V v, V w) const {
    const V sd = hn::Set(d, this->sign_delta);
    const Pair<V> end = SinCosPi(d, v);
    const V u = hn::Sub(hn::Set(d, T(0.5)), v);
    if constexpr (!kSkewed) {
      const Pair<V> du = SinCosQuarter(d, hn::Mul(hn::Set(d, this->delta_pi), u));
      const auto q = this->MakeQuotients(d, end, du.cos, w);
      return {NegMulAdd(d, sd, du.sin, hn::Mul(q.tan, du.cos)), q.r};
    } else {
      const Pair<V> half = SinCosQuarter(d, hn::Mul(hn::Set(d, this->delta_pi / 2), u));
      const V two_sin = hn::Add(half.sin, half.sin), one = hn::Set(d, T(1));
      const Pair<V> du = {hn::Mul(two_sin, half.cos), hn::Sub(one, hn::Mul(two_sin, half.sin))};
      const V skew = hn::Xor(hn::Set(d, this->beta), sign);
      const V p = this->MixedP(d, skew, du, SinQuarter(d, hn::Mul(hn::Set(d, this->delta_pi), v)));
      const auto q = this->MakeQuotients(d, end, p, w);
      const V drop = hn::Mul(hn::Mul(this->SignedT(d, sign), two_sin), half.sin);
      return {hn::Sub(hn::Sub(hn::Mul(q.tan, p), hn::Mul(sd, du.sin)), drop), q.r};
    }
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V Back(D d, V sign, const Parts<V>& x) const {
    // |log r| < 80 and |ratio| <= 1.
    if constexpr (!kSkewed) {
      const V z = TimesModestExp(d, x.b, this->Exponent(d, x.r));
      return this->affine(d, hn::Xor(z, sign));
    }
    const V e = Expm1(d, this->Exponent(d, x.r));
    const V grown = hn::Add(x.b, hn::Mul(x.b, e));
    return this->affine(d, hn::Xor(hn::Add(grown, hn::Mul(this->SignedT(d, sign), e)), sign));
  }
};

// |1 - alpha| > 1/2.
template <class T, bool kSkewed>
struct FarTransform : CmsBase<T> {
  using CmsBase<T>::CmsBase;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE Parts<V> Front(D d, V sign, V v, V w) const {
    const V sd = hn::Set(d, this->sign_delta);
    const Pair<V> end = SinCosPi(d, v);
    const V along = hn::Mul(hn::Set(d, this->delta_pi), v);
    const Pair<V> other = SinCosHalf(d, hn::Add(hn::Set(d, this->gap_pi / 2), along));
    const Pair<V> du = {other.cos, other.sin};
    if constexpr (!kSkewed) {
      const auto q = this->MakeQuotients(d, end, du.cos, w);
      return {NegMulAdd(d, sd, du.sin, hn::Mul(q.tan, du.cos)), q.r};
    } else {
      const V skew = hn::Xor(hn::Set(d, this->beta), sign);
      const V p = this->MixedP(d, skew, du, SinHalf(d, along));
      const auto q = this->MakeQuotients(d, end, p, w);
      const V rest = hn::Sub(hn::Mul(this->SignedT(d, sign), du.cos), hn::Mul(sd, du.sin));
      return {hn::Add(hn::Mul(q.tan, p), rest), q.r};
    }
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V Back(D d, V sign, const Parts<V>& x) const {
    const V z = TimesExp(d, x.b, this->Exponent(d, x.r));
    return this->affine(d, hn::Xor(kSkewed ? hn::Sub(z, this->SignedT(d, sign)) : z, sign));
  }
};

// Kanter's K, or its square root. delta = 1 - alpha and gap = alpha here.
template <class T, bool kRoot>
struct PositiveTransform : CmsBase<T> {
  using CmsBase<T>::CmsBase;
  // sin(c psi) for 0 < c < 1: psi = pi v below the middle, pi - pi v above, where c psi and
  // pi - c psi = pi (1 - c) + c pi v are both sums without cancellation; the smaller is taken.
  template <class M, class D, class V = hn::Vec<D>>
  HWY_INLINE V SinOf(D d, M lower, V v, T c_pi, T rest_pi) const {
    const V near = hn::Mul(hn::Set(d, c_pi), v);
    const V far = hn::Min(hn::Sub(hn::Set(d, c_pi), near), hn::Add(hn::Set(d, rest_pi), near));
    return SinHalf(d, hn::IfThenElse(lower, near, far));
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE Parts<V> Front(D d, V sign, V v, V w) const {
    // beta = -1 is the mirror image.
    const auto lower = IsNegative(d, hn::Xor(sign, hn::Set(d, this->beta)));
    const V sin = SinCosPi(d, v).sin;
    const V inverse = hn::Div(hn::Set(d, T(1)), hn::Mul(w, sin));
    const V top = SinOf(d, lower, v, this->delta_pi, this->gap_pi);
    const V front = hn::Mul(SinOf(d, lower, v, this->gap_pi, this->delta_pi), hn::Mul(w, inverse));
    return {kRoot ? hn::Sqrt(front) : front, hn::Mul(top, inverse)};
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V Back(D d, V, const Parts<V>& x) const {
    return this->affine(d, TimesExp(d, x.b, this->Exponent(d, x.r)));
  }
};

}  // namespace medgrad::noise::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard, once per target
