#include "kernels/step.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/step.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // re-includes this file per target
#include "hwy/highway.h"
#include "kernels/short_step.h"
#include "kernels/step-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {

// One pass. kMeasures: v^2 and the counts go to the tally. kWrites: m and w are updated.
template <bool kMeasures, bool kWrites, class T, class Op>
class Pass {
 public:
  Pass(const Op& op, const typename Op::Scalar& scalar, Mode mode, Tally& tally)
      : op_(op), scalar_(scalar), mode_(mode), tally_(tally) {}

  void Over(const Run<T>& run) {
    Run<T> rest = run;
    if (run.lane != 0) Part(First(rest, std::min(run.n, kLanes - run.lane)));
    if (rest.n >= kLanes) Body(First(rest, rest.n - rest.n % kLanes));
    if (rest.n != 0) Part(rest);
  }

 private:
  static constexpr bool kMoves = Op::Scalar::kMoves;
  static constexpr size_t kN = hn::MaxLanes(Tag<T>());
  // Blocks whose range is looked at together: 4 lines of each vector, as more that are asked for at
  // once have to wait for each other.
  static constexpr size_t kGroup = 16 / sizeof(T);
  using V = hn::Vec<Tag<T>>;

  // Asks for the blocks that come 2 KiB after those at p, every line of them. Where a pass measures
  // and writes, a block takes some 60 instructions, too many for the processor to look past enough
  // of them by itself; where it does one of the two, asking takes longer than it saves.
  static HWY_INLINE void AskAhead(const T* p) {
    constexpr size_t kAhead = 2048 / sizeof(T), kLine = 64 / sizeof(T);
    if constexpr (kMeasures && kWrites) {
      HWY_UNROLL(8)
      for (size_t i = 0; i < kGroup * kLanes; i += kLine) hwy::Prefetch(p + kAhead + i);
    }
  }

  struct Constants {
    Constants(const Run<T>& run, Mode mode)
        : cold(mode.cold),
          steps(run.steps()),
          decays(run.decays()),
          eta(static_cast<T>(run.eta)),
          shrink(static_cast<T>(run.shrink)),
          decay(static_cast<T>(run.decay)) {}
    bool cold, steps, decays;
    T eta, shrink, decay;
  };

  // Takes the first n components off a run.
  static Run<T> First(Run<T>& run, size_t n) {
    Run<T> first = run;
    first.n = n;
    run.m += n;
    run.g += n;
    if (run.w != nullptr) run.w += n;
    run.n -= n;
    run.lane = (run.lane + n) % kLanes;
    return first;
  }

  // What of a run the compiler knows, so that nothing else is in the loop over ordinary ones.
  enum class Shape { any, alone, with_w };  // the last two: warm, without decay

  // Whole blocks.
  HWY_INLINE void Body(const Run<T>& run) {
#if HWY_TARGET == HWY_SCALAR
    OneByOne(run);  // no processor of today runs this for its speed
#else
    if (mode_.cold || run.decays()) return Groups<Shape::any>(run);
    if constexpr (kWrites) {
      if (run.steps()) return Groups<Shape::with_w>(run);
    }
    Groups<Shape::alone>(run);
#endif
  }

  template <Shape kShape>
  HWY_NOINLINE void Groups(const Run<T>& run) {
    constexpr size_t kMany = kGroup * kLanes;
    const Op op = op_;
    const Constants constants(run, mode_);
    T *const m = run.m, *const w = run.w;
    const T* const g = run.g;
    // Of a w that is not there no component is asked for.
    const auto w_at = [w](size_t i) HWY_ATTR {
      return kShape == Shape::alone || (kShape == Shape::any && w == nullptr) ? nullptr : w + i;
    };
    Sums sums;
    Resume(sums);
    size_t at = 0;
    for (; at + kMany <= run.n; at += kMany) {
      AskAhead(m + at);
      AskAhead(g + at);
      if (w_at(at) != nullptr) AskAhead(w + at);
      if (HWY_UNLIKELY(!mode_.in_range &&
                       (!InRange<kShape, kGroup>(constants, m + at, g + at, w_at(at))))) {
        Keep(sums);
        OneByOne(Piece(run, at, kMany));
        Resume(sums);
        continue;
      }
      for (size_t i = at; i < at + kMany; i += kLanes) {
        Block<kShape>(op, constants, m + i, g + i, w_at(i), sums);
      }
    }
    Keep(sums);
    if (at < run.n) OneByOne(Piece(run, at, run.n - at));
  }

