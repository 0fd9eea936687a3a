// One pass of an online step over a run, per SIMD target: ranges first, then the operation, with
// scalar code for what is out of range. Included after foreach_target.h, once per target.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/short_step.h"
#include "kernels/step-inl.h"

#if defined(MEDGRAD_KERNELS_PASS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEDGRAD_KERNELS_PASS_INL_H_
#undef MEDGRAD_KERNELS_PASS_INL_H_
#else
#define MEDGRAD_KERNELS_PASS_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {

// m as it is kept: in the type of the step, or in bfloat16, rounded at random (bfloat16.h).
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadKept(D d, const T* p) {
  return hn::LoadU(d, p);
}
template <class D>
HWY_INLINE hn::Vec<D> LoadKept(D d, const BFloat16* p) {
  const hn::RebindToUnsigned<D> wide;
  const hn::Rebind<std::uint16_t, D> narrow;
  const auto bits = hn::LoadU(narrow, reinterpret_cast<const std::uint16_t*>(p));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(wide, bits)));
}
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void StoreKept(hn::Vec<D> v, D d, T* p, const RandomBits&, std::uint32_t) {
  hn::StoreU(v, d, p);
}
template <class D>
HWY_INLINE void StoreKept(hn::Vec<D> v, D, BFloat16* p, const RandomBits& random,
                          std::uint32_t place) {
  const hn::RebindToUnsigned<D> wide;
  const hn::RebindToSigned<D> with_sign;
  const hn::Rebind<std::uint16_t, D> narrow;
  auto h = hn::Xor(hn::Iota(wide, place), hn::Set(wide, random.first));
  h = hn::Mul(hn::Xor(h, hn::ShiftRight<16>(h)), hn::Set(wide, RandomBits::kFirstFactor));
  h = hn::Xor(hn::Xor(h, hn::ShiftRight<15>(h)), hn::Set(wide, random.second));
  h = hn::Mul(h, hn::Set(wide, RandomBits::kSecondFactor));
  h = hn::Mul(hn::Xor(h, hn::ShiftRight<15>(h)), hn::Set(wide, RandomBits::kThirdFactor));
  h = hn::ShiftRight<16>(h);
  const auto bits = hn::BitCast(wide, v), sign = hn::Set(wide, 0x80000000);
  const auto size = hn::Add(hn::Min(hn::AndNot(sign, bits), hn::Set(wide, kMostBFloat16)), h);
  const auto upper = hn::ShiftRight<16>(hn::Or(hn::And(sign, bits), size));
  hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(with_sign, upper)), narrow,
             reinterpret_cast<std::uint16_t*>(p));
}

// One pass. kMeasures: v^2 and the counts go to the tally. kWrites: m and w are updated.
template <bool kMeasures, bool kWrites, class T, class Op, class M = T>
class Pass {
 public:
  Pass(const Op& op, const typename Op::Scalar& scalar, Mode mode, Tally& tally)
      : op_(op), scalar_(scalar), mode_(mode), tally_(tally) {}

  void Over(const Run<T, M>& run) {
    Run<T, M> rest = run;
    if (run.lane != 0) Part(First(rest, std::min(run.n, kLanes - run.lane)));
    if (rest.n >= kLanes) Body(First(rest, rest.n - rest.n % kLanes));
    if (rest.n != 0) Part(rest);
  }

 private:
  static constexpr bool kMoves = Op::Scalar::kMoves;
  static constexpr size_t kN = hn::MaxLanes(Tag<T>());
  // Blocks whose range is looked at together: where a pass writes, 2 lines of m, so that
  // what it has read stays in registers until it is written, and as more lines that are asked for
  // at once have to wait for each other; where it only measures 8, as every look waits for sums.
  static constexpr size_t kGroup =
      kWrites ? 128 / (kLanes * sizeof(M)) : 512 / (kLanes * sizeof(T));
  using V = hn::Vec<Tag<T>>;

