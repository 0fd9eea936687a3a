// Sorted and counted columns against plain sorting, on every SIMD target.
#include "kernels/select.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/network.h"
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
        std::vector<T> tile(select_room<T>(n, length)), low(length), high(length);
        for (std::size_t k = 1; k <= n; k += 1 + n / 9) {
          ASSERT_TRUE(select_columns<T>(this->rows_.data(), n, length, k, low.data(),
                                        k < n ? high.data() : nullptr, tile.data()));
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
           {1u,  2u,  3u,  4u,  5u,  6u,  8u,  9u,  12u, 13u, 16u, 17u, 20u, 21u, 24u,
            25u, 28u, 29u, 33u, 40u, 41u, 47u, 48u, 63u, 64u, 65u, 80u, 81u, 97u, 128u}) {
        const std::size_t length = 64 / sizeof(T) + 3;
        this->fill(n, length, kind);
        std::vector<T> medians(length), means(length);
        for (const std::size_t begin : {std::size_t{0}, length - 1}) {
          if (n > kSortedRows) break;
          (void)sorted_medians(this->rows_.data(), n, begin, length, medians.data());
          for (std::size_t j = begin; j < length; ++j) {
            const auto column = this->sorted_column(j);
            ASSERT_EQ(medians[j - begin], std::midpoint(column[(n - 1) / 2], column[n / 2]));
          }
        }
        // A sum in sorted order has one result. Floats may be added in another order, in double,
        // which leaves 2^-47 of them and a rounding to float.
        for (const std::size_t begin : {std::size_t{0}, length - 1}) {
          for (std::size_t f = 0; 2 * f < n; f += 1 + n / 16) {
            if (n > kSortedRows && !halves_are_enough<T>(n, f)) continue;
            if (!sorted_means<T>(this->rows_.data(), n, begin, length, f, means.data())) continue;
            for (std::size_t j = begin; j < length; ++j) {
              const auto column = this->sorted_column(j);
              double sum = 0, size = 0;
              for (std::size_t i = f; i < n - f; ++i) {
                sum += static_cast<double>(column[i]);
                size += std::abs(static_cast<double>(column[i]));
              }
              const double kept = static_cast<double>(n - 2 * f), want = sum / kept;
              if constexpr (sizeof(T) == sizeof(double)) {
                ASSERT_EQ(means[j - begin], want) << n << " " << f;
              } else {
                const double least = static_cast<double>(std::numeric_limits<T>::denorm_min());
                ASSERT_NEAR(static_cast<double>(means[j - begin]), want,
                            0x1p-24 * std::abs(want) + 0x1p-47 * size / kept + least)
                    << n << " " << f;
              }
            }
          }
        }
      }
    }
  }
}

// The mean of what is between, summed by hand in long double, to rounding of doubles.
TYPED_TEST(Select, NetworksSeeWhatIsNotFinite) {
  using T = TypeParam;
  const std::size_t length = 64 / sizeof(T) + 3;
  for (const std::string& target : simd_targets()) {
    SCOPED_TRACE(target);
    force_simd_target(target);
    for (const std::size_t n : {17u, 20u, 21u, 28u, 32u, 33u, 47u, 48u, 49u, 64u}) {
      std::vector<T> medians(length);
      for (std::size_t at = 0; at < n * length; at += 7) {
        this->fill(n, length, this->kinds().front());
        T& entry = this->data_[1 + at / length * (length + 1) + at % length];
        for (const T x :
             {std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::infinity()}) {
          entry = x;
          ASSERT_FALSE(sorted_medians(this->rows_.data(), n, 0, length, medians.data()));
        }
        entry = 1;
        ASSERT_TRUE(sorted_medians(this->rows_.data(), n, 0, length, medians.data()));
      }
    }
  }
}

