#include "kernels/gram.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gram.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/difference-inl.h"
#include "kernels/fused-inl.h"
#include "kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void CentredRow(const T* x, std::size_t count, const T* centre, Scaling scaling, double scale,
                double* out) {
  const hn::ScalableTag<double> d;
  const hn::CappedTag<double, 1> one;
  const auto at = [centre](std::size_t j) { return centre == nullptr ? nullptr : centre + j; };
  std::size_t j = 0;
  for (; j + hn::Lanes(d) <= count; j += hn::Lanes(d))
    hn::StoreU(Difference(d, x + j, at(j), scaling, hn::Set(d, scale)), d, out + j);
  for (; j < count; ++j)
    hn::StoreU(Difference(one, x + j, at(j), scaling, hn::Set(one, scale)), one, out + j);
}

template <class T>
void CentredTile(const T* const* rows, std::size_t n, std::size_t count, const T* centre,
                 const double* scales, std::size_t width, double* tile) {
  for (std::size_t i = 0; i < n; ++i) {
    double* const out = tile + i * width;
    CentredRow(rows[i], count, centre, ScalingBy(scales, i), scales == nullptr ? 1.0 : scales[i],
               out);
    std::fill(out + count, out + width, 0.0);
  }
}

// Inner products of row x with K rows from y on, of the first `used` columns. Eight at once: as
// many independent sums as keep two units busy that take four cycles, and x is loaded once for
// eight products.
template <std::size_t K>
void AddProducts(const double* HWY_RESTRICT x, const double* HWY_RESTRICT y, std::size_t width,
                 std::size_t used, double* HWY_RESTRICT lanes) {
  const hn::CappedTag<double, kLanes> d;
  const std::size_t N = hn::Lanes(d);
  for (std::size_t part = 0; part < kLanes; part += N) {
    hn::Vec<decltype(d)> sum[K];
    for (std::size_t k = 0; k < K; ++k) sum[k] = hn::LoadU(d, lanes + k * kLanes + part);
    for (std::size_t j = part; j < used; j += kLanes) {
      const auto a = hn::LoadU(d, x + j);
      for (std::size_t k = 0; k < K; ++k)
        sum[k] = MulAdd(d, a, hn::LoadU(d, y + k * width + j), sum[k]);
    }
    for (std::size_t k = 0; k < K; ++k) hn::StoreU(sum[k], d, lanes + k * kLanes + part);
  }
}

// Rows of a block: as many sums as there are registers for, so that a row that is loaded is used
// more than once.
constexpr std::size_t kBlockRows = 4, kBlockColumns = HWY_TARGET <= HWY_AVX3 ? 4 : 2;

// Up to this many rows all pairs are summed as the rows come: not all of the 36 sums of eight have
// a register of their own, and still that is faster than to store the rows and to load them again.
constexpr std::size_t kAtOnce = HWY_TARGET <= HWY_AVX3 ? 8 : kBlockRows;

// Inner products of kBlockRows rows from x on with kBlockColumns from y on, of the first `used`
// columns, lanes [part, part + N), added to those from sums[i] on, kLanes apart for the next
// column, or instead of them (kZero). Indices are constants, so that sums stay in registers.
template <bool kZero, class D, std::size_t... S, std::size_t... I, std::size_t... K>
HWY_INLINE void BlockProducts(D d, const double* HWY_RESTRICT x, const double* HWY_RESTRICT y,
                              std::size_t width, std::size_t used, double* HWY_RESTRICT const* sums,
                              std::index_sequence<S...>, std::index_sequence<I...>,
                              std::index_sequence<K...>) {
  using V = hn::Vec<D>;
  constexpr std::size_t C = sizeof...(K);
  V s[sizeof...(S)] = {(kZero ? hn::Zero(d) : hn::LoadU(d, sums[S / C] + S % C * kLanes))...};
  for (std::size_t j = 0; j < used; j += kLanes) {
    const V a[] = {hn::LoadU(d, x + I * width + j)...};
    const V b[] = {hn::LoadU(d, y + K * width + j)...};
    ((s[S] = MulAdd(d, a[S / C], b[S % C], s[S])), ...);
  }
  (hn::StoreU(s[S], d, sums[S / C] + S % C * kLanes), ...);
}

