#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/adapt.h"
#include "kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cut_adapt.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // re-includes this file per target
#include "hwy/highway.h"
#include "kernels/step-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {

// Blocks of kLanes components, so that sums do not depend on the vector width (step-inl.h).
template <class T>
class CutPass {
 public:
  CutPass(const Cut& how, CutTally& tally) : how_(how), tally_(tally) {
    increment_.Load(tally.increment);
    taken_.Load(tally.taken);
  }

  HWY_INLINE void Over(const CutRun<T>& run) {
    constexpr size_t kAhead = 2048 / sizeof(T), kLine = 64 / sizeof(T);
    size_t i = 0;
    for (; i + kLanes <= run.n; i += kLanes) {
      for (size_t k = 0; k < kLanes; k += kLine) {
        hwy::Prefetch(run.m + i + k + kAhead);
        hwy::Prefetch(run.g + i + k + kAhead);
        hwy::Prefetch(run.v + i + k + kAhead);
        hwy::Prefetch(run.w + i + k + kAhead);
      }
      Block(run.m + i, run.g + i, run.v + i, run.w + i);
    }
    if (i < run.n) Part(run, i);
    increment_.Store(tally_.increment);
    taken_.Store(tally_.taken);
  }

 private:
  using V = hn::Vec<Tag<T>>;
  static constexpr size_t kN = hn::MaxLanes(Tag<T>());

  HWY_INLINE V Set(double x) const { return hn::Set(Tag<T>(), static_cast<T>(x)); }

  HWY_INLINE void Block(T* HWY_RESTRICT pm, const T* HWY_RESTRICT pg, T* HWY_RESTRICT pv,
                        T* HWY_RESTRICT pw) {
    const Tag<T> d;
    const Adapt& adapt = how_.adapt;
    // Its square is finite, and so is the sum of two of them.
    const V most = hn::Set(d, std::sqrt(std::numeric_limits<T>::max()) / 2);
    const V far = hn::Set(d, std::numeric_limits<T>::max());
    for (size_t k = 0; k < kVectors<T>; ++k) {
      const size_t at = k * kN;
      const V m = hn::LoadU(d, pm + at), v = hn::LoadU(d, pv + at), w = hn::LoadU(d, pw + at);
      V g = hn::LoadU(d, pg + at);
      if (adapt.decay != 0) g = hn::Add(g, hn::Mul(Set(adapt.decay), w));
      const auto seen = hn::Eq(g, g);
      const V root_v = hn::Div(hn::Sqrt(v), Set(how_.root_before));
      const V bound = hn::IfThenElse(hn::Eq(v, hn::Zero(d)), most,
                                     hn::Min(hn::Mul(Set(how_.cut), root_v), most));
      const V whole = hn::IfThenElseZero(seen, hn::Sub(g, m));
      const V cut = hn::Min(hn::Max(whole, hn::Neg(bound)), bound);
      tally_.clipped += hn::CountTrue(d, hn::Ne(whole, cut));
      tally_.nan += hn::CountTrue(d, hn::Not(seen));
      tally_.inf += hn::CountTrue(d, hn::Gt(hn::Abs(g), far));
      increment_.Add(d, hn::Min(hn::Abs(whole), most), k);
      taken_.Add(d, cut, k);
      const V next_m = hn::Add(m, hn::Mul(Set(how_.share), cut));
      const V size = hn::Min(hn::Abs(hn::Add(m, cut)), most);
      const V next_v = hn::IfThenElse(
          seen,
          hn::Add(hn::Mul(Set(adapt.beta2), v), hn::Mul(hn::Mul(Set(1 - adapt.beta2), size), size)),
          v);
      const V scale = hn::Add(hn::Div(hn::Sqrt(next_v), Set(adapt.root)), Set(adapt.epsilon));
      hn::StoreU(next_m, d, pm + at);
      hn::StoreU(next_v, d, pv + at);
      hn::StoreU(
          hn::Sub(hn::Mul(Set(adapt.shrink), w), hn::Div(hn::Mul(Set(adapt.rate), next_m), scale)),
          d, pw + at);
    }
  }

  // Zeros in the other lanes have no increment and count for nothing.
  HWY_NOINLINE void Part(const CutRun<T>& run, size_t i) {
    T m[kLanes] = {}, g[kLanes] = {}, v[kLanes] = {}, w[kLanes] = {};
    const size_t rest = run.n - i;
    std::copy_n(run.m + i, rest, m);
    std::copy_n(run.g + i, rest, g);
    std::copy_n(run.v + i, rest, v);
    std::copy_n(run.w + i, rest, w);
    Block(m, g, v, w);
    std::copy_n(m, rest, run.m + i);
    std::copy_n(v, rest, run.v + i);
    std::copy_n(w, rest, run.w + i);
  }

  Cut how_;
  CutTally& tally_;
  LaneSquares increment_, taken_;
};

void CutF32(const CutRun<float>& run, const Cut& how, CutTally& tally) {
  CutPass<float>(how, tally).Over(run);
}
void CutF64(const CutRun<double>& run, const Cut& how, CutTally& tally) {
  CutPass<double>(how, tally).Over(run);
}

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::kernels {

HWY_EXPORT(CutF32);
HWY_EXPORT(CutF64);

template <>
void cut_and_adapt(const CutRun<float>& run, const Cut& how, CutTally& tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(CutF32)(run, how, tally);
}
template <>
void cut_and_adapt(const CutRun<double>& run, const Cut& how, CutTally& tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(CutF64)(run, how, tally);
}

}  // namespace medgrad::kernels
#endif  // HWY_ONCE
