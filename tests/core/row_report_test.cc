// What is said about the rows: distances, shares of the result, cuts, entries that are not finite.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "core/sample_helpers.h"
#include "medgrad/registry.h"

namespace medgrad {
namespace {

using sample_test::farthest;
using sample_test::Matrix;
using sample_test::normal;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Reported {
  std::vector<double> m;
  std::vector<RowReport> rows;
};

Reported report(const std::string& text, const Matrix<double>& data,
                SampleOptions<double> options = {}) {
  Reported got{std::vector<double>(data.d), {}};
  options.report = &got.rows;
  options.non_finite = NonFinite::robust;
  aggregate<double>(make_rule(text), data.rows(), got.m, options);
  EXPECT_EQ(got.rows.size(), data.n);
  return got;
}

// The result is the sum of weight times row, and the weight that is missing is the centre's.
TEST(RowReports, WeightsGiveTheResult) {
  const Matrix<double> data = normal<double>(9, 6, 17);
  const std::vector<double> center(6, 0.5);
  for (const char* const text :
       {"mean", "geometric-median", "lp-median:p=2", "huber-location:mu=1", "clipped-mean:clip=1.5",
        "krum:f=2", "multi-krum:f=2", "mda:f=3", "smea:f=2", "monna:f=3", "caf:f=3",
        "centered-clipping:clip=0.7:iterations=4", "nnm+mean:f=2", "nnm+geometric-median:f=2",
        "clip:clip=1+mean", "arc+krum:f=1", "bucketing+geometric-median", "arc+nnm+caf:f=2"}) {
    for (const bool with_center : {false, true}) {
      SCOPED_TRACE(text);
      SampleOptions<double> options;
      if (with_center) options.center = center;
      const Reported got = report(text, data, options);
      std::vector<double> sum(6);
      double total = 0;
      for (std::size_t i = 0; i < 9; ++i) {
        total += got.rows[i].weight;
        for (std::size_t j = 0; j < 6; ++j) sum[j] += got.rows[i].weight * data(i, j);
      }
      for (std::size_t j = 0; j < 6; ++j) sum[j] += (1 - total) * (with_center ? center[j] : 0.0);
      EXPECT_LE(farthest(sum, got.m), 1e-12);
      for (std::size_t i = 0; i < 9; ++i) {
        double square = 0;
        for (std::size_t j = 0; j < 6; ++j) square += std::pow(data(i, j) - got.m[j], 2);
        EXPECT_NEAR(got.rows[i].distance, std::sqrt(square), 1e-12);
        EXPECT_EQ(got.rows[i].kept, got.rows[i].weight != 0 ? 1 : 0);
      }
    }
  }
}

// The order in which rows are sorted for an iteration is not that of the report.
TEST(RowReports, AreInTheOrderOfTheCaller) {
  Matrix<double> data = normal<double>(9, 3, 5);
  for (std::size_t i = 0; i < 9; ++i) data(i, 0) = 100 * static_cast<double>(i);
  for (const char* const text : {"geometric-median", "median", "huber-location"}) {
    const auto rows = report(text, data).rows;
    for (std::size_t i = 0; i < 4; ++i) EXPECT_GT(rows[i].distance, rows[i + 1].distance) << text;
  }
}

TEST(RowReports, SharesOfComponents) {
  Matrix<double> data(5, 4);
  data.x = {1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 9, 4, 4, kNan, 4, 5, 0, 5, kInf};
  const auto median = report("median", data).rows;
  // Medians: 3, 2, (2 + 3)/2 without the missing one, 4.
  const std::vector<double> weight = {0, (0.0 + 1 + 0.5) / 4, (1 + 0 + 0.5) / 4, 0.25, 0},
                            kept = {0, 0.5, 0.5, 0.25, 0};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_DOUBLE_EQ(median[i].weight, weight[i]) << i;
    EXPECT_DOUBLE_EQ(median[i].kept, kept[i]) << i;
  }
  EXPECT_EQ(median[3].nan, 1u);
  EXPECT_EQ(median[4].inf, 1u);
  EXPECT_EQ(median[0].nan + median[0].inf + median[3].inf + median[4].nan, 0u);
  for (const auto& [text, share] : {std::pair{"trimmed-mean:f=1", 0.5}, {"meamed:f=1", 0.5}}) {
    const auto rows = report(text, data).rows;
    double total = 0;
    for (const RowReport& row : rows) total += row.weight;
    EXPECT_DOUBLE_EQ(total, 1);
    EXPECT_EQ(rows[4].kept < share, true) << text;
    EXPECT_GE(rows[1].kept, 0.75) << text;
  }
}

TEST(RowReports, CutsAndOutliers) {
  Matrix<double> data(5, 2);
  data.x = {3, 4, 0, 1, 0.6, 0.8, -30, 40, 1e300, 0};
  const auto clip = report("clip:clip=2+mean", data).rows;
  const std::vector<double> cut = {0.4, 1, 1, 0.04, 2e-300};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(clip[i].cut / cut[i], 1, 1e-12);
    EXPECT_NEAR(clip[i].weight / (cut[i] / 5), 1, 1e-12);
  }
  EXPECT_NEAR(clip[4].distance / 1e300, 1, 1e-15);
  for (const char* const text : {"clipped-mean:clip=2", "centered-clipping:clip=2"}) {
    const auto rows = report(text, data).rows;
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(rows[i].cut / cut[i], 1, 1e-12) << text;
  }
  const auto arc = report("arc:f=1+mean", data).rows;  // floor(2/5 4) = 1 is cut, to 50
  EXPECT_EQ(arc[3].cut, 1);
  EXPECT_NEAR(arc[4].cut / 5e-299, 1, 1e-12);
  EXPECT_TRUE(std::isnan(report("lp-median:p=3", data).rows[0].weight));
}

}  // namespace
}  // namespace medgrad
