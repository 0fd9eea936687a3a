// The p-value of the test of stable laws, by samples of the law that was found.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "medgrad/error.h"
#include "medgrad/stable_fit.h"
#include "medgrad/tail_verdict.h"
#include "medgrad/thread_pool.h"
#include "noise/laws.h"

namespace medgrad {
namespace {

// If the data are stable, the p-value by 19 samples is 1/20, 2/20, ..., 1 with the same probability
// each. Of 24 p-values the mean is 0.525 with a standard deviation of 0.288/sqrt(24) = 0.059, and
// the number of those that are 1/20 is binomial: more than 5 once in 800.
TEST(Bootstrap, HasTheLevelThatItSays) {
  double mean = 0;
  int rejected = 0;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const double alpha[] = {0.8, 1.3, 1.7, 2}, beta[] = {0.3, 1, 0, 0};
    std::vector<double> x(80);
    Stable({alpha[seed % 4], beta[seed % 4]}).sample(x, 900 + seed, 0);
    const double p = bootstrap_p_value(test_stable(x), {.resamples = 19, .seed = seed});
    mean += p / 24;
    rejected += p <= 0.05 ? 1 : 0;
  }
  EXPECT_NEAR(mean, 0.525, 4 * 0.059);
  EXPECT_LE(rejected, 5);
}

TEST(Bootstrap, SeesWhatIsNotStable) {
  laws::Random r(4);
  std::vector<double> x(1000);
  for (double& v : x) v = laws::exponential(r);
  const StableTest test = test_stable(x);
  // None of the samples is so far off: what the law of large samples says is smaller still.
  EXPECT_LT(test.p_value, 1e-10);
  EXPECT_EQ(bootstrap_p_value(test, {.resamples = 9}), test.p_value);
  StableTest once = test;
  once.p_value = once.p_of_fit = 1;
  EXPECT_EQ(bootstrap_p_value(once, {.resamples = 9}), 1);
  EXPECT_FALSE(judge_tails(x, {.bootstrap = 9}).stable_fits());
}

TEST(Bootstrap, KnowsNoThreadsNorMirrorsNorUnits) {
  std::vector<double> x(200);
  Stable({1.4, 0.6}).sample(x, 5, 0);
  const double p = bootstrap_p_value(test_stable(x), {.resamples = 25});
  ThreadPool pool(3);
  EXPECT_EQ(bootstrap_p_value(test_stable(x), {.resamples = 25}, &pool), p);
  std::vector<double> other = x;
  for (double& v : other) v = -v;
  EXPECT_EQ(bootstrap_p_value(test_stable(other), {.resamples = 25}), p);
  for (double& v : other) v *= 0x1p900;
  EXPECT_EQ(bootstrap_p_value(test_stable(other), {.resamples = 25}), p);
  // The verdict asks the same samples, and the tail after that.
  const TailVerdict v = judge_tails(x, {.bootstrap = 25, .pool = &pool});
  EXPECT_EQ(v.p_value(), judge_tails(x, {.bootstrap = 25}).p_value());
  EXPECT_LE(v.p_value(), std::min(1.0, 2 * p));
}

TEST(Bootstrap, Mistakes) {
  std::vector<double> x(40);
  Stable({1.4, 0.6}).sample(x, 5, 0);
  const StableTest test = test_stable(x);
  EXPECT_THROW((void)bootstrap_p_value(test, {.resamples = 0}), Error);
  EXPECT_THROW((void)bootstrap_p_value(test, {.resamples = 9, .most = 19}), Error);
}

}  // namespace
}  // namespace medgrad
