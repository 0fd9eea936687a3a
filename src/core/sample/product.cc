#include "core/sample/product.h"

#include <algorithm>
#include <vector>

#include "core/sample/matrix.h"
#include "kernels/matrix.h"
#include "kernels/select.h"

namespace medgrad::estimators {

void multiply(const double* a, const double* b, std::size_t n, std::size_t m, std::size_t p,
              double* c, ThreadPool* pool) {
  // Rows that are worth copying b for, and how many entries that are not 0 are as fast by
  // themselves.
  constexpr std::size_t kBand = 64, kSparse = 4;
  for_each(pool, (n + kBand - 1) / kBand, [&](std::size_t band) {
    const std::size_t begin = band * kBand, rows = std::min(kBand, n - begin);
    const double* const own = a + begin * m;
    double* const out = c + begin * p;
    const auto zeros = static_cast<std::size_t>(std::count(own, own + rows * m, 0.0));
    if (rows * m - zeros > rows * m / kSparse) {
      std::vector<double> room(kernels::multiply_room(m));
      return kernels::multiply(own, b, rows, m, p, out, room.data());
    }
    std::vector<std::size_t> chosen;
    std::vector<double> factors;
    for (std::size_t i = 0; i < rows; ++i) {
      chosen.clear();
      factors.clear();
      for (std::size_t k = 0; k < m; ++k) {
        if (own[i * m + k] == 0) continue;
        chosen.push_back(k);
        factors.push_back(own[i * m + k]);
      }
      kernels::add_chosen_lines(b, chosen.data(), chosen.size(), p, p, factors.data(), out + i * p);
    }
  });
}

// w (w g)', so that zeros of w are on the left of both products.
void multiply_both_sides(const double* w, const double* g, std::size_t n, std::size_t m, double* c,
                         ThreadPool* pool) {
  Matrix half(n * m), turned(m * n);
  multiply(w, g, n, m, m, half.data(), pool);
  constexpr std::size_t kLine = 8;  // lines of the cache are filled while they are there
  for_each_band(pool, n, [&](std::size_t from, std::size_t to) {
    for (std::size_t begin = from; begin < to; begin += kLine) {
      const std::size_t end = std::min(begin + kLine, to);
      for (std::size_t k = 0; k < m; ++k)
        for (std::size_t i = begin; i < end; ++i) turned[k * n + i] = half[i * m + k];
    }
  });
  multiply(w, turned.data(), n, m, n, c, pool);
}

void select_of_columns(const double* a, std::size_t n, std::size_t columns, std::size_t k,
                       double* out, ThreadPool* pool) {
  std::vector<const double*> rows(n);
  for (std::size_t i = 0; i < n; ++i) rows[i] = a + i * columns;
  for_each_band(pool, columns, [&](std::size_t begin, std::size_t end) {
    std::vector<const double*> own(rows);
    for (const double*& row : own) row += begin;
    Matrix room(kernels::select_room<double>(n, end - begin));
    (void)kernels::select_columns<double>(own.data(), n, end - begin, k, out + begin, nullptr,
                                          room.data());
  });
}

}  // namespace medgrad::estimators
