#include "kernels/dropout.h"

#include <algorithm>

#include "kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dropout.cc"
#include "hwy/foreach_target.h"  // re-includes this file per target
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// out = f(i) over vectors; the rest, shorter than a vector, by `one`, element by element.
template <class T, class F, class One>
HWY_INLINE void Map(size_t n, T* out, const F& f, const One& one) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(d, i), d, out + i);
  for (; i < n; ++i) out[i] = one(i);
}

// All ones where element i is kept. 16 bits a lane are compared as wide as the numbers are.
template <class D>
HWY_INLINE auto Kept(D d, const std::uint16_t* bits, std::uint16_t threshold) {
  using Wide = hwy::MakeSigned<hn::TFromD<D>>;
  const hn::Rebind<std::uint16_t, D> narrow;
  const hn::Rebind<std::int32_t, D> middle;
  const auto words = hn::PromoteTo(middle, hn::LoadU(narrow, bits));
  const hn::Rebind<Wide, D> wide;
  if constexpr (sizeof(Wide) == 4) {
    return hn::RebindMask(d, hn::Gt(words, hn::Set(wide, static_cast<Wide>(threshold) - 1)));
  } else {
    return hn::RebindMask(
        d, hn::Gt(hn::PromoteTo(wide, words), hn::Set(wide, static_cast<Wide>(threshold) - 1)));
  }
}

template <class T>
HWY_INLINE void Drop(const T* x, const std::uint16_t* bits, size_t n, DropRule<T> rule, T* out) {
  Map(
      n, out,
      [=](auto d, size_t i) HWY_ATTR {
        return hn::IfThenElseZero(Kept(d, bits + i, rule.threshold),
                                  hn::Mul(hn::LoadU(d, x + i), hn::Set(d, rule.scale)));
      },
      [=](size_t i) { return bits[i] >= rule.threshold ? x[i] * rule.scale : T{0}; });
}

template <class T>
HWY_INLINE void DropAndAdd(const T* x, const T* base, const std::uint16_t* bits, size_t n,
                           DropRule<T> rule, T* out) {
  Map(
      n, out,
      [=](auto d, size_t i) HWY_ATTR {
        const auto kept = hn::IfThenElseZero(Kept(d, bits + i, rule.threshold),
                                             hn::Mul(hn::LoadU(d, x + i), hn::Set(d, rule.scale)));
        return hn::Add(hn::LoadU(d, base + i), kept);
      },
      [=](size_t i) { return base[i] + (bits[i] >= rule.threshold ? x[i] * rule.scale : T{0}); });
}

template <class T>
HWY_INLINE void DropAndRectify(const T* x, const std::uint16_t* bits, size_t n, DropRule<T> rule,
                               T* out) {
  Map(
      n, out,
      [=](auto d, size_t i) HWY_ATTR {
        const auto v = hn::LoadU(d, x + i);
        const auto off = hn::Le(v, hn::Zero(d));  // a NaN is not off
        return hn::IfThenElseZero(Kept(d, bits + i, rule.threshold),
                                  hn::IfThenZeroElse(off, hn::Mul(v, hn::Set(d, rule.scale))));
      },
      [=](size_t i) {
        return bits[i] >= rule.threshold && !(x[i] <= 0) ? x[i] * rule.scale : T{0};
      });
}

template <class T>
HWY_INLINE void PassPositive(const T* y, const T* g, size_t n, T scale, T* out) {
  Map(
      n, out,
      [=](auto d, size_t i) HWY_ATTR {
        return hn::IfThenElseZero(hn::Gt(hn::LoadU(d, y + i), hn::Zero(d)),
                                  hn::Mul(hn::LoadU(d, g + i), hn::Set(d, scale)));
      },
      [=](size_t i) { return y[i] > 0 ? g[i] * scale : T{0}; });
}

void DropF32(const float* x, const std::uint16_t* b, size_t n, DropRule<float> r, float* out) {
  Drop(x, b, n, r, out);
}
void DropF64(const double* x, const std::uint16_t* b, size_t n, DropRule<double> r, double* out) {
  Drop(x, b, n, r, out);
}
void AddF32(const float* x, const float* base, const std::uint16_t* b, size_t n, DropRule<float> r,
            float* out) {
  DropAndAdd(x, base, b, n, r, out);
}
void AddF64(const double* x, const double* base, const std::uint16_t* b, size_t n,
            DropRule<double> r, double* out) {
  DropAndAdd(x, base, b, n, r, out);
}
void RectifyF32(const float* x, const std::uint16_t* b, size_t n, DropRule<float> r, float* out) {
  DropAndRectify(x, b, n, r, out);
}
void RectifyF64(const double* x, const std::uint16_t* b, size_t n, DropRule<double> r,
                double* out) {
  DropAndRectify(x, b, n, r, out);
}
void PassF32(const float* y, const float* g, size_t n, float scale, float* out) {
  PassPositive(y, g, n, scale, out);
}
void PassF64(const double* y, const double* g, size_t n, double scale, double* out) {
  PassPositive(y, g, n, scale, out);
}

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::kernels {

HWY_EXPORT(DropF32);
HWY_EXPORT(DropF64);
HWY_EXPORT(AddF32);
HWY_EXPORT(AddF64);
HWY_EXPORT(RectifyF32);
HWY_EXPORT(RectifyF64);
HWY_EXPORT(PassF32);
HWY_EXPORT(PassF64);

template <>
void drop(const float* x, const std::uint16_t* bits, std::size_t n, DropRule<float> rule,
          float* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(DropF32)(x, bits, n, rule, out);
}
template <>
void drop(const double* x, const std::uint16_t* bits, std::size_t n, DropRule<double> rule,
          double* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(DropF64)(x, bits, n, rule, out);
}
template <>
void drop_and_add(const float* x, const float* base, const std::uint16_t* bits, std::size_t n,
                  DropRule<float> rule, float* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(AddF32)(x, base, bits, n, rule, out);
}
template <>
void drop_and_add(const double* x, const double* base, const std::uint16_t* bits, std::size_t n,
                  DropRule<double> rule, double* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(AddF64)(x, base, bits, n, rule, out);
}
template <>
void drop_and_rectify(const float* x, const std::uint16_t* bits, std::size_t n,
                      DropRule<float> rule, float* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(RectifyF32)(x, bits, n, rule, out);
}
template <>
void drop_and_rectify(const double* x, const std::uint16_t* bits, std::size_t n,
                      DropRule<double> rule, double* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(RectifyF64)(x, bits, n, rule, out);
}
template <>
void pass_positive(const float* y, const float* g, std::size_t n, float scale, float* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(PassF32)(y, g, n, scale, out);
}
template <>
void pass_positive(const double* y, const double* g, std::size_t n, double scale, double* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(PassF64)(y, g, n, scale, out);
}

}  // namespace medgrad::kernels
#endif  // HWY_ONCE
