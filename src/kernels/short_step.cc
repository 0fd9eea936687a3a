#include "kernels/short_step.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/short_step.cc"
#include "hwy/foreach_target.h"  // re-includes this file per target
#include "hwy/highway.h"
#include "kernels/step-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {

// One step on a short run: a look at all of it, then the update of all of it.
template <class T, class Op>
class ShortStep {
 public:
  ShortStep(const Run<T>& run, Mode mode) : run_(run), mode_(mode) {}

  HWY_INLINE Seen Do(const Op& op, bool known = false) const {
    Seen seen;
    if (known) {
      seen.ordinary = true;
    } else {
      Look(seen);
    }
    if constexpr (!std::is_same_v<Op, Measure>) {
      if (HWY_LIKELY(seen.ordinary)) Update(op, seen);
    }
    return seen;
  }

 private:
  using V = hn::Vec<Tag<T>>;
  static constexpr bool kMoves = Op::Scalar::kMoves;
  static constexpr size_t kN = hn::MaxLanes(Tag<T>());

  HWY_INLINE void Look(Seen& seen) const {
    const Tag<T> d;
    LaneSquares squares;
    squares.Clear();
    auto fine = hn::FirstN(d, kN);
    EachVector([&](size_t i, size_t k, size_t count) HWY_ATTR {
      const V v = hn::Sub(LoadFirst(d, run_.g + i, count), LoadM(i, count));
      fine = hn::And(fine, InRange(d, v));
      squares.Add(d, v, k);
    });
    seen.ordinary = hn::AllTrue(d, fine);
    seen.squares = squares.Sum();
  }

  HWY_INLINE void Update(const Op& op, Seen& seen) const {
    const Tag<T> d;
    const V max = hn::Set(d, std::numeric_limits<T>::max());
    const V eta = hn::Set(d, static_cast<T>(run_.eta));
    LaneSquares moved;
    moved.Clear();
    Counts counts;
    EachVector([&](size_t i, size_t k, size_t count) HWY_ATTR {
      const V g = LoadFirst(d, run_.g + i, count), m = LoadM(i, count);
      const V r = hn::Min(hn::Max(op(d, m, g, hn::Sub(g, m), counts), hn::Neg(max)), max);
      if constexpr (kMoves) moved.Add(d, hn::Sub(r, m), k);
      StoreFirst(r, d, run_.m + i, count);
      if (run_.steps()) {
        const V w = LoadFirst(d, run_.w + i, count);
        StoreFirst(hn::Sub(w, hn::Mul(eta, r)), d, run_.w + i, count);
      }
    });
    if constexpr (kMoves) seen.moved = moved.Sum();
    seen.clipped = counts.clipped;
  }

  HWY_INLINE V LoadM(size_t i, size_t count) const {
    return mode_.cold ? hn::Zero(Tag<T>()) : LoadFirst(Tag<T>(), run_.m + i, count);
  }

  // Calls use(i, k, count) for the vectors of the run: from component i on, in the lanes of vector
  // k, `count` of them (or more, which all fit).
  template <class Use>
  HWY_INLINE void EachVector(const Use& use) const {
    for (size_t block = 0; block < run_.n; block += kLanes) {
      for (size_t k = 0; k < kVectors<T>; ++k) {
        const size_t i = block + k * kN;
        use(i, k, run_.n > i ? run_.n - i : 0);
      }
    }
  }

  const Run<T>& run_;
  Mode mode_;
};

Seen ShortMeasureF32(const Run<float>& run, Mode mode) {
  return ShortStep<float, Measure>(run, mode).Do({});
}
Seen ShortMeasureF64(const Run<double>& run, Mode mode) {
  return ShortStep<double, Measure>(run, mode).Do({});
}
Seen ShortRelaxF32(const Run<float>& run, Mode mode, double f, bool known) {
  return ShortStep<float, Relax<float>>(run, mode).Do({static_cast<float>(f)}, known);
}
Seen ShortRelaxF64(const Run<double>& run, Mode mode, double f, bool known) {
  return ShortStep<double, Relax<double>>(run, mode).Do({f}, known);
}
Seen ShortMixF32(const Run<float>& run, Mode mode, double keep, double f) {
  return ShortStep<float, Mix<float>>(run, mode).Do(
      {static_cast<float>(keep), static_cast<float>(f)});
}
Seen ShortMixF64(const Run<double>& run, Mode mode, double keep, double f) {
  return ShortStep<double, Mix<double>>(run, mode).Do({keep, f});
}
Seen ShortClampF32(const Run<float>& run, Mode mode, double tau) {
  return ShortStep<float, Clamp<float>>(run, mode).Do({static_cast<float>(tau)});
}
Seen ShortClampF64(const Run<double>& run, Mode mode, double tau) {
  return ShortStep<double, Clamp<double>>(run, mode).Do({tau});
}
Seen ShortSignF32(const Run<float>& run, Mode mode, double tau) {
  return ShortStep<float, Sign<float>>(run, mode).Do({static_cast<float>(tau)});
}
Seen ShortSignF64(const Run<double>& run, Mode mode, double tau) {
  return ShortStep<double, Sign<double>>(run, mode).Do({tau});
}

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::kernels {

HWY_EXPORT(ShortMeasureF32);
HWY_EXPORT(ShortMeasureF64);
HWY_EXPORT(ShortRelaxF32);
HWY_EXPORT(ShortRelaxF64);
HWY_EXPORT(ShortMixF32);
HWY_EXPORT(ShortMixF64);
HWY_EXPORT(ShortClampF32);
HWY_EXPORT(ShortClampF64);
HWY_EXPORT(ShortSignF32);
HWY_EXPORT(ShortSignF64);

template <>
Seen measure_short(const Run<float>& run, Mode mode) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(ShortMeasureF32)(run, mode);
}
template <>
Seen measure_short(const Run<double>& run, Mode mode) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(ShortMeasureF64)(run, mode);
}
template <>
Seen relax_short(const Run<float>& run, Mode mode, double f, bool known) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(ShortRelaxF32)(run, mode, f, known);
}
template <>
Seen relax_short(const Run<double>& run, Mode mode, double f, bool known) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(ShortRelaxF64)(run, mode, f, known);
}
template <>
Seen mix_short(const Run<float>& run, Mode mode, double keep, double f) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(ShortMixF32)(run, mode, keep, f);
}
template <>
Seen mix_short(const Run<double>& run, Mode mode, double keep, double f) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(ShortMixF64)(run, mode, keep, f);
}
template <>
Seen clamp_short(const Run<float>& run, Mode mode, double tau) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(ShortClampF32)(run, mode, tau);
}
template <>
Seen clamp_short(const Run<double>& run, Mode mode, double tau) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(ShortClampF64)(run, mode, tau);
}
template <>
Seen sign_short(const Run<float>& run, Mode mode, double tau) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(ShortSignF32)(run, mode, tau);
}
template <>
Seen sign_short(const Run<double>& run, Mode mode, double tau) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(ShortSignF64)(run, mode, tau);
}

}  // namespace medgrad::kernels
#endif  // HWY_ONCE
