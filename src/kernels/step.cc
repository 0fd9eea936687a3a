#include "kernels/step.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/step.cc"
#include "hwy/foreach_target.h"  // re-includes this file per target
#include "hwy/highway.h"
#include "kernels/pass-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {

// Whole blocks first, then the block that holds the culprit, one by one.
template <class T>
size_t FirstNonFinite(const T* x, size_t n) {
  const Tag<T> d;
  constexpr size_t kN = hn::MaxLanes(Tag<T>());
  const auto max = hn::Set(d, std::numeric_limits<T>::max());
  size_t i = 0;
  constexpr size_t kStride = 4 * kLanes;  // enough loads at once to keep the memory busy
  for (; i + kStride <= n; i += kStride) {
    auto fine = hn::Le(hn::Abs(hn::LoadU(d, x + i)), max);
    for (size_t k = kN; k < kStride; k += kN) {
      fine = hn::And(fine, hn::Le(hn::Abs(hn::LoadU(d, x + i + k)), max));
    }
    if (HWY_UNLIKELY(!hn::AllTrue(d, fine))) break;
  }
  while (i < n && std::isfinite(x[i])) ++i;
  return i;
}

void MeasureF32(const Run<float>& r, Mode m, Tally& t) { MeasureRun(r, m, t); }
void MeasureF64(const Run<double>& r, Mode m, Tally& t) { MeasureRun(r, m, t); }
void RelaxF32(const Run<float>& r, Mode m, Factor f, Tally* t) { RelaxRun(r, m, f, t); }
void RelaxF64(const Run<double>& r, Mode m, Factor f, Tally* t) { RelaxRun(r, m, f, t); }
void MixF32(const Run<float>& r, Mode m, double k, Factor f, Tally& t) { MixRun(r, m, k, f, t); }
void MixF64(const Run<double>& r, Mode m, double k, Factor f, Tally& t) { MixRun(r, m, k, f, t); }
void ClampF32(const Run<float>& r, Mode m, double tau, Tally& t) { ClampRun(r, m, tau, t); }
void ClampF64(const Run<double>& r, Mode m, double tau, Tally& t) { ClampRun(r, m, tau, t); }
void ClampAndCountF32(const Run<float>& r, Mode m, double tau, double size, Tally& t) {
  ClampAndCountRun(r, m, tau, size, t);
}
void ClampAndCountF64(const Run<double>& r, Mode m, double tau, double size, Tally& t) {
  ClampAndCountRun(r, m, tau, size, t);
}
void SignF32(const Run<float>& r, Mode m, double tau, Tally& t) { SignRun(r, m, tau, t); }
void SignF64(const Run<double>& r, Mode m, double tau, Tally& t) { SignRun(r, m, tau, t); }
size_t FirstNonFiniteF32(const float* x, size_t n) { return FirstNonFinite(x, n); }
size_t FirstNonFiniteF64(const double* x, size_t n) { return FirstNonFinite(x, n); }

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::kernels {

HWY_EXPORT(MeasureF32);
HWY_EXPORT(MeasureF64);
HWY_EXPORT(RelaxF32);
HWY_EXPORT(RelaxF64);
HWY_EXPORT(MixF32);
HWY_EXPORT(MixF64);
HWY_EXPORT(ClampF32);
HWY_EXPORT(ClampF64);
HWY_EXPORT(ClampAndCountF32);
HWY_EXPORT(ClampAndCountF64);
HWY_EXPORT(SignF32);
HWY_EXPORT(SignF64);
HWY_EXPORT(FirstNonFiniteF32);
HWY_EXPORT(FirstNonFiniteF64);

template <>
void measure(const Run<float>& run, Mode mode, Tally& tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(MeasureF32)(run, mode, tally);
}
template <>
void relax(const Run<float>& run, Mode mode, Factor factor, Tally* tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(RelaxF32)(run, mode, factor, tally);
}
template <>
void mix(const Run<float>& run, Mode mode, double keep, Factor factor, Tally& tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(MixF32)(run, mode, keep, factor, tally);
}
template <>
void clamp(const Run<float>& run, Mode mode, double tau, Tally& tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(ClampF32)(run, mode, tau, tally);
}
template <>
void clamp_and_count(const Run<float>& run, Mode mode, double tau, double size, Tally& tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(ClampAndCountF32)(run, mode, tau, size, tally);
}
template <>
void sign(const Run<float>& run, Mode mode, double tau, Tally& tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(SignF32)(run, mode, tau, tally);
}

template <>
void measure(const Run<double>& run, Mode mode, Tally& tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(MeasureF64)(run, mode, tally);
}
template <>
void relax(const Run<double>& run, Mode mode, Factor factor, Tally* tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(RelaxF64)(run, mode, factor, tally);
}
template <>
void mix(const Run<double>& run, Mode mode, double keep, Factor factor, Tally& tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(MixF64)(run, mode, keep, factor, tally);
}
template <>
void clamp(const Run<double>& run, Mode mode, double tau, Tally& tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(ClampF64)(run, mode, tau, tally);
}
template <>
void clamp_and_count(const Run<double>& run, Mode mode, double tau, double size, Tally& tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(ClampAndCountF64)(run, mode, tau, size, tally);
}
template <>
void sign(const Run<double>& run, Mode mode, double tau, Tally& tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(SignF64)(run, mode, tau, tally);
}

template <>
std::size_t first_non_finite(const float* x, std::size_t n) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(FirstNonFiniteF32)(x, n);
}
template <>
std::size_t first_non_finite(const double* x, std::size_t n) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(FirstNonFiniteF64)(x, n);
}

// Used where a projection in between costs far more than these loops: plain code.
template <class T, class M>
void increment(const Run<T, M>& run, Mode mode, T* v) {
  for (std::size_t i = 0; i < run.n; ++i) {
    const double m = mode.cold ? 0.0 : static_cast<double>(run.get(i));
    const double g = static_cast<double>(taken(run, i));
    v[i] = std::isnan(g) ? T{0} : static_cast<T>(finite<T>(finite<T>(g) - m));
  }
}

template <class T, class M>
void advance(const Run<T, M>& run, Mode mode, double factor, const T* v) {
  for (std::size_t i = 0; i < run.n; ++i) {
    const double m = mode.cold ? 0.0 : static_cast<double>(run.get(i));
    const double step = static_cast<double>(v[i]);
    const double next = std::isfinite(step) ? finite<T>(std::fma(factor, step, m)) : m;
    put_and_follow(run, i, static_cast<T>(next));
  }
}

template void increment(const Run<float>&, Mode, float*);
template void increment(const Run<double>&, Mode, double*);
template void increment(const Run<float, BFloat16>&, Mode, float*);
template void advance(const Run<float>&, Mode, double, const float*);
template void advance(const Run<double>&, Mode, double, const double*);
template void advance(const Run<float, BFloat16>&, Mode, double, const float*);

}  // namespace medgrad::kernels
#endif  // HWY_ONCE
