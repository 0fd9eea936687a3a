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
  for (const char* const text : {"mean",
                                 "geometric-median",
                                 "lp-median:p=2",
                                 "huber-location:mu=1",
                                 "clipped-mean:clip=1.5",
                                 "krum:f=2",
                                 "multi-krum:f=2",
                                 "mda:f=3",
                                 "smea:f=2",
                                 "monna:f=3",
                                 "caf:f=3",
                                 "centered-clipping:clip=0.7:iterations=4",
                                 "median-of-means",
                                 "median-of-means:blocks=4",
                                 "bucketing+median-of-means:blocks=2",
                                 "nnm+mean:f=2",
                                 "nnm+geometric-median:f=2",
                                 "clip:clip=1+mean",
                                 "arc+krum:f=1",
                                 "bucketing+geometric-median",
                                 "arc+nnm+caf:f=2"}) {
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

// Blocks of two rows, of which one is in the middle of each column.
TEST(RowReports, RowsShareTheWeightOfTheirBlock) {
  Matrix<double> data(6, 4);
  data.x = {0, 0, 0, 9, 2, 2, 2, 9, 4, 4, 9, 0, 6, 6, 9, 2, 9, 9, 4, 4, 9, 9, 6, 6};
  const auto rows = report("median-of-means:blocks=3:p=1", data).rows;
  const std::vector<double> kept = {0, 0, 0.5, 0.5, 0.5, 0.5};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_DOUBLE_EQ(rows[i].weight, kept[i] / 2) << i;
    EXPECT_DOUBLE_EQ(rows[i].kept, kept[i]) << i;
  }
}

// A part that changes nothing changes nothing in what is said; after one that does, a row is kept
// where something is that it is in.
TEST(RowReports, SharesOfComponentsAfterMixing) {
  const Matrix<double> data = normal<double>(9, 40, 3);
  for (const std::string text : {"trimmed-mean:f=2", "median", "meamed:f=3"}) {
    const auto plain = report(text, data).rows;
    for (const char* const before : {"clip:clip=1000+", "clip:clip=1000+clip:clip=2000+"}) {
      const auto rows = report(before + text, data).rows;
      for (std::size_t i = 0; i < 9; ++i) {
        EXPECT_EQ(rows[i].kept, plain[i].kept) << text;
        EXPECT_EQ(rows[i].weight, plain[i].weight) << text;
      }
    }
  }
  // Clipped to unit length: of each column, the shares of a trimmed mean of those rows.
  Matrix<double> unit = data;
  for (std::size_t i = 0; i < 9; ++i) {
    double square = 0;
    for (std::size_t j = 0; j < 40; ++j) square += data(i, j) * data(i, j);
    for (std::size_t j = 0; j < 40; ++j) unit(i, j) /= std::sqrt(square);
  }
  const auto clipped = report("clip+trimmed-mean:f=2", data).rows;
  const auto want = report("trimmed-mean:f=2", unit).rows;
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(clipped[i].kept, want[i].kept);
  // Two of four buckets are kept in every column: row i is in one of them.
  Matrix<double> steps(8, 4);
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = 0; j < 4; ++j) steps(i, j) = std::ldexp(1.0, static_cast<int>(i));
  double kept = 0;
  for (const RowReport& row : report("bucketing+trimmed-mean:f=1", steps).rows) {
    EXPECT_EQ(row.kept == 0 || row.kept == 1, true);
    kept += row.kept;
  }
  EXPECT_EQ(kept, 4);
}

// What is missing counts as the median of its column, as the estimate had it.
TEST(RowReports, WeightsGiveTheResultWhereEntriesAreMissing) {
  Matrix<double> data = normal<double>(7, 5, 8), filled = data;
  for (const auto& [i, j] : {std::pair<std::size_t, std::size_t>{0, 1}, {3, 1}, {3, 4}}) {
    data(i, j) = kNan;
    filled(i, j) = 0;
  }
  for (const std::size_t j : {1u, 4u}) {
    std::vector<double> seen;
    for (std::size_t i = 0; i < 7; ++i)
      if (!std::isnan(data(i, j))) seen.push_back(data(i, j));
    std::sort(seen.begin(), seen.end());
    const double middle = (seen[(seen.size() - 1) / 2] + seen[seen.size() / 2]) / 2;
    for (std::size_t i = 0; i < 7; ++i)
      if (std::isnan(data(i, j))) filled(i, j) = middle;
  }
  for (const char* const text : {"geometric-median", "huber-location:mu=0.5", "lp-median:p=2"}) {
    const Reported got = report(text, data);
    std::vector<double> sum(5);
    for (std::size_t i = 0; i < 7; ++i)
      for (std::size_t j = 0; j < 5; ++j) sum[j] += got.rows[i].weight * filled(i, j);
    EXPECT_LE(farthest(sum, got.m), 1e-8) << text;
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
  for (const char* const text : {"lp-median:p=3", "median-of-means:p=3"}) {
    EXPECT_TRUE(std::isnan(report(text, data).rows[0].weight)) << text;
    EXPECT_TRUE(std::isnan(report(text, data).rows[0].kept)) << text;
  }
}

}  // namespace
}  // namespace medgrad
