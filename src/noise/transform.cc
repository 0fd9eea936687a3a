#include "noise/transform.h"

#include <cmath>
#include <numbers>

#include "noise/rng.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "noise/transform.cc"
#include "hwy/foreach_target.h"  // re-includes this file per target
#include "hwy/highway.h"
#include "kernels/simd.h"
#include "noise/philox-inl.h"
#include "noise/transform-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::noise::HWY_NAMESPACE {

// What a transform is run on: random words, in loops of one part each, or (for tests) given angles
// and exponentials, one by one.
template <class T>
struct OnWords {
  const DrawJob<T>& job;

  template <class Transform>
  void Run(const Transform& transform) const {
    DrawChunks<T>(Chunk<Transform>{transform}, job.source, job.first, job.out.data(),
                  job.out.size());
  }

 private:
  template <class Transform>
  struct Chunk {
    const Transform& transform;
    HWY_INLINE void operator()(const WordPairs<T>& words, T* HWY_RESTRICT values,
                               std::size_t n) const {
      const hn::ScalableTag<T> d;
      const hn::RebindToUnsigned<decltype(d)> du;
      HWY_ALIGN T w[kBlocks * WordPairs<T>::kPerBlock], r[kBlocks * WordPairs<T>::kPerBlock];
      const std::size_t step = hn::Lanes(d);
      for (std::size_t i = 0; Transform::kUsesW && i < n; i += step) {
        hn::Store(ExponentialOf(d, hn::Load(du, words.b + i)), d, w + i);
      }
      for (std::size_t i = 0; i < n; i += step) {
        const auto a = hn::Load(du, words.a + i);
        const auto v = DistanceOf(d, a);
        const auto x =
            transform.Front(d, SignOf(d, a), v, Transform::kUsesW ? hn::Load(d, w + i) : v);
        hn::Store(x.b, d, values + i);
        if constexpr (Transform::kUsesR) hn::Store(x.r, d, r + i);
      }
      for (std::size_t i = 0; i < n; i += step) {
        const auto b = hn::Load(d, values + i);
        const Parts<hn::Vec<hn::ScalableTag<T>>> x = {b,
                                                      Transform::kUsesR ? hn::Load(d, r + i) : b};
        hn::Store(transform.Back(d, SignOf(d, hn::Load(du, words.a + i)), x), d, values + i);
      }
    }
  };
};
template <class T>
struct OnGiven {
  const GivenJob<T>& job;
  template <class Transform>
  void Run(const Transform& transform) const {
    const hn::CappedTag<T, 1> d;
    for (std::size_t i = 0; i < job.out.size(); ++i) {
      const auto x = hn::Set(d, job.v[i]);
      const auto sign = hn::And(x, hn::SignBit(d));
      job.out[i] = hn::GetLane(
          transform.Back(d, sign, transform.Front(d, sign, hn::Abs(x), hn::Set(d, job.w[i]))));
    }
  }
};

template <class T, class Runner>
void Choose(const StablePlan& plan, const Runner& runner) {
  const bool skewed = plan.beta != 0;
  switch (plan.kind) {
    case StablePlan::Kind::cauchy:
      return runner.Run(CauchyTransform<T>(plan));
    case StablePlan::Kind::gaussian:
      return runner.Run(GaussianTransform<T>(plan));
    case StablePlan::Kind::near_one:
      return skewed ? runner.Run(NearOneTransform<T, true>(plan))
                    : runner.Run(NearOneTransform<T, false>(plan));
    case StablePlan::Kind::far:
      return skewed ? runner.Run(FarTransform<T, true>(plan))
                    : runner.Run(FarTransform<T, false>(plan));
    case StablePlan::Kind::positive:
      return runner.Run(PositiveTransform<T, false>(plan));
    case StablePlan::Kind::positive_root:
      return runner.Run(PositiveTransform<T, true>(plan));
  }
}

void DrawF64(const StablePlan& p, const DrawJob<double>& j) {
  Choose<double>(p, OnWords<double>{j});
}
void DrawF32(const StablePlan& p, const DrawJob<float>& j) { Choose<float>(p, OnWords<float>{j}); }
void GivenF64(const StablePlan& p, const GivenJob<double>& j) {
  Choose<double>(p, OnGiven<double>{j});
}
void GivenF32(const StablePlan& p, const GivenJob<float>& j) {
  Choose<float>(p, OnGiven<float>{j});
}

}  // namespace medgrad::noise::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::noise {