// All lanes of that block; sums[i] is where those of its i-th row are.
template <bool kZero>
HWY_INLINE void BlockLanes(const double* x, const double* y, std::size_t width, std::size_t used,
                           double* const (&sums)[kBlockRows]) {
  const hn::CappedTag<double, kLanes> d;
  for (std::size_t part = 0; part < kLanes; part += hn::Lanes(d)) {
    double* at[kBlockRows];
    for (std::size_t i = 0; i < kBlockRows; ++i) at[i] = sums[i] + part;
    BlockProducts<kZero>(d, x + part, y + part, width, used, at,
                         std::make_index_sequence<kBlockRows * kBlockColumns>(),
                         std::make_index_sequence<kBlockRows>(),
                         std::make_index_sequence<kBlockColumns>());
  }
}

// The block of rows i … and k … of the sums, which are all below the diagonal.
void AddBlock(const double* tile, std::size_t width, std::size_t used, std::size_t row,
              std::size_t column, double* lanes) {
  double* sums[kBlockRows];
  for (std::size_t i = 0; i < kBlockRows; ++i)
    sums[i] = lanes + pair_index(row + i, column) * kLanes;
  BlockLanes<false>(tile + row * width, tile + column * width, width, used, sums);
}

// Pairs (i, k), k <= i, of a few rows in the order of pair_index.
constexpr std::size_t PairRow(std::size_t pair) {
  std::size_t i = 0;
  while (pair_index(i + 1, 0) <= pair) ++i;
  return i;
}
constexpr std::size_t PairColumn(std::size_t pair) { return pair - pair_index(PairRow(pair), 0); }

// Rows as they come: centred on the way.
template <class T>
struct Centred {
  const T* const* rows;
  const T* centre;
  template <class D>
  HWY_INLINE hn::Vec<D> Load(D d, std::size_t i, std::size_t j) const {
    return hn::Sub(LoadAsDouble(d, rows[i] + j), LoadAsDouble(d, centre + j));
  }
};
// Rows that are in the tile.
struct Stored {
  const double* tile;
  std::size_t width;
  template <class D>
  HWY_INLINE hn::Vec<D> Load(D d, std::size_t i, std::size_t j) const {
    return hn::LoadU(d, tile + i * width + j);
  }
};

// Inner products of kRows rows among themselves over columns [begin, end), in the lanes from `part`
// on, of as many vectors as fill V; sums[i] is where those of the i-th row are. With `kStore` the
// rows go into the tile.
template <std::size_t kRows, bool kStore, class Rows, std::size_t... S, std::size_t... V>
HWY_INLINE void TriangleProducts(Rows from, std::size_t begin, std::size_t end, std::size_t part,
                                 std::size_t width, double* HWY_RESTRICT tile,
                                 double* HWY_RESTRICT const* sums, std::index_sequence<S...>,
                                 std::index_sequence<V...>) {
  const hn::CappedTag<double, kLanes> d;
  const std::size_t N = hn::Lanes(d);
  constexpr std::size_t kPairs = pair_index(kRows, 0);
  hn::Vec<decltype(d)> s[sizeof...(S)] = {hn::LoadU(
      d, sums[PairRow(S % kPairs)] + PairColumn(S % kPairs) * kLanes + part + S / kPairs * N)...};
  for (std::size_t j = begin + part; j < end; j += kLanes) {
    const hn::Vec<decltype(d)> a[] = {from.Load(d, V % kRows, j + V / kRows * N)...};
    if constexpr (kStore) (hn::StoreU(a[V], d, tile + V % kRows * width + j + V / kRows * N), ...);
    ((s[S] = MulAdd(d, a[S / kPairs * kRows + PairRow(S % kPairs)],
                    a[S / kPairs * kRows + PairColumn(S % kPairs)], s[S])),
     ...);
  }
  (hn::StoreU(s[S], d,
              sums[PairRow(S % kPairs)] + PairColumn(S % kPairs) * kLanes + part + S / kPairs * N),
   ...);
}

