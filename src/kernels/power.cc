#include "kernels/power.h"

#include <algorithm>

#include "kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/power.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using U = hn::RebindToUnsigned<D>;
using V = hn::Vec<D>;

// Adding this to a number below 2^51 in size rounds it to an integer, which the low bits then hold.
constexpr double kRound = 0x1.8p52;

HWY_INLINE V Horner(V, V sum) { return sum; }
template <class... Rest>
HWY_INLINE V Horner(V z, V sum, double next, Rest... rest) {
  return Horner(z, hn::Add(hn::Mul(sum, z), hn::Set(D(), next)), rest...);
}

// t = 2^e m with m in [1/sqrt 2, sqrt 2): gives e and log m. The polynomial is fdlibm's e_log.c.
HWY_INLINE V LogParts(V t, V& e) {
  const D d;
  const U u;
  const auto tiny = hn::Lt(t, hn::Set(d, 0x1p-1022));
  t = hn::IfThenElse(tiny, hn::Mul(t, hn::Set(d, 0x1p54)), t);
  const auto half = hn::Set(u, 0x3fe6a09e00000000);  // the high bits of 1/sqrt 2
  const auto bits = hn::Add(hn::Sub(hn::BitCast(u, t), half), hn::Set(u, 0x3ff0000000000000));
  const V biased =
      hn::Sub(hn::BitCast(d, hn::Or(hn::ShiftRight<52>(bits), hn::Set(u, 0x4330000000000000))),
              hn::Set(d, 0x1p52));
  e = hn::Sub(biased, hn::IfThenElse(tiny, hn::Set(d, 1023 + 54), hn::Set(d, 1023)));
  const V m = hn::BitCast(d, hn::Add(hn::And(bits, hn::Set(u, 0x000fffffffffffff)), half));
  const V f = hn::Sub(m, hn::Set(d, 1.0)), s = hn::Div(f, hn::Add(m, hn::Set(d, 1.0)));
  const V z = hn::Mul(s, s), square = hn::Mul(hn::Set(d, 0.5), hn::Mul(f, f));
  const V series = hn::Mul(
      z, Horner(z, hn::Set(d, 1.479819860511658591e-01), 1.531383769920937332e-01,
                1.818357216161805012e-01, 2.222219843214978396e-01, 2.857142874366239149e-01,
                3.999999999940941908e-01, 6.666666666666735130e-01));
  return hn::Sub(f, hn::Sub(square, hn::Mul(s, hn::Add(square, series))));
}

// e^r for |r| <= log(2) / 2, fdlibm's e_exp.c.
HWY_INLINE V ExpNearZero(V r) {
  const D d;
  const V z = hn::Mul(r, r);
  const V c =
      hn::Sub(r, hn::Mul(z, Horner(z, hn::Set(d, 4.13813679705723846039e-08),
                                   -1.65339022054652515390e-06, 6.61375632143793436117e-05,
                                   -2.77777777770155933842e-03, 1.66666666666666019037e-01)));
  return hn::Add(hn::Set(d, 1.0), hn::Add(r, hn::Div(hn::Mul(r, c), hn::Sub(hn::Set(d, 2.0), c))));
}

// t^a = 2^k exp((a e - k) log 2 + a log m).
HWY_INLINE V Power(V t, V a) {
  const D d;
  const U u;
  V e;
  const V log_m = LogParts(t, e), whole = hn::Mul(a, e), part = hn::Mul(a, log_m);
  const V wanted = hn::Add(whole, hn::Mul(part, hn::Set(d, 1.44269504088896338700)));
  const V y = hn::Max(hn::Min(wanted, hn::Set(d, 1023.0)), hn::Set(d, -1022.0));
  const V rounded = hn::Add(y, hn::Set(d, kRound)), k = hn::Sub(rounded, hn::Set(d, kRound));
  const V r = hn::Add(hn::Mul(hn::Sub(whole, k), hn::Set(d, 0.693147180559945309417)), part);
  const auto biased = hn::Add(hn::BitCast(u, rounded), hn::Set(u, 1023));
  const V result = hn::Mul(ExpNearZero(r), hn::BitCast(d, hn::ShiftLeft<52>(biased)));
  const auto nothing = hn::Or(hn::Eq(t, hn::Zero(d)), hn::Lt(wanted, hn::Set(d, -1022.0)));
  return hn::IfThenElse(nothing, hn::Zero(d), result);
}

template <class F>
HWY_INLINE void ForAll(const double* t, std::size_t count, double* out, F&& f) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(f(hn::LoadU(d, t + i)), d, out + i);
  if (i == count) return;
  double rest[kLanes];
  std::fill_n(rest, kLanes, 1.0);
  std::copy_n(t + i, count - i, rest);
  hn::StoreU(f(hn::LoadU(d, rest)), d, rest);
  std::copy_n(rest, count - i, out + i);
}

void Powers(const double* t, std::size_t count, double a, double* out) {
  if (a == 0.5) return ForAll(t, count, out, [](V x) { return hn::Sqrt(x); });
  if (a == 1) return ForAll(t, count, out, [](V x) { return x; });
  if (a == 1.5) return ForAll(t, count, out, [](V x) { return hn::Mul(x, hn::Sqrt(x)); });
  if (a == 2) return ForAll(t, count, out, [](V x) { return hn::Mul(x, x); });
  if (a == 3) return ForAll(t, count, out, [](V x) { return hn::Mul(x, hn::Mul(x, x)); });
  const V exponent = hn::Set(D(), a);
  ForAll(t, count, out, [exponent](V x) { return Power(x, exponent); });
}

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::kernels {

HWY_EXPORT(Powers);

void powers(const double* t, std::size_t count, double a, double* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(Powers)(t, count, a, out);
}

}  // namespace medgrad::kernels
#endif  // HWY_ONCE
