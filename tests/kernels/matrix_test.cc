// Products of matrices against plain loops in the same order: the same bits on every SIMD target.
#include "kernels/matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/conjugate.h"
#include "kernels/simd.h"

namespace medgrad::kernels {
namespace {

class MatrixKernels : public ::testing::Test {
 protected:
  ~MatrixKernels() override { force_simd_target(best_); }
  // With one more entry in front, so that nothing is aligned.
  std::vector<double> draw(std::size_t count) {
    std::vector<double> x(count + 1);
    for (double& v : x) v = gauss_(random_);
    return x;
  }
  std::string best_ = simd_target();
  std::mt19937_64 random_{8};
  std::normal_distribution<double> gauss_;
};

TEST_F(MatrixKernels, LinesAddUpInOrder) {
  for (const std::string& target : simd_targets()) {
    SCOPED_TRACE(target);
    force_simd_target(target);
    for (const std::size_t rows : {0u, 1u, 3u, 4u, 7u, 8u, 13u, 20u}) {
      for (const std::size_t columns : {1u, 2u, 5u, 16u, 31u}) {
        const std::size_t stride = columns + 3;
        const auto a = draw(rows * stride), x = draw(rows), before = draw(columns);
        for (const bool add : {false, true}) {
          std::vector<double> out = before;
          add_lines(a.data() + 1, rows, columns, stride, x.data() + 1, out.data() + 1, add);
          for (std::size_t j = 0; j < columns; ++j) {
            const auto term = [&](std::size_t k) { return x[1 + k] * a[1 + k * stride + j]; };
            double want = add ? before[1 + j] : 0;
            std::size_t k = 0;
            for (; k + 4 <= rows; k += 4)
              want += (term(k) + term(k + 1)) + (term(k + 2) + term(k + 3));
            for (; k < rows; ++k) want += term(k);
            ASSERT_EQ(out[1 + j], want) << rows << " x " << columns << ", " << j;
          }
        }
      }
    }
  }
}

// Half of the matrix is enough, and bands of rows add up to all of it.
TEST_F(MatrixKernels, LinesOfSymmetricMatrices) {
  for (const std::size_t n : {1u, 3u, 4u, 18u, 37u, 70u}) {
    auto a = draw(n * n);
    const auto x = draw(n);
    std::vector<double> want(n), size(n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < n; ++k) {
        const double term = a[1 + (i > k ? i * n + k : k * n + i)] * x[1 + k];
        want[i] += term;
        size[i] += std::abs(term);
      }
    }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = i + 1; k < n; ++k) a[1 + i * n + k] = NAN;
    std::vector<double> first;
    for (const std::string& target : simd_targets()) {
      SCOPED_TRACE(target);
      force_simd_target(target);
      const std::size_t cut = n / 8 * 4;
      std::vector<double> out(n), below(n);
      add_symmetric_lines(a.data() + 1, n, 0, cut, x.data() + 1, out.data());
      add_symmetric_lines(a.data() + 1, n, cut, n, x.data() + 1, below.data());
      for (std::size_t i = 0; i < n; ++i) {
        out[i] += below[i];
        // Rounding: two sums of at most 70 terms.
        EXPECT_NEAR(out[i], want[i], 140 * 0x1p-53 * size[i]);
      }
      if (first.empty()) first = out;
      EXPECT_EQ(out, first);
    }
  }
}

TEST_F(MatrixKernels, CentredProducts) {
  for (const std::string& target : simd_targets()) {
    SCOPED_TRACE(target);
    force_simd_target(target);
    for (const std::size_t n : {1u, 7u, 16u, 21u}) {
      const auto squares = draw(n * n), mean = draw(n), scale = draw(n);
      const double all = 0.3;
      std::vector<double> scaled(n * n);
      for (const std::size_t begin : {std::size_t{0}, n / 2}) {
        scale_centred(squares.data() + 1, n, begin, begin < n / 2 ? n / 2 : n, mean.data() + 1, all,
                      scale.data() + 1, scaled.data());
      }
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k <= i; ++k) {
          const double c = (mean[1 + i] + mean[1 + k] - squares[1 + i * n + k] - all) / 2;
          ASSERT_EQ(scaled[i * n + k], scale[1 + i] * scale[1 + k] * c);
        }
      }
    }
  }
}

