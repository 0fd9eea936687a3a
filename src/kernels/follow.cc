#include "kernels/follow.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/follow.cc"
#include "hwy/foreach_target.h"  // re-includes this file per target
#include "hwy/highway.h"
#include "kernels/short_step.h"
#include "kernels/step-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {

template <class T>
class Follower {
 public:
  Follower(T* m, size_t n) : m_(m), n_(n) {}

  // op_of(|v|^2) gives the operation of a row and whether it can be done here.
  template <bool kNorm, class OpOf>
  HWY_INLINE size_t Over(const T* g, size_t stride, size_t rows, const OpOf& op_of) const {
    const Tag<T> d;
    const V max = hn::Set(d, std::numeric_limits<T>::max());
    V m[kVectors<T>], row[kVectors<T>], v[kVectors<T>];
    for (size_t k = 0; k < kVectors<T>; ++k) m[k] = LoadFirst(d, m_ + k * kN, Count(k));
    size_t taken = 0;
    for (; taken < rows; ++taken, g += stride) {
      auto fine = hn::FirstN(d, kN);
      LaneSquares squares;
      if constexpr (kNorm) squares.Clear();
      for (size_t k = 0; k < kVectors<T>; ++k) {
        row[k] = LoadFirst(d, g + k * kN, Count(k));
        v[k] = hn::Sub(row[k], m[k]);
        fine = hn::And(fine, InRange(d, v[k]));
        if constexpr (kNorm) squares.Add(d, v[k], k);
      }
      if (HWY_UNLIKELY(!hn::AllTrue(d, fine))) break;
      const auto [op, can] = op_of(kNorm ? squares.Sum() : 0.0);
      if (HWY_UNLIKELY(!can)) break;
      Counts counts;
      for (size_t k = 0; k < kVectors<T>; ++k)
        m[k] = hn::Min(hn::Max(op(d, m[k], row[k], v[k], counts), hn::Neg(max)), max);
    }
    for (size_t k = 0; k < kVectors<T>; ++k) StoreFirst(m[k], d, m_ + k * kN, Count(k));
    return taken;
  }

 private:
  using V = hn::Vec<Tag<T>>;
  static constexpr size_t kN = hn::MaxLanes(Tag<T>());

  HWY_INLINE size_t Count(size_t k) const { return n_ > k * kN ? n_ - k * kN : 0; }

  T* m_;
  size_t n_;
};

template <class Op>
struct Choice {
  Op op;
  bool can = true;
};

template <class T>
HWY_INLINE size_t FollowRows(T* m, size_t n, const T* g, size_t stride, size_t rows,
                             const Plan& plan) {
  const Follower<T> follower(m, n);
  switch (plan.kind) {
    case Plan::Kind::relax: {
      const Choice<Relax<T>> always{{static_cast<T>(plan.inside)},
                                    representable<T>({plan.inside, 1})};
      return follower.template Over<false>(g, stride, rows,
                                           [&](double) HWY_ATTR { return always; });
    }
    case Plan::Kind::radial:
      return follower.template Over<true>(g, stride, rows, [&](double squares) HWY_ATTR {
        const double norm = std::sqrt(squares);
        const double f = norm <= plan.inner ? plan.inside : plan.radius / norm;
        return Choice<Relax<T>>{{static_cast<T>(f)}, representable<T>({f, 1})};
      });
    case Plan::Kind::clamp: {
      const Choice<Clamp<T>> always{{static_cast<T>(plan.radius)}};
      return follower.template Over<false>(g, stride, rows,
                                           [&](double) HWY_ATTR { return always; });
    }
    case Plan::Kind::sign: {
      const Choice<Sign<T>> always{{static_cast<T>(plan.radius)}};
      return follower.template Over<false>(g, stride, rows,
                                           [&](double) HWY_ATTR { return always; });
    }
  }
  return 0;
}

size_t FollowF32(float* m, size_t n, const float* g, size_t stride, size_t rows, const Plan& plan) {
  return FollowRows(m, n, g, stride, rows, plan);
}
size_t FollowF64(double* m, size_t n, const double* g, size_t stride, size_t rows,
                 const Plan& plan) {
  return FollowRows(m, n, g, stride, rows, plan);
}

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::kernels {

HWY_EXPORT(FollowF32);
HWY_EXPORT(FollowF64);

template <>
std::size_t follow(float* m, std::size_t n, const float* g, std::size_t stride, std::size_t rows,
                   const Plan& plan) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(FollowF32)(m, n, g, stride, rows, plan);
}
template <>
std::size_t follow(double* m, std::size_t n, const double* g, std::size_t stride, std::size_t rows,
                   const Plan& plan) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(FollowF64)(m, n, g, stride, rows, plan);
}

}  // namespace medgrad::kernels
#endif  // HWY_ONCE