  // n components from `at` on, which begins a block.
  static Run<T> Piece(Run<T> run, size_t at, size_t n) {
    First(run, at);
    run.n = n;
    return run;
  }

  HWY_NOINLINE void OneByOne(Run<T> rest) {
    const Constants constants(rest, mode_);
    while (rest.n != 0) {
      const Run<T> block = First(rest, kLanes);
      if (InRange<Shape::any, 1>(constants, block.m, block.g, block.w)) {
        Sums sums;
        Resume(sums);
        Block<Shape::any>(op_, constants, block.m, block.g, block.w, sums);
        Keep(sums);
      } else {
        Slow(block);
      }
    }
  }

  // m of a vector, and what stands for its g.
  template <Shape kShape>
  static HWY_INLINE V LoadM(const Constants& constants, const T* pm, size_t i) {
    if (kShape == Shape::any && constants.cold) return hn::Zero(Tag<T>());
    return hn::LoadU(Tag<T>(), pm + i);
  }
  template <Shape kShape>
  static HWY_INLINE V LoadG(const Constants& constants, const T* pg, const T* pw, size_t i) {
    const Tag<T> d;
    const V g = hn::LoadU(d, pg + i);
    if (kShape != Shape::any || !constants.decays) return g;
    return hn::Add(g, hn::Mul(hn::Set(d, constants.decay), hn::LoadU(d, pw + i)));
  }

  // Can all components of so many blocks be squared as they are?
  template <Shape kShape, size_t kBlocks>
  static HWY_INLINE bool InRange(const Constants& constants, const T* pm, const T* pg,
                                 const T* pw) {
    const Tag<T> d;
    Range<T> range;
    HWY_UNROLL(4)
    for (size_t i = 0; i < kBlocks * kLanes; i += kN) {
      const V g = LoadG<kShape>(constants, pg, pw, i);
      range.Add(d, hn::Sub(g, LoadM<kShape>(constants, pm, i)));
    }
    return range.Holds(d);
  }

  // kLanes components at once, all in range.
  template <Shape kShape>
  static HWY_INLINE void Block(const Op& op, const Constants& constants, T* HWY_RESTRICT pm,
                               const T* HWY_RESTRICT pg, T* HWY_RESTRICT pw, Sums& sums) {
    const Tag<T> d;
    const bool steps = kShape == Shape::with_w || (kShape == Shape::any && constants.steps);
    HWY_UNROLL(16)
    for (size_t k = 0; k < kVectors<T>; ++k) {
      const size_t i = k * kN;
      const V m = LoadM<kShape>(constants, pm, i);
      const V g = LoadG<kShape>(constants, pg, pw, i);
      const V v = hn::Sub(g, m);
      if constexpr (kMeasures) sums.squares.Add(d, v, k);
      if constexpr (kWrites) {
        V r = op(d, m, g, v, sums.counts);
        if constexpr (!Op::kStaysFinite) {
          const V max = hn::Set(d, std::numeric_limits<T>::max());
          r = hn::Min(hn::Max(r, hn::Neg(max)), max);
        }
        if constexpr (kMoves) sums.moved.Add(d, hn::Sub(r, m), k);
        hn::StoreU(r, d, pm + i);
        if (steps) {
          const V w = hn::Mul(hn::Set(d, constants.shrink), hn::LoadU(d, pw + i));
          hn::StoreU(hn::Sub(w, hn::Mul(hn::Set(d, constants.eta), r)), d, pw + i);
        }
      }
    }
  }

  // Less than a block, in its lanes; zeros in the others have v = 0 and count for nothing.
  HWY_NOINLINE void Part(const Run<T>& part) {
    T m[kLanes] = {}, g[kLanes] = {}, w[kLanes] = {};
    for (size_t i = 0; i < part.n; ++i) {
      if (!mode_.cold) m[part.lane + i] = part.m[i];
      g[part.lane + i] = part.g[i];
      if (part.w != nullptr) w[part.lane + i] = part.w[i];
    }
    Sums sums;
    Resume(sums);
    const Constants constants(part, mode_);
    if (!InRange<Shape::any, 1>(constants, m, g, w)) return Slow(part);
    Block<Shape::any>(op_, constants, m, g, w, sums);
    Keep(sums);
    if constexpr (kWrites) {
      for (size_t i = 0; i < part.n; ++i) {
        part.m[i] = m[part.lane + i];
        if (part.steps()) part.w[i] = w[part.lane + i];
      }
    }
  }