// Of a matrix in float, half of which is read: products, and what conjugate gradients do.
TEST_F(MatrixKernels, FloatsOfSymmetricMatrices) {
  for (const std::size_t n : {1u, 15u, 16u, 18u, 37u, 70u}) {
    auto a = draw(n * n);
    const std::size_t padded = in_blocks(n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < i; ++k) a[1 + k * n + i] = a[1 + i * n + k];
    std::vector<float> first;
    for (const std::string& target : simd_targets()) {
      SCOPED_TRACE(target);
      force_simd_target(target);
      std::vector<float> half(padded * padded), x(padded), out(padded), y(padded), d(padded);
      narrow_lower(a.data() + 1, n, 0.5, half.data());
      for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i % 7) - 2.5f;
      const std::size_t cut = padded / 8 * 4;
      add_lower(half.data(), padded, 0, cut, x.data(), out.data());
      add_lower(half.data(), padded, cut, padded, x.data(), out.data());
      for (std::size_t i = 0; i < n; ++i) {
        double want = 0, size = 0;
        for (std::size_t k = 0; k < n; ++k) {
          want += 0.5 * a[1 + i * n + k] * x[k];
          size += std::abs(a[1 + i * n + k] * x[k]);
        }
        EXPECT_NEAR(out[i], want, 80 * 0x1p-24 * size);  // rounding of at most 70 terms
      }
      y = out;
      out.push_back(deflate(1.5f, x.data(), 0.25f, half.data(), padded, y.data()));
      for (std::size_t i = 0; i < n; ++i)
        EXPECT_FLOAT_EQ(y[i], std::fma(1.5f, x[i], std::fma(0.25f, half[i], -out[i])));
      out.push_back(inner_product(x.data(), y.data(), padded));
      EXPECT_EQ(out[padded], out[padded + 1]);
      out.push_back(conjugate_step(0.5f, x.data(), y.data(), padded, d.data(), x.data()));
      add_multiple(-2, d.data(), padded, y.data());
      turn(3, x.data(), padded, y.data());
      out.insert(out.end(), y.begin(), y.end());
      if (first.empty()) first = out;
      EXPECT_EQ(out, first);
    }
  }
}

TEST_F(MatrixKernels, ProductsOfLinesRunOverLanes) {
  for (const std::string& target : simd_targets()) {
    SCOPED_TRACE(target);
    force_simd_target(target);
    for (const std::size_t columns : {1u, 15u, 16u, 17u, 40u, 67u}) {
      const std::size_t rows = 3, stride = columns + 1;
      const auto a = draw(rows * stride), x = draw(columns);
      std::vector<double> out(rows);
      line_products(a.data() + 1, rows, columns, stride, x.data() + 1, out.data());
      for (std::size_t k = 0; k < rows; ++k) {
        double lanes[kLanes] = {};
        for (std::size_t j = 0; j < columns; ++j)
          lanes[j % kLanes] += x[1 + j] * a[1 + k * stride + j];
        ASSERT_EQ(out[k], sum_lanes(lanes)) << columns;
      }
    }
  }
}

TEST_F(MatrixKernels, ProductsOfMatricesRunInOrder) {
  for (const std::string& target : simd_targets()) {
    SCOPED_TRACE(target);
    force_simd_target(target);
    for (const std::size_t n : {1u, 3u, 4u, 6u}) {
      for (const std::size_t m : {1u, 5u}) {
        for (const std::size_t p : {1u, 7u, 8u, 17u}) {
          const auto a = draw(n * m), b = draw(m * p);
          std::vector<double> c(n * p + 1, 99.0), room(multiply_room(m));
          multiply(a.data() + 1, b.data() + 1, n, m, p, c.data(), room.data());
          for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < p; ++j) {
              double want = 0;
              for (std::size_t k = 0; k < m; ++k)
                want = std::fma(a[1 + i * m + k], b[1 + k * p + j], want);
              ASSERT_EQ(c[i * p + j], want) << n << " " << m << " " << p;
            }
          }
          EXPECT_EQ(c[n * p], 99.0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace medgrad::kernels
