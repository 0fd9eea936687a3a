// Scores and tail moments against Fourier integrals in 40 digits (golden/make_stable_scores.py),
// closed forms and identities.
#include "medgrad/stable_score.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "medgrad/error.h"
#include "medgrad/stable_moments.h"
#include "testing.h"

namespace medgrad {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(StableScore, AgreesWithFourierIntegrals) {
  const auto golden = nlohmann::json::parse(std::ifstream(testing::golden("stable_scores.json")));
  int seen = 0;
  for (const auto& point : golden["points"]) {
    const double alpha = point["alpha_at"], beta = point["beta_at"], x = point["x_at"];
    SCOPED_TRACE(point.dump());
    const StableScores s = StableScore({alpha, beta})(x);
    const auto near = [&](double found, const char* name, double tolerance) {
      const double exact = point[name];
      EXPECT_NEAR(found, exact, tolerance * std::max(1.0, std::fabs(exact))) << name;
    };
    near(s.log_pdf, "log_pdf", 1e-9);
    near(s.x, "x", 1e-9);
    near(s.xx, "xx", 1e-7);
    near(s.scale, "scale", 1e-9);
    near(s.alpha, "alpha", 1e-7);
    if (alpha < 2) near(s.beta, "beta", 1e-7);
    EXPECT_EQ(s.location, -s.x);
    if (point.contains("above")) {
      const Stable law({alpha, beta});
      near(tail_moment(law, x), "above", 1e-10);
      near(tail_moment(law, x, 1, Tail::left), "below", 1e-10);
    }
    ++seen;
  }
  EXPECT_EQ(seen, 72);
}

// log f of scale c and location l, in both forms, against differences of log_pdf: 1e-12 / 1e-4 of
// noise, 1e-8 of curvature.
TEST(StableScore, FollowsItsForm) {
  const auto check = [](const StableParameters& p) {
    const StableScores s = StableScore(p)(1.2);
    const auto slope = [&](double StableParameters::*member) {
      const double h = 1e-4;
      StableParameters low = p, high = p;
      low.*member -= h;
      high.*member += h;
      return (Stable(high).log_pdf(1.2) - Stable(low).log_pdf(1.2)) / (2 * h);
    };
    EXPECT_NEAR(s.beta, slope(&StableParameters::beta), 1e-6);
    EXPECT_NEAR(s.scale, slope(&StableParameters::scale), 1e-6);
    EXPECT_NEAR(s.location, slope(&StableParameters::location), 1e-6);
    if (p.form == StableForm::S1 && p.alpha == 1 && p.beta != 0) {
      EXPECT_TRUE(std::isnan(s.alpha));
    } else {
      EXPECT_NEAR(s.alpha, slope(&StableParameters::alpha), 1e-5);
    }
  };
  for (const StableForm form : {StableForm::S0, StableForm::S1}) {
    for (const double alpha : {0.7, 1.0, 1.6}) {
      for (const double beta : {0.4, 0.0}) {
        SCOPED_TRACE(std::to_string(alpha) + ", " + std::to_string(beta));
        check({alpha, beta, 2.5, -3, form});
      }
    }
  }
}

// E score = 0, and E x-score^2 = -E xx: over quantiles at midpoints, which leave out what a
// thousandth of the law in each tail adds.
TEST(StableScore, IsCentred) {
  const StableParameters p{1.4, 0.5, 2, 7};
  const Stable law(p);
  const StableScore score(p);
  StableScores mean;
  double squares = 0;
  constexpr int kPoints = 500;
  for (int i = 0; i < kPoints; ++i) {
    const StableScores s = score(law.quantile((i + 0.5) / kPoints));
    mean.beta += s.beta / kPoints;
    mean.location += s.location / kPoints;
    mean.scale += s.scale / kPoints;
    mean.xx += s.xx / kPoints;
    squares += s.x * s.x / kPoints;
  }
  EXPECT_NEAR(mean.location, 0, 1e-3);
  EXPECT_NEAR(mean.scale, 0, 2e-3);
  EXPECT_NEAR(mean.beta, 0, 2e-3);
  EXPECT_NEAR(squares, -mean.xx, 1e-3);
}

// For small alpha the density varies on a tiny scale around zeta. Differences at a thirtieth of the
// distance from there, twice extrapolated, are good to a few 1e-10.
TEST(StableScore, SmallAlphaAroundZeta) {
  const std::pair<double, double> shapes[] = {{0.5, -0.8}, {0.3, 0}, {0.3, 0.5}, {0.2, 0.5}};
  for (const auto& [alpha, beta] : shapes) {
    const Stable law({alpha, beta});
    const StableScore score({alpha, beta});
    const double zeta = -beta * std::tan(M_PI / 2 * alpha);
    for (const double off : {-0.1, -0.03, -0.003, 0.003, 0.03, 0.3}) {
      const double x = zeta + off;
      const auto slope = [&](double h) {
        return (law.log_pdf(x + h) - law.log_pdf(x - h)) / (2 * h);
      };
      const double h = std::fabs(off) / 30;
      const double a = (4 * slope(h / 2) - slope(h)) / 3, b = (4 * slope(h / 4) - slope(h / 2)) / 3;
      const double exact = (16 * b - a) / 15;
      EXPECT_NEAR(score(x).x / exact, 1, 2e-8) << alpha << ' ' << beta << ' ' << off;
    }
  }
}

TEST(StableScore, EdgesOfTheRanges) {
  // Far out f = C x^-(1 + alpha): d log f / dx = -(1 + alpha)/x.
  const StableScores far = StableScore({1.5, 0.5})(1e200);
  EXPECT_NEAR(far.x * 1e200, -2.5, 1e-8);
  EXPECT_NEAR(far.scale, 1.5, 1e-8);
  // At alpha = 2 a tail of weight (2 - alpha) appears: f(30) falls by f' = c / 30^3 with c = 2
  // alpha
  // ... of the tail's constant Gamma(3) sin(pi alpha/2)/pi ~ (2 - alpha), over e^{-225}/sqrt(4 pi).
  const double expected = -std::exp(225) * std::sqrt(4 * M_PI) * std::pow(30, -3);
  EXPECT_NEAR(StableScore({2, 0})(30).alpha / expected, 1, 0.05);
  EXPECT_EQ(StableScore({2, 0})(1).beta, 0);
  // Where f = 0, and where x is no number.
  const StableScore levy({0.5, 1, 1, 0, StableForm::S1});
  EXPECT_TRUE(std::isnan(levy(-1).x));
  EXPECT_TRUE(std::isnan(levy(kNaN).x));
  EXPECT_TRUE(std::isnan(levy(kInf).alpha));
  // Levy: log f = -1/(2x) - 3/2 log x + const.
  EXPECT_NEAR(levy(0.3).x, 1 / (2 * 0.09) - 1.5 / 0.3, 1e-8);
  EXPECT_NEAR(levy(0.3).xx, -1 / 0.027 + 1.5 / 0.09, 1e-5);
  EXPECT_THROW(StableScore({0.05}), Error);
  EXPECT_THROW(StableScore({2.5}), Error);
  std::vector<StableScores> out(3);
  const double x[] = {-1, 0, 1};
  levy(x, out);
  EXPECT_EQ(out[2].x, levy(1).x);
  EXPECT_THROW(levy(x, std::span(out).first(2)), Error);
}

TEST(StableMoments, ClosedForms) {
  // Normal: E(Z | Z > z) = phi(z)/P(Z > z); N(0, 2) at z = 1.
  const double tail = std::erfc(1 / std::sqrt(2)) / 2;
  const double shortfall = std::exp(-0.5) / std::sqrt(2 * M_PI) / tail;
  EXPECT_NEAR(expected_shortfall(Stable({2}), tail), std::sqrt(2) * shortfall, 1e-10);
  for (const double alpha : {0.4, 0.8, 1.3, 1.7, 2.0}) {
    for (const double beta : {0.0, 0.6, -1.0}) {
      const Stable law({alpha, beta, 2, 3, StableForm::S1});
      for (const double part : {0.2, 0.7}) {
        const double p = part * alpha, closed = absolute_moment(law, p);
        EXPECT_NEAR(tail_moment(law, 3, p, Tail::both) / closed, 1, 1e-9) << alpha << beta << p;
      }
      if (alpha > 1) {  // E (X - q)_+ - E (q - X)_+ = mean - q
        for (const double q : {-50.0, 3.5, 1e4}) {
          const double above = tail_moment(law, q), below = tail_moment(law, q, 1, Tail::left);
          EXPECT_NEAR((above - below) / (3 - q), 1, 1e-9) << alpha << beta << q;
        }
        // All of the law is its two tails.
        const double p = 0.3;
        EXPECT_NEAR(
            p * expected_shortfall(law, p) + (1 - p) * expected_shortfall(law, 1 - p, Tail::left),
            3, 1e-8);
      }
    }
  }
  // Half of the Cauchy distribution: E |X|^p = 1 / cos(pi p/2).
  EXPECT_NEAR(absolute_moment(Stable({1}), 0.5), std::sqrt(2), 1e-12);
  EXPECT_NEAR(absolute_moment(Stable({1}), -0.5), std::sqrt(2), 1e-12);
  EXPECT_EQ(absolute_moment(Stable({1.2}), 0), 1);
}

// Seen from far away the body is a needle: for q below all of it, E (X - q)_+ is mean - q but for
// the left tail, E (q - X)_+.
TEST(StableMoments, FromFarAway) {
  for (const double alpha : {1.2, 1.9}) {
    for (const double beta : {-1.0, 0.7}) {
      const Stable law({alpha, beta, 1, 0, StableForm::S1});
      for (const double q : {-1e6, 1e5}) {
        const double difference = tail_moment(law, q) - tail_moment(law, q, 1, Tail::left);
        EXPECT_NEAR(difference / -q, 1, 1e-11) << alpha << ' ' << beta << ' ' << q;
      }
    }
  }
  // A support with an end: by an integral of the survival function up to there, cut in the body.
  EXPECT_NEAR(expected_shortfall(Stable({0.7, -1}), 0.999), -27.1207, 1e-4);
}

TEST(StableMoments, InfiniteAndWrong) {
  EXPECT_EQ(expected_shortfall(Stable({1}), 0.1), kInf);
  EXPECT_EQ(expected_shortfall(Stable({0.9}), 0.1, Tail::left), -kInf);
  EXPECT_EQ(tail_moment(Stable({1.5}), 0, 1.5), kInf);
  EXPECT_EQ(absolute_moment(Stable({1.5}), 1.5), kInf);
  EXPECT_LT(tail_moment(Stable({1.5, 1}), 0, 3, Tail::left), kInf);  // the light side
  EXPECT_LT(expected_shortfall(Stable({0.7, -1}), 0.5), kInf);
  EXPECT_THROW((void)tail_moment(Stable({1.5}), 0, 0), Error);
  EXPECT_THROW((void)tail_moment(Stable({1.5}), kInf), Error);
  EXPECT_THROW((void)tail_moment(Stable({1.5}), 0, kNaN), Error);
  EXPECT_THROW((void)expected_shortfall(Stable({1.5}), 0), Error);
  EXPECT_THROW((void)expected_shortfall(Stable({1.5}), 0.5, Tail::both), Error);
  EXPECT_THROW((void)absolute_moment(Stable({1, 0.5}), 0.5), Error);
  EXPECT_THROW((void)absolute_moment(Stable({1.5}), -1), Error);
}

}  // namespace
}  // namespace medgrad