  HWY_NOINLINE void Slow(const Run<T>& block) {
    ++tally_.out_of_range;
    scalar_block(block, mode_, scalar_, kMeasures, kWrites, 1, tally_);
  }

  // The sums go on where the tally is, so that every lane adds up its terms in their order, however
  // a vector is cut into runs.
  HWY_INLINE void Resume(Sums& sums) const {
    if constexpr (kMeasures) sums.squares.Load(tally_.increment.mid);
    if constexpr (kMoves) sums.moved.Load(tally_.moved);
    sums.counts = {};
  }
  HWY_INLINE void Keep(const Sums& sums) {
    if constexpr (kMeasures) sums.squares.Store(tally_.increment.mid);
    if constexpr (kMoves) sums.moved.Store(tally_.moved);
    sums.counts.add_to(tally_);
  }

  Op op_;
  typename Op::Scalar scalar_;
  Mode mode_;
  Tally& tally_;
};

template <class T>
void MeasureRun(const Run<T>& run, Mode mode, Tally& tally) {
  Pass<true, false, T, Measure>({}, {}, mode, tally).Over(run);
}
template <class T, class Op>
void RelaxRun(const Run<T>& run, Mode mode, const Op& op, Factor factor, Tally* tally) {
  Tally unused;
  if (tally != nullptr) {
    Pass<true, true, T, Op>(op, {factor}, mode, *tally).Over(run);
  } else {
    Pass<false, true, T, Op>(op, {factor}, mode, unused).Over(run);
  }
}
template <class T>
void RelaxRun(const Run<T>& run, Mode mode, Factor factor, Tally* tally) {
  const T f = static_cast<T>(factor.f);
  if (f < T{1}) {
    RelaxRun(run, mode, PartWay<T>{f}, factor, tally);
  } else {
    RelaxRun(run, mode, Relax<T>{f}, factor, tally);
  }
}
template <class T>
void MixRun(const Run<T>& run, Mode mode, double keep, Factor factor, Tally& tally) {
  const Mix<T> op{static_cast<T>(keep), static_cast<T>(factor.f)};
  Pass<true, true, T, Mix<T>>(op, {keep, factor}, mode, tally).Over(run);
}
template <class T>
void ClampRun(const Run<T>& run, Mode mode, double tau, Tally& tally) {
  Pass<true, true, T, Clamp<T>>({static_cast<T>(tau)}, {tau}, mode, tally).Over(run);
}
template <class T>
void ClampAndCountRun(const Run<T>& run, Mode mode, double tau, double size, Tally& tally) {
  Pass<true, true, T, ClampAndCount<T>>({static_cast<T>(tau), static_cast<T>(size)}, {tau, size},
                                        mode, tally)
      .Over(run);
}
template <class T>
void SignRun(const Run<T>& run, Mode mode, double tau, Tally& tally) {
  Pass<true, true, T, Sign<T>>({static_cast<T>(tau)}, {tau}, mode, tally).Over(run);
}

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

namespace {

template <class T, class Op>
void scalar_run(Run<T> run, Mode mode, const Op& op, bool measures, Tally& tally, double unit = 1) {
  while (run.n > 0) {
    Run<T> block = run;
    block.n = std::min(kLanes - run.lane, run.n);
    scalar_block(block, mode, op, measures, true, unit, tally);
    run.m += block.n;
    run.g += block.n;
    if (run.w != nullptr) run.w += block.n;
    run.n -= block.n;
    run.lane = 0;
  }
}

}  // namespace

template <>
void measure(const Run<float>& run, Mode mode, Tally& tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(MeasureF32)(run, mode, tally);
}
template <>
void measure(const Run<double>& run, Mode mode, Tally& tally) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(MeasureF64)(run, mode, tally);
}

template <class T>
void relax(const Run<T>& run, Mode mode, Factor factor, Tally* tally) {
  simd_ready();
  if (!representable<T>(factor)) {
    Tally unused;
    scalar_run(run, mode, ScalarRelax{factor}, tally != nullptr, tally ? *tally : unused);
  } else if constexpr (std::is_same_v<T, float>) {
    HWY_DYNAMIC_DISPATCH(RelaxF32)(run, mode, factor, tally);
  } else {
    HWY_DYNAMIC_DISPATCH(RelaxF64)(run, mode, factor, tally);
  }
}

