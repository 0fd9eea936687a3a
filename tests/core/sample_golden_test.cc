// Agreement with medians computed by an independent implementation.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/sample_helpers.h"

namespace medgrad {
namespace {

using sample_test::farthest;
using sample_test::Matrix;
using sample_test::objective;
using sample_test::run;

class SampleGolden : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream file(MEDGRAD_GOLDEN "/prox_and_medians.json");
    cases_ = nlohmann::json::parse(file).at("medians");
    ASSERT_FALSE(cases_.empty());
  }
  static Matrix<double> matrix(const nlohmann::json& entry) {
    Matrix<double> data(entry.at("n"), entry.at("d"));
    for (std::size_t i = 0; i < data.n; ++i) {
      for (std::size_t j = 0; j < data.d; ++j) data(i, j) = entry.at("X")[i][j];
    }
    return data;
  }
  nlohmann::json cases_;
};

TEST_F(SampleGolden, ComponentwiseMedian) {
  for (const auto& entry : cases_) {
    SCOPED_TRACE(entry.at("name"));
    SampleOptions<double> options;
    options.objective = true;
    const auto got = run<double>(Median{}, matrix(entry), options);
    const auto& want = entry.at("p1");
    EXPECT_EQ(got.m, want.at("median_midpoint_convention").get<std::vector<double>>());
    EXPECT_NEAR(got.info.objective, want.at("objective").get<double>(), 1e-12);
  }
}

TEST_F(SampleGolden, GeometricMedian) {
  for (const auto& entry : cases_) {
    SCOPED_TRACE(entry.at("name"));
    const Matrix<double> data = matrix(entry);
    const auto got = run<double>(GeometricMedian{}, data);
    const auto& want = entry.at("p2");
    EXPECT_NEAR(got.info.objective, want.at("objective").get<double>(), 1e-12);
    EXPECT_NEAR(static_cast<double>(objective(data, got.m, 2)), got.info.objective, 1e-12);
    EXPECT_LE(got.info.gap, 1e-13);
    if (want.at("unique").get<bool>()) {
      EXPECT_LE(farthest(got.m, want.at("median").get<std::vector<double>>()), 1e-12);
      if (want.at("anchor_index").get<int>() >= 0) {
        EXPECT_EQ(got.info.stop, Stop::data_point);
      }
    } else {  // the rows are on a line, where the middle of the minimisers is that of each column
      EXPECT_LE(farthest(got.m, run<double>(Median{}, data).m), 1e-15);
    }
  }
}

TEST_F(SampleGolden, LpMedian) {
  for (const auto& entry : cases_) {
    for (const auto& [key, p] : {std::pair{"p1.5", 1.5}, {"p3.0", 3.0}}) {
      SCOPED_TRACE(entry.at("name").get<std::string>() + " " + key);
      const Matrix<double> data = matrix(entry);
      const auto got = run<double>(LpMedian{.p = p}, data);
      const auto& want = entry.at(key);
      EXPECT_NEAR(got.info.objective, want.at("objective").get<double>(), 1e-12);
      EXPECT_LE(got.info.gap, 1e-12);
      if (entry.at("p2").at("unique").get<bool>()) {
        EXPECT_LE(farthest(got.m, want.at("median").get<std::vector<double>>()), 1e-10);
      }
    }
  }
}

}  // namespace
}  // namespace medgrad
