#include "medgrad/student_fit.h"

#include <gtest/gtest.h>

#include "laws.h"
#include "medgrad/error.h"
#include "testing.h"

namespace medgrad {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<double> student(int degrees, std::size_t n, std::uint64_t seed) {
  laws::Random r(seed);
  std::vector<double> x(n);
  for (double& v : x) v = 5 - 2 * laws::student(r, degrees);
  return x;
}

// Over 40 samples the mean of squared errors in units of the standard error is 1 with a standard
// deviation of 0.22.
TEST(StudentFit, FindsTheLawWithTrueErrors) {
  for (const int degrees : {1, 3, 5}) {
    double squares[3] = {};
    int covered = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const StudentFit fit = fit_student(student(degrees, 1000, 100 + seed));
      const double off[] = {(1 / fit.degrees - 1.0 / degrees) / fit.errors.inverse_degrees,
                            (fit.scale - 2) / fit.errors.scale,
                            (fit.location - 5) / fit.errors.location};
      for (int i = 0; i < 3; ++i) squares[i] += off[i] * off[i] / 40;
      covered += fit.degrees_interval.contains(degrees) ? 1 : 0;
    }
    for (const double s : squares) {
      EXPECT_GT(s, 0.4) << degrees;
      EXPECT_LT(s, 2) << degrees;
    }
    EXPECT_GE(covered, 33) << degrees;
  }
}

// A maximum: the scores vanish, by differences of the density written out here.
TEST(StudentFit, IsAMaximum) {
  const std::vector<double> x = student(3, 500, 7);
  const StudentFit fit = fit_student(x);
  const auto value = [&](double v, double c, double l) {
    double sum = 0;
    for (const double at : x) {
      sum += std::lgamma((v + 1) / 2) - std::lgamma(v / 2) - std::log(v * M_PI) / 2 - std::log(c) -
             (v + 1) / 2 * std::log1p(std::pow((at - l) / c, 2) / v);
    }
    return sum;
  };
  const double best = value(fit.degrees, fit.scale, fit.location);
  EXPECT_NEAR(best, fit.log_likelihood, 1e-8 * std::fabs(best));
  const double v = fit.degrees, c = fit.scale, l = fit.location, h = 1e-3;
  EXPECT_NEAR((value(v + h, c, l) - value(v - h, c, l)) / (2 * h), 0, 1e-3);
  EXPECT_NEAR((value(v, c + h, l) - value(v, c - h, l)) / (2 * h), 0, 1e-3);
  EXPECT_NEAR((value(v, c, l + h) - value(v, c, l - h)) / (2 * h), 0, 1e-3);
}

TEST(StudentFit, NormalMirroredAndOddData) {
  laws::Random r(4);
  std::vector<double> x(2000);
  for (double& v : x) v = laws::normal(r);
  const StudentFit normal = fit_student(x);
  EXPECT_GT(normal.degrees, 15);
  EXPECT_EQ(normal.degrees_interval.high, kInf);
  for (double& v : x) v = laws::uniform(r);
  EXPECT_EQ(fit_student(x).degrees, kInf);
  x = student(2, 301, 3);
  x[3] = std::numeric_limits<double>::quiet_NaN();
  x[4] = kInf;
  const StudentFit a = fit_student(x);
  EXPECT_EQ(a.n, 299U);
  EXPECT_EQ(a.missing, 1U);
  EXPECT_EQ(a.infinite, 1U);
  for (double& v : x) v = -v;
  const StudentFit b = fit_student(x);
  EXPECT_EQ(a.degrees, b.degrees);
  EXPECT_EQ(a.scale, b.scale);
  EXPECT_EQ(a.location, -b.location);
  EXPECT_EQ(a.location_interval.low, -b.location_interval.high);
  for (double& v : x) v *= 1e300;
  EXPECT_NEAR(fit_student(x).degrees, a.degrees, 1e-6);
  EXPECT_THROW((void)fit_student(std::span(x).first(19)), Error);
  EXPECT_THROW((void)fit_student(std::vector<double>(99, 1.0)), Error);
}

}  // namespace
}  // namespace medgrad
