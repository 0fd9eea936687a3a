#include "core/sample/product.h"

#include <algorithm>
#include <vector>

#include "core/sample/matrix.h"
#include "kernels/matrix.h"

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
  for (std::size_t begin = 0; begin < n; begin += kLine) {
    const std::size_t end = std::min(begin + kLine, n);
    for (std::size_t k = 0; k < m; ++k)
      for (std::size_t i = begin; i < end; ++i) turned[k * n + i] = half[i * m + k];
  }
  multiply(w, turned.data(), n, m, n, c, pool);
}

}  // namespace medgrad::estimators
