#include "kernels/matrix.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matrix.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace medgrad::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// (x0 a0 + x1 a1) + (x2 a2 + x3 a3) in the columns of one vector.
template <class D>
HWY_INLINE hn::Vec<D> FourLines(D d, const double* HWY_RESTRICT a, std::size_t stride,
                                const double* HWY_RESTRICT x) {
  const auto product = [&](std::size_t k) HWY_ATTR {
    return hn::Mul(hn::Set(d, x[k]), hn::LoadU(d, a + k * stride));
  };
  return hn::Add(hn::Add(product(0), product(1)), hn::Add(product(2), product(3)));
}

// kRows (a multiple of 4, or 1) rows on top of out; out is read and written once for all of them.
template <std::size_t kRows>
void AddSomeLines(const double* HWY_RESTRICT a, std::size_t columns, std::size_t stride,
                  const double* HWY_RESTRICT x, double* HWY_RESTRICT out) {
  const auto part = [&](auto d, std::size_t j) HWY_ATTR {
    auto sum = hn::LoadU(d, out + j);
    if constexpr (kRows == 1) {
      sum = hn::Add(sum, hn::Mul(hn::Set(d, x[0]), hn::LoadU(d, a + j)));
    } else {
      for (std::size_t k = 0; k < kRows; k += 4)
        sum = hn::Add(sum, FourLines(d, a + k * stride + j, stride, x + k));
    }
    hn::StoreU(sum, d, out + j);
  };
  const hn::ScalableTag<double> d;
  const hn::CappedTag<double, 1> one;
  std::size_t j = 0;
  for (; j + hn::Lanes(d) <= columns; j += hn::Lanes(d)) part(d, j);
  for (; j < columns; ++j) part(one, j);
}

void AddLines(const double* a, std::size_t rows, std::size_t columns, std::size_t stride,
              const double* x, double* out, bool add) {
  if (!add) std::fill_n(out, columns, 0.0);
  std::size_t k = 0;
  for (; k + 8 <= rows; k += 8) AddSomeLines<8>(a + k * stride, columns, stride, x + k, out);
  for (; k + 4 <= rows; k += 4) AddSomeLines<4>(a + k * stride, columns, stride, x + k, out);
  for (; k < rows; ++k) AddSomeLines<1>(a + k * stride, columns, stride, x + k, out);
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
        sum[i][part] = hn::Add(sum[i][part], hn::Mul(factor, b[part]));
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
HWY_EXPORT(LineProducts);
HWY_EXPORT(Multiply);

void add_lines(const double* a, std::size_t rows, std::size_t columns, std::size_t stride,
               const double* x, double* out, bool add) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(AddLines)(a, rows, columns, stride, x, out, add);
}
void line_products(const double* a, std::size_t rows, std::size_t columns, std::size_t stride,
                   const double* x, double* out) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(LineProducts)(a, rows, columns, stride, x, out);
}
void multiply(const double* a, const double* b, std::size_t n, std::size_t m, std::size_t p,
              double* c, double* room) {
  simd_ready();
  HWY_DYNAMIC_DISPATCH(Multiply)(a, b, n, m, p, c, room);
}

}  // namespace medgrad::kernels
#endif  // HWY_ONCE
