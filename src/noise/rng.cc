#include "medgrad/rng.h"

#include <cmath>
#include <type_traits>

#include "noise/rng.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "noise/rng.cc"
#include "hwy/foreach_target.h"  // re-includes this file per target
#include "hwy/highway.h"
#include "kernels/simd.h"
#include "noise/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::noise::HWY_NAMESPACE {

// The words of whole blocks in Random123's order or numbers made of them, kBlocks at a time:
// `per_block` numbers are made of each block. Numbers before `first` and after the last are
// dropped.
template <class T, class Make>
HWY_INLINE void DrawBlocks(const Make& make, std::size_t per_block, const Source& source,
                           std::uint64_t first, T* out, std::size_t n) {
  HWY_ALIGN T values[kBlocks * sizeof(std::uint32_t[4]) / sizeof(T)];
  const RoundKeys keys(source.seed);
  while (n > 0) {
    const auto skip = static_cast<std::size_t>(first % per_block);
    const std::size_t count = std::min(kBlocks, (skip + n - 1) / per_block + 1);
    make(keys, source, first / per_block, count, values);
    const std::size_t taken = std::min(n, count * per_block - skip);
    std::memcpy(out, values + skip, taken * sizeof(T));
    out += taken;
    first += taken;
    n -= taken;
  }
}

// WordT is uint32_t or uint64_t: the same memory, read by words or by pairs of words.
template <class WordT>
struct MakeWords {
  HWY_INLINE void operator()(const RoundKeys& keys, const Source& source, std::uint64_t first,
                             std::size_t count, WordT* to) const {
    const WordTag d;
    constexpr std::size_t kPer = std::is_same_v<WordT, std::uint64_t> ? 1 : 2;
    WordPairs<double> words;
    words.Draw(keys, source, first, count);
    HWY_ALIGN std::uint64_t both[2 * hn::MaxLanes(WordTag())];
    for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
      hn::StoreInterleaved2(hn::Load(d, words.a + i), hn::Load(d, words.b + i), d, both);
      StoreWords(hn::Load(d, both), to + 2 * i * kPer);
      StoreWords(hn::Load(d, both + hn::Lanes(d)), to + (2 * i + hn::Lanes(d)) * kPer);
    }
  }
};

// The top bits of a word as an odd multiple of half a unit: 1 + j u - (1 - u/2), both exact.
template <class D, hwy::EnableIf<sizeof(hn::TFromD<D>) == 8>* = nullptr>
HWY_INLINE hn::Vec<D> UniformOf(D d, WordsFor<D> word) {
  const auto bits =
      hn::Or(hn::ShiftRight<12>(word), hn::Set(hn::RebindToUnsigned<D>(), Math<double>::kOne));
  return hn::Sub(hn::BitCast(d, bits), hn::Set(d, 1 - 0x1p-53));
}
template <class D, hwy::EnableIf<sizeof(hn::TFromD<D>) == 4>* = nullptr>
HWY_INLINE hn::Vec<D> UniformOf(D d, WordsFor<D> word) {
  const auto bits =
      hn::Or(hn::ShiftRight<9>(word), hn::Set(hn::RebindToUnsigned<D>(), Math<float>::kOne));
  return hn::Sub(hn::BitCast(d, bits), hn::Set(d, 1 - 0x1p-24f));
}

template <class T>
struct MakeUniform {
  HWY_INLINE void operator()(const RoundKeys& keys, const Source& source, std::uint64_t first,
                             std::size_t count, T* to) const {
    constexpr std::size_t kPer = 16 / sizeof(T);
    const hn::ScalableTag<T> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    HWY_ALIGN WordOf<T> words[kBlocks * kPer];
    MakeWords<WordOf<T>>()(keys, source, first, count, words);
    for (std::size_t i = 0; i < count * kPer; i += hn::Lanes(d)) {
      hn::Store(UniformOf(d, hn::Load(du, words + i)), d, to + i);
    }
  }
};

