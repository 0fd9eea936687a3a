// Bare loops of rules that look at each column, and of a few inner products: what this machine
// needs for the same reads and the same arithmetic. They look at no entry whether it is finite or
// as far as another, write nothing but their result, and skip columns that do not fill a vector.
#include "bare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/select.h"
#include "kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bare.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/double-inl.h"
#include "kernels/fused-inl.h"
#include "kernels/lanes-inl.h"
#include "kernels/network-inl.h"
#include "kernels/search-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Batcher's whole network.
template <std::size_t N>
struct WholeSort {
  std::array<Comparator, N * N> comparators{};
  std::size_t count = 0;
  constexpr WholeSort() {
    visit_sort_network(N, [this](std::size_t a, std::size_t b) {
      comparators[count].low = static_cast<std::uint16_t>(a);
      comparators[count++].high = static_cast<std::uint16_t>(b);
    });
  }
};
template <std::size_t N>
inline constexpr WholeSort<N> kWholeSort{};

// Sorts N rows, and adds up the middle half; with kNear the three quarters nearest to the median.
template <std::size_t N, bool kNear>
void SortLoop(const float* const* rows, std::size_t d, float* out) {
  const Tag<float> t;
  const std::size_t lanes = hn::Lanes(t);
  constexpr std::size_t kCut = N / 4;
  const Divisor<float> count(static_cast<double>(N - (kNear ? 1 : 2) * kCut));
  const float* local[N];
  std::copy_n(rows, N, local);
  for (std::size_t j = 0; j + lanes <= d; j += lanes) {
    hn::Vec<decltype(t)> v[N];
    for (std::size_t i = 0; i < N; ++i) {
      hwy::Prefetch(local[i] + j + 512);
      v[i] = hn::LoadU(t, local[i] + j);
    }
    CompareAll<kWholeSort<N>>(v);
    DoubleSum<Tag<float>> sum;
    for (std::size_t i = kCut; i < N - kCut; ++i) sum.add(v[i]);
    for (std::size_t i = 0; i < (kNear ? kCut : 0); ++i) {
      const auto low = v[i], high = v[i + N - kCut];
      const auto below = hn::Sub(v[(N - 1) / 2], low), above = hn::Sub(high, v[N / 2]);
      sum.add(hn::IfThenElse(hn::Lt(above, below), high, low));
    }
    (void)sum.store_mean(count, out + j);
  }
}
template <bool kNear>
bool SortLoopOf(const float* const* rows, std::size_t n, std::size_t d, float* out) {
  switch (n) {
    case 4:
      return SortLoop<4, kNear>(rows, d, out), true;
    case 8:
      return SortLoop<8, kNear>(rows, d, out), true;
    case 16:
      return SortLoop<16, kNear>(rows, d, out), true;
    case 24:
      return SortLoop<24, kNear>(rows, d, out), true;
    case 32:
      return SortLoop<32, kNear>(rows, d, out), true;
    case 48:
      return SortLoop<48, kNear>(rows, d, out), true;
    case 64:
      return SortLoop<64, kNear>(rows, d, out), true;
    default:
      return false;
  }
}

// The passes of a search for one entry of each column (kTwo: for two at once), with pivots that are
// entries of `x`, and the last one, which looks at what is next to the ends.
template <bool kTwo, class D, class V = hn::Vec<D>>
HWY_INLINE V SearchPasses(D d, const float* x, const float* pivots, std::size_t n,
                          std::size_t passes) {
  Bracket<D> in{hn::LoadU(d, pivots), hn::LoadU(d, pivots + Line<float>()), hn::Zero(d),
                hn::Set(d, static_cast<float>(n))};
  V sum = hn::Zero(d), other = sum;
  for (std::size_t p = 0; p < passes; ++p) {
    const V one = hn::LoadU(d, pivots + p * Line<float>());
    if constexpr (kTwo) {
      V below = hn::Zero(d);
      sum = hn::Add(sum, CountBoth(d, x, n, one, hn::Neg(one), below));
      other = hn::Add(other, below);
    } else {
      sum = hn::Add(sum, CountAtMost(d, x, n, one));
    }
  }
  in.count_lo = hn::Min(sum, other);
  const V found = NextToEnd(d, x, n, in, sum);
  if constexpr (!kTwo) return found;
  in.lo = found;
  return hn::Add(found, NextToEnd(d, x, n, in, other));
}

