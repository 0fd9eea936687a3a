// Philox4x32-10 over SIMD lanes (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011), bit-equal to Random123's, and the raw material of the samplers made from it.
#if defined(MEDGRAD_NOISE_PHILOX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEDGRAD_NOISE_PHILOX_INL_H_
#undef MEDGRAD_NOISE_PHILOX_INL_H_
#else
#define MEDGRAD_NOISE_PHILOX_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "noise/math-inl.h"
#include "noise/source.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::noise::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using WordTag = hn::ScalableTag<std::uint64_t>;
using Words = hn::Vec<WordTag>;

// The 64-bit product of the low halves of x and of m.
HWY_INLINE Words LowProduct(Words x, std::uint32_t m) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(WordTag(), (hn::GetLane(x) & 0xFFFFFFFFu) * m);
#else
  const hn::Repartition<std::uint32_t, WordTag> d32;
  return hn::MulEven(hn::BitCast(d32, x), hn::Set(d32, m));
#endif
}

// The two keys of each round: the Weyl sequences of the golden ratio and of sqrt(3) - 1.
struct RoundKeys {
  static constexpr int kRounds = 10;
  explicit RoundKeys(std::uint64_t seed) {
    auto low = static_cast<std::uint32_t>(seed), high = static_cast<std::uint32_t>(seed >> 32);
    for (int i = 0; i < kRounds; ++i, low += 0x9E3779B9u, high += 0xBB67AE85u) {
      k[i][0] = low;
      k[i][1] = high;
    }
  }
  std::uint64_t k[kRounds][2];
};

// One 32-bit word per 64-bit lane: the product of a round is one instruction, and what it leaves in
// the upper half does no harm before the end.
struct Block {
  Words x[4];
};
template <int kRound>
HWY_INLINE Block PhiloxRounds(const RoundKeys& keys, const Block& in) {
  if constexpr (kRound == RoundKeys::kRounds) {
    return in;
  } else {
    const WordTag d;
    const Words a = LowProduct(in.x[0], 0xD2511F53u), b = LowProduct(in.x[2], 0xCD9E8D57u);
    const Words left = hn::Xor(in.x[1], hn::Set(d, keys.k[kRound][0]));
    const Words right = hn::Xor(in.x[3], hn::Set(d, keys.k[kRound][1]));
    return PhiloxRounds<kRound + 1>(keys, {{hn::Xor(hn::ShiftRight<32>(b), left), b,
                                            hn::Xor(hn::ShiftRight<32>(a), right), a}});
  }
}
HWY_INLINE Block PhiloxBlocks(const RoundKeys& keys, Words counter, std::uint64_t stream) {
  const WordTag d;
  return PhiloxRounds<0>(
      keys, {{counter, hn::ShiftRight<32>(counter), hn::Set(d, stream), hn::Set(d, stream >> 32)}});
}

HWY_INLINE Words Join(Words low, Words high) {
  const WordTag d;
  return hn::Or(hn::And(low, hn::Set(d, 0xFFFFFFFFu)), hn::ShiftLeft<32>(high));
}

// Blocks are drawn so many at a time: their words fit the first-level cache many times over.
inline constexpr std::size_t kBlocks = 256;

// Words in memory order: as they are, or as twice as many halves, the lower one first.
HWY_INLINE void StoreWords(Words words, std::uint64_t* to) { hn::StoreU(words, WordTag(), to); }
HWY_INLINE void StoreWords(Words words, std::uint32_t* to) {
#if HWY_TARGET == HWY_SCALAR
  to[0] = static_cast<std::uint32_t>(hn::GetLane(words));
  to[1] = static_cast<std::uint32_t>(hn::GetLane(words) >> 32);
#else
  const hn::Repartition<std::uint32_t, WordTag> d32;
  hn::StoreU(hn::BitCast(d32, words), d32, to);
#endif
}

template <class T>
using WordOf = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

// The words of blocks [first, first + count), in two streams: a sample of type T takes one word of
// its size from each. double: (x0 x1) and (x2 x3); float: x0, x2 and x1, x3, two samples a block.
template <class T>
struct WordPairs {
  static constexpr std::size_t kPerBlock = sizeof(std::uint64_t) / sizeof(T);
  HWY_ALIGN WordOf<T> a[kBlocks * kPerBlock], b[kBlocks * kPerBlock];