// All lanes of that, for the rows from `row` on: as many at a time as have room in the registers.
template <std::size_t kRows, bool kStore, class Rows>
void AddTriangle(Rows from, std::size_t begin, std::size_t end, std::size_t width, double* tile,
                 std::size_t row, double* lanes) {
  const hn::CappedTag<double, kLanes> d;
  constexpr std::size_t kVectors = HWY_TARGET <= HWY_AVX3 && kRows <= kBlockRows ? 2 : 1;
  double* sums[kRows];
  for (std::size_t i = 0; i < kRows; ++i) sums[i] = lanes + pair_index(row + i, row) * kLanes;
  for (std::size_t part = 0; part < kLanes; part += kVectors * hn::Lanes(d)) {
    TriangleProducts<kRows, kStore>(from, begin, end, part, width, tile, sums,
                                    std::make_index_sequence<kVectors * pair_index(kRows, 0)>(),
                                    std::make_index_sequence<kVectors * kRows>());
  }
}

// The kRows rows from `row` on among themselves, over `count` columns from `begin` on, and with
// `needed` their part of the tile. Columns that do not fill the lanes, and rows with scales, go
// through the tile.
template <std::size_t kRows, class T>
void AddCentred(const T* const* rows, std::size_t begin, std::size_t count, const T* centre,
                const double* scales, std::size_t width, double* tile, std::size_t row, bool needed,
                double* lanes) {
  double* const own = tile + row * width;
  const T* from[kRows];
  for (std::size_t i = 0; i < kRows; ++i) from[i] = rows[row + i] + begin;
  const Centred<T> centred{from, centre + begin};
  const std::size_t whole = scales == nullptr ? count / kLanes * kLanes : 0;
  bool written = false;
  if constexpr (kRows <= kBlockRows) {  // more are all: nobody needs them again
    if (needed) {
      AddTriangle<kRows, true>(centred, 0, whole, width, own, row, lanes);
      written = true;
    }
  }
  if (!written) AddTriangle<kRows, false>(centred, 0, whole, width, own, row, lanes);
  if (whole == count) return;
  const std::size_t last = (count + kLanes - 1) / kLanes * kLanes, at = needed ? whole : 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    double* const to = own + i * width + at;
    CentredRow(from[i] + whole, count - whole, centred.centre + whole, ScalingBy(scales, row + i),
               scales == nullptr ? 1.0 : scales[row + i], to);
    std::fill(to + (count - whole), to + (last - whole), 0.0);
  }
  AddTriangle<kRows, false>(Stored{own + at, width}, 0, last - whole, width, own, row, lanes);
}

template <class T>
void AddGram(const T* const* rows, std::size_t n, std::size_t count, const T* centre,
             const double* scales, std::size_t width, double* tile, double* lanes) {
  const std::size_t whole = n / kBlockRows * kBlockRows;
  const bool at_once = n <= kAtOnce, needed = !at_once;
  // A few rows that go through the registers alone need not be cut.
  const std::size_t step = needed || scales != nullptr ? width : std::max(count, std::size_t{1});
  for (std::size_t begin = 0; begin < count; begin += step) {
    const std::size_t columns = std::min(step, count - begin);
    const std::size_t used = (columns + kLanes - 1) / kLanes * kLanes;
    const auto centred = [&]<std::size_t kRows>(std::integral_constant<std::size_t, kRows>,
                                                std::size_t row) {
      AddCentred<kRows>(rows, begin, columns, centre, scales, width, tile, row, needed, lanes);
    };
    if constexpr (kAtOnce > kBlockRows) {
      if (n > kBlockRows && at_once) {
        if (n == 5) centred(std::integral_constant<std::size_t, 5>(), 0);
        if (n == 6) centred(std::integral_constant<std::size_t, 6>(), 0);
        if (n == 7) centred(std::integral_constant<std::size_t, 7>(), 0);
        if (n == 8) centred(std::integral_constant<std::size_t, 8>(), 0);
        continue;
      }
    }
    for (std::size_t row = 0; row < whole; row += kBlockRows) {
      centred(std::integral_constant<std::size_t, kBlockRows>(), row);
      for (std::size_t k = 0; k < row; k += kBlockColumns)
        AddBlock(tile, width, used, row, k, lanes);
    }
    if (n - whole == 3) centred(std::integral_constant<std::size_t, 3>(), whole);
    if (n - whole == 2) centred(std::integral_constant<std::size_t, 2>(), whole);
    if (n - whole == 1) centred(std::integral_constant<std::size_t, 1>(), whole);
    for (std::size_t i = whole; i < n; ++i) {
      const double* const x = tile + i * width;
      double* const at = lanes + pair_index(i, 0) * kLanes;
      std::size_t k = 0;
      for (; k + 8 <= whole; k += 8)
        AddProducts<8>(x, tile + k * width, width, used, at + k * kLanes);
      if (k < whole) AddProducts<4>(x, tile + k * width, width, used, at + k * kLanes);
    }
  }
}

