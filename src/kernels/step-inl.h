// What the step kernels are made of, per SIMD target: lanes of squares, ranges, the operations.
// Included by them after foreach_target.h, once per target.
#include <cstddef>
#include <limits>

#include "hwy/highway.h"
#include "kernels/step_scalar.h"

#if defined(MEDGRAD_KERNELS_STEP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEDGRAD_KERNELS_STEP_INL_H_
#undef MEDGRAD_KERNELS_STEP_INL_H_
#else
#define MEDGRAD_KERNELS_STEP_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using DoubleTag = hn::CappedTag<double, kLanes>;

// Blocks of kLanes components are held as kLanes / Lanes vectors, so that a component's lane does
// not depend on the vector width.
template <class T>
using Tag = hn::CappedTag<T, kLanes>;
template <class T>
constexpr size_t kVectors = kLanes / hn::MaxLanes(Tag<T>());

// The first `count` components at p, zeros behind them; nothing else is read.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadFirst(D d, const T* p, size_t count) {
#if HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, count), d, p);
#else
  if (count >= hn::Lanes(d)) return hn::LoadU(d, p);
  T room[hn::MaxLanes(d)] = {};
  for (size_t i = 0; i < count; ++i) room[i] = p[i];
  return hn::LoadU(d, room);
#endif
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void StoreFirst(hn::Vec<D> v, D d, T* p, size_t count) {
#if HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(v, hn::FirstN(d, count), d, p);
#else
  if (count >= hn::Lanes(d)) return hn::StoreU(v, d, p);
  T room[hn::MaxLanes(d)];
  hn::StoreU(v, d, room);
  for (size_t i = 0; i < count; ++i) p[i] = room[i];
#endif
}

// Sums of squares over the lanes; floats are squared in double.
class LaneSquares {
 public:
  HWY_INLINE void Clear() {
    for (auto& a : acc_) a = hn::Zero(DoubleTag());
  }

  // Multiplication and addition are rounded separately: fused, targets would differ in the last
  // bit.
  HWY_INLINE void Add(Tag<double>, hn::Vec<Tag<double>> v, size_t k) {
    acc_[k] = hn::Add(acc_[k], hn::Mul(v, v));
  }
#if HWY_TARGET == HWY_SCALAR
  HWY_INLINE void Add(Tag<float>, hn::Vec<Tag<float>> v, size_t k) {
    AddTo(k, hn::PromoteTo(DoubleTag(), v));
  }
#else
  HWY_INLINE void Add(Tag<float> d, hn::Vec<Tag<float>> v, size_t k) {
    const hn::Half<Tag<float>> half;
    (void)d;
    AddTo(2 * k, hn::PromoteTo(DoubleTag(), hn::LowerHalf(half, v)));
    AddTo(2 * k + 1, hn::PromoteTo(DoubleTag(), hn::UpperHalf(half, v)));
  }
#endif

  // Do these sums, which were `before`, show that all of what was added needs no scaling? Where
  // they do not, single terms have to be looked at.
  HWY_INLINE bool TellInRange(Tag<double> d, const LaneSquares& before) const {
    auto fine = hn::FirstN(d, hn::MaxLanes(d));
    for (size_t k = 0; k < kVectors<double>; ++k) {
      fine = hn::And(fine, hn::And(hn::Ge(before.acc_[k], hn::Set(d, kSafe)),
                                   hn::Le(acc_[k], hn::Set(d, kBig * kBig))));
    }
    return hn::AllTrue(d, fine);
  }
  HWY_INLINE bool TellInRange(Tag<float>, const LaneSquares&) const {
    const DoubleTag d;
    auto fine = hn::FirstN(d, hn::MaxLanes(d));
    for (size_t k = 0; k < kVectors<double>; ++k)
      fine = hn::And(fine, hn::Le(acc_[k], hn::Set(d, std::numeric_limits<double>::max())));
    return hn::AllTrue(d, fine);
  }

  HWY_INLINE void Load(const double* lanes) {
    const DoubleTag d;
    for (size_t k = 0; k < kVectors<double>; ++k) acc_[k] = hn::LoadU(d, lanes + k * hn::Lanes(d));
  }
  HWY_INLINE void Store(double* lanes) const {
    const DoubleTag d;
    for (size_t k = 0; k < kVectors<double>; ++k) hn::StoreU(acc_[k], d, lanes + k * hn::Lanes(d));
  }

  // sum_lanes() of them, in registers.
  [[nodiscard]] HWY_INLINE double Sum() const {
    hn::Vec<DoubleTag> s[kVectors<double>];
    for (size_t k = 0; k < kVectors<double>; ++k) s[k] = acc_[k];
    for (size_t count = kVectors<double> / 2; count > 0; count /= 2) {
      for (size_t k = 0; k < count; ++k) s[k] = hn::Add(s[k], s[k + count]);
    }
    return Halves(DoubleTag(), s[0]);
  }

