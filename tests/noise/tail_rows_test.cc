// Tail indices of rows (gradient noise), the summary of all methods, and the verdicts in words.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "medgrad/error.h"
#include "medgrad/tail_summary.h"
#include "noise/tail_parts.h"
#include "testing.h"

namespace medgrad {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = std::numbers::pi;

double uniform(std::mt19937_64& rng) {  // in (0, 1)
  return (static_cast<double>(rng() >> 12) + 0.5) * 0x1p-52;
}

// Chambers, Mallows and Stuck: standard symmetric stable, and positive stable (alpha < 1, beta = 1,
// S1) with Laplace transform exp(-s^alpha) by Kanter's formula.
double symmetric_stable(std::mt19937_64& rng, double alpha) {
  const double v = kPi * (uniform(rng) - 0.5), w = -std::log(uniform(rng));
  if (alpha == 1) return std::tan(v);
  return std::sin(alpha * v) / std::pow(std::cos(v), 1 / alpha) *
         std::pow(std::cos((1 - alpha) * v) / w, (1 - alpha) / alpha);
}
double positive_stable(std::mt19937_64& rng, double alpha) {
  const double v = kPi * uniform(rng), w = -std::log(uniform(rng));
  return std::sin(alpha * v) / std::pow(std::sin(v), 1 / alpha) *
         std::pow(std::sin((1 - alpha) * v) / w, (1 - alpha) / alpha);
}

struct Matrix {
  std::size_t n, d;
  std::vector<double> x = std::vector<double>(n * d);
  [[nodiscard]] Rows<double> rows() const { return {x.data(), n, d}; }
};

// Coordinate j is 100 j plus noise of size 10^(j mod 7 - 3).
double place(std::size_t j) { return 100 * static_cast<double>(j); }
double size(std::size_t j) { return std::pow(10, static_cast<double>(j % 7) - 3); }

Matrix independent(std::uint64_t seed, std::size_t n, std::size_t d, double alpha) {
  std::mt19937_64 rng(seed);
  Matrix m{n, d};
  for (std::size_t i = 0; i < n * d; ++i) {
    m.x[i] = place(i % d) + size(i % d) * symmetric_stable(rng, alpha);
  }
  return m;
}

// sqrt(A) G: the coordinates of a row are as heavy-tailed as each other at the same time. With
// E exp(-sA) = exp(-s^{alpha/2}) each coordinate is symmetric alpha-stable.
Matrix elliptical(std::uint64_t seed, std::size_t n, std::size_t d, double alpha) {
  std::mt19937_64 rng(seed);
  Matrix m{n, d};
  for (std::size_t i = 0; i < n; ++i) {
    const double root = std::sqrt(positive_stable(rng, alpha / 2));
    for (std::size_t j = 0; j < d; ++j) m.x[i * d + j] = root * symmetric_stable(rng, 2);
  }
  return m;
}

// Of 100 intervals of 95 %, 95 +- 2.2 cover; 3.5 of these below are 87.
constexpr int kTrials = 100, kFewestCovered = 87;

TEST(TailRows, IntervalsCoverWhereCoordinatesDepend) {
  for (const double alpha : {1.2, 1.7}) {
    int quantiles = 0, log_moment = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const Matrix m = elliptical(static_cast<std::uint64_t>(trial), 200, 30, alpha);
      const std::vector<double> zero(30);
      const TailSummary s = tail_summary(m.rows(), zero, {.standardise = false, .judge = false});
      ASSERT_TRUE(s.quantiles && s.hill && s.log_moment);
      quantiles += s.quantiles->alpha.contains(alpha);
      log_moment += s.log_moment->interval.contains(alpha);
    }
    EXPECT_GE(quantiles, kFewestCovered) << alpha;
    EXPECT_GE(log_moment, kFewestCovered) << alpha;
  }
}

// Gaussian coordinates of different scales are light-tailed, and no centre is given.
TEST(TailRows, StandardisesCoordinates) {
  for (const double alpha : {1.5, 2.0}) {
    const Matrix m = independent(1, 300, 70, alpha);
    const TailSummary s = tail_summary(m.rows());
    // 21,000 entries: standard errors around 0.02 for quantiles, and the scale of each coordinate
    // is known to 10 %, which makes tails a little heavier.
    EXPECT_NEAR(s.quantiles->parameters.alpha, alpha, 0.08);
    EXPECT_NEAR(s.log_moment->alpha, alpha, 0.15);
    const TailSummary mixed = tail_summary(m.rows(), {}, {.standardise = false});
    EXPECT_LT(mixed.quantiles->parameters.alpha, 1);
    EXPECT_EQ(mixed.log_moment->alpha, s.log_moment->alpha);
  }
}

