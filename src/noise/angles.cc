#include "noise/angles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "noise/angles.cc"
#include "hwy/foreach_target.h"  // re-includes this file per target
#include "hwy/highway.h"
// After highway.h.
#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::noise::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Four lanes at most: every target then works on blocks of the same size.
using D = hn::CappedTag<double, 4>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;
constexpr std::size_t kWidth = hn::MaxLanes(D());

HWY_INLINE V Const(double x) { return hn::Set(D(), x); }
HWY_INLINE V Sine(V x) { return hn::Sin(D(), x); }
HWY_INLINE V Cosine(V x) { return hn::Cos(D(), x); }
HWY_INLINE V Choose(M mask, double yes, double no) {
  return hn::IfThenElse(mask, Const(yes), Const(no));
}

// The angles of one vector of s: the distance from the nearer end, and which end it is.
struct Position {
  HWY_INLINE Position(const Angles& a, V s) {
    const V size = hn::Abs(s);
    decay = hn::Exp(D(), hn::Neg(size));
    one_plus = hn::Add(Const(1), decay);
    far = hn::Div(Const(a.length), one_plus);
    near = hn::Mul(far, decay);
    from_psi = hn::Lt(s, hn::Zero(D()));
  }
  V decay, one_plus, far, near;
  M from_psi;
};

// a + b + c, or 0 where that is nothing but rounding: g is level at the end of a light tail, and an
// integral over a long stretch of noise is none.
HWY_INLINE V Sum(V a, V b, V c) {
  const V sum = hn::Add(hn::Add(a, b), c);
  const V size = hn::Add(hn::Add(hn::Abs(a), hn::Abs(b)), hn::Abs(c));
  return hn::IfThenElseZero(hn::Gt(hn::Abs(sum), hn::Mul(size, Const(2e-15))), sum);
}

struct Value {
  V log_g, slope;  // the slope by s
};

// n of the header, over sin(alpha psi) / C; see there.
HWY_INLINE V Excess(const Angles& a, const Place& p, const Position& at, V sine) {
  const M m = at.from_psi;
  const V half = hn::Mul(at.near, Const(0.5));
  const V k1 = Choose(m, p.x * a.cos_rho - a.rho_rest, p.x - a.omega_rest);
  const V k2 = Choose(m, 2 * a.root, 2 * a.root * a.cos_omega);
  const V k3 = Choose(m, p.z * a.sin_rho, -a.sin_omega * a.root);
  const V bend =
      hn::Mul(Cosine(hn::Mul(half, Const(a.alpha + 1))), Sine(hn::Mul(half, Const(a.epsilon))));
  const V n = hn::Add(hn::Sub(hn::Mul(k1, Sine(at.near)), hn::Mul(k2, bend)),
                      hn::Mul(k3, Cosine(hn::Mul(at.near, Choose(m, 1, a.alpha)))));
  return hn::Div(n, hn::Mul(sine, Const(a.root)));
}

