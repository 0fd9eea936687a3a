#include "kernels/adapt.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/adapt.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // re-includes this file per target
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void AdaptVectors(const AdaptRun<T>& run, const Adapt& how) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  const auto set = [d](double x) HWY_ATTR { return hn::Set(d, static_cast<T>(x)); };
  const auto keep = set(how.beta2), take = set(1 - how.beta2),
             epsilon = set(how.epsilon * how.root);
  const auto rate = set(how.rate * how.root), shrink = set(how.shrink);
  const auto decay = set(how.decay);
  // Its square is finite, and so is the sum of two of them.
  const auto most = hn::Set(d, std::sqrt(std::numeric_limits<T>::max()) / 2);
  constexpr size_t kAhead = 2048 / sizeof(T);
  const auto at = [&](auto m, auto g, auto& v, auto& w) HWY_ATTR {
    if (how.decay != 0) g = hn::Add(g, hn::Mul(decay, w));
    const auto seen = hn::Min(hn::Abs(g), most);
    const auto next = hn::Add(hn::Mul(keep, v), hn::Mul(hn::Mul(take, seen), seen));
    v = hn::IfThenElse(hn::Eq(g, g), next, v);
    const auto size = hn::Add(hn::Sqrt(v), epsilon);
    w = hn::Sub(hn::Mul(shrink, w), hn::Div(hn::Mul(rate, m), size));
  };
  size_t i = 0;
  for (; i + lanes <= run.n; i += lanes) {
    hwy::Prefetch(run.m + i + kAhead);
    hwy::Prefetch(run.g + i + kAhead);
    hwy::Prefetch(run.v + i + kAhead);
    hwy::Prefetch(run.w + i + kAhead);
    auto v = hn::LoadU(d, run.v + i), w = hn::LoadU(d, run.w + i);
    at(hn::LoadU(d, run.m + i), hn::LoadU(d, run.g + i), v, w);
    hn::StoreU(v, d, run.v + i);
    hn::StoreU(w, d, run.w + i);
  }
  if (i == run.n) return;
  T m[hn::MaxLanes(d)] = {}, g[hn::MaxLanes(d)] = {}, v[hn::MaxLanes(d)] = {},
    w[hn::MaxLanes(d)] = {};
  const size_t rest = run.n - i;
  std::copy_n(run.m + i, rest, m);
  std::copy_n(run.g + i, rest, g);
  std::copy_n(run.v + i, rest, v);
  std::copy_n(run.w + i, rest, w);
  auto last_v = hn::LoadU(d, v), last_w = hn::LoadU(d, w);
  at(hn::LoadU(d, m), hn::LoadU(d, g), last_v, last_w);
  hn::StoreU(last_v, d, v);
  hn::StoreU(last_w, d, w);
  std::copy_n(v, rest, run.v + i);
  std::copy_n(w, rest, run.w + i);
}

void AdaptF32(const AdaptRun<float>& run, const Adapt& how) { AdaptVectors(run, how); }
void AdaptF64(const AdaptRun<double>& run, const Adapt& how) { AdaptVectors(run, how); }

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::kernels {

HWY_EXPORT(AdaptF32);
HWY_EXPORT(AdaptF64);

template <>
void adapt(const AdaptRun<float>& run, const Adapt& how) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(AdaptF32)(run, how);
}
template <>
void adapt(const AdaptRun<double>& run, const Adapt& how) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(AdaptF64)(run, how);
}

}  // namespace medgrad::kernels
#endif  // HWY_ONCE
