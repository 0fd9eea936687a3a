#include "medgrad/tail_sketch.h"

#include <gtest/gtest.h>

#include "laws.h"
#include "medgrad/error.h"
#include "medgrad/rng.h"
#include "testing.h"

namespace medgrad {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(TailSketch, OfFewNumbersIsExact) {
  std::vector<double> x = laws::sample(laws::find("stable 1.3"), 30000, 9);
  x[7] = kNaN;
  TailSketch sketch;
  sketch.add(std::span(x).first(1));
  sketch.add(std::span(x).subspan(1, 20000));
  sketch.add({});
  sketch.add(std::span(x).subspan(20001));
  EXPECT_TRUE(sketch.exact());
  EXPECT_EQ(sketch.n(), 29999U);
  const TailSummary a = sketch.summary(), b = tail_summary(x);
  EXPECT_EQ(a.verdict(), b.verdict());
  EXPECT_EQ(a.judged->both->pareto.xi, b.judged->both->pareto.xi);
  EXPECT_EQ(a.judged->missing, b.judged->missing);
  EXPECT_EQ(a.quantiles->parameters.alpha, b.quantiles->parameters.alpha);
  EXPECT_THROW((void)TailSketch().summary(), Error);
  EXPECT_THROW(TailSketch(1000), Error);
}

// 160,000 numbers, past what is held.
TEST(TailSketch, OfManyNumbersHasTheTailsOfAll) {
  const std::size_t n = 160000, held = 65536;
  std::vector<double> x(n);
  Stable({1.5, 0.3, 2, 1}).sample(x, 5, 0);
  TailSketch sketch(held), pieces(held);
  sketch.add(x);
  for (std::size_t first = 0; first < n; first += 9991)
    pieces.add(std::span(x).subspan(first, std::min<std::size_t>(9991, n - first)));
  EXPECT_FALSE(sketch.exact());
  ASSERT_EQ(sketch.sample().size(), pieces.sample().size());
  EXPECT_TRUE(std::equal(sketch.sample().begin(), sketch.sample().end(), pieces.sample().begin()));
  // Each place stays with probability 1/4: a standard deviation of sqrt(3 n/16) = 173.
  EXPECT_NEAR(static_cast<double>(sketch.sample().size()), n / 4.0, 5 * 173.0);

  const TailSummary s = sketch.summary();
  ASSERT_TRUE(s.judged && s.judged->right && s.judged->both);
  EXPECT_EQ(s.judged->n, n);
  EXPECT_EQ(s.judged->infinite_variance, Answer::yes);
  const Peaks exact = peaks_over_threshold(x, {.tail = Tail::right});
  EXPECT_EQ(s.judged->right->k, exact.k);
  EXPECT_EQ(s.judged->right->n, n);
  EXPECT_NEAR(s.judged->right->pareto.xi, exact.pareto.xi, 5e-3);
  EXPECT_NEAR(s.judged->right->threshold / exact.threshold, 1, 5e-3);
  // Of 40,000 numbers, where one has an error of about 1.6.
  EXPECT_NEAR(s.judged->stable->fit.parameters.alpha, 1.5, 5 * 1.6 / 200);

  // What the sample leaves out is not forgotten: one number that is infinite, or that the mean's
  // error comes from.
  for (double& v : x) v = std::fmod(v, 1);
  for (const double odd : {kInf, 1e9}) {
    TailSketch rare(held);
    x[n - 1] = x[n - 2] = x[n - 3] = odd;
    rare.add(x);
    const TailSummary r = rare.summary();
    EXPECT_NE(r.judged->advice, Advice::mean) << r.verdict();
    EXPECT_EQ(r.judged->infinite, std::isinf(odd) ? 3U : 0U);
  }
}

// Gaussian numbers of any size, and one that is elsewhere: the mean is that of all of them.
TEST(TailSketch, MeanOfAll) {
  const std::size_t n = 140000;
  std::vector<double> x(n);
  Philox(7, 0).fill_normal(x);
  const auto judged = [&](double odd, double size) {
    std::vector<double> y = x;
    y[n - 1] = odd;
    for (double& v : y) v *= size;
    TailSketch sketch(65536);
    sketch.add(y);
    return *sketch.summary().judged;
  };
  EXPECT_EQ(judged(-kInf, 1).efficiency.bias, kInf);
  EXPECT_EQ(judged(kInf, 1).efficiency.bias, -kInf);
  EXPECT_NEAR(judged(1.4e11, 1).efficiency.bias, -1e6, 2e4);
  for (const double size : {1e-200, 1.0, 1e200}) {
    const TailVerdict v = judged(0, size);
    EXPECT_EQ(v.advice, Advice::mean) << v.sentence();
    EXPECT_NEAR(v.efficiency.mean, 0.1, 0.005) << size;
  }
}

// A body that is Gaussian and ten numbers that no law of an index next to 2 reaches: the sample has
// few of them or none.
TEST(TailSketch, NoStableLawReachesSoFar) {
  std::vector<double> x(140000);
  Philox(7, 1).fill_normal(x);
  std::fill_n(x.begin() + 1000, 10, 1e9);
  TailSketch sketch(65536);
  sketch.add(x);
  const TailVerdict v = *sketch.summary().judged;
  EXPECT_FALSE(v.stable_fits()) << v.sentence();
  EXPECT_NE(v.infinite_variance, Answer::yes) << v.sentence();
}

}  // namespace
}  // namespace medgrad