// Box and Muller: sqrt(2 W) (cos, sin) of an angle in the first quadrant, with two random signs.
template <class T>
struct MakeNormal {
  HWY_INLINE void operator()(const RoundKeys& keys, const Source& source, std::uint64_t first,
                             std::size_t count, T* to) const {
    const hn::ScalableTag<T> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    WordPairs<T> words;
    words.Draw(keys, source, first, count);
    for (std::size_t i = 0; i < count * WordPairs<T>::kPerBlock; i += hn::Lanes(d)) {
      const auto angle = hn::Load(du, words.a + i);
      const auto w = ExponentialOf(d, hn::Load(du, words.b + i));
      const auto radius = hn::Sqrt(hn::Add(w, w));
      const auto p = SinCosPi(d, DistanceOf(d, angle));
      const auto cos = hn::Xor(hn::Mul(radius, p.cos), SignOf(d, angle));
      const auto sin = hn::Xor(hn::Mul(radius, p.sin), SignOf(d, hn::ShiftLeft<1>(angle)));
      hn::StoreInterleaved2(cos, sin, d, to + 2 * i);
    }
  }
};

void Bits(const Source& s, std::uint64_t first, std::uint32_t* out, std::size_t n) {
  DrawBlocks(MakeWords<std::uint32_t>(), 4, s, first, out, n);
}
void UniformF64(const Source& s, std::uint64_t first, double* out, std::size_t n) {
  DrawBlocks(MakeUniform<double>(), 2, s, first, out, n);
}
void UniformF32(const Source& s, std::uint64_t first, float* out, std::size_t n) {
  DrawBlocks(MakeUniform<float>(), 4, s, first, out, n);
}
void NormalF64(const Source& s, std::uint64_t first, double* out, std::size_t n) {
  DrawBlocks(MakeNormal<double>(), 2, s, first, out, n);
}
void NormalF32(const Source& s, std::uint64_t first, float* out, std::size_t n) {
  DrawBlocks(MakeNormal<float>(), 4, s, first, out, n);
}

}  // namespace medgrad::noise::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::noise {

HWY_EXPORT(Bits);
HWY_EXPORT(UniformF64);
HWY_EXPORT(UniformF32);
HWY_EXPORT(NormalF64);
HWY_EXPORT(NormalF32);

void draw_bits(const Source& source, std::uint64_t first, std::span<std::uint32_t> out) {
  kernels::simd_ready();
  HWY_DYNAMIC_DISPATCH(Bits)(source, first, out.data(), out.size());
}
void draw_uniform(const Source& source, std::uint64_t first, std::span<double> out) {
  kernels::simd_ready();
  HWY_DYNAMIC_DISPATCH(UniformF64)(source, first, out.data(), out.size());
}
void draw_uniform(const Source& source, std::uint64_t first, std::span<float> out) {
  kernels::simd_ready();
  HWY_DYNAMIC_DISPATCH(UniformF32)(source, first, out.data(), out.size());
}
void draw_normal(const Source& source, std::uint64_t first, std::span<double> out) {
  kernels::simd_ready();
  HWY_DYNAMIC_DISPATCH(NormalF64)(source, first, out.data(), out.size());
}
void draw_normal(const Source& source, std::uint64_t first, std::span<float> out) {
  kernels::simd_ready();
  HWY_DYNAMIC_DISPATCH(NormalF32)(source, first, out.data(), out.size());
}

}  // namespace medgrad::noise

namespace medgrad {
namespace {

template <class T, class Draw>
void fill(const Philox& philox, std::span<T> out, std::uint64_t first, ThreadPool* pool,
          const Draw& draw) {
  const noise::Source source{philox.seed(), philox.stream()};
  noise::in_pieces(out.size(), pool, [&](std::size_t begin, std::size_t end) {
    draw(source, first + begin, out.subspan(begin, end - begin));
  });
}

constexpr auto kUniform = [](const auto&... arguments) { noise::draw_uniform(arguments...); };
constexpr auto kNormal = [](const auto&... arguments) { noise::draw_normal(arguments...); };

}  // namespace

void Philox::fill_bits(std::span<std::uint32_t> out, std::uint64_t first, ThreadPool* pool) const {
  fill(*this, out, first, pool, noise::draw_bits);
}
void Philox::fill_uniform(std::span<double> out, std::uint64_t first, ThreadPool* pool) const {
  fill(*this, out, first, pool, kUniform);
}
void Philox::fill_uniform(std::span<float> out, std::uint64_t first, ThreadPool* pool) const {
  fill(*this, out, first, pool, kUniform);
}
void Philox::fill_normal(std::span<double> out, std::uint64_t first, ThreadPool* pool) const {
  fill(*this, out, first, pool, kNormal);
}
void Philox::fill_normal(std::span<float> out, std::uint64_t first, ThreadPool* pool) const {
  fill(*this, out, first, pool, kNormal);
}

}  // namespace medgrad
#endif  // HWY_ONCE
