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
  CutPass(const Cut& how, CutTally& tally)
      : tally_(tally),
        decays_(how.adapt.decay != 0),
        decay_(static_cast<T>(how.adapt.decay)),
        keep_(static_cast<T>(how.adapt.beta2)),
        take_(static_cast<T>(1 - how.adapt.beta2)),
        share_(static_cast<T>(how.share)),
        shrink_(static_cast<T>(how.adapt.shrink)),
        rate_(static_cast<T>(how.adapt.rate * how.adapt.root)),
        epsilon_(static_cast<T>(how.adapt.epsilon * how.adapt.root)),
        bound_(static_cast<T>(std::min<double>(how.cut / how.root_before, Limits::max()))),
        surely_(static_cast<T>(std::min<double>(
            static_cast<double>(bound_) * static_cast<double>(bound_) * 0.99, Limits::max()))) {
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
  using Limits = std::numeric_limits<T>;
  static constexpr size_t kN = hn::MaxLanes(Tag<T>());

  // Its square is finite, and so is the sum of two of them.
  static HWY_INLINE V Most() {
    return hn::Set(Tag<T>(), std::sqrt(std::numeric_limits<T>::max()) / 2);
  }

  HWY_INLINE V LoadG(const T* pg, const T* pw) const {
    const Tag<T> d;
    const V g = hn::LoadU(d, pg);
    return decays_ ? hn::Add(g, hn::Mul(hn::Set(d, decay_), hn::LoadU(d, pw))) : g;
  }

  HWY_INLINE void Block(T* HWY_RESTRICT pm, const T* HWY_RESTRICT pg, T* HWY_RESTRICT pv,
                        T* HWY_RESTRICT pw) {
    if (HWY_LIKELY(IsWhole(pm, pg, pv, pw))) {
      Update<false>(pm, pg, pv, pw);
    } else {
      Update<true>(pm, pg, pv, pw);
    }
  }

  // Is it certain, without a root, that all of the block is finite and nothing of it is cut? The
  // squares have a margin for their rounding, and count only where they do not underflow.
  HWY_INLINE bool IsWhole(const T* pm, const T* pg, const T* pv, const T* pw) const {
    const Tag<T> d;
    const V most = hn::Set(d, std::numeric_limits<T>::max() / 8);
    auto whole = hn::FirstN(d, kN);
    for (size_t at = 0; at < kLanes; at += kN) {
      const V x = hn::Sub(LoadG(pg + at, pw + at), hn::LoadU(d, pm + at));
      const V square = hn::Mul(x, x);
      const V bound = hn::Min(hn::Mul(hn::Set(d, surely_), hn::LoadU(d, pv + at)), most);
      whole = hn::And(whole, hn::And(hn::Le(square, bound),
                                     hn::Or(hn::Ge(square, hn::Set(d, Limits::min() * 2)),
                                            hn::Eq(x, hn::Zero(d)))));
    }
    return hn::AllTrue(d, whole);
  }

  template <bool kCuts>
  HWY_INLINE void Update(T* HWY_RESTRICT pm, const T* HWY_RESTRICT pg, T* HWY_RESTRICT pv,
                         T* HWY_RESTRICT pw) {
    const Tag<T> d;
    const V most = Most(), far = hn::Set(d, Limits::max());
    for (size_t k = 0; k < kVectors<T>; ++k) {
      const size_t at = k * kN;
      const V m = hn::LoadU(d, pm + at), v = hn::LoadU(d, pv + at), w = hn::LoadU(d, pw + at);
      const V g = LoadG(pg + at, pw + at);
      const auto seen = hn::Eq(g, g);
      V whole = hn::Sub(g, m), cut = whole;
      if constexpr (kCuts) {
        whole = hn::IfThenElseZero(seen, whole);
        const V bound = hn::IfThenElse(hn::Eq(v, hn::Zero(d)), most,
                                       hn::Min(hn::Mul(hn::Set(d, bound_), hn::Sqrt(v)), most));
        cut = hn::Min(hn::Max(whole, hn::Neg(bound)), bound);
        tally_.clipped += hn::CountTrue(d, hn::Ne(whole, cut));
        tally_.nan += hn::CountTrue(d, hn::Not(seen));
        tally_.inf += hn::CountTrue(d, hn::Gt(hn::Abs(g), far));
        increment_.Add(d, hn::Min(hn::Abs(whole), most), k);
      } else {
        increment_.Add(d, whole, k);
      }
      taken_.Add(d, cut, k);
      const V next_m = hn::Add(m, hn::Mul(hn::Set(d, share_), cut));
      const V size = hn::Min(hn::Abs(hn::Add(m, cut)), most);
      V next_v =
          hn::Add(hn::Mul(hn::Set(d, keep_), v), hn::Mul(hn::Mul(hn::Set(d, take_), size), size));
      if constexpr (kCuts) next_v = hn::IfThenElse(seen, next_v, v);
      const V scale = hn::Add(hn::Sqrt(next_v), hn::Set(d, epsilon_));
      hn::StoreU(next_m, d, pm + at);
      hn::StoreU(next_v, d, pv + at);
      hn::StoreU(hn::Sub(hn::Mul(hn::Set(d, shrink_), w),
                         hn::Div(hn::Mul(hn::Set(d, rate_), next_m), scale)),
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

  CutTally& tally_;
  LaneSquares increment_, taken_;
  bool decays_;
  T decay_, keep_, take_, share_, shrink_, rate_, epsilon_;
  T bound_, surely_;  // increments up to bound_ roots of v pass; so do squares up to surely_ v
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
