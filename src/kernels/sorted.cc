#include "kernels/sorted.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sorted.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/network-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {

// (A function: GCC 12 shows variables like this in a shared library.)
template <class T>
consteval std::size_t Line() {
  return kLineColumns<T>;
}
template <class T>
using Tag = hn::CappedTag<T, Line<T>()>;

// Pointers to a cache line of each of n rows and of N - n more: all infinite, or with `both` every
// other one minus infinity.
template <std::size_t N, class T>
class Lines {
 public:
  Lines(const T* const* rows, std::size_t n, bool both) : rows_(rows), n_(n) {
    constexpr T kInf = std::numeric_limits<T>::infinity();
    std::fill(low_, low_ + Line<T>(), -kInf);
    std::fill(high_, high_ + Line<T>(), kInf);
    for (std::size_t i = n; i < N; ++i) at_[i] = both && (i - n) % 2 == 1 ? low_ : high_;
  }
  // The columns from `begin` on; beyond `width` there are zeros.
  const T* const* from(std::size_t begin, std::size_t width) {
    for (std::size_t i = 0; i < n_; ++i) {
      at_[i] = rows_[i] + begin;
      if (width == Line<T>()) continue;
      T* const part = part_ + i * Line<T>();
      std::fill(std::copy_n(at_[i], width, part), part + Line<T>(), T{0});
      at_[i] = part;
    }
    return at_;
  }

 private:
  const T* const* rows_;
  std::size_t n_;
  const T* at_[N];
  T low_[Line<T>()], high_[Line<T>()], part_[N * Line<T>()];
};

template <std::size_t N>
inline constexpr MedianNetwork<N> kMedianOf{};

// The median of n rows in a network for N, N even: filled up with rows of the smallest and of the
// largest numbers, as many of the one as of the other, or one more of these.
template <std::size_t N, class D>
HWY_INLINE hn::Vec<D> PaddedMedian(D d, const hn::TFromD<D>* const* rows, std::size_t n,
                                   std::size_t j) {
  hn::Vec<D> v[N];
  for (std::size_t i = 0; i < N; ++i) v[i] = hn::LoadU(d, rows[i] + j);
  CompareFrom<kMedianOf<N>, 0>(v);
  return n % 2 == 1 ? v[N / 2 - 1] : Midpoint(d, v[N / 2 - 1], v[N / 2]);
}

template <std::size_t N, class T>
void PaddedMediansOf(const T* const* rows, std::size_t n, std::size_t count, T* HWY_RESTRICT out) {
  const Tag<T> d;
  Lines<N, T> lines(rows, n, true);
  T last[Line<T>()];
  for (std::size_t begin = 0; begin < count; begin += Line<T>()) {
    const std::size_t width = std::min(Line<T>(), count - begin);
    const T* const* const at = lines.from(begin, width);
    T* const to = width == Line<T>() ? out + begin : last;
    for (std::size_t j = 0; j < Line<T>(); j += hn::Lanes(d))
      hn::StoreU(PaddedMedian<N>(d, at, n, j), d, to + j);
    if (to == last) std::copy_n(last, width, out + begin);
  }
}

template <class T>
void PaddedMedians(const T* const* rows, std::size_t n, std::size_t count, T* out) {
  if (n <= 24) return PaddedMediansOf<24>(rows, n, count, out);
  if (n <= 32) return PaddedMediansOf<32>(rows, n, count, out);
  if (n <= 48) return PaddedMediansOf<48>(rows, n, count, out);
  PaddedMediansOf<64>(rows, n, count, out);
}

// All of the network of N, without pruning.
template <std::size_t N>
struct SortNetwork {
  static constexpr std::size_t count_all() {
    std::size_t all = 0;
    visit_sort_network(N, [&](std::size_t, std::size_t) { ++all; });
    return all;
  }
  static constexpr std::size_t count = count_all();
  std::array<Comparator, count_all()> comparators{};
  constexpr SortNetwork() {
    std::size_t c = 0;
    visit_sort_network(N, [&](std::size_t a, std::size_t b) {
      comparators[c].low = static_cast<std::uint16_t>(a);
      comparators[c++].high = static_cast<std::uint16_t>(b);
    });
  }
};

template <std::size_t N>
inline constexpr SortNetwork<N> kSortOf{};

template <std::size_t N, class D, class T>
HWY_INLINE void SortVector(D d, const T* const* rows, std::size_t j, T* HWY_RESTRICT tile) {
  hn::Vec<D> v[N];
  for (std::size_t i = 0; i < N; ++i) v[i] = hn::LoadU(d, rows[i] + j);
  CompareFrom<kSortOf<N>, 0>(v);
  for (std::size_t i = 0; i < N; ++i) hn::StoreU(v[i], d, tile + i * Line<T>() + j);
}

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

// mean[j] = the mean of the lines [first, last); false if a sum overflows.
template <class T>
HWY_INLINE bool MeanOfLines(const T* HWY_RESTRICT tile, std::size_t first, std::size_t last,
                            T* HWY_RESTRICT mean) {
  const hn::CappedTag<double, 8> d;
  const auto kept = hn::Set(d, static_cast<double>(last - first));
  const std::size_t N = hn::Lanes(d);
  auto alarm = hn::Zero(d);
  for (std::size_t j = 0; j < Line<T>(); j += N) {
    auto s = hn::Zero(d);
    for (std::size_t i = first; i < last; ++i)
      s = hn::Add(s, LoadAsDouble(d, tile + i * Line<T>() + j));
    alarm = hn::Add(alarm, hn::Mul(s, hn::Zero(d)));
    StoreAs(hn::Div(s, kept), d, mean + j);
  }
  return hn::AllTrue(d, hn::Eq(alarm, hn::Zero(d)));
}

