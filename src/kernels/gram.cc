#include "kernels/gram.h"

#include <algorithm>
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

// Inner products of row x with K rows from y on. Eight at once: as many independent sums as keep
// two units busy that take four cycles, and x is loaded once for eight products.
template <std::size_t K>
void AddProducts(const double* HWY_RESTRICT x, const double* HWY_RESTRICT y, std::size_t width,
                 double* HWY_RESTRICT lanes) {
  const hn::CappedTag<double, kLanes> d;
  const std::size_t N = hn::Lanes(d);
  for (std::size_t part = 0; part < kLanes; part += N) {
    hn::Vec<decltype(d)> sum[K];
    for (std::size_t k = 0; k < K; ++k) sum[k] = hn::LoadU(d, lanes + k * kLanes + part);
    for (std::size_t j = part; j < width; j += kLanes) {
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

// Inner products of kBlockRows rows from x on with kBlockColumns from y on, lanes [part, part + N),
// added to those from sums[i] on, kLanes apart for the next column, or instead of them (kZero).
// Indices are constants, so that sums stay in registers.
template <bool kZero, class D, std::size_t... S, std::size_t... I, std::size_t... K>
HWY_INLINE void BlockProducts(D d, const double* HWY_RESTRICT x, const double* HWY_RESTRICT y,
                              std::size_t width, double* HWY_RESTRICT const* sums,
                              std::index_sequence<S...>, std::index_sequence<I...>,
                              std::index_sequence<K...>) {
  using V = hn::Vec<D>;
  constexpr std::size_t C = sizeof...(K);
  V s[sizeof...(S)] = {(kZero ? hn::Zero(d) : hn::LoadU(d, sums[S / C] + S % C * kLanes))...};
  for (std::size_t j = 0; j < width; j += kLanes) {
    const V a[] = {hn::LoadU(d, x + I * width + j)...};
    const V b[] = {hn::LoadU(d, y + K * width + j)...};
    ((s[S] = MulAdd(d, a[S / C], b[S % C], s[S])), ...);
  }
  (hn::StoreU(s[S], d, sums[S / C] + S % C * kLanes), ...);
}

// All lanes of that block; sums[i] is where those of its i-th row are.
template <bool kZero>
HWY_INLINE void BlockLanes(const double* x, const double* y, std::size_t width,
                           double* const (&sums)[kBlockRows]) {
  const hn::CappedTag<double, kLanes> d;
  for (std::size_t part = 0; part < kLanes; part += hn::Lanes(d)) {
    double* at[kBlockRows];
    for (std::size_t i = 0; i < kBlockRows; ++i) at[i] = sums[i] + part;
    BlockProducts<kZero>(
        d, x + part, y + part, width, at, std::make_index_sequence<kBlockRows * kBlockColumns>(),
        std::make_index_sequence<kBlockRows>(), std::make_index_sequence<kBlockColumns>());
  }
}

// The block of rows i … and k … of the sums, which are all below the diagonal.
void AddBlock(const double* tile, std::size_t width, std::size_t row, std::size_t column,
              double* lanes) {
  double* sums[kBlockRows];
  for (std::size_t i = 0; i < kBlockRows; ++i)
    sums[i] = lanes + pair_index(row + i, column) * kLanes;
  BlockLanes<false>(tile + row * width, tile + column * width, width, sums);
}

// Pairs (i, k), k <= i, of a few rows in the order of pair_index.
constexpr std::size_t PairRow(std::size_t pair) {
  std::size_t i = 0;
  while (pair_index(i + 1, 0) <= pair) ++i;
  return i;
}
constexpr std::size_t PairColumn(std::size_t pair) { return pair - pair_index(PairRow(pair), 0); }

// Inner products of kBlockRows rows from x on among themselves, lanes [part, part + N); sums[i] is
// where those of the i-th row are.
template <class D, std::size_t... S, std::size_t... I>
HWY_INLINE void TriangleProducts(D d, const double* HWY_RESTRICT x, std::size_t width,
                                 double* HWY_RESTRICT const* sums, std::index_sequence<S...>,
                                 std::index_sequence<I...>) {
  using V = hn::Vec<D>;
  V s[sizeof...(S)] = {hn::LoadU(d, sums[PairRow(S)] + PairColumn(S) * kLanes)...};
  for (std::size_t j = 0; j < width; j += kLanes) {
    const V a[] = {hn::LoadU(d, x + I * width + j)...};
    ((s[S] = MulAdd(d, a[PairRow(S)], a[PairColumn(S)], s[S])), ...);
  }
  (hn::StoreU(s[S], d, sums[PairRow(S)] + PairColumn(S) * kLanes), ...);
}

// The rows from `row` on among themselves.
void AddTriangle(const double* tile, std::size_t width, std::size_t row, double* lanes) {
  const hn::CappedTag<double, kLanes> d;
  for (std::size_t part = 0; part < kLanes; part += hn::Lanes(d)) {
    double* at[kBlockRows];
    for (std::size_t i = 0; i < kBlockRows; ++i)
      at[i] = lanes + pair_index(row + i, row) * kLanes + part;
    TriangleProducts(d, tile + row * width + part, width, at,
                     std::make_index_sequence<pair_index(kBlockRows, 0)>(),
                     std::make_index_sequence<kBlockRows>());
  }
}

void AddGram(const double* tile, std::size_t n, std::size_t width, double* lanes) {
  const std::size_t whole = n / kBlockRows * kBlockRows;
  for (std::size_t row = 0; row < whole; row += kBlockRows) {
    for (std::size_t k = 0; k < row; k += kBlockColumns) AddBlock(tile, width, row, k, lanes);
    AddTriangle(tile, width, row, lanes);
  }
  for (std::size_t i = whole; i < n; ++i) {
    const double* const x = tile + i * width;
    double* const at = lanes + pair_index(i, 0) * kLanes;
    std::size_t k = 0;
    for (; k + 8 <= i + 1; k += 8) AddProducts<8>(x, tile + k * width, width, at + k * kLanes);
    for (; k + 4 <= i + 1; k += 4) AddProducts<4>(x, tile + k * width, width, at + k * kLanes);
    const double* const y = tile + k * width;
    double* const rest = at + k * kLanes;
    if (i + 1 - k == 3) AddProducts<3>(x, y, width, rest);
    if (i + 1 - k == 2) AddProducts<2>(x, y, width, rest);
    if (i + 1 - k == 1) AddProducts<1>(x, y, width, rest);
  }
}

// The rows from `row` on with those from `column` on; what is above the diagonal is not kept.
void SumBlock(const double* tile, std::size_t width, std::size_t row, std::size_t column,
              std::size_t n, double* sums) {
  alignas(64) double lanes[kBlockRows * kBlockColumns * kLanes];
  double* rows[kBlockRows];
  for (std::size_t i = 0; i < kBlockRows; ++i) rows[i] = lanes + i * kBlockColumns * kLanes;
  BlockLanes<true>(tile + row * width, tile + column * width, width, rows);
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
}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::kernels {
HWY_EXPORT(CentredTileF32);
HWY_EXPORT(CentredTileF64);
HWY_EXPORT(AddGram);
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
void add_gram(const double* tile, std::size_t n, std::size_t width, double* lanes) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(AddGram)(tile, n, width, lanes);
}
void sum_gram(const double* tile, std::size_t n, std::size_t width, double* sums) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(SumGram)(tile, n, width, sums);
}
}  // namespace medgrad::kernels
#endif  // HWY_ONCE