// The rows from `row` on with those from `column` on; what is above the diagonal is not kept.
void SumBlock(const double* tile, std::size_t width, std::size_t row, std::size_t column,
              std::size_t n, double* sums) {
  alignas(64) double lanes[kBlockRows * kBlockColumns * kLanes];
  double* rows[kBlockRows];
  for (std::size_t i = 0; i < kBlockRows; ++i) rows[i] = lanes + i * kBlockColumns * kLanes;
  BlockLanes<true>(tile + row * width, tile + column * width, width, width, rows);
  for (std::size_t i = 0; i < kBlockRows && row + i < n; ++i) {
    double* const to = sums + pair_index(row + i, column);
    for (std::size_t k = 0; k < kBlockColumns && column + k <= row + i; ++k)
      to[k] += SumOfLanes(lanes + (i * kBlockColumns + k) * kLanes);
  }
}

// A band of rows stays in the second-level cache while all rows before it pass by.
void SumGram(const double* tile, std::size_t n, std::size_t width, double* sums) {
  constexpr std::size_t kBand = 32;
  for (std::size_t band = 0; band < n; band += kBand) {
    const std::size_t end = std::min(band + kBand, n);
    for (std::size_t k = 0; k < end; k += kBlockColumns) {
      const std::size_t first = std::max(band, k / kBlockRows * kBlockRows);
      for (std::size_t i = first; i < end; i += kBlockRows) SumBlock(tile, width, i, k, n, sums);
    }
  }
}

void CentredTileF32(const float* const* rows, std::size_t n, std::size_t count, const float* centre,
                    const double* scales, std::size_t width, double* tile) {
  CentredTile(rows, n, count, centre, scales, width, tile);
}
void CentredTileF64(const double* const* rows, std::size_t n, std::size_t count,
                    const double* centre, const double* scales, std::size_t width, double* tile) {
  CentredTile(rows, n, count, centre, scales, width, tile);
}
void AddGramF32(const float* const* rows, std::size_t n, std::size_t count, const float* centre,
                const double* scales, std::size_t width, double* tile, double* lanes) {
  AddGram(rows, n, count, centre, scales, width, tile, lanes);
}
void AddGramF64(const double* const* rows, std::size_t n, std::size_t count, const double* centre,
                const double* scales, std::size_t width, double* tile, double* lanes) {
  AddGram(rows, n, count, centre, scales, width, tile, lanes);
}
}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::kernels {
HWY_EXPORT(CentredTileF32);
HWY_EXPORT(CentredTileF64);
HWY_EXPORT(AddGramF32);
HWY_EXPORT(AddGramF64);
HWY_EXPORT(SumGram);

template <>
void centred_tile(const float* const* rows, std::size_t n, std::size_t count, const float* centre,
                  const double* scales, std::size_t width, double* tile) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(CentredTileF32)(rows, n, count, centre, scales, width, tile);
}
template <>
void centred_tile(const double* const* rows, std::size_t n, std::size_t count, const double* centre,
                  const double* scales, std::size_t width, double* tile) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(CentredTileF64)(rows, n, count, centre, scales, width, tile);
}
template <>
void add_gram(const float* const* rows, std::size_t n, std::size_t count, const float* centre,
              const double* scales, std::size_t width, double* tile, double* lanes) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(AddGramF32)(rows, n, count, centre, scales, width, tile, lanes);
}
template <>
void add_gram(const double* const* rows, std::size_t n, std::size_t count, const double* centre,
              const double* scales, std::size_t width, double* tile, double* lanes) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(AddGramF64)(rows, n, count, centre, scales, width, tile, lanes);
}
void sum_gram(const double* tile, std::size_t n, std::size_t width, double* sums) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(SumGram)(tile, n, width, sums);
}
}  // namespace medgrad::kernels
#endif  // HWY_ONCE