// d log g / d psi = -q / (eps cos(theta) sin(alpha psi)) - (1 + alpha) cot(alpha psi) - eps cot(b)
// with q = sin(b), b = rho - eps psi = omega + eps phi.
template <bool kNearOne>
HWY_INLINE Value Evaluate(const Angles& a, const Place& p, const Position& at) {
  const M m = at.from_psi;
  const V psi = hn::IfThenElse(m, at.near, at.far), phi = hn::IfThenElse(m, at.far, at.near);
  V to_cosine = hn::Add(at.near, Choose(m, a.rho, 0));
  V angle = hn::Add(Choose(m, 0, a.omega), hn::Mul(Const(a.alpha), at.near));
  V b = hn::Add(Choose(m, a.rho, a.omega), hn::Mul(Choose(m, -a.epsilon, a.epsilon), at.near));
  V sign = Choose(m, 1, -1);  // of cot(alpha psi) against cot(angle), next that of cot(b)
  double sign_b = 1;
  if (a.is_short()) {
    to_cosine = phi;
    angle = hn::Mul(Const(a.alpha), psi);
    b = hn::Add(phi, angle);
    sign = Const(1);
    sign_b = -1;
  }
  const V cosine = Sine(to_cosine), sine = Sine(angle);
  const V q = Sine(b);
  const V q_ratio = hn::Div(q, cosine);
  const V log_q = hn::Log(D(), q_ratio);
  Value value;
  value.log_g =
      hn::Add(hn::Add(hn::Mul(hn::Add(Const(p.log_z), hn::Log(D(), hn::Div(cosine, sine))),
                              Const(a.alpha / a.epsilon)),
                      Const(a.log_c / a.epsilon)),
              log_q);
  if constexpr (kNearOne) {
    const V r = Excess(a, p, at, sine);
    const M small = hn::Lt(hn::Abs(r), Const(0.5));
    const V safe = hn::IfThenElseZero(small, r);
    // Log1p of Highway is good to an ulp or two of 1 + r only; the quotient restores small r.
    const V u = hn::Add(Const(1), safe);
    const V um1 = hn::Sub(u, Const(1));
    const V log_u = hn::Log(D(), u);
    const V log1p =
        hn::IfThenElse(hn::Eq(um1, hn::Zero(D())), safe, hn::Mul(log_u, hn::Div(safe, um1)));
    const V close =
        hn::Add(hn::Mul(log1p, Const(a.alpha / a.epsilon)), hn::Sub(log_q, Const(a.log_c)));
    value.log_g = hn::IfThenElse(small, close, value.log_g);
  }
  // near / sine and near / cosine stay finite at the end they belong to.
  const V first = hn::IfThenElse(m, hn::Mul(hn::Div(at.near, sine), q_ratio),
                                 hn::Mul(hn::Div(at.near, cosine), hn::Div(q, sine)));
  const V cot = hn::Mul(at.near, hn::Div(Cosine(angle), sine));
  const V second = hn::Mul(hn::Mul(Const(1 + a.alpha), sign), cot);
  const V third = hn::Mul(Const(sign_b * a.epsilon), hn::Mul(at.near, hn::Div(Cosine(b), q)));
  value.slope =
      hn::Neg(hn::Div(Sum(hn::Mul(first, Const(1 / a.epsilon)), second, third), at.one_plus));
  return value;
}

// alpha = 1: g = (2/pi) P / cos(theta) exp((P tan(theta) - pi x / 2) / beta), P = pi/2 + beta
// theta.
HWY_INLINE Value EvaluateAtOne(const Angles& a, const Place& p, const Position& at) {
  constexpr double kHalfPi = 1.5707963267948966;
  const M m = at.from_psi;
  const V P = hn::Add(Choose(m, (1 - a.beta) * kHalfPi, (1 + a.beta) * kHalfPi),
                      hn::Mul(Choose(m, a.beta, -a.beta), at.near));
  const V cosine = Sine(at.near);
  const V sign = Choose(m, -1, 1);
  const V tangent = hn::Mul(sign, hn::Div(Cosine(at.near), cosine));
  const V ratio = hn::Div(P, cosine);
  Value value;
  value.log_g =
      hn::Add(hn::Mul(hn::Sub(hn::Mul(P, tangent), Const(kHalfPi * p.x)), Const(1 / a.beta)),
              hn::Log(D(), hn::Mul(ratio, Const(1 / kHalfPi))));
  const V first = hn::Mul(hn::Mul(ratio, Const(1 / a.beta)), hn::Div(at.near, cosine));
  const V second = hn::Mul(hn::Mul(Const(2), tangent), at.near);
  const V third = hn::Mul(Const(a.beta), hn::Div(at.near, P));
  value.slope = hn::Div(Sum(first, second, third), at.one_plus);
  return value;
}

template <class F>
HWY_INLINE void Dispatch(const Angles& a, const Place& p, const F& f) {
  if (a.alpha == 1) {
    f([&](const Position& at) HWY_ATTR { return EvaluateAtOne(a, p, at); });
  } else if (a.near_one()) {
    f([&](const Position& at) HWY_ATTR { return Evaluate<true>(a, p, at); });
  } else {
    f([&](const Position& at) HWY_ATTR { return Evaluate<false>(a, p, at); });
  }
}