// Few rows of many coordinates: that their scales are estimated must not look like heavy tails,
// nor hide them. Intervals are of 95 %, and narrow: 0.02 is their half width at 2000 coordinates.
// Gaussian coordinates of which half stand still in 45 % of the rows, at minus the centre that is
// given, as gradients of rare words do: those are left out, and the rest is Gaussian. The median of
// their sizes would be that of the smallest 9 % of what moves, a sixth of its own.
TEST(TailRows, CoordinatesThatStandStillAreLeftOut) {
  std::mt19937_64 rng(5);
  Matrix m{400, 60};
  std::vector<double> centre(m.d);
  for (std::size_t j = 0; j < m.d; ++j) centre[j] = 1e-3;
  for (std::size_t i = 0; i < m.n * m.d; ++i) {
    const bool still = i % m.d % 2 == 0 && uniform(rng) < 0.45;
    m.x[i] = still ? 0 : symmetric_stable(rng, 2);
  }
  const TailSummary s = tail_summary(m.rows(), centre, {});
  ASSERT_TRUE(s.quantiles);
  EXPECT_EQ(s.quantiles->missing, m.n * m.d / 2);
  EXPECT_GT(s.quantiles->alpha.high, 1.95) << s.verdict();
}

TEST(TailRows, FewRowsOfManyCoordinates) {
  for (const std::size_t n : {20, 21, 24, 31, 64, 101}) {
    for (const double alpha : {1.2, 1.5, 1.8, 2.0}) {
      const TailSummary s =
          tail_summary(independent(n, n, 2000, alpha).rows(), {}, {.judge = false});
      ASSERT_TRUE(s.quantiles);
      EXPECT_NEAR(s.quantiles->parameters.alpha, alpha, 0.05) << n << " rows";
      if (alpha == 2)
        EXPECT_EQ(s.quantiles->alpha.high, 2) << n << " rows";
      else
        EXPECT_LT(s.quantiles->alpha.high, 1.9) << n << " rows";
    }
  }
}

// Below 20 rows there is no scale, and pooled coordinates of different scales would look heavy.
TEST(TailRows, TooFewRowsSayNothing) {
  const Matrix m = independent(5, 19, 300, 2);
  try {
    (void)tail_summary(m.rows());
    FAIL() << "an estimate from 19 rows";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("there are 19 rows"), std::string::npos);
  }
  EXPECT_TRUE(tail_summary(m.rows(), {}, {.standardise = false}).quantiles);
}

TEST(TailRows, EveryCentre) {
  const Matrix m = independent(2, 400, 20, 1.5);
  std::vector<double> centre(20);
  for (std::size_t j = 0; j < 20; ++j) centre[j] = place(j);
  for (const Centre how : {Centre::median, Centre::mean, Centre::pairs}) {
    const TailSummary s = tail_summary(m.rows(), {}, {.centre = how});
    EXPECT_NEAR(s.quantiles->parameters.alpha, 1.5, 0.15);
    EXPECT_NEAR(s.log_moment->alpha, 1.5, 0.25);
  }
  EXPECT_NEAR(tail_summary(m.rows(), centre).quantiles->parameters.alpha, 1.5, 0.15);
  EXPECT_THROW((void)tail_summary(m.rows(), std::span(centre).first(3)), Error);
}

TEST(TailRows, NormsGoToHill) {
  const Matrix m = elliptical(3, 3000, 10, 1);
  const TailSummary s = tail_summary(m.rows(), {}, {.pool = Pool::norms});
  EXPECT_FALSE(s.quantiles || s.log_moment);
  EXPECT_FALSE(s.quantiles_error.empty());
  EXPECT_NEAR(s.hill->alpha, 1, 0.25);
  EXPECT_EQ(s.hill->n, 3000U);
  // A few columns at a time make the same norms but for rounding.
  const TailSummary thrifty =
      tail_summary(m.rows(), {}, {.pool = Pool::norms, .max_entries = 9000});
  EXPECT_NEAR(thrifty.hill->alpha, s.hill->alpha, 1e-9);
  EXPECT_EQ(tail_summary(m.rows(), {}, {.pool = Pool::norms, .centre = Centre::pairs}).hill->n,
            1500U);
}

