#include "noise/peers.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "noise/peers.cc"
#include "hwy/foreach_target.h"  // re-includes this file per target
#include "hwy/highway.h"
#include "kernels/simd.h"
#include "noise/philox-inl.h"
#include "noise/transform-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::noise::HWY_NAMESPACE {

// 1 - e^-y for y >= 0. Past 80 it is 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V OneMinusExp(D d, V y) {
  return hn::Neg(Expm1(d, hn::Neg(hn::Min(y, hn::Set(d, hn::TFromD<D>(80))))));
}

// Bailey (Math. Comp. 62, 1994): sqrt(df (u^{-2/df} - 1)) cos(theta) has Student's distribution for
// any df; Box and Muller's method is its limit. With y = 2 W / df the root is that of
// df e^y (1 - e^-y), which neither cancels nor overflows before its time.
template <class T>
struct StudentOp {
  explicit StudentOp(const StudentT& t)
      : front(Saturate<T>(t.scale * std::sqrt(t.df))), over_df(Saturate<T>(2 / t.df)) {}
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, WordsFor<D> a, WordsFor<D> b) const {
    const auto y = Saturated(d, hn::Mul(ExponentialOf(d, b), hn::Set(d, over_df)));
    const auto cos = SinCosPi(d, DistanceOf(d, a)).cos;
    const auto root = hn::Mul(cos, hn::Sqrt(OneMinusExp(d, y)));
    const auto x = TimesExp(d, root, hn::Mul(y, hn::Set(d, T(0.5))));
    const auto scaled = hn::Mul(Saturated(d, x), hn::Set(d, front));
    return Saturated(d, hn::Xor(scaled, SignOf(d, a)));
  }
  T front, over_df;
};

// e^y - 1 = e^y (1 - e^-y) with y = W / index.
template <class T>
struct ParetoOp {
  explicit ParetoOp(const Pareto& p)
      : scale(Saturate<T>(p.scale)), inverse(Saturate<T>(1 / p.index)), symmetric(p.symmetric) {}
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, WordsFor<D> a, WordsFor<D> b) const {
    const auto y = Saturated(d, hn::Mul(ExponentialOf(d, b), hn::Set(d, inverse)));
    const auto x = Saturated(d, TimesExp(d, OneMinusExp(d, y), y));
    const auto scaled = Saturated(d, hn::Mul(x, hn::Set(d, scale)));
    return symmetric ? hn::Xor(scaled, SignOf(d, a)) : scaled;
  }
  T scale, inverse;
  bool symmetric;
};

void StudentF64(const StudentT& t, const Source& s, std::uint64_t first, double* out, size_t n) {
  DrawSamples(StudentOp<double>(t), s, first, out, n);
}
void StudentF32(const StudentT& t, const Source& s, std::uint64_t first, float* out, size_t n) {
  DrawSamples(StudentOp<float>(t), s, first, out, n);
}
void ParetoF64(const Pareto& p, const Source& s, std::uint64_t first, double* out, size_t n) {
  DrawSamples(ParetoOp<double>(p), s, first, out, n);
}
void ParetoF32(const Pareto& p, const Source& s, std::uint64_t first, float* out, size_t n) {
  DrawSamples(ParetoOp<float>(p), s, first, out, n);
}

}  // namespace medgrad::noise::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::noise {

HWY_EXPORT(StudentF64);
HWY_EXPORT(StudentF32);
HWY_EXPORT(ParetoF64);
HWY_EXPORT(ParetoF32);

void draw_student(const StudentT& t, const Source& source, std::uint64_t first,
                  std::span<double> out) {
  kernels::simd_ready();
  HWY_DYNAMIC_DISPATCH(StudentF64)(t, source, first, out.data(), out.size());
}
void draw_student(const StudentT& t, const Source& source, std::uint64_t first,
                  std::span<float> out) {
  kernels::simd_ready();
  HWY_DYNAMIC_DISPATCH(StudentF32)(t, source, first, out.data(), out.size());
}
void draw_pareto(const Pareto& pareto, const Source& source, std::uint64_t first,
                 std::span<double> out) {
  kernels::simd_ready();
  HWY_DYNAMIC_DISPATCH(ParetoF64)(pareto, source, first, out.data(), out.size());
}
void draw_pareto(const Pareto& pareto, const Source& source, std::uint64_t first,
                 std::span<float> out) {
  kernels::simd_ready();
  HWY_DYNAMIC_DISPATCH(ParetoF32)(pareto, source, first, out.data(), out.size());
}

}  // namespace medgrad::noise
#endif  // HWY_ONCE
