#include "kernels/matrix.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matrix.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/fused-inl.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// (x0 a0 + x1 a1) + (x2 a2 + x3 a3) in the columns of one vector, from j on.
template <class D>
HWY_INLINE hn::Vec<D> FourLines(D d, const double* const* lines, std::size_t j,
                                const double* HWY_RESTRICT x) {
  const auto product = [&](std::size_t k) HWY_ATTR {
    return hn::Mul(hn::Set(d, x[k]), hn::LoadU(d, lines[k] + j));
  };
  return hn::Add(hn::Add(product(0), product(1)), hn::Add(product(2), product(3)));
}

// kRows (a multiple of 4, or 1) rows on top of out; out is read and written once for all of them.
// line(k) is where the k-th row is.
template <std::size_t kRows, class Line>
HWY_INLINE void AddSomeLines(Line&& line, std::size_t columns, const double* HWY_RESTRICT x,
                             double* HWY_RESTRICT out) {
  const double* lines[kRows];
  for (std::size_t k = 0; k < kRows; ++k) lines[k] = line(k);
  const auto part = [&](auto d, std::size_t j) HWY_ATTR {
    auto sum = hn::LoadU(d, out + j);
    if constexpr (kRows == 1) {
      sum = hn::Add(sum, hn::Mul(hn::Set(d, x[0]), hn::LoadU(d, lines[0] + j)));
    } else {
      for (std::size_t k = 0; k < kRows; k += 4)
        sum = hn::Add(sum, FourLines(d, lines + k, j, x + k));
    }
    hn::StoreU(sum, d, out + j);
  };
  const hn::ScalableTag<double> d;
  const hn::CappedTag<double, 1> one;
  std::size_t j = 0;
  for (; j + hn::Lanes(d) <= columns; j += hn::Lanes(d)) part(d, j);
  for (; j < columns; ++j) part(one, j);
}
template <class Line>
HWY_INLINE void AddAllLines(Line&& line, std::size_t rows, std::size_t columns, const double* x,
                            double* out) {
  std::size_t k = 0;
  const auto from = [&](std::size_t i) HWY_ATTR { return line(k + i); };
  for (; k + 8 <= rows; k += 8) AddSomeLines<8>(from, columns, x + k, out);
  for (; k + 4 <= rows; k += 4) AddSomeLines<4>(from, columns, x + k, out);
  for (; k < rows; ++k) AddSomeLines<1>(from, columns, x + k, out);
}

void AddLines(const double* a, std::size_t rows, std::size_t columns, std::size_t stride,
              const double* x, double* out, bool add) {
  if (!add) std::fill_n(out, columns, 0.0);
  AddAllLines([=](std::size_t k) { return a + k * stride; }, rows, columns, x, out);
}
void AddChosenLines(const double* a, const std::size_t* chosen, std::size_t count,
                    std::size_t columns, std::size_t stride, const double* x, double* out) {
  std::fill_n(out, columns, 0.0);
  AddAllLines([=](std::size_t k) { return a + chosen[k] * stride; }, count, columns, x, out);
}

void LineProducts(const double* a, std::size_t rows, std::size_t columns, std::size_t stride,
                  const double* HWY_RESTRICT x, double* HWY_RESTRICT out) {
  const hn::CappedTag<double, kLanes> d;
  constexpr std::size_t kParts = kLanes / hn::MaxLanes(decltype(d)());
  const std::size_t N = hn::Lanes(d), whole = columns / kLanes * kLanes;
  for (std::size_t k = 0; k < rows; ++k) {
    const double* HWY_RESTRICT const y = a + k * stride;
    hn::Vec<decltype(d)> sum[kParts];
    for (std::size_t p = 0; p < kParts; ++p) sum[p] = hn::Zero(d);
    for (std::size_t j = 0; j < whole; j += kLanes) {
      for (std::size_t p = 0; p < kParts; ++p)
        sum[p] = hn::Add(sum[p], hn::Mul(hn::LoadU(d, x + j + p * N), hn::LoadU(d, y + j + p * N)));
    }
    double lanes[kLanes];
    for (std::size_t p = 0; p < kParts; ++p) hn::StoreU(sum[p], d, lanes + p * N);
    for (std::size_t j = whole; j < columns; ++j) lanes[j - whole] += x[j] * y[j];
    out[k] = sum_lanes(lanes);
  }
}

