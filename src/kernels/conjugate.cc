#include "kernels/conjugate.h"

#include <algorithm>

#include "kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conjugate.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/double-inl.h"
#include "kernels/fused-inl.h"
#include "kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, kLanes>;
constexpr std::size_t kParts = kLanes / hn::MaxLanes(Tag());

// A sum over lanes: step(j, sum) adds what there is in the columns from j on.
template <class Step>
HWY_INLINE float SumOf(std::size_t n, const Step& step) {
  const Tag d;
  const std::size_t N = hn::Lanes(d);
  hn::Vec<Tag> sum[kParts];
  for (std::size_t p = 0; p < kParts; ++p) sum[p] = hn::Zero(d);
  for (std::size_t j = 0; j < n; j += kLanes)
    for (std::size_t p = 0; p < kParts; ++p) step(j + p * N, sum[p]);
  return SumParts(d, sum);
}

float InnerProduct(const float* HWY_RESTRICT x, const float* HWY_RESTRICT y, std::size_t n) {
  const Tag d;
  return SumOf(n, [&](std::size_t j, hn::Vec<Tag>& sum)
                      HWY_ATTR { sum = MulAdd(d, hn::LoadU(d, x + j), hn::LoadU(d, y + j), sum); });
}

void AddMultiple(float a, const float* HWY_RESTRICT x, std::size_t n, float* HWY_RESTRICT y) {
  const Tag d;
  for (std::size_t j = 0; j < n; j += hn::Lanes(d)) {
    hn::StoreU(MulAdd(d, hn::Set(d, a), hn::LoadU(d, x + j), hn::LoadU(d, y + j)), d, y + j);
  }
}

float Deflate(float theta, const float* HWY_RESTRICT p, float s, const float* HWY_RESTRICT x,
              std::size_t n, float* HWY_RESTRICT y) {
  const Tag d;
  return SumOf(n, [&](std::size_t j, hn::Vec<Tag>& sum) HWY_ATTR {
    const auto along = hn::LoadU(d, p + j);
    const auto rest = MulAdd(d, hn::Set(d, s), hn::LoadU(d, x + j), hn::Neg(hn::LoadU(d, y + j)));
    const auto now = MulAdd(d, hn::Set(d, theta), along, rest);
    hn::StoreU(now, d, y + j);
    sum = MulAdd(d, along, now, sum);
  });
}

float ConjugateStep(float t, const float* HWY_RESTRICT p, const float* HWY_RESTRICT y,
                    std::size_t n, float* HWY_RESTRICT to, float* HWY_RESTRICT r) {
  const Tag d;
  return SumOf(n, [&](std::size_t j, hn::Vec<Tag>& sum) HWY_ATTR {
    const auto step = hn::Set(d, t);
    hn::StoreU(MulAdd(d, step, hn::LoadU(d, p + j), hn::LoadU(d, to + j)), d, to + j);
    const auto rest = MulAdd(d, hn::Neg(step), hn::LoadU(d, y + j), hn::LoadU(d, r + j));
    hn::StoreU(rest, d, r + j);
    sum = MulAdd(d, rest, rest, sum);
  });
}

void Turn(float a, const float* HWY_RESTRICT r, std::size_t n, float* HWY_RESTRICT p) {
  const Tag d;
  for (std::size_t j = 0; j < n; j += hn::Lanes(d)) {
    hn::StoreU(MulAdd(d, hn::Set(d, a), hn::LoadU(d, p + j), hn::LoadU(d, r + j)), d, p + j);
  }
}

void NarrowLower(const double* HWY_RESTRICT a, std::size_t n, double unit,
                 float* HWY_RESTRICT out) {
  const hn::ScalableTag<double> d;
  const hn::CappedTag<double, 1> one;
  const std::size_t padded = in_blocks(n);
  for (std::size_t i = 0; i < padded; ++i, a += n, out += padded) {
    const std::size_t block = (i / kLanes + 1) * kLanes, end = i < n ? std::min(block, n) : 0;
    std::size_t k = 0;
    for (; k + hn::Lanes(d) <= end; k += hn::Lanes(d))
      StoreAs(hn::Mul(hn::LoadU(d, a + k), hn::Set(d, unit)), d, out + k);
    for (; k < end; ++k) StoreAs(hn::Mul(hn::LoadU(one, a + k), hn::Set(one, unit)), one, out + k);
    std::fill(out + end, out + block, 0.0f);
  }
}

// Four rows from i on: their part of out before their block, and out_i … .
HWY_INLINE void AddFourRows(const float* HWY_RESTRICT row, std::size_t stride, std::size_t i,
                            const float* HWY_RESTRICT x, float* HWY_RESTRICT out) {
  const Tag d;
  using V = hn::Vec<Tag>;
  const std::size_t N = hn::Lanes(d), block = i / kLanes * kLanes;
  constexpr std::size_t kRows = 4;
  V sum[kRows][kParts], factor[kRows];
  for (std::size_t r = 0; r < kRows; ++r) {
    factor[r] = hn::Set(d, x[i + r]);
    for (V& part : sum[r]) part = hn::Zero(d);
  }
  for (std::size_t j = 0; j < block; j += kLanes) {
    for (std::size_t p = 0; p < kParts; ++p) {
      const std::size_t at = j + p * N;
      const V xj = hn::LoadU(d, x + at);
      V add = hn::LoadU(d, out + at);
      for (std::size_t r = 0; r < kRows; ++r) {
        const V v = hn::LoadU(d, row + r * stride + at);
        sum[r][p] = MulAdd(d, v, xj, sum[r][p]);
        add = MulAdd(d, factor[r], v, add);
      }
      hn::StoreU(add, d, out + at);
    }
  }
  for (std::size_t p = 0; p < kParts; ++p) {
    const V xj = hn::LoadU(d, x + block + p * N);
    for (std::size_t r = 0; r < kRows; ++r)
      sum[r][p] = MulAdd(d, hn::LoadU(d, row + r * stride + block + p * N), xj, sum[r][p]);
  }
  for (std::size_t r = 0; r < kRows; ++r) out[i + r] += SumParts(d, sum[r]);
}

void AddLower(const float* a, std::size_t padded, std::size_t begin, std::size_t end,
              const float* x, float* out) {
  for (std::size_t i = begin; i < end; i += 4) AddFourRows(a + i * padded, padded, i, x, out);
}

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::kernels {
HWY_EXPORT(InnerProduct);
HWY_EXPORT(AddMultiple);
HWY_EXPORT(Deflate);
HWY_EXPORT(ConjugateStep);
HWY_EXPORT(Turn);
HWY_EXPORT(NarrowLower);
HWY_EXPORT(AddLower);

float inner_product(const float* x, const float* y, std::size_t n) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(InnerProduct)(x, y, n);
}
void add_multiple(float a, const float* x, std::size_t n, float* y) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(AddMultiple)(a, x, n, y);
}
float deflate(float theta, const float* p, float s, const float* x, std::size_t n, float* y) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(Deflate)(theta, p, s, x, n, y);
}
float conjugate_step(float t, const float* p, const float* y, std::size_t n, float* d, float* r) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(ConjugateStep)(t, p, y, n, d, r);
}
void turn(float a, const float* r, std::size_t n, float* p) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(Turn)(a, r, n, p);
}
void narrow_lower(const double* a, std::size_t n, double unit, float* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(NarrowLower)(a, n, unit, out);
}
void add_lower(const float* a, std::size_t padded, std::size_t begin, std::size_t end,
               const float* x, float* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(AddLower)(a, padded, begin, end, x, out);
}

}  // namespace medgrad::kernels
#endif  // HWY_ONCE