// Copies a block of columns as tiles, counts as often as the search does, and adds up three
// quarters of each column (kNear), or half.
template <bool kNear>
void CountLoop(const float* const* rows, std::size_t n, std::size_t d, const Passes& passes,
               float* room, float* out) {
  const Tag<float> t;
  const hn::RebindToSigned<Tag<float>> whole;
  const std::size_t stride = (n | 1) * Line<float>(), step = tile_columns(n);
  const Divisor<float> count(static_cast<double>(n));
  float* const distances = room;
  float* const tiles = room + n * Line<float>();
  double first = 0, second = 0;
  for (std::size_t begin = 0; begin + hn::Lanes(t) <= d; begin += step) {
    const std::size_t columns = std::min(step, (d - begin) / hn::Lanes(t) * hn::Lanes(t));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < columns; j += hn::Lanes(t)) {
        if (j % Line<float>() == 0) hwy::Prefetch(rows[i] + begin + j + columns);
        hn::StoreU(hn::LoadU(t, rows[i] + begin + j), t,
                   tiles + j / Line<float>() * stride + i * Line<float>() + j % Line<float>());
      }
    }
    for (std::size_t j = 0; j < columns; j += hn::Lanes(t)) {
      const float* const tile = tiles + j / Line<float>() * stride + j % Line<float>();
      const auto due = [](double& all, double more) {  // as whole passes, right on average
        const double before = std::floor(all);
        return static_cast<std::size_t>(std::floor(all += more) - before);
      };
      const auto found = SearchPasses<!kNear>(t, tile, tile, n, due(first, passes.first));
      const auto middle = hn::Min(found, hn::LoadU(t, tile));
      auto last = found;
      if constexpr (kNear) {
        if (n % 2 == 0) last = NextRank(t, tile, n, found, middle);
        for (std::size_t i = 0; i < n; ++i) {
          const auto v = hn::LoadU(t, tile + i * Line<float>());
          hn::StoreU(hn::Max(hn::Sub(middle, v), hn::Sub(v, last)), t,
                     distances + i * Line<float>());
        }
        last = SearchPasses<false>(t, distances, distances, n, due(second, passes.second));
      }
      DoubleSum<Tag<float>> sum;
      auto within = hn::Zero(whole);
      for (std::size_t i = 0; i < n; ++i) {
        const auto v = hn::LoadU(t, tile + i * Line<float>());
        const auto mask = kNear ? hn::Le(hn::LoadU(t, distances + i * Line<float>()), last)
                                : hn::And(hn::Gt(v, middle), hn::Lt(v, last));
        sum.add(hn::IfThenElseZero(mask, v));
        within = AddIf(whole, hn::RebindMask(whole, mask), within);
      }
      sum.add(hn::ConvertTo(t, within));
      (void)sum.store_mean(count, out + begin + j);
    }
  }
}

// Inner products of kRows rows, centred, in registers.
template <std::size_t kRows, std::size_t... P>
HWY_INLINE double GramLoop(const float* const* rows, std::size_t d, const float* centre,
                           std::index_sequence<P...>) {
  const hn::CappedTag<double, kLanes> t;
  using V = hn::Vec<decltype(t)>;
  constexpr auto kRowOf = [](std::size_t p) {
    std::size_t i = 0;
    while ((i + 1) * (i + 2) / 2 <= p) ++i;
    return i;
  };
  const float* local[kRows];
  std::copy_n(rows, kRows, local);
  V s[sizeof...(P)] = {((void)P, hn::Zero(t))...};
  for (std::size_t j = 0; j + hn::Lanes(t) <= d; j += hn::Lanes(t)) {
    const V c = LoadAsDouble(t, centre + j);
    V a[kRows];
    for (std::size_t i = 0; i < kRows; ++i) {
      if (j % 16 == 0) hwy::Prefetch(local[i] + j + 768);
      a[i] = hn::Sub(LoadAsDouble(t, local[i] + j), c);
    }
    ((s[P] = MulAdd(t, a[kRowOf(P)], a[P - kRowOf(P) * (kRowOf(P) + 1) / 2], s[P])), ...);
  }
  V all = s[0];
  for (std::size_t p = 1; p < sizeof...(P); ++p) all = hn::Add(all, s[p]);
  return SumHalves(t, all);
}

double GramLoopOf(const float* const* rows, std::size_t n, std::size_t d, const float* centre) {
  switch (n) {
    case 3:
      return GramLoop<3>(rows, d, centre, std::make_index_sequence<6>());
    case 4:
      return GramLoop<4>(rows, d, centre, std::make_index_sequence<10>());
    case 8:
      return GramLoop<8>(rows, d, centre, std::make_index_sequence<36>());
    default:
      return 0;
  }
}