 private:
#if HWY_TARGET == HWY_SCALAR
  static HWY_INLINE double Halves(DoubleTag, hn::Vec<DoubleTag> v) { return hn::GetLane(v); }
#else
  template <class D>
  static HWY_INLINE double Halves(D, hn::Vec<D> v) {
    if constexpr (hn::MaxLanes(D()) == 1) {
      return hn::GetLane(v);
    } else {
      const hn::Half<D> half;
      return Halves(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
    }
  }
#endif

  // The square of a float is exact in double: fused or not, the sum has the same bits.
  HWY_INLINE void AddTo(size_t k, hn::Vec<DoubleTag> v) { acc_[k] = hn::MulAdd(v, v, acc_[k]); }
  hn::Vec<DoubleTag> acc_[kVectors<double>];
};

// Components whose square needs no scaling; everything else goes the scalar way.
HWY_INLINE hn::Mask<Tag<float>> InRange(Tag<float> d, hn::Vec<Tag<float>> v) {
  return hn::Le(hn::Abs(v), hn::Set(d, std::numeric_limits<float>::max()));
}
HWY_INLINE hn::Mask<Tag<double>> InRange(Tag<double> d, hn::Vec<Tag<double>> v) {
  const auto a = hn::Abs(v);
  return hn::And(hn::Le(a, hn::Set(d, kBig)),
                 hn::Or(hn::Ge(a, hn::Set(d, kSmall)), hn::Eq(a, hn::Zero(d))));
}

// Are all of the vectors that were added in range?
template <class T>
class Range;
template <>
class Range<float> {
 public:
  HWY_INLINE Range() : seen_(hn::Zero(Tag<float>())) {}
  // v - v is 0, and NaN where v is not finite.
  HWY_INLINE void Add(Tag<float>, hn::Vec<Tag<float>> v) { seen_ = hn::Or(seen_, hn::Sub(v, v)); }
  HWY_INLINE bool Holds(Tag<float> d) const { return hn::AllTrue(d, hn::Eq(seen_, hn::Zero(d))); }

 private:
  hn::Vec<Tag<float>> seen_;
};
template <>
class Range<double> {
 public:
  HWY_INLINE Range() : fine_(hn::FirstN(Tag<double>(), hn::MaxLanes(Tag<double>()))) {}
  HWY_INLINE void Add(Tag<double> d, hn::Vec<Tag<double>> v) {
    fine_ = hn::And(fine_, InRange(d, v));
  }
  HWY_INLINE bool Holds(Tag<double> d) const { return hn::AllTrue(d, fine_); }

 private:
  hn::Mask<Tag<double>> fine_;
};

// The vector form of each operation. kStaysFinite: from a finite g the new m is finite, whatever m
// and the constants are.
struct Measure {
  using Scalar = ScalarMeasure;
  static constexpr bool kStaysFinite = true;
};
template <class T>
struct Relax {
  using Scalar = ScalarRelax;
  static constexpr bool kStaysFinite = false;
  T f;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, V m, V g, V v, Counts&) const {
    if (f == T{1}) return g;
    const V r = hn::Add(m, hn::Mul(hn::Set(d, f), v));
    if (HWY_LIKELY(f < T{1})) return r;
    // Where only the product overflows, the sum may be back in the range.
    const V two = hn::Set(d, T{2}), half = hn::Set(d, T(0.5));
    const V halves = hn::Add(hn::Mul(half, m), hn::Mul(hn::Set(d, f * T(0.5)), v));
    return hn::IfThenElse(hn::IsFinite(r), r, hn::Mul(two, halves));
  }
};
// The same for 0 <= f < kEnd, as nearly always: nothing to decide for each vector, and the new m
// lies between m and g by more than roundings can make up for.
template <class T>
struct PartWay {
  using Scalar = ScalarRelax;
  static constexpr bool kStaysFinite = true;
  static constexpr T kEnd = T(0.999);
  T f;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, V m, V, V v, Counts&) const {
    return hn::Add(m, hn::Mul(hn::Set(d, f), v));
  }
};
template <class T>
struct Mix {
  using Scalar = ScalarMix;
  static constexpr bool kStaysFinite = false;
  T keep, f;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, V m, V g, V, Counts&) const {
    return hn::Add(hn::Mul(hn::Set(d, keep), m), hn::Mul(hn::Set(d, f), g));
  }
};
template <class T>
struct Clamp {
  using Scalar = ScalarClamp;
  static constexpr bool kStaysFinite = true;
  T tau;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, V m, V g, V, Counts& counts) const {
    const V t = hn::Set(d, tau);
    const V r = hn::Min(hn::Max(g, hn::Sub(m, t)), hn::Add(m, t));
    counts.clipped += hn::CountTrue(d, hn::Ne(r, g));
    return r;
  }
};
template <class T>
struct ClampAndCount {
  using Scalar = ScalarClampAndCount;
  static constexpr bool kStaysFinite = true;
  T tau, size;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, V m, V g, V v, Counts& counts) const {
    const auto moving = hn::Ne(v, hn::Zero(d));
    counts.moving += hn::CountTrue(d, moving);
    counts.within += hn::CountTrue(d, hn::And(moving, hn::Le(hn::Abs(v), hn::Set(d, size))));
    return Clamp<T>{tau}(d, m, g, v, counts);
  }
};
template <class T>
struct Sign {
  using Scalar = ScalarSign;
  static constexpr bool kStaysFinite = false;
  T tau;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, V m, V, V v, Counts& counts) const {
    const V t = hn::Set(d, tau);
    counts.clipped += hn::CountTrue(d, hn::Gt(hn::Abs(v), t));
    const auto still = hn::Eq(v, hn::Zero(d));
    return hn::Add(m, hn::IfThenZeroElse(still, hn::CopySign(t, v)));
  }
};

// What a pass accumulates in registers; it must not escape into memory before the pass ends.
struct Sums {
  LaneSquares squares, moved;
  Counts counts;
};

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