// Rows i … i + kRows - 1 of a symmetric matrix, up to the diagonal: their part of out before them,
// and out_i … from what is before. kRows is 4, or 1.
template <std::size_t kRows>
void AddSymmetricRows(const double* HWY_RESTRICT a, std::size_t n, std::size_t i,
                      const double* HWY_RESTRICT x, double* HWY_RESTRICT out) {
  const hn::CappedTag<double, kLanes> d;
  constexpr std::size_t kParts = kLanes / hn::MaxLanes(decltype(d)());
  const std::size_t N = hn::Lanes(d), whole = i / kLanes * kLanes;
  const double* HWY_RESTRICT const row = a + i * n;
  hn::Vec<decltype(d)> sum[kRows][kParts];
  for (auto& of_row : sum)
    for (auto& part : of_row) part = hn::Zero(d);
  for (std::size_t j = 0; j < whole; j += kLanes) {
    for (std::size_t p = 0; p < kParts; ++p) {
      const std::size_t at = j + p * N;
      const auto xj = hn::LoadU(d, x + at);
      auto add = hn::LoadU(d, out + at);
      for (std::size_t r = 0; r < kRows; ++r) {
        const auto v = hn::LoadU(d, row + r * n + at);
        sum[r][p] = MulAdd(d, v, xj, sum[r][p]);
        add = MulAdd(d, hn::Set(d, x[i + r]), v, add);
      }
      hn::StoreU(add, d, out + at);
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    double lanes[kLanes], rest = row[r * n + i + r] * x[i + r];
    for (std::size_t p = 0; p < kParts; ++p) hn::StoreU(sum[r][p], d, lanes + p * N);
    for (std::size_t j = whole; j < i + r; ++j) {
      rest += row[r * n + j] * x[j];
      out[j] += row[r * n + j] * x[i + r];
    }
    out[i + r] += sum_lanes(lanes) + rest;
  }
}

void AddSymmetricLines(const double* a, std::size_t n, std::size_t begin, std::size_t end,
                       const double* x, double* out) {
  std::size_t i = begin;
  for (; i + 4 <= end; i += 4) AddSymmetricRows<4>(a, n, i, x, out);
  for (; i < end; ++i) AddSymmetricRows<1>(a, n, i, x, out);
}

// (mean_i + mean_k - squares_ik - all) / 2 from k on.
template <class D>
HWY_INLINE hn::Vec<D> Centred(D d, const double* squares, const double* mean, double of_row,
                              double all, std::size_t k) {
  const auto both = hn::Add(hn::Set(d, of_row), hn::LoadU(d, mean + k));
  const auto twice = hn::Sub(hn::Sub(both, hn::LoadU(d, squares + k)), hn::Set(d, all));
  return hn::Mul(twice, hn::Set(d, 0.5));
}

// visit(d, k) for the columns k of all vectors, and of those that are left.
template <class Visit>
HWY_INLINE void VisitColumns(std::size_t n, Visit&& visit) {
  const hn::ScalableTag<double> d;
  const hn::CappedTag<double, 1> one;
  std::size_t k = 0;
  for (; k + hn::Lanes(d) <= n; k += hn::Lanes(d)) visit(d, k);
  for (; k < n; ++k) visit(one, k);
}

void ScaleCentred(const double* HWY_RESTRICT squares, std::size_t n, std::size_t begin,
                  std::size_t end, const double* mean, double all, const double* scale,
                  double* HWY_RESTRICT out) {
  for (std::size_t i = begin; i < end; ++i) {
    VisitColumns(std::min((i / kLanes + 1) * kLanes, n), [&](auto d, std::size_t k) HWY_ATTR {
      const auto both = hn::Mul(hn::Set(d, scale[i]), hn::LoadU(d, scale + k));
      hn::StoreU(hn::Mul(both, Centred(d, squares + i * n, mean, mean[i], all, k)), d,
                 out + i * n + k);
    });
  }
}

// Columns of a panel of b, which is copied so that they are next to each other.
constexpr std::size_t kPanel = HWY_TARGET <= HWY_AVX3 ? 16 : 8;

// kRows rows of c in the columns of a panel.
template <std::size_t kRows>
void MultiplyPanel(const double* HWY_RESTRICT a, std::size_t m, const double* HWY_RESTRICT panel,
                   std::size_t p, std::size_t width, double* HWY_RESTRICT c) {
  const hn::CappedTag<double, kPanel> d;
  constexpr std::size_t kParts = kPanel / hn::MaxLanes(decltype(d)());
  const std::size_t N = hn::Lanes(d);
  hn::Vec<decltype(d)> sum[kRows][kParts];
  for (auto& row : sum)
    for (auto& part : row) part = hn::Zero(d);
  for (std::size_t k = 0; k < m; ++k) {
    hn::Vec<decltype(d)> b[kParts];
    for (std::size_t part = 0; part < kParts; ++part)
      b[part] = hn::Load(d, panel + k * kPanel + part * N);
    for (std::size_t i = 0; i < kRows; ++i) {
      const auto factor = hn::Set(d, a[i * m + k]);
      for (std::size_t part = 0; part < kParts; ++part)
        sum[i][part] = MulAdd(d, factor, b[part], sum[i][part]);
    }
  }
  double line[kPanel];
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t part = 0; part < kParts; ++part) hn::StoreU(sum[i][part], d, line + part * N);
    std::copy_n(line, width, c + i * p);
  }
}

