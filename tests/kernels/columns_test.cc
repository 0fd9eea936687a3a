// Column kernels against plain sorting, on every SIMD target, length and misalignment.
#include "kernels/columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/network.h"
#include "kernels/simd.h"

namespace medgrad::kernels {
namespace {

template <class T>
class Columns : public ::testing::Test {
 protected:
  ~Columns() override { force_simd_target(best_); }
  // Calls check with every target in use in turn.
  template <class Check>
  void on_every_target(Check&& check) {
    for (const std::string& target : simd_targets()) {
      SCOPED_TRACE(target);
      force_simd_target(target);
      check();
    }
  }
  // n rows of `length` small whole numbers (ties are frequent) that start at an odd address.
  void fill(std::size_t n, std::size_t length, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> small(-9, 9);
    data_.assign(n * (length + 1) + 1, T{0});
    for (T& x : data_) x = static_cast<T>(small(random)) / 4;
    rows_.clear();
    for (std::size_t i = 0; i < n; ++i) rows_.push_back(&data_[1 + i * (length + 1)]);
  }
  [[nodiscard]] std::vector<T> sorted_column(std::size_t j) const {
    std::vector<T> column;
    for (const T* row : rows_) column.push_back(row[j]);
    std::sort(column.begin(), column.end());
    return column;
  }
  std::string best_ = simd_target();
  std::vector<T> data_;
  std::vector<const T*> rows_;
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Columns, Types);

TYPED_TEST(Columns, RegisterMediansAreMedians) {
  using T = TypeParam;
  this->on_every_target([&] {
    for (std::size_t n = 1; n <= kRegisterRows; ++n) {
      for (const std::size_t length : {1u, 2u, 3u, 7u, 8u, 15u, 16u, 17u, 33u, 67u}) {
        this->fill(n, length, static_cast<unsigned>(n));
        std::vector<T> out(length, T{99});
        ASSERT_TRUE(register_medians(this->rows_.data(), n, 1, length, out.data()));
        for (std::size_t j = 1; j < length; ++j) {
          const auto column = this->sorted_column(j);
          ASSERT_EQ(out[j - 1], std::midpoint(column[(n - 1) / 2], column[n / 2])) << n << " " << j;
        }
        ASSERT_EQ(out[length - 1], T{99});
      }
    }
  });
}

// Vectors begin where the rows are aligned, or the result where that goes past the cache: the same
// medians wherever they are in memory, and nothing is written beside them.
TYPED_TEST(Columns, MediansAreTheSameAtAnyAddress) {
  using T = TypeParam;
  constexpr std::size_t kLine = 64 / sizeof(T), kLength = 5 * kLine + 3;
  this->on_every_target([&] {
    for (const std::size_t n : {1u, 4u, 5u, 11u}) {
      this->fill(n, kLength, static_cast<unsigned>(n));
      std::vector<T> expected(kLength);
      for (std::size_t j = 0; j < kLength; ++j) {
        const auto column = this->sorted_column(j);
        expected[j] = std::midpoint(column[(n - 1) / 2], column[n / 2]);
      }
      std::vector<T> memory(n * 8 * kLine + kLine), result(8 * kLine);
      const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
      T* const aligned = memory.data() + (64 - address % 64) % 64 / sizeof(T);
      for (std::size_t shift = 0; shift < kLine; ++shift) {
        std::vector<const T*> rows;
        for (std::size_t i = 0; i < n; ++i)
          rows.push_back(std::copy_n(this->rows_[i], kLength, aligned + i * 8 * kLine + shift) -
                         kLength);
        for (std::size_t to = 1; to <= kLine; ++to) {
          for (const bool stream : {false, true}) {
            for (const std::size_t end : {kLine / 2, kLine, kLine + 1, kLength}) {
              std::fill(result.begin(), result.end(), T{99});
              ASSERT_TRUE(register_medians(rows.data(), n, 0, end, &result[to], stream));
              ASSERT_TRUE(std::equal(expected.begin(),
                                     expected.begin() + static_cast<std::ptrdiff_t>(end),
                                     result.begin() + static_cast<std::ptrdiff_t>(to)))
                  << n << " rows off by " << shift << ", result at " << to;
              ASSERT_EQ(result[to - 1], T{99});
              ASSERT_EQ(result[to + end], T{99});
            }
          }
        }
      }
    }
  });
}

TYPED_TEST(Columns, NonFiniteIsNoticedAnywhere) {
  using T = TypeParam;
  constexpr T kInf = std::numeric_limits<T>::infinity();
  this->on_every_target([&] {
    for (const T bad : {kInf, -kInf, std::numeric_limits<T>::quiet_NaN()}) {
      for (std::size_t j = 0; j < 67; ++j) {
        this->fill(3, 67, 1);
        std::vector<T> out(67);
        EXPECT_TRUE(all_finite(this->rows_.data(), 3, 0, 67));
        const_cast<T*>(this->rows_[j % 3])[j] = bad;
        EXPECT_FALSE(all_finite(this->rows_.data(), 3, 0, 67));
        std::vector<T> copy(3 * 70, T{99});
        EXPECT_FALSE(copy_finite(this->rows_.data(), 3, 0, 67, 70, copy.data()));
        EXPECT_EQ(copy_finite(this->rows_.data(), 3, 1, 66, 70, copy.data()), j == 0 || j == 66);
        for (std::size_t i = 0; i < 3; ++i) {
          for (std::size_t c = 1; c < 66; ++c) {
            if (c != j) {
              ASSERT_EQ(copy[i * 70 + c - 1], this->rows_[i][c]);
            }
          }
        }
        EXPECT_TRUE(all_finite(this->rows_.data(), 3, 0, j));
        EXPECT_TRUE(all_finite(this->rows_.data(), 3, j + 1, 67));
        EXPECT_FALSE(register_medians(this->rows_.data(), 3, 0, 67, out.data()));
      }
    }
  });
}

// Against plain loops in the same order: the same bits.
TYPED_TEST(Columns, MeansAddInOrder) {
  using T = TypeParam;
  this->on_every_target([&] {
    for (const std::size_t n : {1u, 2u, 8u, 9u, 16u, 17u, 24u, 25u, 40u}) {
      for (const std::size_t length : {1u, 2u, 15u, 16u, 17u, 70u}) {
        this->fill(n, length, static_cast<unsigned>(n));
        for (T& x : this->data_) x /= T{3};
        std::vector<double> weights(n), sum(length);
        double total = 0;
        for (std::size_t i = 0; i < n; ++i) total += weights[i] = 1.0 / static_cast<double>(i + 3);
        for (const bool weighted : {false, true}) {
          std::vector<T> out(length, T{99});
          ASSERT_TRUE(column_means(this->rows_.data(), n, weighted ? weights.data() : nullptr,
                                   total, 1, length, sum.data(), out.data()));
          for (std::size_t j = 1; j < length; ++j) {
            double plain = 0;
            for (std::size_t i = 0; i < n; ++i)
              plain = std::fma(weighted ? weights[i] : 1.0, static_cast<double>(this->rows_[i][j]),
                               plain);
            ASSERT_EQ(out[j - 1], static_cast<T>(plain / total)) << n << " " << j;
          }
          ASSERT_EQ(out[length - 1], T{99});
        }
        const_cast<T*>(this->rows_[n / 2])[length - 1] = -std::numeric_limits<T>::infinity();
        std::vector<T> out(length);
        EXPECT_FALSE(column_means<T>(this->rows_.data(), n, nullptr, total, 0, length, sum.data(),
                                     out.data()));
      }
    }
  });
}

TYPED_TEST(Columns, MidpointsAreRoundedOnce) {
  using T = TypeParam;
  constexpr T kMost = std::numeric_limits<T>::max(), kTiny = std::numeric_limits<T>::denorm_min();
  const std::vector<T> a = {kMost, kMost, kTiny, kTiny, 3 * kTiny, -kMost, 1, 0, kMost};
  const std::vector<T> b = {kMost, -kMost, kTiny, 3 * kTiny, kTiny, -kMost / 2, 2, -1, kMost / 3};
  this->on_every_target([&] {
    std::vector<T> out(a.size());
    midpoints(a.data(), b.data(), a.size(), out.data());
    for (std::size_t j = 0; j < a.size(); ++j) EXPECT_EQ(out[j], std::midpoint(a[j], b[j])) << j;
  });
}

// A 0-1 argument: a network that sorts all sequences of zeros and ones sorts everything.
TEST(Network, SortsZerosAndOnes) {
  for (std::size_t n = 1; n <= 14; ++n) {
    for (unsigned bits = 0; bits < (1u << n); ++bits) {
      unsigned v = bits;
      visit_sort_network(n, [&](std::size_t low, std::size_t high) {
        if ((v >> low & 1u) > (v >> high & 1u)) v ^= (1u << low) | (1u << high);
      });
      for (std::size_t i = 0; i + 1 < n; ++i) ASSERT_LE(v >> i & 1u, v >> (i + 1) & 1u);
    }
  }
}

}  // namespace
}  // namespace medgrad::kernels
