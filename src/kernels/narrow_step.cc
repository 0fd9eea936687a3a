// The loops of step.h over an m that is kept in bfloat16.
#include "kernels/step.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/narrow_step.cc"
#include "hwy/foreach_target.h"  // re-includes this file per target
#include "hwy/highway.h"
#include "kernels/pass-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {

using NarrowRun = Run<float, BFloat16>;

void NarrowMeasure(const NarrowRun& r, Mode m, Tally& t) { MeasureRun(r, m, t); }
void NarrowRelax(const NarrowRun& r, Mode m, Factor f, Tally* t) { RelaxRun(r, m, f, t); }
void NarrowMix(const NarrowRun& r, Mode m, double k, Factor f, Tally& t) { MixRun(r, m, k, f, t); }
void NarrowClamp(const NarrowRun& r, Mode m, double tau, Tally& t) { ClampRun(r, m, tau, t); }
void NarrowClampAndCount(const NarrowRun& r, Mode m, double tau, double size, Tally& t) {
  ClampAndCountRun(r, m, tau, size, t);
}
void NarrowSign(const NarrowRun& r, Mode m, double tau, Tally& t) { SignRun(r, m, tau, t); }

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::kernels {

HWY_EXPORT(NarrowMeasure);
HWY_EXPORT(NarrowRelax);
HWY_EXPORT(NarrowMix);
HWY_EXPORT(NarrowClamp);
HWY_EXPORT(NarrowClampAndCount);
HWY_EXPORT(NarrowSign);

using NarrowRun = Run<float, BFloat16>;

template <>
void measure(const NarrowRun& run, Mode mode, Tally& tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(NarrowMeasure)(run, mode, tally);
}
template <>
void relax(const NarrowRun& run, Mode mode, Factor factor, Tally* tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(NarrowRelax)(run, mode, factor, tally);
}
template <>
void mix(const NarrowRun& run, Mode mode, double keep, Factor factor, Tally& tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(NarrowMix)(run, mode, keep, factor, tally);
}
template <>
void clamp(const NarrowRun& run, Mode mode, double tau, Tally& tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(NarrowClamp)(run, mode, tau, tally);
}
template <>
void clamp_and_count(const NarrowRun& run, Mode mode, double tau, double size, Tally& tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(NarrowClampAndCount)(run, mode, tau, size, tally);
}
template <>
void sign(const NarrowRun& run, Mode mode, double tau, Tally& tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(NarrowSign)(run, mode, tau, tally);
}

}  // namespace medgrad::kernels
#endif  // HWY_ONCE