// Vectors of n values, the last one filled up with copies of the last value.
template <class F>
HWY_INLINE void Blocks(const double* s, std::size_t n, const F& f) {
  std::size_t i = 0;
  for (; i + kWidth <= n; i += kWidth) f(i, kWidth, hn::LoadU(D(), s + i));
  if (i == n) return;
  double rest[kWidth];
  for (std::size_t k = 0; k < kWidth; ++k) rest[k] = s[i + k < n ? i + k : n - 1];
  f(i, n - i, hn::LoadU(D(), rest));
}

HWY_INLINE void Store(V v, double* to, std::size_t n) {
  if (n == kWidth) return hn::StoreU(v, D(), to);
  double all[kWidth];
  hn::StoreU(v, D(), all);
  for (std::size_t k = 0; k < n; ++k) to[k] = all[k];
}

void LogG(const Angles& a, const Place& p, const double* s, double* log_g, double* slope,
          std::size_t n) {
  Dispatch(a, p, [&](const auto& evaluate) HWY_ATTR {
    Blocks(s, n, [&](std::size_t i, std::size_t count, V v) HWY_ATTR {
      const Value value = evaluate(Position(a, v));
      Store(value.log_g, log_g + i, count);
      Store(value.slope, slope + i, count);
    });
  });
}

template <class E>
HWY_INLINE V ValueAt(const Integrand& f, const E& evaluate, V s) {
  const V zero = hn::Zero(D()), end = Const(kEnd);
  const V size = hn::Abs(s);
  const Position at(f.angles, hn::Max(hn::Min(s, end), hn::Neg(end)));
  const Value value = evaluate(at);
  const V log_g = hn::Min(value.log_g, Const(700));
  const V g = hn::Exp(D(), log_g);
  // The logarithm of psi phi, psi or phi, up to factors between 1/2 and 1.
  const V lean = f.weight == Weight::density ? hn::Neg(size)
                 : f.weight == Weight::psi   ? hn::Min(s, zero)
                                             : hn::Min(hn::Neg(s), zero);
  const V exponent =
      hn::Add(hn::Sub(log_g, hn::Sub(g, Const(f.floor))), hn::Add(lean, Const(f.shift)));
  // Exp is not made for arguments past 706, and what is below e^-700 counts for nothing.
  const M counts = hn::And(hn::Gt(exponent, Const(-700)), hn::Le(size, end));
  const V scaled = hn::Exp(D(), hn::Min(hn::Max(exponent, Const(-700)), Const(700)));
  const V factor = f.weight == Weight::density ? hn::Div(at.far, at.one_plus)
                                               : hn::Mul(at.far, hn::Abs(value.slope));
  return hn::IfThenElseZero(counts, hn::Mul(scaled, factor));
}

void Values(const Integrand& f, const double* s, double* out, std::size_t n) {
  Dispatch(f.angles, f.place, [&](const auto& evaluate) HWY_ATTR {
    Blocks(s, n, [&](std::size_t i, std::size_t count, V v) HWY_ATTR {
      Store(ValueAt(f, evaluate, v), out + i, count);
    });
  });
}

void SumNodes(const Integrand& f, const Nodes& nodes, Summands& result) {
  Dispatch(f.angles, f.place, [&](const auto& evaluate) HWY_ATTR {
    V sum = hn::Zero(D()), first = sum, last = sum;
    const V one = Const(1), index = hn::Iota(D(), 0);
    for (std::size_t i = 0; i < nodes.n; i += kWidth) {
      const V v =
          hn::Add(Const(nodes.start),
                  hn::Mul(Const(nodes.step), hn::Add(index, Const(static_cast<double>(i)))));
      const V e = hn::Exp(D(), hn::Neg(v));
      const V s =
          hn::Add(Const(nodes.center), hn::Mul(Const(nodes.scale), hn::Sub(hn::Add(v, one), e)));
      last = hn::Mul(ValueAt(f, evaluate, s), hn::Add(one, e));
      if (i == 0) first = last;
      sum = hn::Add(sum, last);
    }
    double lanes[kWidth];
    hn::StoreU(sum, D(), lanes);
    result.sum = 0;
    for (const double lane : lanes) result.sum += lane;
    result.first = hn::GetLane(first);
    hn::StoreU(last, D(), lanes);
    result.last = lanes[kWidth - 1];
  });
}

}  // namespace medgrad::noise::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cmath>
#include <numbers>