  // What is asked for 3 KiB of m ahead of its turn. Nearer, lines come too late; at 8 KiB floats in
  // large pages lose a tenth. A pass that only reads is no faster for asking, nor is one over
  // doubles in large pages that only writes, which has few enough instructions for the processor to
  // look past.
  static constexpr bool kAsks = kWrites && (kMeasures || sizeof(T) == 4);
  template <class E>
  static HWY_INLINE void AskAhead(const E* p) {
    constexpr size_t kAhead = 3072 / sizeof(M), kLine = 64 / sizeof(E);
    if constexpr (kAsks) {
      HWY_UNROLL(2)
      for (size_t i = 0; i < kLanes; i += kLine) hwy::Prefetch(p + kAhead + i);
    }
  }

  struct Constants {
    Constants(const Run<T, M>& run, Mode mode)
        : random(run.random),
          cold(mode.cold),
          steps(run.steps()),
          decays(run.decays()),
          eta(static_cast<T>(run.eta)),
          shrink(static_cast<T>(run.shrink)),
          decay(static_cast<T>(run.decay)) {}
    RandomBits random;
    bool cold, steps, decays;
    T eta, shrink, decay;
  };

  // Takes the first n components off a run.
  static Run<T, M> First(Run<T, M>& run, size_t n) {
    Run<T, M> first = run;
    first.n = n;
    run = run.behind(n);
    return first;
  }

  // What of a run the compiler knows, so that nothing else is in the loop over ordinary ones.
  enum class Shape { any, alone, with_w };  // the last two: warm, without decay of any kind

  // Whole blocks.
  HWY_INLINE void Body(const Run<T, M>& run) {
#if HWY_TARGET == HWY_SCALAR
    OneByOne(run);  // no processor of today runs this for its speed
#else
    if (mode_.cold || run.decays() || run.shrink != 1) return Groups<Shape::any>(run);
    if constexpr (kWrites) {
      if (run.steps()) return Groups<Shape::with_w>(run);
    }
    Groups<Shape::alone>(run);
#endif
  }

  template <Shape kShape>
  HWY_NOINLINE void Groups(const Run<T, M>& run) {
    constexpr size_t kMany = kGroup * kLanes;
    const Op op = op_;
    const Constants constants(run, mode_);
    M* const m = run.m;
    T* const w = run.w;
    const T* const g = run.g;
    // Of a w that is not there no component is asked for.
    const bool has_w = kShape == Shape::with_w || (kShape == Shape::any && w != nullptr);
    const auto w_at = [=](size_t i) HWY_ATTR { return has_w ? w + i : nullptr; };
    // Copies, as for all that the compiler knows the vectors' stores may change the originals.
    const size_t n = run.n;
    const std::uint32_t place = run.place;
    const bool in_range = mode_.in_range;
    Sums sums;
    Resume(sums);
    size_t at = 0;
    for (; n - at >= kMany; at += kMany) {
      const LaneSquares before = sums.squares;
      if constexpr (kMeasures) {
        HWY_UNROLL(8)
        for (size_t k = 0; k < kGroup; ++k) {
          const size_t i = at + k * kLanes;
          Square<kShape>(constants, m + i, g + i, w_at(i), sums);
        }
      }
      // What has been added up says nearly always that all is in range, without a look at each.
      const bool fine = in_range || (kMeasures && sums.squares.TellInRange(Tag<T>(), before)) ||
                        InRange<kShape, kGroup>(constants, m + at, g + at, w_at(at));
      if (HWY_UNLIKELY(!fine)) {
        sums.squares = before;
        Keep(sums);
        OneByOne(Piece(run, at, kMany));
        Resume(sums);
        continue;
      }
      if constexpr (kWrites) {
        HWY_UNROLL(8)
        for (size_t k = 0; k < kGroup; ++k) {
          const size_t i = at + k * kLanes;
          AskAhead(m + i);
          AskAhead(g + i);
          if (has_w) AskAhead(w + i);
          Update<kShape>(op, constants, m + i, g + i, w_at(i),
                         place + static_cast<std::uint32_t>(i), sums);
        }
      }
    }
    Keep(sums);
    if (at < run.n) OneByOne(Piece(run, at, run.n - at));
  }