HWY_EXPORT(DrawF64);
HWY_EXPORT(DrawF32);
HWY_EXPORT(GivenF64);
HWY_EXPORT(GivenF32);

namespace {

constexpr double kPi = std::numbers::pi;

// delta, sign, gap and ratio of an alpha.
StablePlan plan_alpha(double alpha) {
  StablePlan plan;
  plan.sign = alpha <= 1 ? 1 : -1;
  // At alpha = 1 any delta that is small against a rounding error gives the limit.
  plan.delta = alpha == 1 ? 1e-20 : std::fabs(1 - alpha);
  plan.gap = alpha <= 1 ? alpha : 2 - alpha;
  plan.ratio = plan.sign * plan.delta / alpha;
  return plan;
}

}  // namespace

StablePlan plan_stable(const StableParameters& s) {
  StablePlan plan = plan_alpha(s.alpha);
  plan.scale = s.scale;
  if (s.alpha < 1 && std::fabs(s.beta) == 1 && s.form == StableForm::S1) {
    plan.kind = StablePlan::Kind::positive;
    plan.beta = s.beta;
    plan.scale *= s.beta * std::pow(std::sin(kPi / 2 * plan.delta), -1 / s.alpha);
    plan.location = s.location;
    return plan;
  }
  plan.location = convert(s, StableForm::S0).location;
  if (s.alpha == 2) return plan;  // Kind::gaussian; its beta has no effect
  plan.beta = s.beta;
  if (s.alpha == 1 && s.beta == 0) {
    plan.kind = StablePlan::Kind::cauchy;
    return plan;
  }
  const bool near = plan.delta <= 0.5;
  plan.kind = near ? StablePlan::Kind::near_one : StablePlan::Kind::far;
  plan.cotangent = near ? 1 / std::tan(kPi / 2 * plan.delta) : std::tan(kPi / 2 * plan.gap);
  plan.cosecant = 1 / std::sin(kPi / 2 * plan.delta);
  return plan;
}

StablePlan plan_radius(double alpha) {
  StablePlan plan = plan_alpha(alpha / 2);
  plan.kind = StablePlan::Kind::positive_root;
  plan.beta = 1;
  plan.ratio /= 2;
  plan.scale = std::numbers::sqrt2;
  return plan;
}

void draw_stable(const StablePlan& plan, const Source& source, std::uint64_t first,
                 std::span<double> out) {
  kernels::simd_ready();
  HWY_DYNAMIC_DISPATCH(DrawF64)(plan, {source, first, out});
}
void draw_stable(const StablePlan& plan, const Source& source, std::uint64_t first,
                 std::span<float> out) {
  kernels::simd_ready();
  HWY_DYNAMIC_DISPATCH(DrawF32)(plan, {source, first, out});
}
void transform_stable(const StablePlan& plan, std::span<const double> v, std::span<const double> w,
                      std::span<double> out) {
  kernels::simd_ready();
  HWY_DYNAMIC_DISPATCH(GivenF64)(plan, {v, w, out});
}
void transform_stable(const StablePlan& plan, std::span<const float> v, std::span<const float> w,
                      std::span<float> out) {
  kernels::simd_ready();
  HWY_DYNAMIC_DISPATCH(GivenF32)(plan, {v, w, out});
}

}  // namespace medgrad::noise

namespace medgrad {
namespace {

template <class T>
void sample_stable(const StableParameters& parameters, std::span<T> out,
                   const noise::Source& source, std::uint64_t first, ThreadPool* pool) {
  const noise::StablePlan plan = noise::plan_stable(parameters);
  noise::in_pieces(out.size(), pool, [&](std::size_t begin, std::size_t end) {
    noise::draw_stable(plan, source, first + begin, out.subspan(begin, end - begin));
  });
}

}  // namespace

void Stable::sample(std::span<double> out, std::uint64_t seed, std::uint64_t stream,
                    std::uint64_t first, ThreadPool* pool) const {
  sample_stable(parameters_, out, {seed, stream}, first, pool);
}
void Stable::sample(std::span<float> out, std::uint64_t seed, std::uint64_t stream,
                    std::uint64_t first, ThreadPool* pool) const {
  sample_stable(parameters_, out, {seed, stream}, first, pool);
}

}  // namespace medgrad
#endif  // HWY_ONCE