  // kBlocks is a multiple of every vector width, so that whole vectors can be written.
  void Draw(const RoundKeys& keys, const Source& source, std::uint64_t first, std::size_t count) {
    const WordTag d;
    Words counter = hn::Iota(d, source.counter(first));  // slow on some targets: once
    for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
      const Block block = PhiloxBlocks(keys, counter, source.stream);
      counter = hn::Add(counter, hn::Set(d, hn::Lanes(d)));
      constexpr int kSecond = kPerBlock == 1 ? 1 : 2;  // the partner of x0; the other pair is left
      StoreWords(Join(block.x[0], block.x[kSecond]), a + i * kPerBlock);
      StoreWords(Join(block.x[3 - kSecond], block.x[3]), b + i * kPerBlock);
    }
  }
};

// ---- From words to uniform and exponential numbers

template <class D>
using WordsFor = hn::Vec<hn::RebindToUnsigned<D>>;

// The top bit of a word, as the sign of a number.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V SignOf(D d, WordsFor<D> word) {
  return hn::And(hn::BitCast(d, word), hn::SignBit(d));
}

// The rest of a word, without its two top bits, as a number in (0, 1/2]. What is near 0 has full
// relative resolution: tails come from there.
template <class D, hwy::EnableIf<sizeof(hn::TFromD<D>) == 8>* = nullptr>
HWY_INLINE hn::Vec<D> DistanceOf(D d, WordsFor<D> word) {
  const hn::RebindToUnsigned<D> du;
  const auto mantissa = hn::ShiftRight<12>(hn::ShiftLeft<2>(word));
  const auto above_half = hn::Or(mantissa, hn::Set(du, 0x3FE0000000000000u));
  return hn::Sub(hn::BitCast(d, above_half), hn::Set(d, 0.5 - 0x1p-54));
}
template <class D, hwy::EnableIf<sizeof(hn::TFromD<D>) == 4>* = nullptr>
HWY_INLINE hn::Vec<D> DistanceOf(D d, WordsFor<D> word) {
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const auto whole = hn::BitCast(di, hn::And(word, hn::Set(du, 0x3FFFFFFFu)));
  return hn::Mul(hn::Add(hn::ConvertTo(d, whole), hn::Set(d, 0.5f)), hn::Set(d, 0x1p-31f));
}

// W ~ Exp(1) = -log u, from the distance v of u to the nearer of 0 and 1: small W, from u near 1,
// are as fine as large ones. There 2^k (1 + f) = 1 - v, with an exact f.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExponentialOf(D d, WordsFor<D> word) {
  using T = hn::TFromD<D>;
  const V v = DistanceOf(d, word), one = hn::Set(d, T(1));
  const auto near_one = IsNegative(d, hn::BitCast(d, word));
  const auto halved = hn::Gt(v, hn::Set(d, T(0.29289321881345248)));  // 1 - sqrt(1/2)
  const Split<V> plain = SplitPositive(d, v);
  const V f = hn::IfThenElse(halved, hn::Sub(one, hn::Add(v, v)), hn::Neg(v));
  const V k = hn::IfThenElse(halved, hn::Neg(one), hn::Zero(d));
  const Split<V> x = {hn::IfThenElse(near_one, f, plain.f), hn::IfThenElse(near_one, k, plain.k)};
  return hn::Neg(LogSplit(d, x));
}

// The loop of every sampler that takes two words a sample: make(words, values, n) turns the words
// of a chunk into values, in whole vectors; those of samples [first, first + n) go to `out`.
template <class T, class Make>
HWY_INLINE void DrawChunks(const Make& make, const Source& source, std::uint64_t first, T* out,
                           std::size_t n) {
  constexpr std::size_t kPer = WordPairs<T>::kPerBlock;
  const RoundKeys keys(source.seed);
  WordPairs<T> words;
  HWY_ALIGN T values[kBlocks * kPer];
  while (n > 0) {
    const auto skip = static_cast<std::size_t>(first % kPer);
    const std::size_t count = std::min(kBlocks, (skip + n - 1) / kPer + 1);
    words.Draw(keys, source, first / kPer, count);
    make(words, values, count * kPer);
    const std::size_t taken = std::min(n, count * kPer - skip);
    std::memcpy(out, values + skip, taken * sizeof(T));
    out += taken;
    first += taken;
    n -= taken;
  }
}

// The same with a function of one vector of each: op(d, a, b).
template <class T, class Op>
struct EachVector {
  const Op& op;
  HWY_INLINE void operator()(const WordPairs<T>& words, T* values, std::size_t n) const {
    const hn::ScalableTag<T> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
      hn::Store(op(d, hn::Load(du, words.a + i), hn::Load(du, words.b + i)), d, values + i);
    }
  }
};
template <class T, class Op>
HWY_INLINE void DrawSamples(const Op& op, const Source& source, std::uint64_t first, T* out,
                            std::size_t n) {
  DrawChunks<T>(EachVector<T, Op>{op}, source, first, out, n);
}

}  // namespace medgrad::noise::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard, once per target