TYPED_TEST(Select, TrimmedMeans) {
  using T = TypeParam;
  const double rounding = static_cast<double>(std::numeric_limits<T>::epsilon()) +
                          200 * std::numeric_limits<double>::epsilon();
  for (const std::string& target : simd_targets()) {
    SCOPED_TRACE(target);
    force_simd_target(target);
    for (std::size_t kind = 0; kind < 4; ++kind) {
      for (const std::size_t n : {4u, 5u, 8u, 12u, 16u, 40u, 64u, 65u, 131u}) {
        const std::size_t length = 21;
        this->fill(n, length, this->kinds()[kind]);
        std::vector<T> tile(select_room<T>(n, length)), out(length), sorted(length);
        for (const std::size_t f : {std::size_t{0}, std::size_t{1}, n / 4, (n - 1) / 2}) {
          ASSERT_TRUE(
              trimmed_columns<T>(this->rows_.data(), n, length, f, out.data(), tile.data()));
          if (n <= kSortedRows) {
            ASSERT_TRUE(sorted_means<T>(this->rows_.data(), n, 0, length, f, sorted.data()));
          }
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

// Those nearest to the median, by their definition. Where two values at the border are equally far,
// both kernels leave the column to others, and they say so for no other column.
TYPED_TEST(Select, NearMeans) {
  using T = TypeParam;
  const double rounding = static_cast<double>(std::numeric_limits<T>::epsilon()) +
                          200 * std::numeric_limits<double>::epsilon();
  for (const std::string& target : simd_targets()) {
    SCOPED_TRACE(target);
    force_simd_target(target);
    for (const std::size_t kind : {0u, 1u}) {
      for (const std::size_t n : {3u, 4u, 5u, 8u, 11u, 12u, 16u, 40u, 64u, 65u, 132u}) {
        const std::size_t length = 21;
        this->fill(n, length, this->kinds()[kind]);
        std::vector<T> tile(near_room<T>(n, length)), out(length), odd(length);
        for (const std::size_t f : {std::size_t{0}, std::size_t{1}, n / 4, (n - 1) / 2}) {
          for (const bool sorted : {false, true}) {
            if (sorted && n > kSortedRows) continue;
            if (sorted) {
              const NearMeans near =
                  sorted_near_means<T>(this->rows_.data(), n, 0, length, f, out.data(), odd.data());
              ASSERT_TRUE(near.finite);
              ASSERT_EQ(near.settled, std::count(odd.begin(), odd.end(), T{0}) == 21);
            } else {
              ASSERT_TRUE(near_columns<T>(this->rows_.data(), n, length, f, out.data(), odd.data(),
                                          tile.data()));
            }
            for (std::size_t j = 0; j < length; ++j) {
              auto column = this->sorted_column(j);
              const T middle = std::midpoint(column[(n - 1) / 2], column[n / 2]);
              const auto distance = [middle](T x) { return std::abs(x - middle); };
              std::stable_sort(column.begin(), column.end(),
                               [&](T a, T b) { return distance(a) < distance(b); });
              const bool tie = f > 0 && distance(column[n - f - 1]) == distance(column[n - f]);
              if (odd[j] != 0) {
                ASSERT_EQ(kind, 1u);  // whole numbers
                continue;
              }
              if (tie && !sorted) FAIL() << "a tie was not seen";
              long double sum = 0, size = 0;
              for (std::size_t i = 0; i < n - f; ++i) {
                sum += static_cast<long double>(column[i]);
                size += std::abs(static_cast<long double>(column[i]));
              }
              ASSERT_NEAR(static_cast<double>(out[j]),
                          static_cast<double>(sum / static_cast<long double>(n - f)),
                          rounding * static_cast<double>(size))
                  << n << " " << f << " " << sorted;
            }
          }
        }
      }
    }
  }
}

// Sums of the largest doubles overflow, and entries may be infinite: all say so.
TEST(SelectDoubles, SumsThatOverflow) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const std::vector<double> row(9, kMost), half(9, kMost / 2);
  std::vector<const double*> rows(65, row.data());
  for (std::size_t i = 0; i < 30; ++i) rows[2 * i] = half.data();
  std::vector<double> tile(near_room<double>(65, 9)), out(9), odd(9);
  EXPECT_FALSE(trimmed_columns<double>(rows.data(), 65, 9, 3, out.data(), tile.data()));
  EXPECT_FALSE(sorted_means<double>(rows.data(), 64, 0, 9, 3, out.data()));
  EXPECT_TRUE(near_columns<double>(rows.data(), 65, 9, 3, out.data(), odd.data(), tile.data()));
  for (const double x : odd) EXPECT_NE(x, 0);
  EXPECT_FALSE(sorted_near_means<double>(rows.data(), 64, 0, 9, 3, out.data(), odd.data()).finite);
  for (const double x : odd) EXPECT_NE(x, 0);
  std::vector<double> infinite(9);
  infinite[4] = std::numeric_limits<double>::infinity();
  const std::vector<const double*> few = {half.data(), infinite.data(), half.data()};
  EXPECT_FALSE(sorted_means<double>(few.data(), 3, 0, 9, 1, out.data()));
  EXPECT_TRUE(sorted_means<double>(few.data(), 3, 5, 9, 1, out.data()));
  EXPECT_FALSE(sorted_near_means<double>(few.data(), 3, 0, 9, 1, out.data(), odd.data()).finite);
}

// Zeros and ones that come out in order show that a network sorts everything (Knuth, TAOCP 3,
// theorem 5.3.4Z); for a median that they come out right at the middle.
template <std::size_t N>
void check_median_network() {
  static constexpr MedianNetwork<N> kNetwork;
  for (std::uint32_t input = 0; input < std::uint32_t{1} << N; ++input) {
    std::uint32_t x = input;
    for (std::size_t c = 0; c < kNetwork.count; ++c) {
      const auto [low, high, keep_low, keep_high] = kNetwork.comparators[c];
      ASSERT_LT(low, high);
      const std::uint32_t a = x >> low & 1, b = x >> high & 1;
      x &= ~(std::uint32_t{1} << low | std::uint32_t{1} << high);
      // An output that is not kept is never read: it may be anything.
      x |= (keep_low ? a & b : 1) << low | (keep_high ? a | b : 0) << high;
    }
    const std::size_t zeros = N - static_cast<std::size_t>(std::popcount(input));
    ASSERT_EQ(x >> ((N - 1) / 2) & 1, zeros > (N - 1) / 2 ? 0u : 1u) << N << " " << input;
    ASSERT_EQ(x >> (N / 2) & 1, zeros > N / 2 ? 0u : 1u) << N << " " << input;
  }
}
template <std::size_t... N>
void check_median_networks(std::index_sequence<N...>) {
  (check_median_network<N + 1>(), ...);
}
TEST(MedianNetworks, ZerosAndOnes) { check_median_networks(std::make_index_sequence<16>()); }

// More columns than are copied at a time, on every target; and wherever an entry is not finite,
// counting says so.
TYPED_TEST(Select, CountingCopiesSomeColumnsAtATime) {
  using T = TypeParam;
  for (const std::string& target : simd_targets()) {
    SCOPED_TRACE(target);
    force_simd_target(target);
    for (const std::size_t n : {9u, 300u, 600u}) {
      const std::size_t length = 2 * tile_columns(n) + 21;
      this->fill(n, length, this->kinds()[0]);
      std::vector<T> room(near_room<T>(n, length)), low(length), high(length), odd(length);
      const T* const* const rows = this->rows_.data();
      ASSERT_TRUE(select_columns<T>(rows, n, length, n / 2, low.data(), high.data(), room.data()));
      for (std::size_t j = 0; j < length; ++j) {
        const auto column = this->sorted_column(j);
        ASSERT_EQ(low[j], column[n / 2 - 1]) << n << " " << j;
        ASSERT_EQ(high[j], column[n / 2]) << n << " " << j;
      }
      for (const std::size_t j : {std::size_t{0}, tile_columns(n) - 1, length - 21, length - 1}) {
        for (const T bad :
             {std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::infinity()}) {
          T& entry = this->data_[1 + n / 3 * (length + 1) + j];
          const T before = std::exchange(entry, bad);
          EXPECT_FALSE(select_columns<T>(rows, n, length, n / 2, low.data(), nullptr, room.data()));
          EXPECT_FALSE(trimmed_columns<T>(rows, n, length, 2, low.data(), room.data()));
          EXPECT_FALSE(near_columns<T>(rows, n, length, 2, low.data(), odd.data(), room.data()));
          entry = before;
        }
      }
    }
  }
}

}  // namespace
}  // namespace medgrad::kernels
