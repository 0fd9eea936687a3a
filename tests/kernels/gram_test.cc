// Vector kernels against plain loops over the same lanes, fused as they are: the same bits on every
// SIMD target.
#include "kernels/gram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/combine.h"
#include "kernels/simd.h"

namespace medgrad::kernels {
namespace {

template <class T>
class Gram : public ::testing::Test {
 protected:
  static constexpr std::size_t kRows = 11, kWidth = 64;
  ~Gram() override { force_simd_target(best_); }
  void SetUp() override {
    std::mt19937_64 random(3);
    std::normal_distribution<double> gauss;
    data_.resize(kRows * 65 + 1);
    for (T& x : data_) x = static_cast<T>(gauss(random));
    for (std::size_t i = 0; i < kRows; ++i) rows_.push_back(&data_[1 + i * 65]);
    for (std::size_t j = 0; j < kWidth; ++j) centre_.push_back(static_cast<T>(gauss(random)));
  }
  std::string best_ = simd_target();
  std::vector<T> data_, centre_;
  std::vector<const T*> rows_;
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Gram, Types);

// The i of pair_index(i, k).
std::size_t row_of(std::size_t pair) {
  std::size_t i = 0;
  while (pair_index(i + 1, 0) <= pair) ++i;
  return i;
}

TYPED_TEST(Gram, TilesSquaresAndProducts) {
  using G = Gram<TypeParam>;
  const std::vector<double> scales = {1, 0.5, 2, 4, 1, 0.25, 8, 1, 2, 0.5, 1};
  for (const std::string& target : simd_targets()) {
    SCOPED_TRACE(target);
    force_simd_target(target);
    for (const std::size_t count : {1u, 5u, 16u, 31u, 63u, 64u}) {
      for (const bool scaled : {false, true}) {
        std::vector<double> tile(G::kRows * G::kWidth, 99.0), want(tile.size());
        centred_tile(this->rows_.data(), G::kRows, count, this->centre_.data(),
                     scaled ? scales.data() : nullptr, G::kWidth, tile.data());
        for (std::size_t i = 0; i < G::kRows; ++i) {
          for (std::size_t j = 0; j < count; ++j)
            want[i * G::kWidth + j] =
                (static_cast<double>(this->rows_[i][j]) - static_cast<double>(this->centre_[j])) *
                (scaled ? scales[i] : 1);
        }
        ASSERT_EQ(tile, want);
        std::vector<double> lanes(pair_index(G::kRows, 0) * kLanes, 0.5), plain = lanes;
        std::vector<double> squares(G::kRows * kLanes, 0.5);
        std::vector<double> room(tile.size());
        add_gram(this->rows_.data(), G::kRows, count, this->centre_.data(),
                 scaled ? scales.data() : nullptr, G::kWidth, room.data(), lanes.data());
        add_squared_distances(this->rows_.data(), G::kRows, count, this->centre_.data(),
                              scaled ? scales.data() : nullptr, squares.data());
        const std::vector<double> wide(this->centre_.begin(), this->centre_.end());
        std::vector<double> from_wide(G::kRows * kLanes, 0.5);
        add_squared_distances(this->rows_.data(), G::kRows, count, wide.data(),
                              scaled ? scales.data() : nullptr, from_wide.data());
        ASSERT_EQ(from_wide, squares);
        for (std::size_t i = 0; i < G::kRows; ++i) {
          for (std::size_t k = 0; k <= i; ++k) {
            for (std::size_t j = 0; j < G::kWidth; ++j) {
              double& lane = plain[pair_index(i, k) * kLanes + j % kLanes];
              lane = std::fma(tile[i * G::kWidth + j], tile[k * G::kWidth + j], lane);
            }
          }
        }
        ASSERT_EQ(lanes, plain);
        std::vector<double> padded = tile, sums(pair_index(G::kRows, 0), 0.25);
        padded.resize((G::kRows + kGramRows) * G::kWidth);
        sum_gram(padded.data(), G::kRows, G::kWidth, sums.data());
        for (std::size_t p = 0; p < sums.size(); ++p) {
          std::vector<double> from_zero(kLanes);
          const std::size_t i = row_of(p), k = p - pair_index(i, 0);
          for (std::size_t j = 0; j < G::kWidth; ++j)
            from_zero[j % kLanes] =
                std::fma(tile[i * G::kWidth + j], tile[k * G::kWidth + j], from_zero[j % kLanes]);
          ASSERT_EQ(sums[p], 0.25 + sum_lanes(from_zero.data())) << i << " " << k;
        }
        for (std::size_t i = 0; i < G::kRows; ++i) {
          for (std::size_t l = 0; l < kLanes; ++l)
            ASSERT_EQ(squares[i * kLanes + l], plain[pair_index(i, i) * kLanes + l]);
        }
      }
    }
  }
}

TYPED_TEST(Gram, Combinations) {
  using T = TypeParam;
  using G = Gram<T>;
  const std::vector<double> all = {0.25, 4, -0.5, 0.125, 1, 0.75, -3, 0.3, 7, -0.1, 2};
  const std::vector<double> some = {0.25, 0, -0.5, 0.125, 1, 0.75, 0, 0.3, 0, -0.1, 2};
  const std::vector<double> none(G::kRows), ones(G::kRows, 1.0);
  const std::vector<double> scales = {1, 0.5, 2, 4, 1, 0.25, 8, 1, 2, 0.5, 1};
  for (const std::string& target : simd_targets()) {
    SCOPED_TRACE(target);
    force_simd_target(target);
    for (const std::size_t count : {1u, 5u, 16u, 31u, 63u, 64u}) {
      for (const auto& coefficients : {all, some, none}) {
        for (const bool scaled : {false, true}) {
          const std::vector<double>& units = scaled ? scales : ones;
          std::vector<double> sum(count), sums(count), error(kLanes), lost(kLanes);
          std::vector<T> out(count), want(count);
          combine<T>(this->rows_.data(), G::kRows, count, this->centre_.data(), coefficients.data(),
                     scaled ? scales.data() : nullptr, sum.data(), out.data(), error.data());
          for (std::size_t j = 0; j < count; ++j) {
            const double a = static_cast<double>(this->centre_[j]);
            double s = 0;
            for (std::size_t i = 0; i < G::kRows; ++i) {
              if (coefficients[i] != 0)
                s = std::fma(coefficients[i],
                             (static_cast<double>(this->rows_[i][j]) - a) * units[i], s);
            }
            sums[j] = s;
            want[j] = static_cast<T>(a + s);
            const double off = s - (static_cast<double>(want[j]) - a);
            lost[j % kLanes] += off * off;
          }
          EXPECT_EQ(sum, sums);
          EXPECT_EQ(out, want);
          EXPECT_EQ(error, lost);
        }
      }
    }
  }
}

}  // namespace
}  // namespace medgrad::kernels