  // n components from `at` on, which begins a block.
  static Run<T, M> Piece(Run<T, M> run, size_t at, size_t n) {
    First(run, at);
    run.n = n;
    return run;
  }

  HWY_NOINLINE void OneByOne(Run<T, M> rest) {
    const Constants constants(rest, mode_);
    while (rest.n != 0) {
      const Run<T, M> block = First(rest, kLanes);
      if (InRange<Shape::any, 1>(constants, block.m, block.g, block.w)) {
        Sums sums;
        Resume(sums);
        Square<Shape::any>(constants, block.m, block.g, block.w, sums);
        Update<Shape::any>(op_, constants, block.m, block.g, block.w, block.place, sums);
        Keep(sums);
      } else {
        Slow(block);
      }
    }
  }

  // m of a vector, and what stands for its g.
  template <Shape kShape, class E>
  static HWY_INLINE V LoadM(const Constants& constants, const E* pm, size_t i) {
    if (kShape == Shape::any && constants.cold) return hn::Zero(Tag<T>());
    return LoadKept(Tag<T>(), pm + i);
  }
  template <Shape kShape>
  static HWY_INLINE V LoadG(const Constants& constants, const T* pg, const T* pw, size_t i) {
    const Tag<T> d;
    const V g = hn::LoadU(d, pg + i);
    if (kShape != Shape::any || !constants.decays) return g;
    return hn::Add(g, hn::Mul(hn::Set(d, constants.decay), hn::LoadU(d, pw + i)));
  }

