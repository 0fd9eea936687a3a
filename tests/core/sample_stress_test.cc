// l_p medians of awkward data: ties, near-duplicates, heavy tails, few rows, for p from nearly 1 to
// 200. Every result must come with a certificate, and the certificate must be true.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "core/sample_helpers.h"

namespace medgrad {
namespace {

using sample_test::Matrix;
using sample_test::objective;
using sample_test::run;

class Awkward {
 public:
  explicit Awkward(unsigned seed) : random_(seed) {}

  Matrix<double> operator()() {
    const bool large = integer(0, 9) == 0;
    Matrix<double> data(static_cast<std::size_t>(integer(1, large ? 40 : 12)),
                        static_cast<std::size_t>(integer(1, large ? 30 : 8)));
    const int kind = integer(0, 6);
    for (double& x : data.x) x = entry(kind);
    if (kind == 6) repeat_rows(data);
    return data;
  }

 private:
  int integer(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random_);
  }
  double entry(int kind) {
    const double gauss = gauss_(random_), uniform = uniform_(random_);
    switch (kind) {
      case 0:
        return integer(-2, 2);
      case 1:
        return integer(-1, 1) + 1e-9 * gauss;
      case 2:
        return gauss * std::pow(uniform, -2.0);
      case 3:
        return integer(0, 1);
      case 4:
        return std::tan(3.14 * (uniform - 0.5)) * std::pow(10.0, integer(-3, 3));
      case 5:
        return std::round(4 * gauss) / 4;
      default:
        return gauss;
    }
  }
  // Some rows become copies of others, exact ones or with errors down to rounding.
  void repeat_rows(Matrix<double>& data) {
    for (std::size_t i = 1; i < data.n; ++i) {
      if (integer(0, 2) != 0) continue;
      const auto k = static_cast<std::size_t>(integer(0, static_cast<int>(i) - 1));
      const double error = integer(0, 1) == 0 ? 0 : std::pow(10.0, -integer(3, 14));
      for (std::size_t j = 0; j < data.d; ++j) data(i, j) = data(k, j) + error * gauss_(random_);
    }
  }

  std::mt19937_64 random_;
  std::normal_distribution<double> gauss_;
  std::uniform_real_distribution<double> uniform_{0x1p-40, 1.0};
};

// The size of the bulk's rounding errors beside f: data that differ by less than 1e-9 of their size
// have medians that a double cannot hold to 1e-10 of the objective.
double resolution(const Matrix<double>& data, double f) {
  double most = 0;
  for (const double x : data.x) most = std::max(most, std::abs(x));
  return f > 0 ? 1e-15 * most * static_cast<double>(data.n * data.d) / f : 0;
}

class SampleStress : public ::testing::TestWithParam<double> {};

TEST_P(SampleStress, CertifiedAndTrue) {
  const double p = GetParam();
  std::mt19937_64 random(7);
  std::normal_distribution<double> gauss;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const Matrix<double> data = Awkward(seed)();
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + std::to_string(data.n) + " x " +
                 std::to_string(data.d));
    const auto got = run<double>(LpMedian{.p = p}, data);
    const double f = got.info.objective;
    EXPECT_NE(got.info.stop, Stop::max_iterations);
    EXPECT_LE(got.info.gap, 1e-10 + resolution(data, f));
    const long double exact = objective(data, got.m, p);
    EXPECT_NEAR(static_cast<double>(exact), f, 1e-12 * f + 1e-300);
    // Nothing around is better by more than the gap, near or far, nor is any of the rows.
    for (int trial = 0; trial < 20; ++trial) {
      const double size = std::pow(10.0, -trial / 2.0) * f / static_cast<double>(data.n);
      std::vector<double> other = got.m;
      for (double& x : other) x += size * gauss(random);
      EXPECT_GE(objective(data, other, p), exact * (1 - got.info.gap - 1e-14));
    }
    for (std::size_t i = 0; i < data.n; ++i) {
      const auto row = data.x.begin() + static_cast<std::ptrdiff_t>(i * data.d);
      const std::vector<double> other(row, row + static_cast<std::ptrdiff_t>(data.d));
      EXPECT_GE(objective(data, other, p), exact * (1 - got.info.gap - 1e-14));
    }
  }
}
INSTANTIATE_TEST_SUITE_P(P, SampleStress,
                         ::testing::Values(1.05, 1.2, 1.5, 1.9, 2.1, 3.0, 8.0, 40.0, 200.0),
                         [](const auto& p) {
                           std::string name = std::to_string(p.param).substr(0, 4);
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace medgrad