// Half of a symmetric matrix of floats, n a multiple of 16, times x: four rows at a time, each
// entry for its row and for its column.
void ProductLoop(const float* a, std::size_t n, const float* x, float* out) {
  const hn::CappedTag<float, 16> t;
  const std::size_t lanes = hn::Lanes(t);
  std::fill_n(out, n, 0.0f);
  for (std::size_t i = 0; i < n; i += 4, a += 4 * n) {
    const auto x0 = hn::Set(t, x[i]), x1 = hn::Set(t, x[i + 1]), x2 = hn::Set(t, x[i + 2]),
               x3 = hn::Set(t, x[i + 3]);
    auto s0 = hn::Zero(t), s1 = s0, s2 = s0, s3 = s0;
    for (std::size_t j = 0; j <= i; j += lanes) {
      const auto a0 = hn::LoadU(t, a + j), a1 = hn::LoadU(t, a + n + j),
                 a2 = hn::LoadU(t, a + 2 * n + j), a3 = hn::LoadU(t, a + 3 * n + j);
      const auto xj = hn::LoadU(t, x + j);
      s0 = hn::MulAdd(a0, xj, s0);
      s1 = hn::MulAdd(a1, xj, s1);
      s2 = hn::MulAdd(a2, xj, s2);
      s3 = hn::MulAdd(a3, xj, s3);
      auto add = hn::MulAdd(a0, x0, hn::LoadU(t, out + j));
      add = hn::MulAdd(a1, x1, add);
      add = hn::MulAdd(a2, x2, add);
      hn::StoreU(hn::MulAdd(a3, x3, add), t, out + j);
    }
    out[i] += hn::GetLane(hn::SumOfLanes(t, s0));
    out[i + 1] += hn::GetLane(hn::SumOfLanes(t, s1));
    out[i + 2] += hn::GetLane(hn::SumOfLanes(t, s2));
    out[i + 3] += hn::GetLane(hn::SumOfLanes(t, s3));
  }
}

bool TrimLoop(const float* const* rows, std::size_t n, std::size_t d, const Passes& passes,
              float* room, float* out) {
  if (n > kSearched) return CountLoop<false>(rows, n, d, passes, room, out), true;
  return SortLoopOf<false>(rows, n, d, out);
}
bool NearLoop(const float* const* rows, std::size_t n, std::size_t d, const Passes& passes,
              float* room, float* out) {
  if (n > kSearched) return CountLoop<true>(rows, n, d, passes, room, out), true;
  return SortLoopOf<true>(rows, n, d, out);
}

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::kernels {
namespace {
HWY_EXPORT(TrimLoop);
HWY_EXPORT(NearLoop);
HWY_EXPORT(GramLoopOf);
HWY_EXPORT(ProductLoop);

// So many passes a search takes on rows of make_rows(), counted in it for vectors of 16 columns: of
// a median, of quartiles, and of distances. They differ by a quarter of a pass from these.
double passes_of(double at_128, double more, std::size_t n) {
  return at_128 + more * std::log2(static_cast<double>(n) / 128);
}

bool run_trim_loop(const float* const* rows, std::size_t n, std::size_t d, float* room,
                   float* out) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(TrimLoop)(rows, n, d, {passes_of(6.4, 0.55, n), 0}, room, out);
}
bool run_near_loop(const float* const* rows, std::size_t n, std::size_t d, float* room,
                   float* out) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(NearLoop)(
      rows, n, d, {passes_of(5.2, 0.48, n), passes_of(6.4, 0.5, n)}, room, out);
}
double run_gram_loop(const float* const* rows, std::size_t n, std::size_t d, const float* centre) {
  simd_ready();
  return HWY_DYNAMIC_DISPATCH(GramLoopOf)(rows, n, d, centre);
}

void run_product_loop(const float* a, std::size_t n, const float* x, float* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(ProductLoop)(a, n, x, out);
}

}  // namespace
}  // namespace medgrad::kernels

namespace medgrad::bench {

bool trim_loop(const float* const* rows, std::size_t n, std::size_t d, float* room, float* out) {
  return kernels::run_trim_loop(rows, n, d, room, out);
}
bool near_loop(const float* const* rows, std::size_t n, std::size_t d, float* room, float* out) {
  return kernels::run_near_loop(rows, n, d, room, out);
}
double gram_loop(const float* const* rows, std::size_t n, std::size_t d, const float* centre) {
  return kernels::run_gram_loop(rows, n, d, centre);
}

void product_loop(const float* a, std::size_t n, const float* x, float* out) {
  kernels::run_product_loop(a, n, x, out);
}

}  // namespace medgrad::bench
#endif  // HWY_ONCE