  // Can all components of so many blocks be squared as they are?
  template <Shape kShape, size_t kBlocks, class E>
  static HWY_INLINE bool InRange(const Constants& constants, const E* pm, const T* pg,
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

  // The squares of kLanes components at once.
  template <Shape kShape, class E>
  static HWY_INLINE void Square(const Constants& constants, const E* pm, const T* pg, const T* pw,
                                Sums& sums) {
    if constexpr (kMeasures) {
      HWY_UNROLL(16)
      for (size_t k = 0; k < kVectors<T>; ++k) {
        const size_t i = k * kN;
        const V g = LoadG<kShape>(constants, pg, pw, i);
        sums.squares.Add(Tag<T>(), hn::Sub(g, LoadM<kShape>(constants, pm, i)), k);
      }
    }
  }

  // The step of kLanes components at once, all in range.
  template <Shape kShape, class E>
  static HWY_INLINE void Update(const Op& op, const Constants& constants, E* HWY_RESTRICT pm,
                                const T* HWY_RESTRICT pg, T* HWY_RESTRICT pw, std::uint32_t place,
                                Sums& sums) {
    if constexpr (kWrites) {
      const Tag<T> d;
      const bool steps = kShape == Shape::with_w || (kShape == Shape::any && constants.steps);
      HWY_UNROLL(16)
      for (size_t k = 0; k < kVectors<T>; ++k) {
        const size_t i = k * kN;
        const V m = LoadM<kShape>(constants, pm, i);
        const V g = LoadG<kShape>(constants, pg, pw, i);
        V r = op(d, m, g, hn::Sub(g, m), sums.counts);
        if constexpr (!Op::kStaysFinite) {
          const V max = hn::Set(d, std::numeric_limits<T>::max());
          r = hn::Min(hn::Max(r, hn::Neg(max)), max);
        }
        if constexpr (kMoves) sums.moved.Add(d, hn::Sub(r, m), k);
        StoreKept(r, d, pm + i, constants.random, place + static_cast<std::uint32_t>(i));
        if (steps) {
          V w = hn::LoadU(d, pw + i);
          if constexpr (kShape == Shape::any) w = hn::Mul(hn::Set(d, constants.shrink), w);
          hn::StoreU(hn::Sub(w, hn::Mul(hn::Set(d, constants.eta), r)), d, pw + i);
        }
      }
    }
  }

  // Less than a block, in its lanes; zeros in the others have v = 0 and count for nothing.
  HWY_NOINLINE void Part(const Run<T, M>& part) {
    T m[kLanes] = {}, g[kLanes] = {}, w[kLanes] = {};
    for (size_t i = 0; i < part.n; ++i) {
      if (!mode_.cold) m[part.lane + i] = part.get(i);
      g[part.lane + i] = part.g[i];
      if (part.w != nullptr) w[part.lane + i] = part.w[i];
    }
    Sums sums;
    Resume(sums);
    const Constants constants(part, mode_);
    if (!InRange<Shape::any, 1>(constants, m, g, w)) return Slow(part);
    Square<Shape::any>(constants, m, g, w, sums);
    Update<Shape::any>(op_, constants, m, g, w, 0, sums);
    Keep(sums);
    if constexpr (kWrites) {
      for (size_t i = 0; i < part.n; ++i) {
        part.put(i, m[part.lane + i]);
        if (part.steps()) part.w[i] = w[part.lane + i];
      }
    }
  }

  HWY_NOINLINE void Slow(const Run<T, M>& block) {
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

// The loops of step.h. A factor or a tau that T does not carry is for scalar code.
template <class T, class M>
void MeasureRun(const Run<T, M>& run, Mode mode, Tally& tally) {
  Pass<true, false, T, Measure, M>({}, {}, mode, tally).Over(run);
}
template <class T, class M, class Op>
void RelaxRun(const Run<T, M>& run, Mode mode, const Op& op, Factor factor, Tally* tally) {
  Tally unused;
  if (tally != nullptr) {
    Pass<true, true, T, Op, M>(op, {factor}, mode, *tally).Over(run);
  } else {
    Pass<false, true, T, Op, M>(op, {factor}, mode, unused).Over(run);
  }
}
template <class T, class M>
void RelaxRun(const Run<T, M>& run, Mode mode, Factor factor, Tally* tally) {
  const T f = static_cast<T>(factor.f);
  if (!representable<T>(factor)) {
    Tally unused;
    scalar_run(run, mode, ScalarRelax{factor}, tally != nullptr, tally ? *tally : unused);
  } else if (f >= 0 && f < PartWay<T>::kEnd) {
    RelaxRun(run, mode, PartWay<T>{f}, factor, tally);
  } else {
    RelaxRun(run, mode, Relax<T>{f}, factor, tally);
  }
}
template <class T, class M>
void MixRun(const Run<T, M>& run, Mode mode, double keep, Factor factor, Tally& tally) {
  if (!representable<T>(factor)) {
    return scalar_run(run, mode, ScalarMix{keep, factor}, true, tally);
  }
  const Mix<T> op{static_cast<T>(keep), static_cast<T>(factor.f)};
  Pass<true, true, T, Mix<T>, M>(op, {keep, factor}, mode, tally).Over(run);
}
template <class T, class M>
void ClampRun(const Run<T, M>& run, Mode mode, double tau, Tally& tally) {
  if (!ordinary_tau<T>(tau)) {
    return scalar_run(run, mode, ScalarClamp{tau}, true, tally, move_unit<T>(tau));
  }
  Pass<true, true, T, Clamp<T>, M>({static_cast<T>(tau)}, {tau}, mode, tally).Over(run);
}
template <class T, class M>
void ClampAndCountRun(const Run<T, M>& run, Mode mode, double tau, double size, Tally& tally) {
  const T most = static_cast<T>(finite<T>(size));
  const ScalarClampAndCount scalar{tau, static_cast<double>(most)};
  if (!ordinary_tau<T>(tau)) {
    return scalar_run(run, mode, scalar, true, tally, move_unit<T>(tau));
  }
  const ClampAndCount<T> op{static_cast<T>(tau), most};
  Pass<true, true, T, ClampAndCount<T>, M>(op, scalar, mode, tally).Over(run);
}
template <class T, class M>
void SignRun(const Run<T, M>& run, Mode mode, double tau, Tally& tally) {
  if (!ordinary_tau<T>(tau)) {
    return scalar_run(run, mode, ScalarSign{tau}, true, tally, move_unit<T>(tau));
  }
  Pass<true, true, T, Sign<T>, M>({static_cast<T>(tau)}, {tau}, mode, tally).Over(run);
}

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
