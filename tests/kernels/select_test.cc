// Sorted and counted columns against plain sorting, on every SIMD target.
#include "kernels/select.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/simd.h"
#include "kernels/sorted.h"

namespace medgrad::kernels {
namespace {

template <class T>
class Select : public ::testing::Test {
 protected:
  ~Select() override { force_simd_target(best_); }
  // n rows of `length` entries that start at an odd address.
  void fill(std::size_t n, std::size_t length, const std::function<T()>& draw) {
    data_.assign(n * (length + 1) + 1, T{0});
    for (T& x : data_) x = draw();
    rows_.clear();
    for (std::size_t i = 0; i < n; ++i) rows_.push_back(&data_[1 + i * (length + 1)]);
  }
  [[nodiscard]] std::vector<T> sorted_column(std::size_t j) const {
    std::vector<T> column;
    for (const T* row : rows_) column.push_back(row[j]);
    std::sort(column.begin(), column.end());
    return column;
  }
  // Data that is hard for pivots, in the order in which it gets harder.
  std::vector<std::function<T()>> kinds() {
    const auto gauss = [this] { return static_cast<T>(normal_(random_)); };
    const auto whole = [this] { return static_cast<T>(small_(random_)); };
    const auto sparse = [this] { return static_cast<T>(small_(random_) == 0 ? 1 : 0); };
    const auto zeros = [this] { return small_(random_) < 0 ? T{-0.0} : T{0}; };
    const auto any_size = [this] {
      constexpr int kMost = std::numeric_limits<T>::max_exponent - 1;
      std::uniform_int_distribution<int> exponent(-kMost - 20, kMost);
      return static_cast<T>(std::ldexp(normal_(random_) < 0 ? T{-1} : T{1}, exponent(random_)));
    };
    const auto ends = [this] {
      constexpr T kMost = std::numeric_limits<T>::max();
      return small_(random_) < 0 ? -kMost : kMost;
    };
    return {gauss, whole, sparse, zeros, any_size, ends};
  }
  std::string best_ = simd_target();
  std::mt19937 random_{5};
  std::normal_distribution<double> normal_;
  std::uniform_int_distribution<int> small_{-4, 4};
  std::vector<T> data_;
  std::vector<const T*> rows_;
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Select, Types);

TYPED_TEST(Select, CountingFindsEveryRank) {
  using T = TypeParam;
  for (const std::string& target : simd_targets()) {
    SCOPED_TRACE(target);
    force_simd_target(target);
    for (const auto& kind : this->kinds()) {
      for (const std::size_t n : {1u, 2u, 3u, 16u, 17u, 65u, 131u}) {
        const std::size_t length = 37;
        this->fill(n, length, kind);
        std::vector<T> tile(select_room<T>(n)), low(length), high(length);
        for (std::size_t k = 1; k <= n; k += 1 + n / 9) {
          select_columns<T>(this->rows_.data(), n, length, k, low.data(),
                            k < n ? high.data() : nullptr, tile.data());
          for (std::size_t j = 0; j < length; ++j) {
            const auto column = this->sorted_column(j);
            ASSERT_EQ(low[j], column[k - 1]) << n << " " << k << " " << j;
            ASSERT_FALSE(std::signbit(low[j]) && low[j] == 0);
            if (k < n) {
              ASSERT_EQ(high[j], column[k]) << n << " " << k << " " << j;
            }
          }
        }
      }
    }
  }
}

TYPED_TEST(Select, NetworksSort) {
  using T = TypeParam;
  for (const std::string& target : simd_targets()) {
    SCOPED_TRACE(target);
    force_simd_target(target);
    for (const auto& kind : this->kinds()) {
      for (const std::size_t n :
           {1u, 2u, 4u, 5u, 8u, 9u, 16u, 17u, 24u, 25u, 33u, 47u, 48u, 63u, 64u}) {
        const std::size_t length = kLineColumns<T> + 3;
        this->fill(n, length, kind);
        std::vector<T> medians(length), tile(kSortedRows * kLineColumns<T>);
        sorted_medians(this->rows_.data(), n, length, medians.data());
        for (std::size_t j = 0; j < length; ++j) {
          const auto column = this->sorted_column(j);
          ASSERT_EQ(medians[j], std::midpoint(column[(n - 1) / 2], column[n / 2]));
        }
        for (const std::size_t width : {kLineColumns<T>, std::size_t{3}}) {
          sort_columns(this->rows_.data(), n, width, tile.data());
          for (std::size_t j = 0; j < width; ++j) {
            const auto column = this->sorted_column(j);
            for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(tile[i * kLineColumns<T> + j], column[i]);
          }
        }
      }
    }
  }
}

// The mean of what is between, summed by hand in long double, to rounding of doubles.
TYPED_TEST(Select, TrimmedMeans) {
  using T = TypeParam;
  const double rounding = static_cast<double>(std::numeric_limits<T>::epsilon()) +
                          200 * std::numeric_limits<double>::epsilon();
  for (const std::string& target : simd_targets()) {
    SCOPED_TRACE(target);
    force_simd_target(target);
    for (std::size_t kind = 0; kind < 4; ++kind) {
      for (const std::size_t n : {5u, 16u, 40u, 64u, 65u, 131u}) {
        const std::size_t length = 21;
        this->fill(n, length, this->kinds()[kind]);
        std::vector<T> tile(select_room<T>(n)), out(length), sorted(length);
        for (const std::size_t f : {std::size_t{0}, std::size_t{1}, n / 4, (n - 1) / 2}) {
          ASSERT_TRUE(
              trimmed_columns<T>(this->rows_.data(), n, length, f, out.data(), tile.data()));
          if (n <= kSortedRows) sorted_means<T>(this->rows_.data(), n, length, f, sorted.data());
          for (std::size_t j = 0; j < length; ++j) {
            const auto column = this->sorted_column(j);
            long double sum = 0, size = 0;
            for (std::size_t i = f; i < n - f; ++i) {
              sum += static_cast<long double>(column[i]);
              size += std::abs(static_cast<long double>(column[i]));
            }
            const double want = static_cast<double>(sum / static_cast<long double>(n - 2 * f));
            const double most = rounding * static_cast<double>(size);
            ASSERT_NEAR(static_cast<double>(out[j]), want, most);
            if (n <= kSortedRows) {
              ASSERT_NEAR(static_cast<double>(sorted[j]), want, most);
            }
          }
        }
      }
    }
  }
}

// Sums of the largest doubles overflow: one way says so, the other divides first.
TEST(SelectDoubles, SumsThatOverflow) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const std::vector<double> row(9, kMost);
  const std::vector<const double*> rows(65, row.data());
  std::vector<double> tile(select_room<double>(65)), out(9);
  std::vector<double> half(9, kMost / 2);
  std::vector<const double*> mixed = rows;
  for (std::size_t i = 0; i < 30; ++i) mixed[2 * i] = half.data();
  EXPECT_FALSE(trimmed_columns<double>(mixed.data(), 65, 9, 3, out.data(), tile.data()));
  sorted_means<double>(mixed.data(), 64, 9, 3, out.data());
  for (const double x : out) {
    EXPECT_GT(x, kMost / 2);
    EXPECT_LT(x, kMost);
  }
}

}  // namespace
}  // namespace medgrad::kernels
