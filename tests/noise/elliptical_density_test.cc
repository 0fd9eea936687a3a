#include "medgrad/elliptical_density.h"

#include <gtest/gtest.h>

#include "laws.h"
#include "medgrad/error.h"
#include "medgrad/noise.h"
#include "testing.h"

namespace medgrad {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<double> identity(std::size_t d) {
  std::vector<double> m(d * d);
  for (std::size_t i = 0; i < d; ++i) m[i * d + i] = 1;
  return m;
}

// In one dimension it is the symmetric stable law; of alpha = 1 the density has a closed form in
// any dimension, Gamma((1 + d)/2) / (pi (1 + r^2))^{(1 + d)/2}.
TEST(EllipticalDensity, KnownDensities) {
  for (const double alpha : {0.4, 1.0, 1.5, 1.9, 1.99, 2.0}) {
    const EllipticalDensity law(alpha, std::vector<double>{0.0}, identity(1));
    const Stable one({alpha});
    for (const double r : {0.0, 0.3, 1.0, 4.0, 9.0, 70.0, 1e5, 1e20}) {
      if (alpha == 2 && r > 50) continue;
      EXPECT_NEAR(law.log_radial(r), one.log_pdf(r), 1e-8 * std::max(1.0, -one.log_pdf(r)))
          << alpha << " " << r;
    }
  }
  for (const std::size_t d : {2U, 3U, 10U, 100U}) {
    const EllipticalDensity law(1, std::vector<double>(d), identity(d));
    for (const double r : {0.0, 0.5, 3.0, 1e3, 1e18}) {
      const double k = (1 + static_cast<double>(d)) / 2;
      const double exact = std::lgamma(k) - k * std::log(M_PI) - 2 * k * std::log(std::hypot(1, r));
      EXPECT_NEAR(law.log_radial(r), exact, 1e-8 * std::fabs(exact)) << d << " " << r;
    }
  }
}

TEST(EllipticalDensity, LocationAndShape) {
  const std::vector<double> shape = {4, 1, 1, 2}, location = {1, -1};
  const EllipticalDensity law(1.3, location, shape);
  const std::vector<double> x = {3, 0};
  // z = (2, 1), shape^-1 = (2, -1; -1, 4)/7: r^2 = (8 - 4 + 4)/7.
  EXPECT_NEAR(law.radius(x), std::sqrt(8.0 / 7), 1e-12);
  EXPECT_NEAR(law.log_pdf(x), law.log_radial(std::sqrt(8.0 / 7)) - std::log(7) / 2, 1e-12);
  EXPECT_EQ(law.log_pdf(std::vector<double>{kInf, 0}), -kInf);
  EXPECT_TRUE(std::isnan(law.log_pdf(std::vector<double>{0, kInf - kInf})));
  EXPECT_THROW((void)law.log_pdf(std::vector<double>{1}), Error);
  EXPECT_THROW(EllipticalDensity(1.3, location, std::vector<double>{1, 2, 2, 1}), Error);
  EXPECT_THROW(EllipticalDensity(1.3, location, identity(3)), Error);
  EXPECT_THROW(EllipticalDensity(0.1, location, shape), Error);
  EXPECT_THROW(EllipticalDensity(1.3, std::vector<double>{}, std::vector<double>{}), Error);
}

TEST(EllipticalDensity, FitFindsTheLaw) {
  const std::size_t n = 2000, d = 3;
  for (const double alpha : {1.2, 1.8}) {
    std::vector<double> g(n * d);
    sample(EllipticalStable{.alpha = alpha}, std::span<double>(g), d, 4, 0);
    // x = location + L g, L L' = shape.
    for (std::size_t i = 0; i < n; ++i) {
      double* const x = &g[i * d];
      x[2] = 7 + 0.5 * x[0] + 1e-3 * x[2];
      x[1] = -5 + 3 * x[1];
      x[0] = 2 * x[0];
    }
    const EllipticalFit fit = fit_elliptical(Rows<double>(g, n, d));
    EXPECT_NEAR(fit.alpha, alpha, 4 * fit.alpha_error) << alpha;
    EXPECT_LT(fit.alpha_error, 1.5 / std::sqrt(2000));
    EXPECT_NEAR(fit.shape[0], 4, 0.5);
    EXPECT_NEAR(fit.shape[4], 9, 1.2);
    EXPECT_NEAR(fit.shape[8], 0.25, 0.04);
    EXPECT_NEAR(fit.shape[2], 1, 0.15);  // 2 x 0.5
    EXPECT_NEAR(fit.shape[1], 0, 0.6);
    EXPECT_NEAR(fit.location[1], -5, 0.5);
  }
}

// Rows of any size have the fit of rows of ordinary size, in another unit.
TEST(EllipticalDensity, RowsOfAnySize) {
  const std::size_t n = 60, d = 2;
  std::vector<double> x(n * d);
  sample(EllipticalStable{.alpha = 1.7}, std::span<double>(x), d, 6, 0);
  const EllipticalFit ordinary = fit_elliptical(Rows<double>(x, n, d));
  EXPECT_EQ(ordinary.unit, 1);
  for (const double size : {0x1p1015, 1e-310}) {
    std::vector<double> y = x;
    for (double& v : y) v *= size;
    const EllipticalFit fit = fit_elliptical(Rows<double>(y, n, d));
    EXPECT_EQ(fit.left_out, 0U) << size;
    EXPECT_NEAR(fit.alpha, ordinary.alpha, 1e-6) << size;
    EXPECT_EQ(std::exp2(std::round(std::log2(fit.unit))), fit.unit) << size;
    const double ratio = size / fit.unit;  // of the spreads: its square is that of the shapes
    EXPECT_TRUE(ratio > 0.1 && ratio < 10) << size;
    for (std::size_t i = 0; i < d * d; ++i)
      EXPECT_NEAR(fit.shape[i] / ratio / ratio, ordinary.shape[i], 1e-6) << size;
  }
  for (std::size_t i = 0; i < n; ++i) x[2 * i] *= 1e200, x[2 * i + 1] *= 1e-200;
  EXPECT_THROW((void)fit_elliptical(Rows<double>(x, n, d)), Error);
}

TEST(EllipticalDensity, OddRows) {
  laws::Random r(5);
  const std::size_t n = 300, d = 2;
  std::vector<double> x(n * d);
  for (double& v : x) v = 1e280 * laws::normal(r);
  x[3] = std::numeric_limits<double>::quiet_NaN();
  x[8] = kInf;
  const EllipticalFit fit = fit_elliptical(Rows<double>(x, n, d));
  EXPECT_EQ(fit.left_out, 2U);
  EXPECT_EQ(fit.alpha_interval.high, 2);
  EXPECT_GT(fit.alpha, 1.8);
  EXPECT_THROW((void)fit_elliptical(Rows<double>(x, 19, d)), Error);
  std::vector<double> flat(n * d, 1.0);
  EXPECT_THROW((void)fit_elliptical(Rows<double>(flat, n, d)), Error);
  for (std::size_t i = 0; i < n; ++i) flat[2 * i] = flat[2 * i + 1] = laws::normal(r);
  EXPECT_THROW((void)fit_elliptical(Rows<double>(flat, n, d)), Error);  // a line
}

}  // namespace
}  // namespace medgrad
