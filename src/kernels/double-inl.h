// Numbers of T as doubles and back, and sums of them in double.
#if defined(MEDGRAD_KERNELS_DOUBLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEDGRAD_KERNELS_DOUBLE_INL_H_
#undef MEDGRAD_KERNELS_DOUBLE_INL_H_
#else
#define MEDGRAD_KERNELS_DOUBLE_INL_H_
#endif

#include <cstddef>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/mean.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Loads T as double.
template <class D, class T>
HWY_INLINE hn::Vec<D> LoadAsDouble(D d, const T* x) {
  if constexpr (std::is_same_v<T, double>) {
    return hn::LoadU(d, x);
  } else {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), x));
  }
}

// Stores double as T.
template <class D, class T>
HWY_INLINE void StoreAs(hn::Vec<D> v, D d, T* x) {
  if constexpr (std::is_same_v<T, double>) {
    hn::StoreU(v, d, x);
  } else {
    const hn::Rebind<float, D> narrow;
    hn::StoreU(hn::DemoteTo(narrow, v), narrow, x);
  }
}

// Sums, in double, of the lanes of vectors of T: those of floats are in two vectors.
template <class D>
class DoubleSum {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  static constexpr std::size_t kParts = std::is_same_v<T, double> || hn::MaxLanes(D()) == 1 ? 1 : 2;

 public:
  HWY_INLINE void add(V v) {
    for (std::size_t p = 0; p < kParts; ++p) sum_[p] = hn::Add(sum_[p], part(v, p));
  }
  // The numbers at x.
  HWY_INLINE void add_from(const T* x) {
    const Wide d;
    for (std::size_t p = 0; p < kParts; ++p)
      sum_[p] = hn::Add(sum_[p], LoadAsDouble(d, x + p * hn::Lanes(d)));
  }
  // times v, rounded to double first.
  HWY_INLINE void add_times(V times, V v) {
    for (std::size_t p = 0; p < kParts; ++p)
      sum_[p] = hn::Add(sum_[p], hn::Mul(part(times, p), part(v, p)));
  }
  // Stores the means; false if a sum is not finite, as sums of doubles may be.
  HWY_INLINE bool store_mean(const Divisor<T>& count, T* HWY_RESTRICT out) const {
    const Wide d;
    if constexpr (std::is_same_v<T, float>) {
      for (std::size_t p = 0; p < kParts; ++p)
        StoreAs(hn::Mul(sum_[p], hn::Set(d, count.inverse)), d, out + p * hn::Lanes(d));
      return true;
    } else {
      hn::StoreU(hn::Div(sum_[0], hn::Set(d, count.count)), d, out);
      return hn::AllTrue(d, hn::Eq(hn::Mul(sum_[0], hn::Zero(d)), hn::Zero(d)));
    }
  }

 private:
  static constexpr auto wide_tag() {
    if constexpr (std::is_same_v<T, double>) {
      return D();
    } else if constexpr (kParts == 1) {
      return hn::Rebind<double, D>();
    } else {
      return hn::Rebind<double, hn::Half<D>>();
    }
  }
  using Wide = decltype(wide_tag());
  static HWY_INLINE hn::Vec<Wide> part(V v, std::size_t p) {
    if constexpr (std::is_same_v<T, double>) {
      (void)p;
      return v;
    } else if constexpr (kParts == 1) {
      (void)p;
      return hn::PromoteTo(Wide(), v);
    } else {
#if HWY_TARGET != HWY_SCALAR
      const hn::Half<D> half;
      return hn::PromoteTo(Wide(), p == 0 ? hn::LowerHalf(half, v) : hn::UpperHalf(half, v));
#endif
    }
  }
  hn::Vec<Wide> sum_[kParts] = {};
};

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