template <class T>
void mix(const Run<T>& run, Mode mode, double keep, Factor factor, Tally& tally) {
  simd_ready();
  if (!representable<T>(factor)) {
    scalar_run(run, mode, ScalarMix{keep, factor}, true, tally);
  } else if constexpr (std::is_same_v<T, float>) {
    HWY_DYNAMIC_DISPATCH(MixF32)(run, mode, keep, factor, tally);
  } else {
    HWY_DYNAMIC_DISPATCH(MixF64)(run, mode, keep, factor, tally);
  }
}

template <class T>
void clamp(const Run<T>& run, Mode mode, double tau, Tally& tally) {
  simd_ready();
  if (!ordinary_tau<T>(tau)) {
    scalar_run(run, mode, ScalarClamp{tau}, true, tally, move_unit<T>(tau));
  } else if constexpr (std::is_same_v<T, float>) {
    HWY_DYNAMIC_DISPATCH(ClampF32)(run, mode, tau, tally);
  } else {
    HWY_DYNAMIC_DISPATCH(ClampF64)(run, mode, tau, tally);
  }
}

template <class T>
void clamp_and_count(const Run<T>& run, Mode mode, double tau, double size, Tally& tally) {
  simd_ready();
  const auto rounded = static_cast<double>(static_cast<T>(finite<T>(size)));
  if (!ordinary_tau<T>(tau)) {
    scalar_run(run, mode, ScalarClampAndCount{tau, rounded}, true, tally, move_unit<T>(tau));
  } else if constexpr (std::is_same_v<T, float>) {
    HWY_DYNAMIC_DISPATCH(ClampAndCountF32)(run, mode, tau, rounded, tally);
  } else {
    HWY_DYNAMIC_DISPATCH(ClampAndCountF64)(run, mode, tau, rounded, tally);
  }
}

template <class T>
void sign(const Run<T>& run, Mode mode, double tau, Tally& tally) {
  simd_ready();
  if (!ordinary_tau<T>(tau)) {
    scalar_run(run, mode, ScalarSign{tau}, true, tally, move_unit<T>(tau));
  } else if constexpr (std::is_same_v<T, float>) {
    HWY_DYNAMIC_DISPATCH(SignF32)(run, mode, tau, tally);
  } else {
    HWY_DYNAMIC_DISPATCH(SignF64)(run, mode, tau, tally);
  }
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
template <class T>
void increment(const Run<T>& run, Mode mode, T* v) {
  for (std::size_t i = 0; i < run.n; ++i) {
    const double m = mode.cold ? 0.0 : static_cast<double>(run.m[i]);
    const double g = static_cast<double>(taken(run, i));
    v[i] = std::isnan(g) ? T{0} : static_cast<T>(finite<T>(finite<T>(g) - m));
  }
}

template <class T>
void advance(const Run<T>& run, Mode mode, double factor, const T* v) {
  for (std::size_t i = 0; i < run.n; ++i) {
    const double m = mode.cold ? 0.0 : static_cast<double>(run.m[i]);
    const double step = static_cast<double>(v[i]);
    run.m[i] = static_cast<T>(std::isfinite(step) ? finite<T>(std::fma(factor, step, m)) : m);
    follow_m(run, i);
  }
}

template void relax(const Run<float>&, Mode, Factor, Tally*);
template void relax(const Run<double>&, Mode, Factor, Tally*);
template void mix(const Run<float>&, Mode, double, Factor, Tally&);
template void mix(const Run<double>&, Mode, double, Factor, Tally&);
template void clamp(const Run<float>&, Mode, double, Tally&);
template void clamp(const Run<double>&, Mode, double, Tally&);
template void clamp_and_count(const Run<float>&, Mode, double, double, Tally&);
template void clamp_and_count(const Run<double>&, Mode, double, double, Tally&);
template void sign(const Run<float>&, Mode, double, Tally&);
template void sign(const Run<double>&, Mode, double, Tally&);
template void increment(const Run<float>&, Mode, float*);
template void increment(const Run<double>&, Mode, double*);
template void advance(const Run<float>&, Mode, double, const float*);
template void advance(const Run<double>&, Mode, double, const double*);

}  // namespace medgrad::kernels
#endif  // HWY_ONCE