void Multiply(const double* a, const double* b, std::size_t n, std::size_t m, std::size_t p,
              double* c, double* room) {
  const auto over = reinterpret_cast<std::uintptr_t>(room) % 64;
  double* const panel = room + (64 - over) % 64 / sizeof(double);
  for (std::size_t j = 0; j < p; j += kPanel) {
    const std::size_t width = std::min(kPanel, p - j);
    for (std::size_t k = 0; k < m; ++k) {
      double* const line = panel + k * kPanel;
      std::fill(std::copy_n(b + k * p + j, width, line), line + kPanel, 0.0);
    }
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) MultiplyPanel<4>(a + i * m, m, panel, p, width, c + i * p + j);
    for (; i < n; ++i) MultiplyPanel<1>(a + i * m, m, panel, p, width, c + i * p + j);
  }
}

}  // namespace medgrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace medgrad::kernels {
HWY_EXPORT(AddLines);
HWY_EXPORT(AddChosenLines);
HWY_EXPORT(LineProducts);
HWY_EXPORT(AddSymmetricLines);
HWY_EXPORT(ScaleCentred);
HWY_EXPORT(Multiply);

void add_lines(const double* a, std::size_t rows, std::size_t columns, std::size_t stride,
               const double* x, double* out, bool add) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(AddLines)(a, rows, columns, stride, x, out, add);
}
void add_chosen_lines(const double* a, const std::size_t* chosen, std::size_t count,
                      std::size_t columns, std::size_t stride, const double* x, double* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(AddChosenLines)(a, chosen, count, columns, stride, x, out);
}
void line_products(const double* a, std::size_t rows, std::size_t columns, std::size_t stride,
                   const double* x, double* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(LineProducts)(a, rows, columns, stride, x, out);
}
void add_symmetric_lines(const double* a, std::size_t n, std::size_t begin, std::size_t end,
                         const double* x, double* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(AddSymmetricLines)(a, n, begin, end, x, out);
}
void scale_centred(const double* squares, std::size_t n, std::size_t begin, std::size_t end,
                   const double* mean, double all, const double* scale, double* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(ScaleCentred)(squares, n, begin, end, mean, all, scale, out);
}
void multiply(const double* a, const double* b, std::size_t n, std::size_t m, std::size_t p,
              double* c, double* room) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(Multiply)(a, b, n, m, p, c, room);
}

}  // namespace medgrad::kernels
#endif  // HWY_ONCE