TEST(TailRows, FloatsLimitsAndOddEntries) {
  Matrix m = elliptical(4, 100, 50, 1.4);
  std::vector<float> f(m.x.begin(), m.x.end());
  const Rows<float> rows(f.data(), 100, 50);
  const TailSummary all = tail_summary(rows);
  EXPECT_EQ(all.quantiles->n, 5000U);
  EXPECT_EQ(tail_summary(rows, {}, {.max_entries = 1000}).quantiles->n, 1000U);
  f[7] = std::numeric_limits<float>::quiet_NaN();
  f[1234] = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < 100; ++i) f[i * 50 + 49] = 0;  // a coordinate that never moves
  const TailSummary odd = tail_summary(rows);
  EXPECT_EQ(odd.quantiles->n, 4899U);
  EXPECT_EQ(odd.quantiles->infinite, 1U);
  EXPECT_NEAR(odd.quantiles->parameters.alpha, all.quantiles->parameters.alpha, 0.05);
  EXPECT_NEAR(odd.log_moment->alpha, all.log_moment->alpha, 0.1);
  EXPECT_THROW((void)tail_summary(Rows<float>(f.data(), 1, 50)), Error);
  EXPECT_THROW((void)tail_summary(Rows<float>(f.data(), 100, 0)), Error);
  const Rows<float> three(f.data(), 3, 1000);
  EXPECT_THROW((void)tail_summary(three, {}, {.centre = Centre::pairs}), Error);
  std::fill(f.begin(), f.end(), 1.0F);
  EXPECT_THROW((void)tail_summary(rows), Error);
}

TEST(TailRows, SummaryOfASample) {
  std::mt19937_64 rng(5);
  std::vector<double> x(5000);
  for (double& v : x) v = 50 + 3 * symmetric_stable(rng, 1.4);
  const TailSummary s = tail_summary(x);
  EXPECT_NEAR(s.quantiles->parameters.alpha, 1.4, 0.15);
  EXPECT_NEAR(s.hill->alpha, 1.4, 0.4);
  EXPECT_NEAR(s.log_moment->alpha, 1.4, 0.25);
  EXPECT_EQ(s.judged->infinite_variance, Answer::yes);
  EXPECT_EQ(s.verdict().find("Use a median-type estimator"), 0U) << s.verdict();
  // 30 numbers: enough for quantiles and hill, too few pairs for log-moments, which says so.
  const TailSummary few = tail_summary(std::span(x).first(30));
  EXPECT_TRUE(few.quantiles && few.hill && !few.log_moment);
  EXPECT_NE(few.log_moment_error.find("at least 20"), std::string::npos);
  EXPECT_THROW((void)tail_summary(std::span(x).first(19)), Error);
  EXPECT_THROW((void)tail_summary(std::vector<double>(100, kNaN)), Error);
}

TEST(TailIndexWords, SaysWhatItMeans) {
  const auto verdict = [](double alpha, double low, double high) {
    TailIndex t;
    t.alpha = alpha;
    t.interval = {low, high};
    return t.verdict();
  };
  EXPECT_EQ(verdict(1.3, 1.2, 1.4), "tail index 1.3 (1.2-1.4) by quantiles: heavier than Gaussian");
  EXPECT_NE(verdict(0.8, 0.7, 0.9).find("no mean exists"), std::string::npos);
  EXPECT_NE(verdict(1.8, 1.4, 2).find("neither shown nor ruled out"), std::string::npos);
  EXPECT_NE(verdict(4, 3, 5).find("variance is finite"), std::string::npos);

  TailSummary s;
  EXPECT_NE(s.verdict().find("no tail index"), std::string::npos);
  // Hill alone does not acquit.
  s.hill = TailIndex{.alpha = 5, .interval = {4, 6}, .method = TailMethod::hill};
  EXPECT_NE(s.verdict().find("reads too high"), std::string::npos) << s.verdict();
}

// Tables of Student's t: 2.776 (4), 2.228 (10), 2.042 (30).
TEST(TailParts, Student) {
  EXPECT_NEAR(noise::student95(4), 2.776, 0.03);
  EXPECT_NEAR(noise::student95(10), 2.2281, 5e-4);
  EXPECT_NEAR(noise::student95(30), 2.0423, 1e-4);
}

}  // namespace
}  // namespace medgrad