// Calls use(begin, width, tile) for every line of columns, sorted in the tile.
template <std::size_t N, class T, class Use>
void SortLines(const T* const* rows, std::size_t n, std::size_t count, T* tile, Use&& use) {
  const Tag<T> d;
  Lines<N, T> lines(rows, n, false);
  for (std::size_t begin = 0; begin < count; begin += Line<T>()) {
    const std::size_t width = std::min(Line<T>(), count - begin);
    const T* const* const at = lines.from(begin, width);
    for (std::size_t j = 0; j < Line<T>(); j += hn::Lanes(d)) SortVector<N>(d, at, j, tile);
    use(begin, width);
  }
}
template <class T, class Use>
void SortAll(const T* const* rows, std::size_t n, std::size_t count, T* tile, Use&& use) {
  if (n <= 4) return SortLines<4>(rows, n, count, tile, use);
  if (n <= 8) return SortLines<8>(rows, n, count, tile, use);
  if (n <= 16) return SortLines<16>(rows, n, count, tile, use);
  if (n <= 24) return SortLines<24>(rows, n, count, tile, use);
  if (n <= 32) return SortLines<32>(rows, n, count, tile, use);
  if (n <= 48) return SortLines<48>(rows, n, count, tile, use);
  SortLines<64>(rows, n, count, tile, use);
}

// The mean of a sorted column, also where its sum overflows.
template <class T>
T MeanOfParts(const T* tile, std::size_t first, std::size_t last) {
  const double kept = static_cast<double>(last - first);
  double sum = 0, mean = 0;
  for (std::size_t i = first; i < last; ++i) {
    sum += static_cast<double>(tile[i * Line<T>()]);
    mean += static_cast<double>(tile[i * Line<T>()]) / kept;
  }
  if (std::isfinite(sum)) return static_cast<T>(sum / kept);
  constexpr double kMost = static_cast<double>(std::numeric_limits<T>::max());
  return static_cast<T>(std::min(std::max(mean, -kMost), kMost));
}

// One function for both, so that each network is there once.
template <class T>
void SortOrMean(const T* const* rows, std::size_t n, std::size_t count, std::size_t f, T* out,
                T* sorted) {
  alignas(64) T room[kSortedRows * Line<T>()];
  T mean[Line<T>()];
  T* const tile = out == nullptr ? sorted : room;
  SortAll(rows, n, count, tile, [&](std::size_t begin, std::size_t width) HWY_ATTR {
    if (out == nullptr) return;
    T* const to = width == Line<T>() ? out + begin : mean;
    if (!MeanOfLines(tile, f, n - f, to)) {
      for (std::size_t j = 0; j < Line<T>(); ++j) to[j] = MeanOfParts(tile + j, f, n - f);
    }
    if (to == mean) std::copy_n(mean, width, out + begin);
  });
}

void PaddedMediansF32(const float* const* rows, std::size_t n, std::size_t count, float* out) {
  PaddedMedians(rows, n, count, out);
}
void PaddedMediansF64(const double* const* rows, std::size_t n, std::size_t count, double* out) {
  PaddedMedians(rows, n, count, out);
}
void SortF32(const float* const* rows, std::size_t n, std::size_t width, float* tile) {
  SortOrMean(rows, n, width, 0, decltype(tile){nullptr}, tile);
}
void SortF64(const double* const* rows, std::size_t n, std::size_t width, double* tile) {
  SortOrMean(rows, n, width, 0, decltype(tile){nullptr}, tile);
}
void SortedMeansF32(const float* const* rows, std::size_t n, std::size_t count, std::size_t f,
                    float* out) {
  SortOrMean(rows, n, count, f, out, decltype(out){nullptr});
}
void SortedMeansF64(const double* const* rows, std::size_t n, std::size_t count, std::size_t f,
                    double* out) {
  SortOrMean(rows, n, count, f, out, decltype(out){nullptr});
}

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::kernels {
HWY_EXPORT(PaddedMediansF32);
HWY_EXPORT(PaddedMediansF64);
HWY_EXPORT(SortF32);
HWY_EXPORT(SortF64);
HWY_EXPORT(SortedMeansF32);
HWY_EXPORT(SortedMeansF64);

template <>
void sorted_medians(const float* const* rows, std::size_t n, std::size_t count, float* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(PaddedMediansF32)(rows, n, count, out);
}
template <>
void sorted_medians(const double* const* rows, std::size_t n, std::size_t count, double* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(PaddedMediansF64)(rows, n, count, out);
}
template <>
void sort_columns(const float* const* rows, std::size_t n, std::size_t width, float* tile) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(SortF32)(rows, n, width, tile);
}
template <>
void sort_columns(const double* const* rows, std::size_t n, std::size_t width, double* tile) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(SortF64)(rows, n, width, tile);
}
template <>
void sorted_means(const float* const* rows, std::size_t n, std::size_t count, std::size_t f,
                  float* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(SortedMeansF32)(rows, n, count, f, out);
}
template <>
void sorted_means(const double* const* rows, std::size_t n, std::size_t count, std::size_t f,
                  double* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(SortedMeansF64)(rows, n, count, f, out);
}

}  // namespace medgrad::kernels
#endif  // HWY_ONCE
