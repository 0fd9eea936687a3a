// tau = auto: the size it follows against an independent implementation, and what scale-free means.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "estimator_helpers.h"
#include "medgrad/error.h"
#include "medgrad/thread_pool.h"
#include "medgrad/worker.h"
#include "testing.h"

namespace medgrad {
namespace {

using estimator_test::automatic_methods;
using estimator_test::estimate;
using estimator_test::random_stream;
using testing::message_of;
using testing::same_bits;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const EstimatorOptions kRobust{.non_finite = NonFinite::robust};

ProximalPoint automatic(const AnyDistance& distance, const AutomaticTau& how = {}) {
  return {distance, kAutomaticNumber, how};
}

TEST(AutomaticTau, AgreesWithTheReference) {
  std::ifstream file(testing::golden("automatic.json"));
  const auto reference = nlohmann::json::parse(file);
  for (const auto& one : reference["cases"]) {
    SCOPED_TRACE(one["method"].get<std::string>() + " " + one["stream"].get<std::string>() +
                 " theta=" + number(one["theta"]));
    const auto& rows = reference["streams"][one["stream"].get<std::string>()];
    OnlineEstimator<double> estimator(find_online_method(one["method"].get<std::string>())
                                          .make({{"tau", kAutomaticNumber},
                                                 {"theta", one["theta"]},
                                                 {"level", one["level"]},
                                                 {"rate", one["rate"]}}),
                                      rows[0].size(), kRobust);
    const auto near = [&](const nlohmann::json& expected) {
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const double x = expected[i];
        EXPECT_NEAR(estimator.estimate()[i], x, 1e-11 * (1 + std::fabs(x)));
      }
    };
    for (std::size_t t = 0; t < rows.size(); ++t) {
      std::vector<double> g;
      for (const auto& x : rows[t]) g.push_back(x.is_null() ? kNaN : x.get<double>());
      const StepInfo info = estimator.update(g);
      const double size = one["sizes"][t];
      ASSERT_NEAR(estimator.size(), size, 1e-11 * size) << t;
      EXPECT_EQ(info.size, estimator.size());
      if (t == rows.size() / 2) near(one["middle"]);
    }
    near(one["last"]);
  }
}

template <class T>
class AutomaticTauTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(AutomaticTauTest, Types);

template <class T>
std::vector<std::vector<T>> times(std::vector<std::vector<T>> stream, double c) {
  for (auto& row : stream)
    for (T& x : row) x = static_cast<T>(static_cast<double>(x) * c);
  return stream;
}

// Gradients times 2^k, estimates times 2^k, bit for bit: short and long vectors, warm and cold.
TYPED_TEST(AutomaticTauTest, PowersOfTwoGoThrough) {
  using T = TypeParam;
  for (const std::size_t d :
       {std::size_t{1}, std::size_t{10}, std::size_t{64}, std::size_t{1003}, std::size_t{70'001}}) {
    const auto stream = random_stream<T>(31, d > 10'000 ? 4 : 60, d);
    for (const AutomaticTau& how : {AutomaticTau{}, AutomaticTau{0.5, 0.5, 0.3}}) {
      for (const OnlineMethod& method : automatic_methods(how)) {
        for (const Start start : {Start::warm, Start::cold}) {
          const auto plain = estimate<T>(method, stream, {.start = start});
          for (const int k : {-30, 1, 40}) {
            const double c = std::ldexp(1.0, k);
            const auto scaled = estimate<T>(method, times(stream, c), {.start = start});
            for (std::size_t i = 0; i < d; ++i)
              ASSERT_EQ(scaled[i], static_cast<T>(static_cast<double>(plain[i]) * c))
                  << describe(method) << " d=" << d << " k=" << k;
          }
        }
      }
    }
  }
}

// Times any constant, to rounding. (Rounding may move a component across S, which changes a count
// by one: by rate / d in S, so the bound for cclip is that and not an epsilon.)
TEST(AutomaticTau, ConstantsGoThroughToRounding) {
  const auto stream = random_stream<double>(32, 60, 33);
  for (const double c : {3.7e-4, 0.1, 1234.5}) {
    const auto scaled = times(stream, c);
    for (const OnlineMethod& method : automatic_methods()) {
      const auto a = estimate<double>(method, stream), b = estimate<double>(method, scaled);
      for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_NEAR(b[i], c * a[i], 1e-9 * c * (1 + std::fabs(a[i]))) << describe(method);
    }
  }
}

// S follows the quantile it is told to. Far from S, log S goes up by rate p and down by
// rate (1 - p); where it is bounded, p (above) = (1 - p) (below), so the share below is p but for
// the way of log S over rate T, here under 0.01, and for increments near S.
TEST(AutomaticTau, FollowsTheQuantile) {
  const auto stream = random_stream<double>(33, 20'000, 5);
  for (const double level : {0.2, 0.5, 0.9}) {
    OnlineEstimator<double> vclip(automatic(L2{}, {.theta = 0.01, .level = level, .rate = 0.05}),
                                  5);
    int below = 0;
    for (const auto& g : stream) {
      const StepInfo info = vclip.update(g);
      below += info.increment_norm <= info.size ? 1 : 0;
    }
    EXPECT_NEAR(below / 20'000.0, level, 0.03);
    OnlineEstimator<double> cclip(automatic(L1{}, {.theta = 0.01, .level = level, .rate = 0.05}),
                                  5);
    below = 0;
    for (const auto& g : stream) {
      const double size = cclip.size();
      for (std::size_t i = 0; i < 5; ++i)
        below += std::fabs(g[i] - cclip.estimate()[i]) <= size ? 1 : 0;
      cclip.update(g);
    }
    EXPECT_NEAR(below / 100'000.0, level, 0.03);
  }
}

// Nothing, infinity and nothing known leave S; NaN is a component that was not seen.
TEST(AutomaticTau, WhatLeavesTheSize) {
  for (const AnyDistance& distance : {AnyDistance(L2{}), AnyDistance(Huber{})}) {
    OnlineEstimator<double> estimator(automatic(distance), 2, kRobust);
    const auto size_after = [&](const std::vector<double>& g) {
      const StepInfo info = estimator.update(g);
      EXPECT_EQ(info.tau > 0, info.size > 0);
      return info.size;
    };
    EXPECT_EQ(size_after({0, 0}), 0);
    EXPECT_EQ(size_after({kInfinity, 1}), 0);
    EXPECT_EQ(size_after({kNaN, kNaN}), 0);
    EXPECT_EQ(estimator.estimate()[1], 0) << "nothing is known: m stays";
    EXPECT_EQ(size_after({kNaN, 8}), 8);
    EXPECT_GT(estimator.estimate()[1], 0);
    EXPECT_EQ(size_after({kInfinity, 1}), 8);
    EXPECT_EQ(size_after({1.7e308, -1.7e308}), 8) << "beyond the largest double";
    const std::vector<double> m(estimator.estimate().begin(), estimator.estimate().end());
    EXPECT_EQ(size_after(m), 8);
    EXPECT_EQ(size_after({1e300, 0}), 8 * std::exp(0.1 * 0.2));
  }
  OnlineEstimator<double> cclip(automatic(L1{}, {.theta = 1, .level = 0.5, .rate = 1}), 4, kRobust);
  EXPECT_EQ(cclip.update(std::vector<double>{0, 0, kNaN, 0}).size, 0);
  EXPECT_EQ(cclip.update(std::vector<double>{kInfinity, -kInfinity, 1, kInfinity}).size, 0);
  EXPECT_EQ(cclip.estimate()[2], 0);
  const StepInfo first = cclip.update(std::vector<double>{0, 3, kNaN, -kInfinity});
  EXPECT_EQ(first.tau, 3);  // the lower one of the two that count; after it the share is the level
  EXPECT_EQ(first.size, 3);
  EXPECT_EQ(cclip.estimate()[3], -3);
  EXPECT_EQ(cclip.update(std::vector<double>{0, 3, 0, -3}).size, 3) << "nothing moves";
  EXPECT_EQ(cclip.update(std::vector<double>{0, 9, 0, -3}).size, 3 * std::exp(0.5));
}

TEST(AutomaticTau, StartsOver) {
  OnlineEstimator<float> estimator(automatic(L2{}), 2);
  estimator.update(std::vector<float>{3, 4});
  EXPECT_EQ(estimator.size(), 5);
  estimator.reset(std::vector<float>{3, 4});
  EXPECT_EQ(estimator.size(), 0);
  OnlineEstimator<double> nothing(automatic(L1{}), 0);
  EXPECT_EQ(nothing.update({}).size, 0);
}

TEST(AutomaticTau, RejectedVectorsLeaveTheSize) {
  for (const OnlineMethod& method : automatic_methods()) {
    OnlineEstimator<double> estimator(method, 2);
    EXPECT_THROW(estimator.update(std::vector<double>{1, kNaN}), Error);
    EXPECT_EQ(estimator.size(), 0);
    estimator.update(std::vector<double>{1, 2});
    const double size = estimator.size();
    EXPECT_THROW(estimator.update(std::vector<double>{kInfinity, 2}), Error);
    EXPECT_EQ(estimator.size(), size);
  }
}

// What schedules move is theta.
TEST(AutomaticTau, SchedulesMoveTheta) {
  OnlineMethod method = automatic(L2{});
  EXPECT_EQ(tau_of(method), 0.1);
  set_tau(method, 0.7);
  EXPECT_TRUE(is_automatic(method));
  EXPECT_EQ(std::get<ProximalPoint>(method).automatic.theta, 0.7);
  EXPECT_EQ(message_of([&] { return set_tau(method, -1), 0; }),
            "theta is -1; it must satisfy 0 < theta < inf.");
}

TEST(AutomaticTau, IsForDistancesThatKnowIt) {
  EXPECT_EQ(message_of([] { return OnlineEstimator<double>(automatic(Squared{}), 2), 0; }),
            "tau is auto; that is for l1, l2 and huber; the distance here is 'squared'.");
  EXPECT_THROW(OnlineEstimator<double>(automatic(Lp(2)), 2), Error);
  EXPECT_THROW(OnlineEstimator<double>(automatic(L2{}, {.theta = 0}), 2), Error);
  EXPECT_THROW(OnlineEstimator<double>(automatic(L2{}, {.rate = kNaN}), 2), Error);
  std::vector<double> m(2), g(2, 1);
  const Block<double> block{m, g};
  Workspace<double> workspace;
  EXPECT_THROW(step<double>(automatic(L2{}), {&block, 1}, {}, workspace), Error);
}

// Every worker has a size of its own.
TEST(AutomaticTau, Workers) {
  const OnlineMethod method = automatic(L2{});
  Workers<double> workers(method, 2, 3);
  OnlineEstimator<double> first(method, 3), second(method, 3);
  const auto a = random_stream<double>(34, 10, 3), b = times(random_stream<double>(35, 10, 3), 100);
  std::vector<double> rows(6), kept;
  std::vector<double> sizes;
  for (std::size_t t = 0; t < 10; ++t) {
    std::ranges::copy(a[t], rows.begin());
    std::ranges::copy(b[t], rows.begin() + 3);
    if (t == 5) {
      kept.assign(workers.vectors().row(0), workers.vectors().row(0) + 6);
      sizes.assign(workers.sizes().begin(), workers.sizes().end());
    }
    workers.update(Rows<double>(rows, 2, 3));
    first.update(a[t]);
    second.update(b[t]);
  }
  EXPECT_TRUE(same_bits<double>({workers.vectors().row(0), 3}, first.estimate()));
  EXPECT_TRUE(same_bits<double>({workers.vectors().row(1), 3}, second.estimate()));
  EXPECT_EQ(workers.sizes()[1], second.size());
  Workers<double> again(method, 2, 3);
  again.restore(Rows<double>(kept, 2, 3), 5, sizes);
  for (std::size_t t = 5; t < 10; ++t) {
    std::ranges::copy(a[t], rows.begin());
    std::ranges::copy(b[t], rows.begin() + 3);
    again.update(Rows<double>(rows, 2, 3));
  }
  EXPECT_TRUE(same_bits<double>({again.vectors().row(0), 6}, {workers.vectors().row(0), 6}));
  EXPECT_THROW(again.restore(Rows<double>(kept, 2, 3), 5, std::vector<double>{1}), Error);
  EXPECT_THROW(again.restore(Rows<double>(kept, 2, 3), 5, std::vector<double>{1, -1}), Error);
}

}  // namespace
}  // namespace medgrad