#include "kernels/simd.h"

namespace medgrad::noise {

HWY_EXPORT(LogG);
HWY_EXPORT(Values);
HWY_EXPORT(SumNodes);

namespace {

// |tan(pi alpha / 2)|, without loss near its pole at 1 and its zeros at 0 and 2.
double tangent(double alpha) {
  constexpr double kHalfPi = std::numbers::pi / 2;
  const double from_one = std::fabs(alpha - 1);
  if (from_one < 0.5) return 1 / std::tan(kHalfPi * from_one);
  return std::tan(kHalfPi * (alpha < 1 ? alpha : 2 - alpha));
}

// 1 - |cos(angle)|
double half_square(double angle, double cosine) {
  const double half = cosine > 0 ? std::sin(angle / 2) : std::cos(angle / 2);
  return 2 * half * half;
}

}  // namespace

Angles::Angles(double a, double b) : alpha(a), beta(b), epsilon(a - 1) {
  if (alpha == 1) {
    length = std::numbers::pi;
    return;
  }
  const double t = tangent(alpha);
  // alpha rho and alpha length are sums of arc tangents of t and beta t.
  if (alpha < 1) {
    zeta = -beta * t;
    length = std::atan2((1 + beta) * t, 1 - beta * t * t) / alpha;
    rho = std::atan2((1 - beta) * t, 1 + beta * t * t) / alpha;
    omega = std::atan2((1 + beta) * t, beta * t * t - 1);
  } else {
    zeta = beta * t;
    omega = std::atan2((1 + beta) * t, 1 - beta * t * t);
    rho = std::atan2((1 - beta) * t, -(1 + beta * t * t)) / alpha;
    length = std::atan2((1 + beta) * t, beta * t * t - 1) / alpha;  // (pi - omega) / alpha
  }
  root = std::sqrt(1 + zeta * zeta);
  log_c = -0.5 * std::log1p(zeta * zeta);
  cos_rho = std::cos(rho);
  sin_rho = is_short() ? std::sin(length) : std::sin(rho);
  cos_omega = std::cos(omega);
  sin_omega = is_short() ? std::sin(alpha * length) : std::sin(omega);
  // root - |zeta| = 1 / (root + |zeta|): where the terms have opposite signs they all but cancel.
  rho_rest = zeta * cos_rho >= 0
                 ? zeta * cos_rho + root
                 : 1 / (root + std::fabs(zeta)) + std::fabs(zeta) * half_square(rho, cos_rho);
  omega_rest = zeta * cos_omega >= 0
                   ? zeta + cos_omega * root
                   : std::copysign(1, zeta) *
                         (half_square(omega, cos_omega) * root - 1 / (root + std::fabs(zeta)));
}

void log_g(const Angles& angles, const Place& place, const double* s, double* log_g, double* slope,
           std::size_t n) {
  kernels::simd_ready();
  HWY_DYNAMIC_DISPATCH(LogG)(angles, place, s, log_g, slope, n);
}

void integrand(const Integrand& f, const double* s, double* out, std::size_t n) {
  kernels::simd_ready();
  HWY_DYNAMIC_DISPATCH(Values)(f, s, out, n);
}

Summands summands(const Integrand& f, const Nodes& nodes) {
  kernels::simd_ready();
  Summands result{};
  HWY_DYNAMIC_DISPATCH(SumNodes)(f, nodes, result);
  return result;
}

}  // namespace medgrad::noise
#endif  // HWY_ONCE
