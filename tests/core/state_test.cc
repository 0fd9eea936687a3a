// Saved states of online estimators: written, read back, damaged.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "estimator_helpers.h"
#include "medgrad/error.h"

namespace medgrad {
namespace {

using estimator_test::all_methods;
using estimator_test::random_stream;
using testing::same_bits;

template <class T>
class StateTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(StateTest, Types);

TYPED_TEST(StateTest, SaveAndLoadContinueBitForBit) {
  using T = TypeParam;
  const auto stream = random_stream<T>(20, 10, 23);
  for (const OnlineMethod& method : all_methods()) {
    const EstimatorOptions options{.average = true};
    OnlineEstimator<T> straight(method, 23, options), first(method, 23, options),
        second(method, 23, options);
    for (const auto& g : stream) straight.update(g);
    for (int t = 0; t < 4; ++t) first.update(stream[static_cast<std::size_t>(t)]);
    std::stringstream saved;
    first.save(saved);
    second.load(saved);
    for (std::size_t t = 4; t < 10; ++t) second.update(stream[t]);
    EXPECT_TRUE(same_bits<T>(straight.estimate(), second.estimate()));
    EXPECT_TRUE(same_bits<T>(straight.average(), second.average()));
    EXPECT_EQ(straight.steps(), second.steps());
    EXPECT_EQ(straight.size(), second.size());
  }
}

TEST(State, DamagedStatesAreRefusedAndChangeNothing) {
  OnlineEstimator<double> estimator(ProximalPoint{L2{}, 0.5}, 3);
  estimator.update(std::vector<double>{1, 2, 3});
  std::stringstream out;
  estimator.save(out);
  const std::string good = out.str();
  const std::vector<double> before(estimator.estimate().begin(), estimator.estimate().end());
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    std::istringstream flipped(bad), cut(good.substr(0, i));
    EXPECT_THROW(estimator.load(flipped), Error) << i;
    EXPECT_THROW(estimator.load(cut), Error) << i;
  }
  const auto refuses = [&](auto&& other) {
    std::istringstream in(good);
    EXPECT_THROW(other.load(in), Error);
  };
  refuses(OnlineEstimator<double>(ProximalPoint{L1{}, 0.5}, 3));
  refuses(OnlineEstimator<double>(ProximalPoint{L2{}, 0.5}, 4));
  refuses(OnlineEstimator<float>(ProximalPoint{L2{}, 0.5}, 3));
  refuses(OnlineEstimator<double>(ProximalPoint{L2{}, 0.5}, 3, {.average = true}));
  EXPECT_TRUE(same_bits<double>(before, estimator.estimate()));
  OnlineEstimator<double> other_tau(ProximalPoint{L2{}, 9}, 3);
  std::istringstream in(good);
  other_tau.load(in);
  EXPECT_EQ(std::get<ProximalPoint>(other_tau.method()).tau, 0.5);
}

// A state of a fixed tau and one of tau = auto are told apart; theta comes with the state as a tau
// does, level and rate have to be the same.
TEST(State, AutomaticTau) {
  const auto method = [](const AutomaticTau& how) {
    return ProximalPoint{L2{}, kAutomaticNumber, how};
  };
  const auto state_of = [](const OnlineMethod& of) {
    OnlineEstimator<double> estimator(of, 2);
    estimator.update(std::vector<double>{3, 4});
    std::stringstream out;
    estimator.save(out);
    return out.str();
  };
  const auto error_of = [](const std::string& state, const OnlineMethod& into) {
    OnlineEstimator<double> estimator(into, 2);
    std::istringstream in(state);
    return testing::message_of([&] { return estimator.load(in), 0; });
  };
  const std::string fixed = state_of(ProximalPoint{L2{}, 0.5}), found = state_of(method({}));
  EXPECT_EQ(error_of(fixed, method({})),
            "the saved state is of 'proximal-point l2 double warm reject' where this estimator is "
            "'proximal-point l2 tau=auto level=0.2 rate=0.1 double warm reject'.");
  EXPECT_NE(error_of(found, ProximalPoint{L2{}, 0.5}), "no error");
  EXPECT_NE(error_of(found, method({.rate = 0.5})), "no error");
  EXPECT_EQ(error_of(found, method({.theta = 9})), "no error");
  OnlineEstimator<double> estimator(method({.theta = 9}), 2);
  std::istringstream in(found);
  estimator.load(in);
  EXPECT_EQ(tau_of(estimator.method()), AutomaticTau{}.theta);
  EXPECT_EQ(estimator.size(), 5);
}

// Resumed, a state of tau = auto says so itself, with all three settings, and goes on bit for bit;
// of a fixed tau, and of another distance, resuming is loading.
TEST(State, ResumingTakesAutomaticTauFromTheState) {
  const auto stream = random_stream<double>(21, 10, 7);
  const ProximalPoint method{Huber{2.5}, kAutomaticNumber, {0.3, 1.0 / 3, 0.07}};
  OnlineEstimator<double> straight(method, 7), first(method, 7);
  for (const auto& g : stream) straight.update(g);
  for (std::size_t t = 0; t < 4; ++t) first.update(stream[t]);
  std::ostringstream saved;
  first.save(saved);

  const auto resumed_by = [&](const OnlineMethod& own) {
    OnlineEstimator<double> estimator(own, 7);
    std::istringstream in(saved.str());
    estimator.resume(in);
    return estimator;
  };
  const std::vector<OnlineMethod> own = {ProximalPoint{Huber{2.5}, 9},
                                         ProximalPoint{Huber{2.5}, kAutomaticNumber}, method};
  for (const OnlineMethod& one : own) {
    OnlineEstimator<double> second = resumed_by(one);
    for (std::size_t t = 4; t < 10; ++t) second.update(stream[t]);
    EXPECT_TRUE(same_bits<double>(straight.estimate(), second.estimate()));
    EXPECT_EQ(straight.size(), second.size());
  }
  EXPECT_THROW((void)resumed_by(ProximalPoint{Huber{2}, 9}), Error);
  EXPECT_THROW((void)resumed_by(ProximalPoint{L2{}, 9}), Error);
  EXPECT_THROW((void)resumed_by(ProximalPoint{Squared{}, 9}), Error);
  EXPECT_THROW((void)resumed_by(ClippedMean{}), Error);

  OnlineEstimator<double> other = resumed_by(method);
  other.set_automatic({0.5, 0.4, 0.2});
  EXPECT_EQ(std::get<ProximalPoint>(other.method()).automatic.level, 0.4);
  EXPECT_THROW(other.set_automatic({0.5, 1, 0.2}), Error);
  EXPECT_THROW(OnlineEstimator<double>(ProximalPoint{L2{}, 1}, 7).set_automatic({}), Error);

  std::ostringstream fixed;
  OnlineEstimator<double>(ProximalPoint{Huber{2.5}, 0.5}, 7).save(fixed);
  OnlineEstimator<double> estimator(ProximalPoint{Huber{2.5}, 9}, 7);
  std::istringstream in(fixed.str());
  estimator.resume(in);
  EXPECT_EQ(tau_of(estimator.method()), 0.5);
}

}  // namespace
}  // namespace medgrad
